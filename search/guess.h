#pragma once

#include "cost_model/cost_model.h"
#include "src/space/trial.h"

namespace tilewright::search {

/// The config that a trained model thinks best for the task, without measuring anything: the best
/// of what annealing from the templates' default configs visits. The same answer every time.
/// Errors: kUnsupported if no template serves the task, no config of its spaces is legal, or the
/// target is a VTA; the model's.
Result<Candidate> GuessConfig(const Task& task, const Epilogue& epilogue,
                              const cost_model::CostModel& model);

}  // namespace tilewright::search
