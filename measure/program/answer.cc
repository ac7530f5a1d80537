// Answers of programs: units, samples and failures from JSON or a number.

#include "measure/program/answer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/tensor/work.h"

namespace tilewright::measure {
namespace {

constexpr std::size_t kMaxSamples = 4096;
constexpr std::size_t kMaxReasonBytes = 300;

/// Unit of a value, as a multiple of the base unit of its kind.
struct Unit {
  std::string_view name, base;
  double factor;
};

constexpr std::array kUnits = {
    Unit{"s", "s", 1},
    Unit{"ms", "s", 1e-3},
    Unit{"us", "s", 1e-6},
    Unit{"\xc2\xb5s", "s", 1e-6},
    Unit{"ns", "s", 1e-9},
    Unit{"min", "s", 60},
    Unit{"sec", "s", 1},
    Unit{"seconds", "s", 1},
    Unit{"milliseconds", "s", 1e-3},
    Unit{"J", "J", 1},
    Unit{"mJ", "J", 1e-3},
    Unit{"uJ", "J", 1e-6},
    Unit{"kJ", "J", 1e3},
    Unit{"joules", "J", 1},
    Unit{"B", "B", 1},
    Unit{"bytes", "B", 1},
    Unit{"kB", "B", 1e3},
    Unit{"MB", "B", 1e6},
    Unit{"GB", "B", 1e9},
    Unit{"KiB", "B", 1024},
    Unit{"MiB", "B", 1048576},
    Unit{"GiB", "B", 1073741824.0},
};

const Unit* FindUnit(std::string_view name) {
  const auto* found = std::ranges::find(kUnits, name, &Unit::name);
  return found == kUnits.end() ? nullptr : found;
}

/// Metric to record: NAME, NAME[UNIT] or 1/…
struct Metric {
  std::string name, unit;
  bool inverse = false;

