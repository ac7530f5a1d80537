// The results of an entry map to T4 as Kernel Tuner's own export does: compile_time,
// framework_time, strategy_time and verification_time are the durations compilation, framework,
// search_algorithm and validation; "times" are the runtimes; the objective is a number, or the name
// of a failure.

#include "src/space/exchange/cachefile.h"

#include <algorithm>
#include <array>

#include "src/base/json.h"
#include "src/space/exchange/gzip.h"
#include "src/space/exchange/json_members.h"
#include "src/space/open/value_json.h"

namespace tilewright {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kDurations = {{
    {"compile_time", "compilation"},
    {"framework_time", "framework"},
    {"strategy_time", "search_algorithm"},
    {"verification_time", "validation"},
}};
constexpr const char* kSamples = "times";
constexpr const char* kRuntimes = "runtimes";
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFailures = {{
    {"CompilationFailedConfig", "compile"},
    {"RuntimeFailedConfig", "runtime"},
    {"InvalidConfig", "constraints"},
}};
// Member of a T4 file with what only cachefiles have.
constexpr const char* kHeader = "kernel_tuner";

Result<std::vector<std::pair<std::string, std::vector<ParameterValue>>>> ParametersOf(
    const Json& keys, const Json& values) {
  std::vector<std::pair<std::string, std::vector<ParameterValue>>> parameters;
  for (const Json& key : keys) {
    if (!key.is_string() || !values.contains(key.get<std::string>()) ||
        !values[key.get<std::string>()].is_array()) {
      return InvalidArgument("\"tune_params\": expected a list for each of \"tune_params_keys\"");
    }
    auto& [name, list] =
        parameters.emplace_back(key.get<std::string>(), std::vector<ParameterValue>());
    for (const Json& item : values[name]) {
      Result<ParameterValue> value = ParameterValueFromJson(item);
      if (!value.ok()) return value.status().WithContext("\"tune_params\": " + name);
      list.push_back(std::move(*value));
    }
  }
  if (values.size() != parameters.size()) {
    return InvalidArgument("\"tune_params\": expected the names of \"tune_params_keys\"");
  }
  return parameters;
}

Result<CacheFile::Entry> EntryFrom(const CacheFile& file, const std::string& key,
                                   const Json& json) {
  if (!json.is_object()) return InvalidArgument("no object");
  CacheFile::Entry entry;
  entry.key = key;
  MemberReader members(json);
  for (const auto& [name, values] : file.parameters) {
    const Json* member = members.Take(name.c_str());
    if (member == nullptr) return InvalidArgument("no value of " + name);
    Result<ParameterValue> value = ParameterValueFromJson(*member);
    if (!value.ok()) return value.status().WithContext(name);
    entry.configuration.emplace_back(name, std::move(*value));
  }
  entry.others = members.Others();
  return entry;
}

bool IsCacheFile(const Json& json) {
  const auto has = [&](const char* name, bool list) {
    return json.contains(name) && (list ? json[name].is_array() : json[name].is_object());
  };
  return json.is_object() && has("tune_params_keys", true) && has("tune_params", false) &&
         has("cache", false);
}

/// Returns the JSON of a text; of a cachefile whose end is missing, as it would be complete.
Result<Json> ParseComplete(std::string_view text) {
  Result<Json> json = ParseJson(text);
  if (json.ok()) return json;
  while (!text.empty() && (std::string_view(" \r\n\t,").find(text.back()) != std::string::npos)) {
    text.remove_suffix(1);
  }
  Result<Json> completed = ParseJson(std::string(text) + "}}");
  return completed.ok() && IsCacheFile(*completed) ? completed : json;
}

Result<CacheFile> CacheFileFrom(const Json& json) {
  if (!IsCacheFile(json)) {
    return InvalidArgument(
        "no cachefile: expected the members tune_params_keys, tune_params and cache");
  }
  CacheFile file;
  MemberReader members(json);
  const Json* keys = members.Take("tune_params_keys");
  const Json* values = members.Take("tune_params");
  TW_ASSIGN_OR_RETURN(file.parameters, ParametersOf(*keys, *values));
  for (const auto& [key, value] : members.Take("cache")->items()) {
    Result<CacheFile::Entry> entry = EntryFrom(file, key, value);
    if (!entry.ok()) return entry.status().WithContext("entry \"" + key + "\"");
    file.entries.push_back(std::move(*entry));
  }
  file.header = members.Others();
  return file;
}

std::string ObjectiveOf(const Json& header) {
  const bool named = header.contains("objective") && header["objective"].is_string();
  return named ? header["objective"].get<std::string>() : "time";
}

Status AddDurations(MemberReader& members, T4Result& result) {
  for (const auto& [member, stage] : kDurations) {
    const Json* value = members.Take(member);
    if (value == nullptr) continue;
    if (!value->is_number()) return InvalidArgument(std::string(member) + " is not a number");
    result.times.push_back({stage, {value->get<double>()}, false});
  }
  const Json* samples = members.Take(kSamples);
  if (samples == nullptr) return {};
  if (!samples->is_array()) return InvalidArgument("\"times\" is not a list");
  T4Result::Duration runtimes{kRuntimes, {}, true};
  for (const Json& sample : *samples) {
    if (!sample.is_number()) return InvalidArgument("\"times\" has an item that is not a number");
    runtimes.values.push_back(sample.get<double>());
  }
  result.times.push_back(std::move(runtimes));
  return {};
}

Result<T4Result> ResultOf(const CacheFile::Entry& entry, const std::string& objective) {
  TW_ASSIGN_OR_RETURN(const Json json, ParseJson(entry.others.empty() ? "{}" : entry.others));
  T4Result result;
  result.configuration = entry.configuration;
  MemberReader members(json);
  if (json.contains("timestamp")) {
    TW_ASSIGN_OR_RETURN(result.timestamp, members.Text("timestamp"));
  }
  TW_RETURN_IF_ERROR(AddDurations(members, result));
  T4Measurement measurement;
  measurement.name = objective;
  measurement.unit = "";
  result.invalidity = "correct";
  if (const Json* value = members.Take(objective.c_str())) {
    if (value->is_number()) {
      measurement.value = value->get<double>();
    } else if (value->is_string()) {
      measurement.text = value->get<std::string>();
      result.invalidity = "runtime";
      for (const auto& [failure, invalidity] : kFailures) {
        if (measurement.text == failure) result.invalidity = std::string(invalidity);
      }
    } else {
      return InvalidArgument("\"" + objective + "\" is neither a number nor a text");
    }
    result.measurements.push_back(std::move(measurement));
  }
  result.correctness = result.invalidity == "correct" ? 1 : 0;
  result.objectives = {objective};
  result.others = members.Others();
  return result;
}

Json EntryOf(const T4Result& result) {
  Json json = Json::object();
  const std::string objective = result.objectives.empty() ? "time" : result.objectives[0];
  for (const T4Measurement& measurement : result.measurements) {
    if (measurement.value) {
      json[measurement.name] = *measurement.value;
    } else {
      json[measurement.name] = measurement.text;
    }
  }
  // A failure without the mark of one.
  const std::string invalidity = result.invalidity.value_or("correct");
  if (invalidity != "correct" && (!json.contains(objective) || json[objective].is_number())) {
    json[objective] = "RuntimeFailedConfig";
    for (const auto& [failure, name] : kFailures) {
      if (invalidity == name) json[objective] = failure;
    }
  }
  for (const T4Result::Duration& duration : result.times) {
    if (duration.stage == kRuntimes) {
      json[kSamples] = duration.values;
      continue;
    }
    const auto known = std::ranges::find_if(
        kDurations, [&](const auto& row) { return duration.stage == row.second; });
    const std::string member = known == kDurations.end() ? duration.stage : known->first;
    if (duration.is_list) {
      json[member] = duration.values;
    } else {
      json[member] = duration.values[0];
    }
  }
  AddMembers(json, result.others);
  if (result.timestamp) json["timestamp"] = *result.timestamp;
  return json;
}

std::string CacheKey(const std::vector<std::pair<std::string, ParameterValue>>& configuration) {
  std::string key;
  for (const auto& [name, value] : configuration) {
    // As Python prints the value.
    const auto* flag = std::get_if<bool>(&value);
    std::string text = flag == nullptr ? ToText(value) : *flag ? "True" : "False";
    const bool whole =
        std::holds_alternative<double>(value) && text.find_first_of(".eni") == std::string::npos;
    key += (key.empty() ? "" : ",") + text + (whole ? ".0" : "");
  }
  return key;
}

/// Adds the parameters of results to the file: those of the first, with all values that occur.
Status CollectParameters(const T4File& t4, CacheFile& cache) {
  for (const T4Result& result : t4.results) {
    if (cache.parameters.empty()) {
      for (const auto& [name, value] : result.configuration)
        cache.parameters.emplace_back(name, std::vector<ParameterValue>());
    }
    if (result.configuration.size() != cache.parameters.size()) {
      return InvalidArgument("results with different parameters");
    }
    for (std::size_t p = 0; p < cache.parameters.size(); ++p) {
      auto& [name, values] = cache.parameters[p];
      const auto& [own, value] = result.configuration[p];
      if (own != name) return InvalidArgument("results with different parameters");
      if (std::ranges::count(values, value) == 0) values.push_back(value);
    }
  }
  for (auto& [name, values] : cache.parameters) std::ranges::sort(values);
  return {};
}

}  // namespace

