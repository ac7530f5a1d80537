#pragma once

#include <functional>
#include <vector>

#include "measure/messages.h"
#include "measure/race_judge.h"
#include "src/base/clock.h"

namespace tilewright::measure {

/// Runs the rounds of a race. Calls `step` for each item that is still in the race, beginning with
/// a different item in each round, until the judge reports convergence or the time is over. The
/// time is half a second per item (order.race_seconds in all, if that is less). While rounds are
/// noisy, it is extended by order.wait_seconds, with pauses between rounds. step returns the
/// samples of a slice; none if the contender has failed.
RaceJudge RunRaceRounds(const RunOrder& order, Clock& clock,
                        const std::function<std::vector<double>(std::size_t)>& step,
                        const std::function<RoundInterference()>& probe_round);

/// Writes the judge's results into the replies that are ok.
void ApplyRaceResults(const RaceJudge& judge, std::vector<RunReply>& replies);

}  // namespace tilewright::measure
