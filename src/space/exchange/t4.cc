// Members of the schema become typed members; all others stay JSON texts, so that writing a file
// that was read gives the same JSON, up to the order of members and the format of numbers.

#include "src/space/exchange/t4.h"

#include <array>
#include <cmath>
#include <utility>

#include "src/base/json.h"
#include "src/space/exchange/json_members.h"
#include "src/space/open/value_json.h"

namespace tilewright {
namespace {

// Kernel Tuner's mark of a failure as a number.
constexpr double kFailureMark = 1e20;

Result<T4Measurement> MeasurementFrom(const Json& json) {
  if (!json.is_object()) return InvalidArgument("a measurement is not an object");
  T4Measurement measurement;
  MemberReader members(json);
  TW_ASSIGN_OR_RETURN(measurement.name, members.Text("name"));
  if (const Json* value = members.Take("value")) {
    if (value->is_number()) {
      measurement.value = value->get<double>();
    } else if (value->is_string()) {
      measurement.text = value->get<std::string>();
    } else {
      return InvalidArgument("the value of a measurement is neither a number nor a text");
    }
  }
  if (json.contains("unit")) {
    TW_ASSIGN_OR_RETURN(measurement.unit, members.Text("unit"));
  }
  measurement.others = members.Others();
  return measurement;
}

Json MeasurementJson(const T4Measurement& measurement) {
  Json json = {{"name", measurement.name}};
  if (measurement.value) {
    json["value"] = *measurement.value;
  } else {
    json["value"] = measurement.text;
  }
  if (measurement.unit) json["unit"] = *measurement.unit;
  AddMembers(json, measurement.others);
  return json;
}

Result<std::vector<T4Result::Duration>> DurationsFrom(const Json& json) {
  std::vector<T4Result::Duration> durations;
  if (!json.is_object()) return InvalidArgument("\"times\" is not an object");
  for (const auto& [stage, value] : json.items()) {
    T4Result::Duration duration{stage, {}, value.is_array()};
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& item : list) {
      if (!item.is_number()) return InvalidArgument("\"times\": " + stage + " is not a number");
      duration.values.push_back(item.get<double>());
    }
    durations.push_back(std::move(duration));
  }
  return durations;
}

}  // namespace

Result<T4Result> T4ResultFrom(const Json& json) {
  if (!json.is_object()) return InvalidArgument("no object");
  T4Result result;
  MemberReader members(json);
  if (json.contains("timestamp")) {
    TW_ASSIGN_OR_RETURN(result.timestamp, members.Text("timestamp"));
  }
  const Json* configuration = members.Take("configuration");
  if (configuration == nullptr || !configuration->is_object()) {
    return InvalidArgument("expected an object \"configuration\"");
  }
  for (const auto& [name, value] : configuration->items()) {
    Result<ParameterValue> parsed = ParameterValueFromJson(value);
    if (!parsed.ok()) return parsed.status().WithContext("\"configuration\": " + name);
    result.configuration.emplace_back(name, std::move(*parsed));
  }
  if (const Json* times = members.TakeFilled("times")) {
    TW_ASSIGN_OR_RETURN(result.times, DurationsFrom(*times));
  }
  if (json.contains("invalidity")) {
    TW_ASSIGN_OR_RETURN(result.invalidity, members.Text("invalidity"));
  }
  if (json.contains("correctness") && json["correctness"].is_number()) {
    result.correctness = members.Take("correctness")->get<double>();
  }
  if (const Json* measurements = members.TakeFilled("measurements")) {
    if (!measurements->is_array()) return InvalidArgument("\"measurements\" is not a list");
    for (const Json& item : *measurements) {
      TW_ASSIGN_OR_RETURN(T4Measurement measurement, MeasurementFrom(item));
      result.measurements.push_back(std::move(measurement));
    }
  }
  if (const Json* objectives = members.TakeFilled("objectives")) {
    if (!objectives->is_array()) return InvalidArgument("\"objectives\" is not a list");
    for (const Json& item : *objectives) {
      if (!item.is_string()) return InvalidArgument("an objective is not a text");
      result.objectives.push_back(item.get<std::string>());
    }
  }
  result.others = members.Others();
  return result;
}