Result<CacheFile> CacheFile::Parse(std::string_view text) {
  TW_ASSIGN_OR_RETURN(const Json json, ParseComplete(text));
  return CacheFileFrom(json);
}

std::string CacheFile::ToString() const {
  Json json = Json::object();
  AddMembers(json, header);
  Json& keys = json["tune_params_keys"] = Json::array();
  for (const auto& [name, values] : parameters) keys.push_back(name);
  Json lists = Json::object();
  for (const auto& [name, values] : parameters) {
    Json list = Json::array();
    for (const ParameterValue& value : values) list.push_back(ToJson(value));
    lists[name] = std::move(list);
  }
  json["tune_params"] = std::move(lists);
  // One entry a line, as Kernel Tuner appends them.
  std::string text = DumpJson(json, 1);
  text.erase(text.rfind('}'));
  text = std::string(text.substr(0, text.find_last_not_of(" \n") + 1)) + ",\n\"cache\": {";
  bool first = true;
  for (const Entry& entry : entries) {
    Json line = Json::object();
    for (const auto& [name, value] : entry.configuration) line[name] = ToJson(value);
    AddMembers(line, entry.others);
    text += (first ? "\n" : ",\n") + DumpJson(Json(entry.key)) + ": " + DumpJson(line);
    first = false;
  }
  return text + "}\n}\n";
}

