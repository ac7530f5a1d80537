#include "src/optimize/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/base/strings.h"

namespace tilewright::optimize {
namespace {

/// Row of the table of metrics, in the order of Metric.
struct MetricRow {
  std::string_view name, relation;
  double least, most;  ///< allowed limits
  std::string_view expected;
};
constexpr std::array<MetricRow, 5> kMetrics = {{
    {"sqnr", ">=", 0, 200, "decibels from 0 to 200"},
    {"agreement", ">=", 0, 1, "a share from 0 to 1"},
    {"max_error", "<=", 0, 1e30, "a number from 0"},
    {"cosine", ">=", 0, 1, "a number from 0 to 1"},
    {"score", ">=", -1e30, 1e30, "a number"},
}};

const MetricRow& RowOf(Metric metric) { return kMetrics[static_cast<std::size_t>(metric)]; }

std::int64_t IndexOfLargest(const Tensor& values, std::int64_t begin, std::int64_t count) {
  std::int64_t largest = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    if (values.At(begin + i) > values.At(begin + largest)) largest = i;
  }
  return largest;
}

}  // namespace

void OutputErrorSum::Add(const Sample& expected, const Sample& actual) {
  double product = 0, expected_squares = 0, actual_squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::int64_t k = 0; k < expected[i].elements(); ++k) {
      const double x = expected[i].At(k), y = actual[i].At(k), error = std::abs(y - x);
      noise_ += error * error;
      // A NaN stays, and no limit holds for it.
      if (std::isnan(error) || error > error_.max_error) error_.max_error = error;
      product += x * y;
      expected_squares += x * x;
      actual_squares += y * y;
    }
  }
  signal_ += expected_squares;
  const double lengths = std::sqrt(expected_squares * actual_squares);
  const double cosine = lengths == 0 && expected_squares == actual_squares ? 1 : product / lengths;
  if (std::isnan(cosine) || cosine < error_.cosine) error_.cosine = cosine;
  if (!expected.empty()) AddRows(expected[0], actual[0]);
}

void OutputErrorSum::AddRows(const Tensor& expected, const Tensor& actual) {
  const std::int64_t columns = ClassesOf(expected.type());
  for (std::int64_t begin = 0; begin < expected.elements(); begin += columns) {
    ++rows_;
    same_rows_ +=
        IndexOfLargest(expected, begin, columns) == IndexOfLargest(actual, begin, columns) ? 1 : 0;
  }
}

std::int64_t ClassesOf(const TensorType& type) {
  const auto last = std::find_if(type.shape.rbegin(), type.shape.rend(),
                                 [](std::int64_t extent) { return extent != 1; });
  return last == type.shape.rend() ? 1 : *last;
}

OutputError OutputErrorSum::Get() const {
  OutputError error = error_;
  error.relative_noise = noise_ == 0 ? 0 : noise_ / signal_;  // infinite without a signal
  if (rows_ > 0) error.agreement = static_cast<double>(same_rows_) / static_cast<double>(rows_);
  return error;
}

double DecibelsOf(double relative_noise) {
  return relative_noise == 0 ? std::numeric_limits<double>::infinity()
                             : -10 * std::log10(relative_noise);
}

double OutputError::SqnrDb() const { return DecibelsOf(relative_noise); }

std::string_view MetricName(Metric metric) { return RowOf(metric).name; }

std::optional<Metric> MetricOfName(std::string_view name) {
  const auto* const found = std::ranges::find(kMetrics, name, &MetricRow::name);
  if (found == kMetrics.end()) return std::nullopt;
  return static_cast<Metric>(found - kMetrics.begin());
}

bool LargerIsBetter(Metric metric) { return RowOf(metric).relation == ">="; }

std::string Bound::ToString() const {
  return fmt::format("{}{}{}", RowOf(metric).name, RowOf(metric).relation, limit);
}

double Bound::ValueOf(const OutputError& error) const {
  switch (metric) {
    case Metric::kSqnr:
      return error.SqnrDb();
    case Metric::kAgreement:
      return error.agreement;
    case Metric::kMaxError:
      return error.max_error;
    case Metric::kCosine:
      return error.cosine;
    case Metric::kScore:
      return error.score;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool Bound::Keeps(double value) const {
  return LargerIsBetter(metric) ? value >= limit : value <= limit;
}

std::int64_t Bound::LeastCount() const {
  constexpr std::int64_t kMinCount = 2;
  if (metric != Metric::kAgreement || limit >= 1) return kMinCount;
  // With fewer rows, one that differs would be more than the bound allows.
  return std::max(kMinCount, static_cast<std::int64_t>(std::ceil(1 / (1 - limit) - 1e-9)));
}

double Bound::RelativeNoise(double elements, double mean_square) const {
  switch (metric) {
    case Metric::kSqnr:
      return std::pow(10, -limit / 10);
    case Metric::kAgreement:
      return 0.1 * std::max(1 - limit, 1e-4);
    case Metric::kMaxError: {
      // The largest of so many normal errors is about this many standard deviations.
      const double deviations = std::sqrt(2 * std::log(std::max(elements, 2.0)));
      return mean_square == 0 ? 0 : std::pow(limit / deviations, 2) / mean_square;
    }
    case Metric::kCosine:
      return limit <= 0 ? 1 : 1 / (limit * limit) - 1;
    case Metric::kScore:
      return 0.01;  // nothing is known of the program
  }
  return 0;
}

Result<Bound> ParseBound(std::string_view text) {
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    const MetricRow& row = kMetrics[i];
    const std::string head = std::string(row.name) + std::string(row.relation);
    if (!text.starts_with(head)) continue;
    const auto limit = ParseDouble(text.substr(head.size()));
    if (limit.ok() && *limit >= row.least && *limit <= row.most) {
      return Bound{static_cast<Metric>(i), *limit};
    }
    return InvalidArgument(fmt::format("'{}', expected {} after {}", text, row.expected, head));
  }
  return InvalidArgument(fmt::format(
      "'{}', expected sqnr>=DECIBELS, agreement>=SHARE, max_error<=NUMBER, cosine>=NUMBER or "
      "score>=NUMBER",
      text));
}

}  // namespace tilewright::optimize