Json T4ResultJson(const T4Result& result) {
  Json json = Json::object();
  if (result.timestamp) json["timestamp"] = *result.timestamp;
  Json& configuration = json["configuration"] = Json::object();
  for (const auto& [name, value] : result.configuration) configuration[name] = ToJson(value);
  Json times = Json::object();
  for (const T4Result::Duration& duration : result.times) {
    Json values = Json::array();
    for (double value : duration.values) values.push_back(value);
    times[duration.stage] = duration.is_list ? std::move(values) : values[0];
  }
  if (!times.empty()) json["times"] = std::move(times);
  if (result.invalidity) json["invalidity"] = *result.invalidity;
  if (result.correctness) json["correctness"] = *result.correctness;
  Json measurements = Json::array();
  for (const T4Measurement& measurement : result.measurements) {
    measurements.push_back(MeasurementJson(measurement));
  }
  if (!measurements.empty()) json["measurements"] = std::move(measurements);
  if (!result.objectives.empty()) json["objectives"] = result.objectives;
  AddMembers(json, result.others);
  return json;
}

std::optional<double> SecondsPerUnit(std::string_view unit) {
  // The hub's files write "miliseconds".
  constexpr std::array<std::pair<std::string_view, double>, 11> kUnits = {{
      {"s", 1},
      {"sec", 1},
      {"seconds", 1},
      {"ms", 1e-3},
      {"milliseconds", 1e-3},
      {"miliseconds", 1e-3},
      {"us", 1e-6},
      {"\xc2\xb5s", 1e-6},
      {"microseconds", 1e-6},
      {"ns", 1e-9},
      {"nanoseconds", 1e-9},
  }};
  for (const auto& [name, seconds] : kUnits) {
    if (name == unit) return seconds;
  }
  return std::nullopt;
}

std::optional<double> T4Result::ObjectiveValue() const {
  if (invalidity.value_or("correct") != "correct") return std::nullopt;
  const std::string_view wanted = objectives.empty() ? "time" : std::string_view(objectives[0]);
  for (const T4Measurement& measurement : measurements) {
    if (measurement.name != wanted) continue;
    const bool usable = measurement.value && std::isfinite(*measurement.value) &&
                        *measurement.value != kFailureMark;
    return usable ? measurement.value : std::nullopt;
  }
  return std::nullopt;
}

Result<T4File> T4File::Parse(std::string_view text) {
  TW_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  return From(json);
}

Result<T4File> T4File::From(const Json& json) {
  if (!json.is_object() || !json.contains("results") || !json["results"].is_array()) {
    return InvalidArgument("no T4 file: expected an object with a list \"results\"");
  }
  T4File file;
  MemberReader members(json);
  file.metadata = "{}";
  if (const Json* metadata = members.Take("metadata")) file.metadata = DumpJson(*metadata);
  for (const Json& item : *members.Take("results")) {
    Result<T4Result> result = T4ResultFrom(item);
    if (!result.ok()) {
      return result.status().WithContext("result " + std::to_string(file.results.size() + 1));
    }
    file.results.push_back(std::move(*result));
  }
  file.others = members.Others();
  return file;
}

std::string T4File::ToString() const { return DumpJson(ToJson(), 1) + "\n"; }

Json T4File::ToJson() const {
  Json json = {{"metadata", *ParseJson(metadata)}};
  Json& list = json["results"] = Json::array();
  for (const T4Result& result : results) list.push_back(T4ResultJson(result));
  AddMembers(json, others);
  return json;
}

double T4File::duration_unit_seconds() const {
  const Result<Json> json = ParseJson(metadata);
  if (!json.ok() || !json->is_object() || !json->contains("timeunit")) return 1;
  const Json& unit = (*json)["timeunit"];
  return unit.is_string() ? SecondsPerUnit(unit.get_ref<const std::string&>()).value_or(1) : 1;
}

std::string T4SpaceName(std::string_view path) {
  for (std::string_view ending : {".gz", ".json"}) {
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  const std::size_t slash = path.rfind('/');
  const std::string base(slash == std::string_view::npos ? path : path.substr(slash + 1));
  if (base.ends_with(".T4")) return base.substr(0, base.size() - 3);
  if (!base.ends_with("_T4") || slash == std::string_view::npos) return base;
  const std::string_view folder = path.substr(0, slash);
  const std::size_t before = folder.rfind('/');
  return std::string(before == std::string_view::npos ? folder : folder.substr(before + 1)) + "." +
         base.substr(0, base.size() - 3);
}

}  // namespace tilewright
