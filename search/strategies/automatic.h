#pragma once

#include <memory>
#include <string_view>

#include "search/registry.h"

namespace tilewright::search {

/// Creates the strategy that fits the cost of a trial and the size of the space. The choice depends
/// only on what the device declares, so that it is the same in every run of a job.
std::unique_ptr<Strategy> MakeAutomatic(const StrategyContext& context);

/// Returns the key of that strategy: "surrogate" for open spaces, of which no template is known;
/// "evolve" for simulated targets (a trial costs no more than the
/// analysis of a candidate) and for spaces of a million configs or more; otherwise "model".
std::string_view ChoiceOf(const SearchSpace& space);

}  // namespace tilewright::search
