#pragma once

#include <functional>
#include <vector>

#include "measure/messages.h"
#include "measure/race_judge.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// The turns of a race: calls `step` for each of the order's items that is not out, starting with
/// another one in each round, until the judge has it settled or time is over: half a second for
/// each (order.race_seconds in all, where that is less), and while rounds are disturbed, with
/// pauses between them, order.wait_seconds more. step returns the samples of a slice; none if the
/// racer has failed.
RaceJudge RunRaceRounds(const RunOrder& order, Clock& clock,
                        const std::function<std::vector<double>(std::size_t)>& step,
                        const std::function<RoundInterference()>& probe_times);

/// What the judge has found goes into the replies that are ok.
void ApplyRaceResults(const RaceJudge& judge, std::vector<RunReply>& replies);

}  // namespace tilewright::measure
