#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/quantize/passes.h"

namespace tilewright::optimize {

using quantize::Sample;

/// Difference between the outputs of a network and those of its float32 form.
struct OutputError {
  /// Sum of the squared errors relative to the sum of the squared float32 outputs.
  double relative_noise = 0;
  /// Share of the rows of the first output (see ClassesOf) whose largest element is in the same
  /// place.
  double agreement = 1;
  double max_error = 0;
  double cosine = 1;  ///< least cosine of the angle between the outputs of one sample
  /// Number that the user's program printed (src/optimize/score.h); not a number without one.
  double score = std::numeric_limits<double>::quiet_NaN();

  /// Signal-to-noise ratio in decibels; infinite if the outputs are equal.
  double SqnrDb() const;
};
/// Returns the number of classes of an output: its last dimension, without those of size 1 at the
/// end. Elements of an output of [8, 1000, 1, 1] are 8 rows of 1000.
std::int64_t ClassesOf(const TensorType& type);
/// Returns decibels of a relative noise; infinite for none.
double DecibelsOf(double relative_noise);

/// Sum of the differences of some samples.
class OutputErrorSum {
 public:
  /// Adds the outputs of one sample; both have the same types.
  void Add(const Sample& expected, const Sample& actual);
  OutputError Get() const;

 private:
  void AddRows(const Tensor& expected, const Tensor& actual);

  double signal_ = 0, noise_ = 0;
  OutputError error_;  // without what Get computes
  std::int64_t rows_ = 0, same_rows_ = 0;
};

enum class Metric : std::uint8_t { kSqnr, kAgreement, kMaxError, kCosine, kScore };
/// Returns the name of a metric: "max_error".
std::string_view MetricName(Metric metric);
/// Returns the metric of a name; none for another text.
std::optional<Metric> MetricOfName(std::string_view name);
/// Returns true if larger values of the metric are better.
bool LargerIsBetter(Metric metric);

/// Limit on the error of a network's outputs.
struct Bound {
  Metric metric = Metric::kSqnr;
  double limit = 30;

  /// "sqnr>=30"
  std::string ToString() const;
  /// Returns the metric's value.
  double ValueOf(const OutputError& error) const;
  /// False also for a value that is not a number.
  bool Keeps(double value) const;
  /// Returns the number of rows (of `agreement`) or samples below which nothing is decided.
  std::int64_t LeastCount() const;
  /// Returns the relative noise of outputs that may just keep the bound; an estimate for metrics
  /// other than sqnr. elements: of all outputs; mean_square: of their float32 elements.
  double RelativeNoise(double elements, double mean_square) const;
};

/// Parses "sqnr>=30" (decibels), "agreement>=0.99", "max_error<=0.01", "cosine>=0.999" or
/// "score>=0.7".
/// Errors: kInvalidArgument with what was expected.
Result<Bound> ParseBound(std::string_view text);

}  // namespace tilewright::optimize
