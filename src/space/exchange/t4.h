#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/space/open/parameter.h"

namespace tilewright {

/// Measured value of one metric of a config.
struct T4Measurement {
  std::string name;
  /// Empty for a failed config: T4 files then have a text such as "RuntimeFailedConfig", `text`.
  std::optional<double> value;
  std::string text;
  std::optional<std::string> unit;
  std::string others;  ///< further members, a JSON object; empty without
  friend bool operator==(const T4Measurement&, const T4Measurement&) = default;
};

/// Result of one config.
struct T4Result {
  std::optional<std::string> timestamp;
  std::vector<std::pair<std::string, ParameterValue>> configuration;
  /// Stages in the order of the file ("compilation", "runtimes", …): one duration each, or a list.
  struct Duration {
    std::string stage;
    std::vector<double> values;
    bool is_list = false;
    friend bool operator==(const Duration&, const Duration&) = default;
  };
  std::vector<Duration> times;
  /// "correct", "compile", "runtime", "timeout", "correctness", "constraints", …; absent: correct.
  std::optional<std::string> invalidity;
  std::optional<double> correctness;
  std::vector<T4Measurement> measurements;
  std::vector<std::string> objectives;
  std::string others;  ///< further members, a JSON object; empty without

  /// Returns the value of the first objective ("time" if none is named) of a correct config.
  std::optional<double> ObjectiveValue() const;
  friend bool operator==(const T4Result&, const T4Result&) = default;
};

/// Returns one result as a JSON object, and the result of one. Errors: kInvalidArgument naming the
/// member.
nlohmann::ordered_json T4ResultJson(const T4Result& result);
Result<T4Result> T4ResultFrom(const nlohmann::ordered_json& json);

/// Returns the seconds of a unit of time ("ms", "seconds", …); nullopt for another text.
std::optional<double> SecondsPerUnit(std::string_view unit);

/// Results of a tuning run in the T4 format of the auto-tuning community: a JSON object with
/// metadata, results and a version. All members are kept; what the format does not name is kept as
/// JSON text.
struct T4File {
  std::string metadata;  ///< JSON object
  std::string others;    ///< further members, a JSON object; empty without
  std::vector<T4Result> results;

  /// Parses a file. Errors: kInvalidArgument with the position of a JSON error, or the number of
  /// the result and its member.
  static Result<T4File> Parse(std::string_view json);
  static Result<T4File> From(const nlohmann::ordered_json& json);
  std::string ToString() const;
  nlohmann::ordered_json ToJson() const;
  /// Returns the unit of durations in seconds; that of `metadata`, else 1.
  double duration_unit_seconds() const;
  friend bool operator==(const T4File&, const T4File&) = default;
};

/// Returns the space's name that belongs to the path of a T4 file: "conv.A100" for
/// "data/conv.A100.T4.json.gz", "conv.A100" for "conv/A100_T4.json".
std::string T4SpaceName(std::string_view path);

}  // namespace tilewright