Result<T4File> ToT4(const CacheFile& cache) {
  TW_ASSIGN_OR_RETURN(const Json header, ParseJson(cache.header.empty() ? "{}" : cache.header));
  Json kept = header;
  Json& values = kept["tune_params"] = Json::object();
  for (const auto& [name, list] : cache.parameters) {
    Json items = Json::array();
    for (const ParameterValue& value : list) items.push_back(ToJson(value));
    values[name] = std::move(items);
  }
  T4File file;
  file.metadata = DumpJson({{"timeunit", "milliseconds"}});
  file.others = DumpJson({{"schema_version", "1.0.0"}, {kHeader, std::move(kept)}});
  const std::string objective = ObjectiveOf(header);
  for (const CacheFile::Entry& entry : cache.entries) {
    Result<T4Result> result = ResultOf(entry, objective);
    if (!result.ok()) return result.status().WithContext("entry \"" + entry.key + "\"");
    file.results.push_back(std::move(*result));
  }
  return file;
}

Result<CacheFile> ToCacheFile(const T4File& t4) {
  CacheFile cache;
  TW_ASSIGN_OR_RETURN(const Json others, ParseJson(t4.others.empty() ? "{}" : t4.others));
  Json header = Json::object();
  if (others.contains(kHeader) && others[kHeader].is_object()) header = others[kHeader];
  if (header.contains("tune_params") && header["tune_params"].is_object()) {
    Json keys = Json::array();
    for (const auto& [name, values] : header["tune_params"].items()) keys.push_back(name);
    TW_ASSIGN_OR_RETURN(cache.parameters, ParametersOf(keys, header["tune_params"]));
    header.erase("tune_params");
  } else {
    TW_RETURN_IF_ERROR(CollectParameters(t4, cache));
    const bool named = !t4.results.empty() && !t4.results[0].objectives.empty();
    header["objective"] = named ? t4.results[0].objectives[0] : "time";
  }
  if (!header.empty()) cache.header = DumpJson(header);
  for (const T4Result& result : t4.results) {
    const Json entry = EntryOf(result);
    cache.entries.push_back({CacheKey(result.configuration), result.configuration,
                             entry.empty() ? std::string() : DumpJson(entry)});
  }
  return cache;
}

Result<T4File> ParseT4OrCache(std::string_view text) {
  TW_ASSIGN_OR_RETURN(const Json json, ParseComplete(text));
  if (!IsCacheFile(json)) return T4File::From(json);
  TW_ASSIGN_OR_RETURN(const CacheFile cache, CacheFileFrom(json));
  return ToT4(cache);
}

Result<T4File> LoadT4OrCache(const std::string& path) {
  TW_ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  Result<T4File> file = ParseT4OrCache(text);
  if (!file.ok()) return file.status().WithContext(path);
  return file;
}

std::string DeviceOfCache(const T4File& t4) {
  const auto others = ParseJson(t4.others.empty() ? "{}" : t4.others);
  if (!others.ok() || !others->contains(kHeader) || !(*others)[kHeader].is_object()) return {};
  const Json& header = (*others)[kHeader];
  const auto device = header.find("device_name");
  return device != header.end() && device->is_string() ? device->get<std::string>() : std::string();
}

}  // namespace tilewright
