#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "measure/fleet/wire.h"
#include "measure/message_fields.h"
#include "src/base/printable.h"

// Codecs of members of a fleet's messages. Included by .cc files of measure/fleet only.

namespace tilewright::measure::fleet {

/// Maximum length of a text member.
inline constexpr std::size_t kMaxText = 4096;
/// Maximum duration: a job takes days at most.
inline constexpr double kMaxSeconds = 1e7;

/// First members of every message.
inline Json Header(const char* type) { return Json{{"type", type}, {"v", kWireVersion}}; }

/// Parses a message of a type. Errors: those of the Decode functions.
inline Result<Json> ParseMessage(std::string_view text, std::size_t most, const char* type) {
  if (text.size() > most) {
    return Corrupt("message: " + std::to_string(text.size()) + " bytes, expected at most " +
                   std::to_string(most));
  }
  auto json = ParseJson(text);
  if (!json.ok()) return Corrupt("message: no JSON");
  JsonReader fields(*json, kMessage);
  fields.Require(json->is_object(), "expected an object");
  std::int64_t version = 0;
  std::string name;
  fields("v", version);
  TW_RETURN_IF_ERROR(fields.status());
  if (version != kWireVersion) {
    return Unsupported("message: version " + std::to_string(version) +
                       " of a fleet's messages, expected " + std::to_string(kWireVersion) +
                       "; take all programs of a fleet from the same version of Tilewright");
  }
  fields("type", name);
  fields.Require(name == type, "field type is not " + std::string(type));
  TW_RETURN_IF_ERROR(fields.status());
  return json;
}

/// The message as one line of JSON.
template <typename T>
std::string Encoded(const char* type, const T& message) {
  return DumpJson(WriteJson(message, Header(type)));
}

/// Decodes a message of a type from the text. Errors: those of the Decode functions.
template <typename T>
Result<T> Decoded(std::string_view text, std::size_t most, const char* type) {
  TW_ASSIGN_OR_RETURN(const auto json, ParseMessage(text, most, type));
  return ReadJson<T>(json, kMessage);
}

/// Codec of a text of at most `max_bytes`.
struct ShortTextCodec {
  std::size_t max_bytes = kMaxText;

  Json Write(const std::string& text) const { return text; }
  void Read(JsonReader& reader, const char* name, const Json& json, std::string& text) const {
    PlainCodec().Read(reader, name, json, text);
    if (text.size() > max_bytes) reader.Fail(name, "is too long");
  }
};

/// Codec of a text for display: escapes control characters and truncates long texts.
struct PrintableCodec : ShortTextCodec {
  Json Write(const std::string& text) const { return Printable(text.substr(0, kMaxText)); }
  void Read(JsonReader& reader, const char* name, const Json& json, std::string& text) const {
    ShortTextCodec::Read(reader, name, json, text);
    text = Printable(text);
  }
};

/// Codec of a name: see IsName.
struct NameCodec {
  Json Write(const std::string& text) const { return text; }
  void Read(JsonReader& reader, const char* name, const Json& json, std::string& text) const {
    PlainCodec().Read(reader, name, json, text);
    if (!IsName(text)) reader.Fail(name, "is not a name");
  }
};

inline constexpr NumberCodec kSeconds = {0, kMaxSeconds, "is not a time"};
inline constexpr NumberCodec kNotNegative = {0, std::numeric_limits<double>::max(), "is negative"};
/// Codecs of counts, and of numbers of epochs and orders.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
inline constexpr RangeCodec<std::int64_t> kCount = {0, kMaxCount};
inline constexpr RangeCodec<std::uint64_t> kNumber = {0, kMaxCount};
inline constexpr RangeCodec<int> kVersion = {0, 1 << 30};

}  // namespace tilewright::measure::fleet
