#include "src/optimize/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/random.h"

namespace tilewright::optimize {

Result<DataSplit> SplitSamples(std::size_t count, const Bound& bound, std::int64_t rows) {
  static constexpr std::size_t kMaxCalibration = 64;
  const auto parts = [](std::size_t samples) {
    const std::size_t quarter = std::max<std::size_t>(1, samples / 4);
    return std::pair(std::min(quarter, kMaxCalibration), quarter);
  };
  const std::size_t needed = LeastHeldOut(bound, rows);
  const auto enough = [&](std::size_t samples) {
    const auto [calibration, search] = parts(samples);
    return samples >= calibration + search + std::max<std::size_t>(needed, 1);
  };
  if (!enough(count)) {
    std::size_t least = needed + 2;
    while (!enough(least)) ++least;
    return InvalidArgument(
        fmt::format("{} samples, expected at least {} for {}: a quarter calibrates, a quarter is "
                    "for the search, and {} held-out ones decide",
                    count, least, bound.ToString(), needed));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(1);
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.Below(i))]);
  }
  const auto [calibration, search] = parts(count);
  const auto place = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
  DataSplit split;
  split.calibration.assign(place(0), place(calibration));
  split.search.assign(place(calibration), place(calibration + search));
  split.held_out.assign(place(calibration + search), order.end());
  for (auto* part : {&split.calibration, &split.search, &split.held_out}) std::ranges::sort(*part);
  return split;
}

Result<std::int64_t> RowsOf(const TensorType& output, const Bound& bound) {
  const std::int64_t classes = ClassesOf(output);
  if (bound.metric == Metric::kAgreement && classes < 2) {
    return InvalidArgument("agreement: the first output is " + output.ToString() +
                           ", expected rows of several classes");
  }
  return output.elements() / classes;
}

std::size_t LeastHeldOut(const Bound& bound, std::int64_t rows) {
  const std::int64_t count = bound.LeastCount();
  if (bound.metric != Metric::kAgreement) return static_cast<std::size_t>(count);
  return static_cast<std::size_t>((count + rows - 1) / std::max<std::int64_t>(rows, 1));
}

}  // namespace tilewright::optimize