  /// Returns the metric with the name that an answer uses, for messages.
  Metric As(std::string_view member) const {
    Metric metric = *this;
    metric.name = member;
    return metric;
  }
};

Metric MetricFrom(std::string_view text) {
  Metric metric;
  if (text.starts_with("1/")) {
    metric.inverse = true;
    text.remove_prefix(2);
  }
  const std::size_t bracket = text.find('[');
  metric.name = text.substr(0, bracket);
  if (bracket != std::string_view::npos && text.ends_with(']')) {
    metric.unit = text.substr(bracket + 1, text.size() - bracket - 2);
  }
  if (metric.unit.empty() && metric.name == "seconds") metric.unit = "s";
  if (metric.unit.empty() && metric.name == "joules") metric.unit = "J";
  return metric;
}

/// Returns the factor from the unit of an answer to that of a metric.
Result<double> FactorOf(const Metric& metric, const std::string& unit) {
  if (unit.empty() || unit == metric.unit) return 1.0;
  const Unit *from = FindUnit(unit), *to = FindUnit(metric.unit);
  if (from != nullptr && to != nullptr && from->base == to->base) return from->factor / to->factor;
  if (metric.unit.empty()) {
    return InvalidArgument(fmt::format("\"{}\" has the unit {}, expected --metric '{}[{}]'",
                                       metric.name, unit, metric.name, unit));
  }
  std::string units = metric.unit;
  for (const Unit& other : kUnits) {
    const bool short_name = other.name.size() <= 3 && other.name != "sec";
    if (to != nullptr && other.base == to->base && other.name != metric.unit && short_name) {
      units += ", " + std::string(other.name);
    }
  }
  return InvalidArgument(
      fmt::format("\"{}\" has the unit {}, expected {}", metric.name, unit, units));
}

/// Appends the samples of a value: a number, a list of numbers, or an object with "value" or
/// "samples" and "unit".
Status AddSamples(const Metric& metric, const Json& json, std::string unit,
                  std::vector<double>& samples) {
  if (json.is_object()) {
    if (json.contains("unit") && json["unit"].is_string()) unit = json["unit"].get<std::string>();
    if (json.contains("samples")) return AddSamples(metric, json["samples"], unit, samples);
    if (json.contains("value")) return AddSamples(metric, json["value"], unit, samples);
    return InvalidArgument("\"" + metric.name + "\": expected \"value\" or \"samples\"");
  }
  if (json.is_array()) {
    if (json.empty() || json.size() > kMaxSamples) {
      return InvalidArgument(fmt::format("\"{}\": {} samples, expected 1 to {}", metric.name,
                                         json.size(), kMaxSamples));
    }
    for (const Json& item : json) {
      if (!item.is_number()) return InvalidArgument("\"" + metric.name + "\": expected numbers");
      TW_RETURN_IF_ERROR(AddSamples(metric, item, unit, samples));
    }
    return {};
  }
  TW_ASSIGN_OR_RETURN(const double factor, FactorOf(metric, unit));
  const double value = json.is_number() ? json.get<double>() * factor : 0;
  const double recorded = metric.inverse && value != 0 ? 1 / value : value;
  if (!(std::isfinite(recorded) && recorded > 0)) {
    return InvalidArgument(fmt::format("\"{}\" is {}, expected a positive number", metric.name,
                                       Printable(DumpJson(json).substr(0, 40))));
  }
  // A record with a shorter time is never served.
  const bool is_time = metric.name == "seconds" || metric.name == "time";
  if (is_time && metric.unit == "s" && !metric.inverse && recorded < kMinSeconds) {
    return InvalidArgument(fmt::format(
        "\"{}\" is {:.3g} s, expected at least {:.3g} s: no device does it faster; for shorter "
        "times, measure several repetitions",
        metric.name, recorded, kMinSeconds));
  }
  samples.push_back(recorded);
  return {};
}

/// Returns whether a member of an answer holds the metric. "time" and "energy" state their unit.
bool IsNameOf(const Metric& metric, std::string_view member) {
  if (member == metric.name) return true;
  return (metric.name == "seconds" && member == "time") ||
         (metric.name == "joules" && member == "energy");
}

/// Errors: kInvalidArgument for a time or energy without a unit.
Status CheckUnit(std::string_view member, const Json& json) {
  const bool needs = member == "time" || member == "energy";
  if (!needs || (json.is_object() && json.contains("unit") && json["unit"].is_string())) return {};
  return InvalidArgument(
      fmt::format("\"{}\" has no unit, expected {{\"value\": …, \"unit\": \"ms\"}}", member));
}

Status AddFromMembers(const Metric& metric, const Json& object, std::vector<double>& samples) {
  for (const auto& [name, value] : object.items()) {
    if (!IsNameOf(metric, name)) continue;
    if (name != metric.name) TW_RETURN_IF_ERROR(CheckUnit(name, value));
    return AddSamples(metric.As(name), value, {}, samples);
  }
  return {};
}

/// Reads "measurements" of T4 results: a list of {"name", "value", "unit"}.
Status AddFromMeasurements(const Metric& metric, const Json& list, std::vector<double>& samples) {
  if (!list.is_array()) return InvalidArgument("\"measurements\", expected a list");
  for (const Json& item : list) {
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string()) {
      return InvalidArgument("\"measurements\": expected objects with \"name\"");
    }
    const auto& name = item["name"].get_ref<const std::string&>();
    if (!IsNameOf(metric, name)) continue;
    if (name != metric.name) TW_RETURN_IF_ERROR(CheckUnit(name, item));
    return AddSamples(metric.As(name), item, {}, samples);
  }
  return {};
}

Status ReadValues(const Json& json, const std::vector<std::string>& metrics, Answer& answer) {
  for (const std::string& text : metrics) {
    const Metric metric = MetricFrom(text);
    std::vector<double>& samples = answer.samples[text];
    const bool has_values = json.contains("values") && json["values"].is_object();
    // Beside "values", these members of the answer are not metrics.
    const bool reserved = has_values && (metric.name == "error" || metric.name == "reason" ||
                                         metric.name == "values");
    if (!reserved) TW_RETURN_IF_ERROR(AddFromMembers(metric, json, samples));
    if (samples.empty() && has_values) {
      TW_RETURN_IF_ERROR(AddFromMembers(metric, json["values"], samples));
    }
    if (samples.empty() && json.contains("measurements")) {
      TW_RETURN_IF_ERROR(AddFromMeasurements(metric, json["measurements"], samples));
    }
    if (samples.empty()) return InvalidArgument("no \"" + metric.name + "\"");
  }
  return {};
}

std::string ReasonOf(const Json& json) {
  for (const char* member : {"reason", "message"}) {
    if (json.contains(member) && json[member].is_string()) {
      return Printable(json[member].get<std::string>().substr(0, kMaxReasonBytes));
    }
  }
  return {};
}

/// Reads "failed", or "invalidity" of T4 results, and "correct".
Status ReadFailure(const Json& json, Answer& answer) {
  for (const char* member : {"failed", "invalidity"}) {
    if (!json.contains(member)) continue;
    if (!json[member].is_string()) {
      return InvalidArgument(std::string("\"") + member + "\", expected a text");
    }
    const auto text = json[member].get<std::string>();
    auto outcome = OutcomeOfReason(text);
    if (!outcome.ok()) return outcome.status().WithContext(std::string("\"") + member + "\"");
    answer.outcome = *outcome;
    answer.reason = ReasonOf(json);
    if (answer.reason.empty()) answer.reason = "the program reports: " + text;
  }
  if (answer.outcome == Outcome::kOk && json.contains("correct") && json["correct"] == false) {
    answer.outcome = Outcome::kWrongResult;
    answer.reason = ReasonOf(json);
    if (answer.reason.empty()) answer.reason = "the program reports a wrong result";
  }
  if (json.contains("error") && json["error"].is_number()) {
    answer.max_abs_error = std::abs(json["error"].get<double>());
  }
  return {};
}

/// Reads an output that is one number with or without a unit; nullopt for any other.
Result<std::optional<Answer>> NumberAnswer(std::string_view output,
                                           const std::vector<std::string>& metrics) {
  const std::string_view text = Trim(output);
  const std::size_t end = std::min(text.find_first_not_of("+-.0123456789eE"), text.size());
  const auto number = ParseDouble(text.substr(0, end));
  const std::string_view unit = Trim(text.substr(end));
  const bool word = unit.size() <= 16 && unit.find_first_of(" \t\r\n") == std::string_view::npos;
  if (!number.ok() || !word || metrics.size() != 1) return std::optional<Answer>();
  std::optional<Answer> answer(std::in_place);
  TW_RETURN_IF_ERROR(AddSamples(MetricFrom(metrics[0]), Json(*number), std::string(unit),
                                answer->samples[metrics[0]]));
  return answer;
}

}  // namespace

