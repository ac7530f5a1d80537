#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "measure/evaluate/operand_cache.h"
#include "measure/evaluate/race_rounds.h"
#include "measure/worker/forked_kernel.h"

namespace tilewright::measure {

/// Makes a candidate's run without starting it. All runs exist before the first process is forked;
/// only repetitions are made later.
using MakeRun = std::function<std::unique_ptr<CandidateRun>(const RunOrder::Item&,
                                                            OperandCache::KernelOperands)>;

/// Runs all items, each in a subprocess. Takes one slice of samples of each in turn and starts with
/// a different item in each round, so that interference affects all of them alike. Ends when all
/// have converged, or at the order's time limit. probe_times: runs the interference probes of this
/// process between rounds. Returns one reply per item, in order.
std::vector<RunReply> RunRace(const RunOrder& order, OperandCache& operand_cache,
                              const MakeRun& make_run,
                              const std::function<RoundInterference()>& probe_times);

}  // namespace tilewright::measure
