// Quantization settings with TVM's names: a table of setters, and checks of combinations.

#include "src/graph/quantize/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <span>

#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::quantize {
namespace {

/// Setter of a field. Returns false if the value is invalid.
struct Field {
  std::string_view name;
  std::string_view expected;
  bool (*set)(Config& config, const Json& value);
};

bool SetInt(int& field, const Json& value, int least, int most) {
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) return false;
  field = static_cast<int>(number);
  return true;
}

bool SetBool(bool& field, const Json& value) {
  if (value.is_boolean()) field = value.get<bool>();
  return value.is_boolean();
}

bool SetType(DataType& field, const Json& value, std::span<const DataType> allowed) {
  if (!value.is_string()) return false;
  auto dtype = ParseDataType(value.get<std::string>());
  if (!dtype.ok()) return false;
  for (DataType one : allowed) {
    if (one == *dtype) {
      field = one;
      return true;
    }
  }
  return false;
}

template <typename Enum>
bool SetEnum(Enum& field, const Json& value, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (value == names[i]) {
      field = static_cast<Enum>(i);
      return true;
    }
  }
  return false;
}

bool SetIndices(std::vector<std::int64_t>& field, const Json& value) {
  std::vector<std::int64_t> indices;
  if (!value.is_null() && !value.is_array()) return false;
  for (const Json& index : value) {
    if (!index.is_number_integer() || index.get<std::int64_t>() < 0) return false;
    indices.push_back(index.get<std::int64_t>());
  }
  field = std::move(indices);
  return true;
}

bool SetNames(std::vector<std::string>& field, const Json& value) {
  std::vector<std::string> names;
  if (!value.is_null() && !value.is_array()) return false;
  for (const Json& name : value) {
    if (!name.is_string()) return false;
    names.push_back(name.get<std::string>());
  }
  field = std::move(names);
  return true;
}

/// Accepts "2023-08" or "accurate".
bool SetRules(RuleDate& field, const Json& value) {
  if (!value.is_string()) return false;
  if (value == "accurate") {
    field = kAccurateRules;
    return true;
  }
  const std::vector<std::string> parts = Split(value.get<std::string>(), '-');
  if (parts.size() != 2 || parts[0].size() != 4 || parts[1].size() != 2) return false;
  auto year = ParseInt64(parts[0]);
  auto month = ParseInt64(parts[1]);
  if (!year.ok() || !month.ok() || *year < 2021 || *month < 1 || *month > 12) return false;
  field = static_cast<RuleDate>(100 * *year + *month);
  return true;
}

constexpr DataType kNarrow[] = {kInt8, kInt16};
constexpr DataType kWide[] = {kInt32};
constexpr std::string_view kModes[] = {"global_scale", "percentile", "kl_divergence", "mse"};
constexpr std::string_view kWeightScales[] = {"power2", "max"};
constexpr std::string_view kRoundings[] = {"UPWARD", "TONEAREST"};
constexpr std::string_view kConversions[] = {"disabled", "enabled", "fully_integral"};

constexpr Field kFields[] = {
    {"nbit_input", "2 to 16",
     [](Config& c, const Json& v) { return SetInt(c.nbit_input, v, 2, 16); }},
    {"nbit_weight", "2 to 16",
     [](Config& c, const Json& v) { return SetInt(c.nbit_weight, v, 2, 16); }},
    {"nbit_activation", "8 to 32",
     [](Config& c, const Json& v) { return SetInt(c.nbit_activation, v, 8, 32); }},
    {"dtype_input", "int8 or int16",
     [](Config& c, const Json& v) { return SetType(c.dtype_input, v, kNarrow); }},
    {"dtype_weight", "int8 or int16",
     [](Config& c, const Json& v) { return SetType(c.dtype_weight, v, kNarrow); }},
    {"dtype_activation", "int32",
     [](Config& c, const Json& v) { return SetType(c.dtype_activation, v, kWide); }},
    {"calibrate_mode", "global_scale, percentile, kl_divergence or mse",
     [](Config& c, const Json& v) { return SetEnum(c.calibrate_mode, v, kModes); }},
    {"global_scale", "a positive number",
     [](Config& c, const Json& v) {
       if (!v.is_number()) return false;
       const double number = v.get<double>();
       if (!(number > 1e-30 && number < 1e30)) return false;
       c.global_scale = number;
       return true;
     }},
    {"weight_scale", "power2 or max",
     [](Config& c, const Json& v) { return SetEnum(c.weight_scale, v, kWeightScales); }},
    {"skip_dense_layer", "true or false",
     [](Config& c, const Json& v) { return SetBool(c.skip_dense_layer, v); }},
    {"skip_conv_layers", "a list of indices from 0, or null",
     [](Config& c, const Json& v) { return SetIndices(c.skip_conv_layers, v); }},
    {"do_simulation", "true or false",
     [](Config& c, const Json& v) { return SetBool(c.do_simulation, v); }},
    {"round_for_shift", "true or false",
     [](Config& c, const Json& v) { return SetBool(c.round_for_shift, v); }},
    {"debug_enabled_ops", "a list of operator names, or null",
     [](Config& c, const Json& v) { return SetNames(c.debug_enabled_ops, v); }},
    {"rounding", "UPWARD or TONEAREST",
     [](Config& c, const Json& v) { return SetEnum(c.rounding, v, kRoundings); }},
    {"calibrate_chunk_by", "-1, or 1 and more",
     [](Config& c, const Json& v) {
       return v != 0 && SetInt(c.calibrate_chunk_by, v, -1, 1 << 20);
     }},
    {"partition_conversions", "disabled, enabled or fully_integral",
     [](Config& c, const Json& v) { return SetEnum(c.partition_conversions, v, kConversions); }},
    {"per_channel", "true or false",
     [](Config& c, const Json& v) { return SetBool(c.per_channel, v); }},
    {"unsigned", "true or false",
     [](Config& c, const Json& v) { return SetBool(c.unsigned_inputs, v); }},
    {"float_layers", "a list of value names, or null",
     [](Config& c, const Json& v) { return SetNames(c.float_layers, v); }},
    {"rules", "accurate, or a month such as 2023-08, from 2021-01 on",
     [](Config& c, const Json& v) { return SetRules(c.rules, v); }},
};

