#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "measure/evaluate/operand_cache.h"
#include "measure/evaluate/race_rounds.h"
#include "measure/worker/forked_kernel.h"

namespace tilewright::measure {

/// Makes a candidate's run, which is not started. No candidate's process is forked before all are
/// made; only repetitions are made later.
using MakeRun = std::function<std::unique_ptr<CandidateRun>(const RunOrder::Item&,
                                                            OperandCache::KernelOperands)>;

/// Runs all items, each in a process of its own, one slice of samples each in turns and starting
/// with another one in each round: what disturbs the machine meanwhile disturbs all of them alike.
/// Ends when all are settled, or when the order's time is over. canaries: runs the canaries of
/// this process between rounds. returns one reply per item, in order.
std::vector<RunReply> RunRace(const RunOrder& order, OperandCache& operand_cache,
                              const MakeRun& make_run,
                              const std::function<RoundInterference()>& probe_times);

}  // namespace tilewright::measure
