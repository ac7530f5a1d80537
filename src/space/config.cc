// Configs and spaces. Indices are mixed-radix numbers, the first knob fastest. Configs are JSON; a
// specialized reader parses them without building a tree, because every answer of a store contains
// one.

#include "src/space/config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "src/base/json.h"
#include "src/base/json_text.h"

namespace tilewright {
namespace {

Result<KnobValue> ValueOf(const std::string& knob, const Json& json) {
  if (json.is_boolean()) return KnobValue{json.get<bool>()};
  if (json.is_number_integer()) return KnobValue{json.get<std::int64_t>()};
  if (json.is_number_float()) return KnobValue{json.get<double>()};
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

/// Parser of the output of Config::ToString that builds no JSON tree, because every answer of a
/// store contains a config. Leaves all other text (blanks, escapes, other members, invalid configs)
/// to the general parser, which also reports errors.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : left_(text) {}

  bool Read(Config& config) {
    if (!Take("{\"index\":") || !Integer(config.index) || !Take(",\"values\":{")) return false;
    for (bool first = true; !Take("}"); first = false) {
      std::string name;
      KnobValue value;
      if (!(first || Take(",")) || !Word(name) || !Take(":") || !Value(value)) return false;
      if (config.Find(name) != nullptr) return false;
      config.values.emplace_back(std::move(name), std::move(value));
    }
    return left_ == "}";
  }

 private:
  bool Take(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }
  bool Integer(std::int64_t& number) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    const auto used = static_cast<std::size_t>(end - left_.data());
    // Reject "-0", leading zeros, fractions and exponents.
    if (error != std::errc() || left_.substr(0, used) != std::to_string(number)) return false;
    left_.remove_prefix(used);
    return left_.find_first_of(".eE") != 0;
  }
  /// Reads a number with a point or an exponent, as ToString writes it.
  bool Real(double& number) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    const auto used = static_cast<std::size_t>(end - left_.data());
    if (error != std::errc() || left_.substr(0, used) != KnobValue{number}.ToString()) return false;
    left_.remove_prefix(used);
    return true;
  }
  bool Word(std::string& word) {
    if (!Take("\"")) return false;
    const std::size_t end = left_.find('"');
    if (end == std::string_view::npos) return false;
    word = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return std::ranges::all_of(word, [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; });
  }
  template <typename Item, typename ReadItem>
  bool List(KnobValue& value, ReadItem read) {
    std::vector<Item> items;
    while (!Take("]")) {
      if (!(items.empty() || Take(",")) || !read(items.emplace_back())) return false;
    }
    const bool some = !items.empty();
    value.value = std::move(items);
    return some;
  }
  bool Value(KnobValue& value) {
    const bool words = left_.starts_with("[\"");
    if (Take("[")) {
      return words ? List<std::string>(value, [this](std::string& item) { return Word(item); })
                   : List<std::int64_t>(value, [this](auto& item) { return Integer(item); });
    }
    if (left_.starts_with('"')) return Word(value.value.emplace<std::string>());
    if (Take("true")) return value.value.emplace<bool>(true);
    if (Take("false")) return !value.value.emplace<bool>(false);
    const std::string_view before = left_;
    if (Integer(value.value.emplace<std::int64_t>())) return true;
    left_ = before;
    return Real(value.value.emplace<double>());
  }

  std::string_view left_;
};

const KnobValue& Required(const Config& config, std::string_view knob) {
  const KnobValue* value = config.Find(knob);
  TW_CHECK(value != nullptr, knob);
  return *value;
}

}  // namespace

const KnobValue* Config::Find(std::string_view knob) const {
  for (const auto& [name, value] : values) {
    if (name == knob) return &value;
  }
  return nullptr;
}

const std::vector<std::int64_t>& Config::Factors(std::string_view knob) const {
  return Required(*this, knob).factors();
}

std::int64_t Config::Integer(std::string_view knob) const {
  return Required(*this, knob).integer();
}

const std::string& Config::Word(std::string_view knob) const {
  return std::get<std::string>(Required(*this, knob).value);
}

const std::vector<std::string>& Config::Words(std::string_view knob) const {
  return std::get<std::vector<std::string>>(Required(*this, knob).value);
}

std::string Config::ToString() const {
  return "{\"index\":" + std::to_string(index) + ",\"values\":" + ValuesText() + "}";
}

std::string Config::ValuesText() const {
  std::string text = "{";
  for (const auto& [name, value] : values) {
    text += (text.size() == 1 ? "" : ",") + JsonString(name) + ":" + value.ToString();
  }
  return text + "}";
}

Result<Config> Config::Parse(std::string_view json) {
  Config written;
  if (ConfigReader(json).Read(written)) return written;
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
    TW_ASSIGN_OR_RETURN(auto knob_value, ValueOf(name, value));
    config.values.emplace_back(name, std::move(knob_value));
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