Result<Outcome> OutcomeOfReason(std::string_view reason) {
  constexpr std::array<std::pair<std::string_view, Outcome>, 6> kReasons = {{
      {"correct", Outcome::kOk},
      {"compile", Outcome::kBuildFailed},
      {"runtime", Outcome::kRunFailed},
      {"timeout", Outcome::kRunTimeout},
      {"correctness", Outcome::kWrongResult},
      {"constraints", Outcome::kInvalid},
  }};
  for (const auto& [name, outcome] : kReasons) {
    if (reason == name) return outcome;
  }
  return InvalidArgument("'" + Printable(std::string(reason.substr(0, 40))) +
                         "', expected compile, runtime, timeout, correctness or constraints");
}

bool LooksLikeAnswer(std::string_view line) { return Trim(line).starts_with('{'); }

Result<Answer> ParseAnswer(std::string_view text, const std::vector<std::string>& metrics) {
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext("answer");
  if (!json->is_object()) return InvalidArgument("answer: expected one JSON object");
  Answer answer;
  if (json->contains("id") && (*json)["id"].is_number_integer()) {
    answer.id = (*json)["id"].get<std::int64_t>();
  }
  Status read = ReadFailure(*json, answer);
  if (read.ok() && answer.outcome == Outcome::kOk) read = ReadValues(*json, metrics, answer);
  if (!read.ok()) return read.WithContext("answer");
  return answer;
}

Result<std::optional<Answer>> FindAnswer(std::string_view output,
                                         const std::vector<std::string>& metrics) {
  std::optional<Answer> found;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = output.substr(at, end - at);
    at = end + 1;
    if (!LooksLikeAnswer(line)) continue;
    if (found) return InvalidArgument("it answered twice, expected one line of JSON");
    TW_ASSIGN_OR_RETURN(found, ParseAnswer(line, metrics));
  }
  if (found) return found;
  return NumberAnswer(output, metrics);
}

}  // namespace tilewright::measure
