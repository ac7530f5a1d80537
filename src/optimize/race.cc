#include "src/optimize/race.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/statistics.h"
#include "src/base/clock.h"

namespace tilewright::optimize {
namespace {

/// Returns seconds of the clock that runs of these libraries are timed by: the processor time of
/// this thread if all have one thread, which other processes do not change.
double RunSeconds(std::span<const ModelLibrary* const> libraries, Clock& clock) {
  const bool one_thread = std::ranges::all_of(
      libraries, [](const ModelLibrary* library) { return library->threads() == 1; });
  timespec time = {};
  if (!one_thread || ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
    return clock.MonotonicSeconds();
  }
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Calls `run(turn)` for each of `count` turns of a round, rotated, until the limits are reached.
template <typename Run>
Status ForRounds(std::size_t count, const RaceLimits& limits, const Run& run) {
  SystemClock clock;
  const double end = clock.MonotonicSeconds() + limits.seconds;
  for (int round = 0; round < limits.max_rounds; ++round) {
    if (round >= limits.min_rounds && clock.MonotonicSeconds() >= end) break;
    for (std::size_t i = 0; i < count; ++i) {
      TW_RETURN_IF_ERROR(run((i + static_cast<std::size_t>(round)) % count));
    }
  }
  return {};
}

}  // namespace

std::vector<RaceResult> SummaryOf(const std::vector<std::vector<double>>& samples) {
  const std::vector<double>& first = samples[0];
  std::vector<RaceResult> results;
  double equal_code = 0;  // distance from 1 of the ratio of equal code
  for (std::size_t i = 1; i < samples.size(); ++i) {
    std::vector<double> ratios;
    for (std::size_t k = 0; k < first.size(); ++k) ratios.push_back(samples[i][k] / first[k]);
    std::ranges::sort(ratios);
    RaceResult result;
    result.seconds = *std::ranges::min_element(samples[i]);
    result.ratio = measure::Median(ratios);
    // The 95 % interval of a median from the quartiles (McGill, Tukey, Larsen 1978).
    const double quartiles = measure::Quantile(ratios, 0.75) - measure::Quantile(ratios, 0.25);
    result.spread = 1.57 * quartiles / std::sqrt(static_cast<double>(ratios.size()));
    if (i == 1) {
      equal_code = std::abs(result.ratio - 1);
      result.seconds = std::min(result.seconds, *std::ranges::min_element(first));
      result.ratio = 1;
    }
    result.spread += equal_code;
    results.push_back(result);
  }
  return results;
}

bool IsFaster(const RaceResult& result) { return result.ratio + result.spread < 1; }

Result<std::vector<RaceResult>> Race(std::span<const ModelLibrary* const> libraries,
                                     std::span<const Tensor> inputs, const RaceLimits& limits) {
  std::vector<const ModelLibrary*> turns = {libraries[0]};
  turns.insert(turns.end(), libraries.begin(), libraries.end());
  for (const ModelLibrary* library : libraries) TW_RETURN_IF_ERROR(library->Run(inputs));
  SystemClock clock;
  std::vector<std::vector<double>> samples(turns.size());
  const Status status = ForRounds(turns.size(), limits, [&](std::size_t turn) -> Status {
    const double start = RunSeconds(libraries, clock);
    TW_RETURN_IF_ERROR(turns[turn]->Run(inputs));
    samples[turn].push_back(RunSeconds(libraries, clock) - start);
    return {};
  });
  TW_RETURN_IF_ERROR(status);
  return SummaryOf(samples);
}

Result<std::vector<std::vector<double>>> OperatorSeconds(
    std::span<const ModelLibrary* const> libraries, std::span<const Tensor> inputs,
    const RaceLimits& limits) {
  std::vector<std::vector<double>> fastest;
  for (const ModelLibrary* library : libraries) {
    TW_RETURN_IF_ERROR(library->Run(inputs));
    fastest.emplace_back(library->operators().size(), std::numeric_limits<double>::infinity());
  }
  const Status status = ForRounds(libraries.size(), limits, [&](std::size_t turn) -> Status {
    std::vector<double> seconds(fastest[turn].size(), 0.0);
    TW_RETURN_IF_ERROR(libraries[turn]->RunTimed(inputs, seconds));
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      fastest[turn][i] = std::min(fastest[turn][i], seconds[i]);
    }
    return {};
  });
  TW_RETURN_IF_ERROR(status);
  return fastest;
}

}  // namespace tilewright::optimize
