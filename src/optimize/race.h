#pragma once

#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"

namespace tilewright::optimize {

/// Time of one library relative to the first one of a race.
struct RaceResult {
  double seconds = 0;  ///< fastest run
  double ratio = 1;    ///< median over the rounds, to the first library in the same round
  double spread = 0;   ///< half of the 95 % interval of `ratio`
};

struct RaceLimits {
  double seconds = 1;  ///< of measuring
  int min_rounds = 11;
  int max_rounds = 2000;
};

/// Runs whole libraries in turn, each once in every round, in an order that rotates: interference
/// affects all of them alike. They are timed by processor time if each has one thread. The first
/// one runs twice in a round; the second run gives the ratio of equal code and with it the noise.
/// inputs: of each library, which are the same. Errors: those of the runs.
Result<std::vector<RaceResult>> Race(std::span<const ModelLibrary* const> libraries,
                                     std::span<const Tensor> inputs, const RaceLimits& limits);

/// Returns the fastest time of each operator of each library, over rounds in which the libraries
/// take turns.
Result<std::vector<std::vector<double>>> OperatorSeconds(
    std::span<const ModelLibrary* const> libraries, std::span<const Tensor> inputs,
    const RaceLimits& limits);

/// Returns the summary of a race of these samples: seconds of each library in each round; the first
/// one has two rows. Exposed for tests.
std::vector<RaceResult> SummaryOf(const std::vector<std::vector<double>>& samples);

/// Returns true if a library is faster than the first one beyond noise.
bool IsFaster(const RaceResult& result);

}  // namespace tilewright::optimize
