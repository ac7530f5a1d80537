#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "measure/child.h"
#include "measure/workbench.h"

namespace tilewright::measure {

/// What a race needs of the runner: the settings of one candidate's process.
using MakeWork = std::function<ChildWork(const RunOrder::Item&, const Workbench::Setup&)>;

/// Runs all items, each in a process of its own, one slice of samples each in turns and starting
/// with another one in each round: what disturbs the machine meanwhile disturbs all of them alike.
/// Ends when the noise of all has settled, or after half a second for each. returns one reply per
/// item, in order.
std::vector<RunReply> RunRace(const std::vector<RunOrder::Item>& items, Workbench& workbench,
                              const MakeWork& make_work);

/// The turns of a race: calls `step` for each of `count` racers, starting with another one in each
/// round, until all have settled or time is over. step returns the noise so far, relative; nullopt
/// if the racer is out.
void RaceInTurns(std::size_t count, Clock& clock,
                 const std::function<std::optional<double>(std::size_t)>& step);

/// The reply for an item that could not even be started.
RunReply FailedWith(const RunOrder::Item& item, const Status& status);

}  // namespace tilewright::measure
