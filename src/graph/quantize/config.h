#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/annotation.h"

namespace tilewright::quantize {

enum class CalibrateMode : std::uint8_t { kGlobalScale, kPercentile, kKlDivergence, kMse };
/// Returns the name of a mode in a configuration.
std::string_view CalibrateModeName(CalibrateMode mode);
enum class WeightScale : std::uint8_t { kPower2, kMax };
enum class Rounding : std::uint8_t { kUpward, kToNearest };
enum class PartitionConversions : std::uint8_t { kDisabled, kEnabled, kFullyIntegral };

/// Month of a rule change, as 100 * year + month. Rules of a date are those at the end of that
/// month.
using RuleDate = int;
inline constexpr RuleDate kSkipCountsConvolutions = 202104;  ///< percentile calibration also begins
inline constexpr RuleDate kSourceNamesStay = 202110;
inline constexpr RuleDate kMultiplyClosesRight = 202303;
inline constexpr RuleDate kSumIsActivation = 202308;
inline constexpr RuleDate kLatestTvmRules = 202308;
/// Tilewright's rules: TVM's without avoidable loss of precision. Later than any date.
inline constexpr RuleDate kAccurateRules = 999912;
inline constexpr RuleDate kAverageKeepsSum = kAccurateRules;

/// Configuration of quantization. Fields and defaults are those of TVM's `qconfig`, followed by
/// four of Tilewright's.
struct Config {
  int nbit_input = 8, nbit_weight = 8, nbit_activation = 32;
  DataType dtype_input = kInt8, dtype_weight = kInt8, dtype_activation = kInt32;
  CalibrateMode calibrate_mode = CalibrateMode::kGlobalScale;
  double global_scale = 8;  ///< range of every input, kGlobalScale
  WeightScale weight_scale = WeightScale::kPower2;
  bool skip_dense_layer = true;
  std::vector<std::int64_t> skip_conv_layers = {0};  ///< in the order of Relay (post-order)
  bool do_simulation = false;
  bool round_for_shift = true;
  std::vector<std::string> debug_enabled_ops;  ///< Relay names; empty: all
  Rounding rounding = Rounding::kUpward;
  int calibrate_chunk_by = -1;  ///< values per pass over the data set; -1: all
  PartitionConversions partition_conversions = PartitionConversions::kDisabled;
  bool per_channel = false;               ///< one weight scale for each output channel
  bool unsigned_inputs = false;           ///< uint8 for inputs that are never negative
  std::vector<std::string> float_layers;  ///< values of products that stay float, by source name
  RuleDate rules = kAccurateRules;

  /// Sets one field. value: JSON, or TVM's "None", "True", "False", or the bare text of a string.
  /// Errors: kNotFound listing the fields; kInvalidArgument naming the expected values.
  Status Set(std::string_view field, std::string_view value);
  /// Sets the fields of a JSON object. Errors: those of Set; kInvalidArgument if it is not an
  /// object.
  Status SetAll(std::string_view json);
  /// Checks that the fields are consistent. Errors: kInvalidArgument naming the fields.
  Status Check() const;

  int Bits(ValueKind kind) const;
  DataType Type(ValueKind kind) const;
  /// Returns 2^(bits - 1): integers range from -(valid - 1) to valid - 1.
  double Valid(ValueKind kind) const;
  /// Returns the smallest and the largest integer of an annotated value.
  std::pair<double, double> Bounds(const Annotation& annotation) const;
};

}  // namespace tilewright::quantize
