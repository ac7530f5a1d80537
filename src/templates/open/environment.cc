// An environment is a fingerprint: `isa` has the fields that must match, which a device has to
// include, `model` all fields, and `extra` the JSON text.

#include "src/templates/open/environment.h"

#include <algorithm>

#include "src/base/json.h"
#include "src/templates/open/problem.h"

namespace tilewright {
namespace {

constexpr std::string_view kKind = "environment";

Result<Problem> FieldsOf(const Json& json, const char* member) {
  if (!json.contains(member)) return Problem();
  if (!json[member].is_object()) return InvalidArgument("expected an object of fields");
  TW_ASSIGN_OR_RETURN(Problem fields, ParseProblem(DumpJson(json[member])));
  for (auto& [name, value] : fields) value = ToText(value);
  TW_RETURN_IF_ERROR(CheckProblem(fields));
  return fields;
}

}  // namespace

Result<DeviceFingerprint> ParseEnvironment(std::string_view json) {
  TW_ASSIGN_OR_RETURN(const Json object, ParseJson(json));
  if (!object.is_object()) return InvalidArgument("expected a JSON object");
  for (const auto& [name, value] : object.items()) {
    if (name != "match" && name != "differ") {
      return InvalidArgument("a member that is neither \"match\" nor \"differ\"");
    }
  }
  Problem all;
  DeviceFingerprint device;
  device.kind = kKind;
  Json canonical = Json::object();
  for (const char* member : {"match", "differ"}) {
    auto fields = FieldsOf(object, member);
    if (!fields.ok()) return fields.status().WithContext(std::string("\"") + member + "\"");
    canonical[member] = *ParseJson(ProblemJson(*fields));
    all.insert(all.end(), fields->begin(), fields->end());
    if (member == std::string_view("differ")) continue;
    for (const auto& [name, value] : *fields) device.isa.push_back(name + "=" + ToText(value));
  }
  if (all.empty()) return InvalidArgument("expected at least one field");
  std::ranges::sort(all, {}, &Problem::value_type::first);
  TW_RETURN_IF_ERROR(CheckProblem(all));
  std::ranges::sort(device.isa);
  device.model = ProblemText(all);
  device.extra = DumpJson(canonical);
  return device;
}

bool IsEnvironment(const DeviceFingerprint& device) { return device.kind == kKind; }

std::vector<std::pair<std::string, std::string>> EnvironmentFields(
    const DeviceFingerprint& device) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!IsEnvironment(device)) return all;
  const auto json = ParseJson(device.extra);  // from a store: it may be anything
  if (!json.ok() || !json->is_object()) return all;
  for (const auto& [member, fields] : json->items()) {
    if (!fields.is_object()) continue;
    for (const auto& [name, value] : fields.items()) {
      if (value.is_string()) all.emplace_back(name, value.get<std::string>());
    }
  }
  return all;
}

std::string EnvironmentJson(const DeviceFingerprint& device) {
  return IsEnvironment(device) ? device.extra : device.ToString();
}

}  // namespace tilewright
