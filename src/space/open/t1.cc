// T1 files: the description of a tuning problem in the format of the FAIR Benchmark Hub for
// Auto-Tuning. Only General.BenchmarkName and ConfigurationSpace are read; the values of a
// parameter are a JSON list or, as in the hub's files, a text with a list of Python.

#include <algorithm>
#include <utility>

#include "src/base/json.h"
#include "src/space/open/condition_parser.h"
#include "src/space/open/open_space.h"
#include "src/space/open/value_json.h"

namespace tilewright {
namespace {

Result<std::string> TextMember(const Json& object, const char* member) {
  if (!object.is_object() || !object.contains(member) || !object[member].is_string()) {
    return InvalidArgument(std::string("expected a text \"") + member + "\"");
  }
  return object[member].get<std::string>();
}

Result<std::vector<ParameterValue>> ValuesOf(const Json& json) {
  if (json.is_string()) return ParseValueList(json.get_ref<const std::string&>());
  if (!json.is_array()) return InvalidArgument("expected \"Values\", a list or its text");
  std::vector<ParameterValue> values;
  for (const Json& item : json) {
    TW_ASSIGN_OR_RETURN(ParameterValue value, ParameterValueFromJson(item));
    values.push_back(std::move(value));
  }
  return values;
}

/// Returns the type that holds all the values: the first one's, or float if there is one.
ParameterType TypeOf(const std::vector<ParameterValue>& values) {
  if (values.empty()) return ParameterType::kInteger;
  const auto is_float = [](const ParameterValue& v) { return std::holds_alternative<double>(v); };
  if (std::ranges::any_of(values, is_float)) return ParameterType::kFloat;
  return static_cast<ParameterType>(values[0].index());
}

Result<Parameter> ParameterFrom(const Json& json) {
  Parameter parameter;
  TW_ASSIGN_OR_RETURN(parameter.name, TextMember(json, "Name"));
  const std::string where = "parameter " + parameter.name;
  if (!json.contains("Values")) return InvalidArgument(where + ": expected \"Values\"");
  Result<std::vector<ParameterValue>> values = ValuesOf(json["Values"]);
  if (!values.ok()) return values.status().WithContext(where);
  parameter.values = std::move(*values);
  parameter.type = TypeOf(parameter.values);
  if (json.contains("Type")) {
    const Result<std::string> name = TextMember(json, "Type");
    if (!name.ok()) return name.status().WithContext(where);
    const Result<ParameterType> type = ParseParameterType(*name);
    if (!type.ok()) return type.status().WithContext(where);
    // Files of Kernel Tuner have booleans with the values 0 and 1.
    const bool numbers = *type == ParameterType::kBoolean;
    if (!numbers || parameter.type != ParameterType::kInteger) parameter.type = *type;
  }
  parameter.ordered =
      parameter.type == ParameterType::kInteger || parameter.type == ParameterType::kFloat;
  if (json.contains("Ordered")) {
    if (!json["Ordered"].is_boolean())
      return InvalidArgument(where + ": \"Ordered\" is not a boolean");
    parameter.ordered = json["Ordered"].get<bool>();
  }
  if (json.contains("Default") && !json["Default"].is_null()) {
    Result<ParameterValue> value = ParameterValueFromJson(json["Default"]);
    if (!value.ok()) return value.status().WithContext(where + ": \"Default\"");
    parameter.default_value = std::move(*value);
  }
  return parameter;
}

Result<std::vector<std::string>> ConditionsOf(const Json& space) {
  std::vector<std::string> conditions;
  if (!space.contains("Conditions") || space["Conditions"].is_null()) return conditions;
  if (!space["Conditions"].is_array()) return InvalidArgument("\"Conditions\", expected a list");
  for (const Json& item : space["Conditions"]) {
    if (item.is_string()) {
      conditions.push_back(item.get<std::string>());
      continue;
    }
    Result<std::string> text = TextMember(item, "Expression");
    if (!text.ok()) {
      return text.status().WithContext("condition " + std::to_string(conditions.size() + 1));
    }
    conditions.push_back(std::move(*text));
  }
  return conditions;
}

}  // namespace

Result<OpenSpace> OpenSpace::ParseT1(std::string_view text) {
  TW_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  return FromT1(json);
}

Result<OpenSpace> OpenSpace::FromT1(const Json& json) {
  if (!json.is_object() || !json.contains("ConfigurationSpace") ||
      !json["ConfigurationSpace"].is_object()) {
    return InvalidArgument("no T1 file: expected an object \"ConfigurationSpace\"");
  }
  const Json& space = json["ConfigurationSpace"];
  if (!space.contains("TuningParameters") || !space["TuningParameters"].is_array()) {
    return InvalidArgument("expected a list \"TuningParameters\"");
  }
  std::vector<Parameter> parameters;
  for (const Json& item : space["TuningParameters"]) {
    TW_ASSIGN_OR_RETURN(Parameter parameter, ParameterFrom(item));
    parameters.push_back(std::move(parameter));
  }
  TW_ASSIGN_OR_RETURN(std::vector<std::string> conditions, ConditionsOf(space));
  std::string name;
  if (json.contains("General") && json["General"].is_object()) {
    const Json& general = json["General"];
    if (general.contains("BenchmarkName")) {
      TW_ASSIGN_OR_RETURN(name, TextMember(general, "BenchmarkName"));
    }
  }
  return Create(std::move(name), std::move(parameters), std::move(conditions));
}

std::string OpenSpace::ToT1() const { return DumpJson(T1(), 2) + "\n"; }

Json OpenSpace::T1() const {
  Json parameters = Json::array();
  for (const Parameter& parameter : parameters_) {
    Json values = Json::array();
    for (const ParameterValue& value : parameter.values) values.push_back(ToJson(value));
    Json json = {{"Name", parameter.name},
                 {"Type", ParameterTypeName(parameter.type)},
                 {"Values", std::move(values)}};
    const bool number =
        parameter.type == ParameterType::kInteger || parameter.type == ParameterType::kFloat;
    if (parameter.ordered != number) json["Ordered"] = parameter.ordered;
    if (parameter.default_value) json["Default"] = ToJson(*parameter.default_value);
    parameters.push_back(std::move(json));
  }
  Json conditions = Json::array();
  for (std::size_t c = 0; c < condition_texts_.size(); ++c) {
    Json names = Json::array();
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const auto has = [&](std::size_t check) { return checks_[check].text == c; };
      if (std::ranges::any_of(checks_of_[p], has)) names.push_back(parameters_[p].name);
    }
    conditions.push_back({{"Expression", condition_texts_[c]}, {"Parameters", std::move(names)}});
  }
  return {{"General", {{"BenchmarkName", name_}, {"OutputFormat", "JSON"}}},
          {"ConfigurationSpace",
           {{"TuningParameters", std::move(parameters)}, {"Conditions", std::move(conditions)}}}};
}

}  // namespace tilewright
