#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "measure/fleet/wire.h"
#include "measure/message_fields.h"
#include "src/base/printable.h"

// Fields of a fleet's messages. Included by .cc files of measure/fleet only.

namespace tilewright::measure::fleet {

/// Longest text of a field.
inline constexpr std::size_t kMaxText = 4096;
/// Of anything that takes time: a job lasts days at most.
inline constexpr double kMaxSeconds = 1e7;

/// The value that a name stands for, by its place among them.
template <std::size_t N, typename T>
T EnumFrom(Fields& fields, const char* field, const std::array<const char*, N>& names, T) {
  const std::string name = fields.Text(field);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    fields.Fail(Corrupt("message: field " + std::string(field) + " is not known"));
    return T{};
  }
  return static_cast<T>(found - names.begin());
}

/// JSON's whole numbers have a sign.
inline std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

/// How every message begins.
inline Json Header(const char* type) { return Json{{"type", type}, {"v", kWireVersion}}; }

/// A message of a type. Errors: as the Decode functions tell them.
inline Result<Json> ParseMessage(std::string_view text, std::size_t most, const char* type) {
  if (text.size() > most) {
    return Corrupt("message: " + std::to_string(text.size()) + " bytes, expected at most " +
                   std::to_string(most));
  }
  auto json = ParseJson(text);
  if (!json.ok()) return Corrupt("message: no JSON");
  Fields fields(*json);
  const std::int64_t version = fields.Integer("v");
  TW_RETURN_IF_ERROR(fields.status());
  if (version != kWireVersion) {
    return Unsupported("message: version " + std::to_string(version) +
                       " of a fleet's messages, expected " + std::to_string(kWireVersion) +
                       "; take all programs of a fleet from the same version of Tilewright");
  }
  if (fields.Text("type") != type)
    return Corrupt("message: field type is not " + std::string(type));
  return json;
}

/// Errors go to `fields`, as for those below: a text that is too long.
inline std::string ShortText(Fields& fields, const char* name, std::size_t most = kMaxText) {
  std::string text = fields.Text(name);
  if (text.size() > most)
    fields.Fail(Corrupt(std::string("message: field ") + name + " is too long"));
  return text;
}

/// ... one that is no name.
inline std::string NameFrom(Fields& fields, const char* name) {
  std::string text = fields.Text(name);
  if (!IsName(text)) fields.Fail(Corrupt(std::string("message: field ") + name + " is no name"));
  return text;
}

/// ... what no time can be.
inline double SecondsFrom(Fields& fields, const char* name) {
  const double seconds = fields.Number(name);
  if (seconds >= 0 && seconds <= kMaxSeconds) return seconds;
  fields.Fail(Corrupt(std::string("message: field ") + name + " is no time"));
  return 0;
}

/// ... what is negative, or no number.
inline double NumberFrom(Fields& fields, const char* name) {
  const double number = fields.Number(name);
  if (number >= 0 && std::isfinite(number)) return number;
  fields.Fail(Corrupt(std::string("message: field ") + name + " is negative"));
  return 0;
}

/// ... a count that is negative, or too large.
inline std::int64_t CountFrom(Fields& fields, const char* name,
                              std::int64_t most = std::int64_t{1} << 53) {
  const std::int64_t count = fields.Integer(name);
  if (count >= 0 && count <= most) return count;
  fields.Fail(Corrupt(std::string("message: field ") + name + " is out of range"));
  return 0;
}

/// Number of a tuner's life.
inline std::uint64_t EpochFrom(Fields& fields) {
  return static_cast<std::uint64_t>(CountFrom(fields, "epoch"));
}

}  // namespace tilewright::measure::fleet
