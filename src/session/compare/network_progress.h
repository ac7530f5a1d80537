#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/tensor/tensor.h"

// Networks that run in a process of their own (check_process.h), operator by operator.

namespace tilewright {
class CheckProgress;
}

namespace tilewright::session {

/// Registers the operators of a network before they run. factor: allowed time relative to a
/// library's.
void RegisterOperators(const RunnableNetwork& network, CheckProgress& progress,
                       std::int64_t factor = 1);
/// Runs the network once. The operators of a GPU's library are not reported, because a run would
/// have to synchronize after each.
Result<std::vector<Tensor>> RunWithProgress(const RunnableNetwork& network,
                                            std::span<const Tensor> inputs,
                                            CheckProgress& progress);

}  // namespace tilewright::session
