// Inputs of a network: files, or synthetic values by a rule.

#include "src/session/inputs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "src/base/strings.h"
#include "src/media/tensor_file.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright::session {
namespace {

/// Scale and zero point of a rule for synthetic inputs.
struct Steps {
  double scale;
  std::int64_t zero_point;
};

/// Parses a rule; nullopt for a rule without parameters.
/// Errors: kInvalidArgument for an invalid rule.
Result<std::optional<Steps>> ParseRule(const std::string& rule) {
  if (rule == "ramp" || rule == "quantized" || rule == "random") return std::optional<Steps>();
  const std::vector<std::string> parts = Split(rule, ':');
  if (parts.size() == 3 && parts[0] == "quantized") {
    const auto scale = ParseDouble(parts[1]);
    const auto zero_point = ParseInt64(parts[2]);
    const bool fits = scale.ok() && std::isfinite(*scale) && *scale > 0 && zero_point.ok() &&
                      *zero_point >= 0 && *zero_point <= 255;
    if (fits) return std::optional(Steps{*scale, *zero_point});
  }
  return InvalidArgument(
      "'" + rule +
      "', expected ramp, quantized, random, or quantized:SCALE:ZERO_POINT with a "
      "positive scale and a zero point of 0 to 255");
}

Result<Tensor> MakeSynthetic(const std::string& rule, const ModelValue& value) {
  TW_ASSIGN_OR_RETURN(const auto steps, ParseRule(rule));
  if (!steps) {
    return MakeSyntheticInput(value.name, value.type,
                              rule == "ramp"        ? SyntheticInputRule::kRamp
                              : rule == "quantized" ? SyntheticInputRule::kSeededQuantized
                                                    : SyntheticInputRule::kRandom);
  }
  if (value.type.dtype.is_float()) {
    return MakeQuantizedInput(value.name, value.type, steps->scale, steps->zero_point);
  }
  return InvalidArgument(fmt::format("--made-up {}: input {} is {}, expected floats", rule,
                                     value.name, value.type.ToString()));
}

}  // namespace

Status CheckInputRule(const std::string& rule) { return ToStatus(ParseRule(rule)); }

Result<std::vector<Tensor>> InputSources::Make(const std::vector<ModelValue>& values,
                                               const std::string& fallback) const {
  if (files.size() > values.size()) {
    return InvalidArgument(
        fmt::format("--input: {} given, the model has {}", files.size(), values.size()));
  }
  const std::string& synthetic_rule = rule.empty() ? fallback : rule;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ModelValue& value = values[i];
    if (i < files.size()) {
      TW_ASSIGN_OR_RETURN(auto tensor, ReadTensorFile(files[i], value.type, image));
      inputs.push_back(std::move(tensor));
    } else {
      TW_ASSIGN_OR_RETURN(auto tensor, MakeSynthetic(synthetic_rule, value));
      inputs.push_back(std::move(tensor));
    }
  }
  return inputs;
}

}  // namespace tilewright::session
