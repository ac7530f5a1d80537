#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "src/base/json_fields.h"
#include "src/base/printable.h"
#include "src/space/trial.h"

// Codecs of members of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Begins the error texts of all messages.
inline constexpr const char* kMessage = "message";

/// Codec of a number in a range. JSON has no infinities: 1e300 stands for them and for NaN.
struct NumberCodec {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  const char* problem = "is out of range";

  Json Write(double value) const {
    return std::isnan(value) ? 1e300 : std::clamp(value, -1e300, 1e300);
  }
  void Read(JsonReader& reader, const char* name, const Json& json, double& value) const {
    RangeCodec<double>{least, most, problem}.Read(reader, name, json, value);
  }
};

/// Codec of an item of a list of numbers: what is no number, as NaN, is read as 0.
struct NumberOrZeroCodec {
  Json Write(double value) const { return value; }
  void Read(JsonReader&, const char*, const Json& json, double& value) const {
    value = json.is_number() ? json.get<double>() : 0;
  }
};
inline constexpr ListCodec<NumberOrZeroCodec> kNumbers;

/// Codec of a share of -1 to 1: others are clamped when they are read.
struct ShareCodec : NumberCodec {
  void Read(JsonReader& reader, const char* name, const Json& json, double& value) const {
    NumberCodec::Read(reader, name, json, value);
    value = std::clamp(value, -1.0, 1.0);
  }
};

/// Codec of positive numbers by name.
struct PositivesCodec {
  Json Write(const std::map<std::string, double>& numbers) const { return numbers; }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::map<std::string, double>& numbers) const {
    constexpr std::size_t kMaxNumbers = 16, kMaxName = 64;
    if (!reader.Expect(name, json.is_object())) return;
    for (const auto& item : json.items()) {
      const double value = item.value().is_number() ? item.value().get<double>() : 0;
      const bool valid = std::isfinite(value) && value > 0 && item.key().size() <= kMaxName;
      if (!valid || numbers.size() == kMaxNumbers) {
        return reader.Fail(name, "has an item that is not a positive number");
      }
      numbers[Printable(item.key())] = value;
    }
  }
};

/// Codec of a number of threads.
inline constexpr RangeCodec<int> kThreads = {1, 4096};

using OutcomeCodec = TextCodec<OutcomeName, ParseOutcome>;
using ConfigCodec = TextCodec<&Config::ToString, Config::Parse>;

}  // namespace tilewright::measure
