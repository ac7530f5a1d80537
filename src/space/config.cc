#include "src/space/config.h"

#include <limits>

#include "src/base/json.h"
#include "src/base/json_text.h"

namespace tilewright {
namespace {

Result<KnobValue> ValueOf(const std::string& knob, const Json& json) {
  if (json.is_boolean()) return KnobValue{json.get<bool>()};
  if (json.is_number_integer()) return KnobValue{json.get<std::int64_t>()};
  if (json.is_string()) return KnobValue{json.get<std::string>()};
  const auto all = [&json](auto holds) {
    for (const Json& item : json) {
      if (!holds(item)) return false;
    }
    return true;
  };
  if (json.is_array() && !json.empty()) {
    if (all([](const Json& item) { return item.is_number_integer(); })) {
      return KnobValue{json.get<std::vector<std::int64_t>>()};
    }
    if (all([](const Json& item) { return item.is_string(); })) {
      return KnobValue{json.get<std::vector<std::string>>()};
    }
  }
  return InvalidArgument("config: value of knob " + knob +
                         ": expected a scalar, or a list of integers or of words");
}

}  // namespace

const KnobValue* Config::Find(std::string_view knob) const {
  for (const auto& [name, value] : values) {
    if (name == knob) return &value;
  }
  return nullptr;
}

const std::vector<std::int64_t>& Config::Factors(std::string_view knob) const {
  const KnobValue* value = Find(knob);
  TW_CHECK(value != nullptr, knob);
  return value->factors();
}

std::int64_t Config::Integer(std::string_view knob) const {
  const KnobValue* value = Find(knob);
  TW_CHECK(value != nullptr, knob);
  return value->integer();
}

std::string Config::ToString() const {
  std::string text = "{\"index\":" + std::to_string(index) + ",\"values\":{";
  bool first = true;
  for (const auto& [name, value] : values) {
    text += (first ? "" : ",") + JsonString(name) + ":" + value.ToString();
    first = false;
  }
  return text + "}}";
}

Result<Config> Config::Parse(std::string_view json) {
  auto parsed = ParseJson(json);
  if (!parsed.ok()) return parsed.status().WithContext("config");
  if (!parsed->is_object() || !parsed->contains("index") ||
      !(*parsed)["index"].is_number_integer() || !parsed->contains("values") ||
      !(*parsed)["values"].is_object() || parsed->size() != 2) {
    return InvalidArgument("config: expected {\"index\": integer, \"values\": {knob: value}}");
  }
  Config config;
  config.index = (*parsed)["index"].get<std::int64_t>();
  for (const auto& [name, value] : (*parsed)["values"].items()) {
    auto knob_value = ValueOf(name, value);
    TW_RETURN_IF_ERROR(knob_value);
    config.values.emplace_back(name, *std::move(knob_value));
  }
  return config;
}

Status ConfigSpace::Add(Knob knob) {
  for (const Knob& other : knobs_) {
    if (other.name() == knob.name()) {
      return InvalidArgument("config space: knob " + knob.name() + " defined twice");
    }
  }
  if (size_ > std::numeric_limits<std::int64_t>::max() / knob.size()) {
    return InvalidArgument("config space: more than 2^63 configs with knob " + knob.name());
  }
  size_ *= knob.size();
  knobs_.push_back(std::move(knob));
  return {};
}

std::vector<std::int64_t> ConfigSpace::Digits(std::int64_t index) const {
  TW_CHECK(index >= 0 && index < size_, std::to_string(index));
  std::vector<std::int64_t> digits;
  for (const Knob& knob : knobs_) {
    digits.push_back(index % knob.size());
    index /= knob.size();
  }
  return digits;
}

std::int64_t ConfigSpace::IndexOf(const std::vector<std::int64_t>& digits) const {
  TW_CHECK(digits.size() == knobs_.size());
  std::int64_t index = 0;
  for (std::size_t i = knobs_.size(); i-- > 0;) {
    TW_CHECK(digits[i] >= 0 && digits[i] < knobs_[i].size(), knobs_[i].name());
    index = index * knobs_[i].size() + digits[i];
  }
  return index;
}

Config ConfigSpace::At(std::int64_t index) const {
  const std::vector<std::int64_t> digits = Digits(index);
  Config config;
  config.index = index;
  for (std::size_t i = 0; i < knobs_.size(); ++i) {
    config.values.emplace_back(knobs_[i].name(), knobs_[i][digits[i]]);
  }
  return config;
}

Result<Config> ConfigSpace::Locate(const Config& values) const {
  std::vector<std::int64_t> digits;
  for (const Knob& knob : knobs_) {
    const KnobValue* value = values.Find(knob.name());
    if (value == nullptr)
      return NotFound("knob " + knob.name() + ": the config has no value for it");
    digits.push_back(knob.Find(*value));
    if (digits.back() < 0) {
      return NotFound("knob " + knob.name() + ": the space has no value " + value->ToString());
    }
  }
  for (const auto& [name, value] : values.values) {
    bool known = false;
    for (const Knob& knob : knobs_) known = known || knob.name() == name;
    if (!known) return NotFound("knob " + name + ": the space has none of that name");
  }
  return At(IndexOf(digits));
}

}  // namespace tilewright