Status SetField(Config& config, std::string_view name, const Json& value) {
  std::vector<std::string_view> names;
  for (const Field& field : kFields) {
    names.push_back(field.name);
    if (field.name != name) continue;
    if (field.set(config, value)) return Status();
    return InvalidArgument(
        fmt::format("{}: {}, expected {}", name, DumpJson(value), field.expected));
  }
  return NotFound(
      fmt::format("no configuration field {}, expected one of {}", name, fmt::join(names, ", ")));
}

/// Accepts "None" and the like, which users copy from TVM scripts.
Json ValueOf(std::string_view text) {
  if (text == "None") return nullptr;
  if (text == "True") return true;
  if (text == "False") return false;
  auto json = ParseJson(text);
  return json.ok() ? *std::move(json) : Json(std::string(text));
}

}  // namespace

std::string_view CalibrateModeName(CalibrateMode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

Status Config::Set(std::string_view field, std::string_view value) {
  return SetField(*this, field, ValueOf(value));
}

Status Config::SetAll(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseJson(text));
  if (!json.is_object()) return InvalidArgument("expected a JSON object of configuration fields");
  for (const auto& [name, value] : json.items()) TW_RETURN_IF_ERROR(SetField(*this, name, value));
  return Status();
}

Status Config::Check() const {
  for (ValueKind kind : {ValueKind::kInput, ValueKind::kWeight}) {
    if (Bits(kind) > Type(kind).bits) {
      return InvalidArgument(fmt::format("{} bits of {} do not fit {}", Bits(kind),
                                         kind == ValueKind::kInput ? "inputs" : "weights",
                                         DataTypeName(Type(kind))));
    }
  }
  if (dtype_input != dtype_weight) {
    return InvalidArgument(fmt::format("dtype_input is {}, dtype_weight {}: expected one type",
                                       DataTypeName(dtype_input), DataTypeName(dtype_weight)));
  }
  if (calibrate_mode == CalibrateMode::kPercentile && rules < kSkipCountsConvolutions) {
    return InvalidArgument("calibrate_mode: percentile needs rules of 2021-04 or later");
  }
  if (unsigned_inputs && (rules < kAccurateRules || nbit_input != 8 || dtype_input != kInt8)) {
    return InvalidArgument("unsigned: expected the rules accurate and inputs of 8 bits in int8");
  }
  if (calibrate_chunk_by == 0) return InvalidArgument("calibrate_chunk_by: 0, expected -1 or more");
  return Status();
}

int Config::Bits(ValueKind kind) const {
  return kind == ValueKind::kInput    ? nbit_input
         : kind == ValueKind::kWeight ? nbit_weight
                                      : nbit_activation;
}

DataType Config::Type(ValueKind kind) const {
  return kind == ValueKind::kInput    ? dtype_input
         : kind == ValueKind::kWeight ? dtype_weight
                                      : dtype_activation;
}

double Config::Valid(ValueKind kind) const { return std::ldexp(1.0, Bits(kind) - 1); }

std::pair<double, double> Config::Bounds(const Annotation& annotation) const {
  const double valid = Valid(annotation.value);
  if (annotation.value == ValueKind::kInput && annotation.dtype == kUInt8)
    return {0, 2 * valid - 1};
  return {1 - valid, valid - 1};
}

}  // namespace tilewright::quantize
