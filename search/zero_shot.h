#pragma once

#include <memory>
#include <string>

#include "cost_model/cost_model.h"
#include "records/lookup.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "src/space/trial.h"

namespace tilewright::search {

/// Returns the family of a task: operator, element type, and for machine code the vector extension,
/// as "conv2d/int8/avx512". A model does not generalize to other families. A model trained on
/// float32 only chose int8 configs at a seventh of the best speed; one trained on AVX-512 chose for
/// AVX2 configs at a third of the default's speed.
std::string FamilyOf(const Task& task);

/// Returns the point with the best prediction of a trained model, without measuring: the best point
/// that annealing from the templates' default configs visits, or the first template's default
/// config unless it is clearly worse. Deterministic. Errors: kUnsupported if no legal point was
/// found; the model's.
Result<Point> PredictPoint(const SearchSpace& space, const StaticAnalyzer& analyzer,
                           const cost_model::CostModel& model);

/// As PredictPoint, for a task. Errors: also kUnsupported if no template serves it, or its target
/// is a VTA.
Result<Candidate> PredictConfig(const TemplateRegistry& templates, const Task& task,
                                const Epilogue& epilogue, const cost_model::CostModel& model);

/// Loads the model of a file made by `tilewright train`. It predicts configs for workloads of the
/// families in its training data, in a tenth of a second per workload. templates: has to outlive
/// the result. Errors: as cost_model::TreeModel::Load.
Result<std::unique_ptr<records::ModelChooser>> LoadChooser(const TemplateRegistry& templates,
                                                           const std::string& path);

}  // namespace tilewright::search
