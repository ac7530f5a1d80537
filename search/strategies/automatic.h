#pragma once

#include <memory>
#include <string_view>

#include "search/registry.h"

namespace tilewright::search {

/// The strategy that fits what a trial costs beside a thought, and the size of the space: by what
/// the device declares, so that the choice is the same in every life of a job.
std::unique_ptr<Strategy> MakeAutomatic(const StrategyContext& context);

/// Which one that is: "evolve" where trials are counted (they cost no more than a look at a
/// candidate: hardly anything is thought), and in spaces of a million configs and more; else
/// "model".
std::string_view ChoiceOf(const SearchSpace& space);

}  // namespace tilewright::search
