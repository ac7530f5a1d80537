#pragma once

#include <memory>
#include <string>

#include "cost_model/cost_model.h"
#include "records/lookup.h"
#include "search/static_analyzer.h"
#include "search/strategy.h"
#include "src/space/trial.h"

namespace tilewright::search {

/// Operator, type of its data, and for machine code the vectors, "conv2d/int8/avx512": a model
/// knows nothing of what it never saw. One that learned from float32 only chose int8 configs of a
/// seventh of the best one's speed, one that learned from AVX-512 chose for AVX2 a third of the
/// default's.
std::string FamilyOf(const Task& task);

/// The point that a trained model thinks best, without measuring anything: the best of what
/// annealing from the templates' default configs visits, or the first template's default config
/// where that is not clearly worse. The same answer every time.
/// Errors: kUnsupported if no point was found legal; the model's.
Result<Point> PredictPoint(const SearchSpace& space, const StaticAnalyzer& analyzer,
                           const cost_model::CostModel& model);

/// The same for a task. Errors: also kUnsupported if no template serves it, or its target is a VTA.
Result<Candidate> PredictConfig(const TemplateRegistry& templates, const Task& task,
                                const Epilogue& epilogue, const cost_model::CostModel& model);

/// The model of a file, made by `tilewright train`, as a chooser of configs for workloads of the
/// families it learned from. Takes a tenth of a second per workload.
/// templates: outlives the chooser. Errors: as cost_model::TreeModel::Load.
Result<std::unique_ptr<records::ModelChooser>> LoadChooser(const TemplateRegistry& templates,
                                                           const std::string& path);

}  // namespace tilewright::search
