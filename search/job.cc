// Settings of a job from JSON and command line, by one table of fields: name, member, and the
// allowed values.

#include "search/job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "search/deadline.h"
#include "search/registry.h"
#include "src/base/did_you_mean.h"
#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/templates/open/environment.h"

namespace tilewright::search {
namespace {

constexpr std::int64_t kMaxFileBytes = 1 << 20;
constexpr std::int64_t kMaxCount = 1'000'000'000;
constexpr double kMaxSeconds = 1e9;

using Text = std::string JobSettings::*;
using Texts = std::vector<std::string> JobSettings::*;
using Whole = std::int64_t JobSettings::*;
using Small = int JobSettings::*;
using Real = double JobSettings::*;
using Flag = bool JobSettings::*;
using Seed = std::uint64_t JobSettings::*;

/// Member of the file: its name, its destination and, for numbers, the allowed values.
struct Field {
  std::string_view key;
  std::variant<Text, Texts, Whole, Small, Real, Flag, Seed> member;
  double least = 0, most = 0;
};

constexpr std::string_view kBudget = "budget_seconds";
constexpr std::string_view kRequantize = "requantize";
constexpr std::string_view kPrecision = "precision";
constexpr std::string_view kFloatError = "float_error";
constexpr std::string_view kFleet = "fleet";
constexpr std::string_view kFleetClass = "fleet_class";
constexpr std::string_view kPriority = "priority";
constexpr std::string_view kShare = "share";
constexpr std::string_view kBrokerTimeout = "broker_timeout_seconds";
constexpr std::string_view kDeadline = "deadline";
constexpr std::string_view kInput = "input";
constexpr std::string_view kEnvironment = "environment";
constexpr double kMinBrokerTimeout = 10;
// Keys that ToJson writes only if they differ from the default, for older programs.
constexpr std::array<std::string_view, 20> kLate = {
    kRequantize,    kPrecision, kFloatError,  kFleet,        kFleetClass,  kPriority, kShare,
    kBrokerTimeout, kDeadline,  "space",      "command",     "build",      "check",   "name",
    "shell",        kInput,     "time_limit", "build_limit", kEnvironment, "sizes"};

const std::array<Field, 40>& Fields() {
  static const std::array<Field, 40> kFields = {{
      {"graph", &JobSettings::graph},
      {"target", &JobSettings::target},
      {"threads", &JobSettings::threads, 1, 1024},
      {"records", &JobSettings::records},
      {kFleet, &JobSettings::fleet},
      {kFleetClass, &JobSettings::fleet_class},
      {kPriority, &JobSettings::priority},
      {kShare, &JobSettings::share, 0, 100},
      {kBrokerTimeout, &JobSettings::broker_timeout_seconds, kMinBrokerTimeout, kMaxSeconds},
      {"shape", &JobSettings::shape},
      {"dim", &JobSettings::dim},
      {"sizes", &JobSettings::sizes},
      {"value", &JobSettings::value},
      {kRequantize, &JobSettings::requantize},
      {kPrecision, &JobSettings::precision},
      {kFloatError, &JobSettings::float_error},
      {"space", &JobSettings::space},
      {"command", &JobSettings::command},
      {"build", &JobSettings::build},
      {"check", &JobSettings::check},
      {"name", &JobSettings::name},
      {"shell", &JobSettings::shell},
      {kInput, &JobSettings::input},
      {"env", &JobSettings::env},
      {kEnvironment, &JobSettings::environment},
      {"time_limit", &JobSettings::time_limit, 0, kMaxSeconds},
      {"build_limit", &JobSettings::build_limit, 0, kMaxSeconds},
      {"trials", &JobSettings::trials, 0, kMaxCount},
      {kBudget, &JobSettings::budget_seconds, 0, kMaxSeconds},
      {kDeadline, &JobSettings::deadline},
      {"min_trials_per_task", &JobSettings::min_trials_per_task, 1, kMaxCount},
      {"early_stop_trials", &JobSettings::early_stop_trials, 0, kMaxCount},
      {"early_stop_improvement", &JobSettings::early_stop_improvement, 0, 1},
      {"metric", &JobSettings::metric},
      {"strategy", &JobSettings::strategy},
      {"seed", &JobSettings::seed},
      {"batch", &JobSettings::batch, 1, 1024},
      {"epsilon", &JobSettings::epsilon, 0, 1},
      {"warm_start", &JobSettings::warm_start},
      {"finalists", &JobSettings::finalists, 0, 64},
  }};
  return kFields;
}

/// Returns the line of a key in the file's object.
std::int64_t LineOf(std::string_view text, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  for (std::size_t at = text.find(quoted); at != std::string_view::npos;
       at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != std::string_view::npos && text[next] == ':') {
      return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    }
  }
  return 1;
}

std::string Shown(const Json& value) {
  std::string text = DumpJson(value);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::string Range(const Field& field, std::string_view kind) {
  // The limits are integers.
  return std::string(kind) + " from " + std::to_string(static_cast<std::int64_t>(field.least)) +
         " to " + std::to_string(static_cast<std::int64_t>(field.most));
}

/// Sets one member. Returns the expected form, or an empty text if the value is valid.
std::string Set(const Field& field, const Json& value, JobSettings& settings) {
  if (const auto* text = std::get_if<Text>(&field.member)) {
    if (field.key == kEnvironment && value.is_object()) {
      settings.*(*text) = DumpJson(value);
      return {};
    }
    if (!value.is_string()) return "a text";
    settings.*(*text) = value.get<std::string>();
    return {};
  }
  if (const auto* texts = std::get_if<Texts>(&field.member)) {
    const bool list =
        value.is_array() && std::ranges::all_of(value, [](auto& one) { return one.is_string(); });
    if (!list && !value.is_string()) return "a text or a list of texts";
    settings.*(*texts) = list ? value.get<std::vector<std::string>>()
                              : std::vector<std::string>{value.get<std::string>()};
    return {};
  }
  if (const auto* flag = std::get_if<Flag>(&field.member)) {
    if (!value.is_boolean()) return "true or false";
    settings.*(*flag) = value.get<bool>();
    return {};
  }
  if (const auto* seed = std::get_if<Seed>(&field.member)) {
    if (!value.is_number_unsigned()) return "an integer from 0 to 18446744073709551615";
    settings.*(*seed) = value.get<std::uint64_t>();
    return {};
  }
  if (const auto* real = std::get_if<Real>(&field.member)) {
    double number = std::numeric_limits<double>::quiet_NaN();
    if (value.is_number()) number = value.get<double>();
    const bool duration_too = field.key == kBudget || field.key == kBrokerTimeout;
    if (duration_too && value.is_string()) {
      const Result<double> duration = ParseDuration(value.get<std::string>());
      if (duration.ok()) number = *duration;
    }
    if (!(number >= field.least && number <= field.most)) {
      return Range(field, "a number") + (duration_too ? " or a text such as \"10m\"" : "");
    }
    settings.*(*real) = number;
    return {};
  }
  if (!value.is_number_integer() || !(value.get<double>() >= field.least) ||
      !(value.get<double>() <= field.most)) {
    return Range(field, "an integer");
  }
  if (const auto* whole = std::get_if<Whole>(&field.member)) {
    settings.*(*whole) = value.get<std::int64_t>();
  } else if (const auto* small = std::get_if<Small>(&field.member)) {
    settings.*(*small) = value.get<int>();
  }
  return {};
}

template <typename Key>
std::string Listed(const Key& keys) {
  std::string text;
  for (const auto& entry : keys) text += (text.empty() ? "" : ", ") + std::string(entry.key);
  return text;
}

/// As Set, with the constraints of one member. Errors: kInvalidArgument as "key: value, expected
/// …".
Status SetChecked(const StrategyRegistry& strategies, const Field& field, const Json& value,
                  JobSettings& settings) {
  std::string expected = Set(field, value, settings);
  if (expected.empty() && field.key == "strategy" &&
      strategies.Find(settings.strategy) == nullptr) {
    expected = "one of " + Listed(strategies.all());
  }
  const auto one_of = [&](std::string_view key, const std::string& given, const std::string& first,
                          const std::string& second) {
    if (!expected.empty() || field.key != key || given == first || given == second) return;
    expected = first + " or " + second;
  };
  one_of(kRequantize, settings.requantize, "float", "integer");
  one_of(kPrecision, settings.precision, "model", "bfloat16");
  one_of(kFloatError, settings.float_error, "bounded", "strict");
  if (expected.empty() && field.key == kPriority && settings.priority != "low" &&
      settings.priority != "normal" && settings.priority != "high") {
    expected = "low, normal or high";
  }
  if (expected.empty() && field.key == kInput && settings.input != "none" &&
      settings.input != "json" && settings.input != "server") {
    expected = "none, json or server";
  }
  const bool dated = field.key == kDeadline && !settings.deadline.empty();
  if (expected.empty() && dated && !ParseDeadline(settings.deadline, 0).ok()) {
    expected = "a time such as 2026-11-25T06:00:00Z or a duration such as 8h";
  }
  if (expected.empty() && field.key == kEnvironment && !settings.environment.empty()) {
    const auto device = ParseEnvironment(settings.environment);
    if (!device.ok()) return device.status().WithContext(std::string(kEnvironment));
  }
  if (expected.empty()) return Status();
  return InvalidArgument(std::string(field.key) + ": " + Shown(value) + ", expected " + expected);
}

Json ValueOf(const Field& field, const JobSettings& settings) {
  return std::visit([&](auto member) { return Json(settings.*member); }, field.member);
}

/// Returns "; did you mean 'graph'?" for an unknown key; empty if no key is similar.
std::string MeantKey(const std::string& key) {
  // The model file is what users name first.
  constexpr std::string_view kModelNames[] = {"model", "file", "network", "onnx"};
  if (std::ranges::find(kModelNames, key) != std::end(kModelNames)) {
    return "; did you mean 'graph'?";
  }
  std::vector<std::string> known;
  for (const Field& field : Fields()) known.emplace_back(field.key);
  return DidYouMean(key, known);
}

}  // namespace

Result<double> ParseDuration(std::string_view text) {
  const Status bad = InvalidArgument("duration \"" + std::string(text.substr(0, 40)) +
                                     "\", expected a number with s, m or h, such as 90s or 1.5h");
  double unit = 0;
  std::string_view number = text;
  if (!number.empty()) {
    const char last = number.back();
    if (last == 's' || last == 'm' || last == 'h') {
      unit = last == 's' ? 1 : last == 'm' ? 60 : 3600;
      number.remove_suffix(1);
    }
  }
  const Result<double> value = ParseDouble(number);
  if (value.ok() && unit == 0) {
    const std::string shown(text.substr(0, 40));
    return InvalidArgument("duration \"" + shown + "\" has no unit, expected " + shown + "s, " +
                           shown + "m or " + shown + "h");
  }
  if (!value.ok() || !std::isfinite(*value) || *value < 0 || *value * unit > kMaxSeconds)
    return bad;
  return *value * unit;
}

Result<JobSettings> ParseJobSettings(const StrategyRegistry& strategies, std::string_view json,
                                     std::string_view file) {
  const std::string name(file);
  const Result<Json> parsed = ParseJson(json);
  if (!parsed.ok()) return parsed.status().WithContext(name);
  if (!parsed->is_object()) {
    return InvalidArgument(name + ":1: " + Shown(*parsed) + ", expected an object of settings");
  }
  JobSettings settings;
  for (const auto& item : parsed->items()) {
    const std::string& key = item.key();
    const auto place = [&] { return name + ":" + std::to_string(LineOf(json, key)); };
    const auto field = std::find_if(Fields().begin(), Fields().end(),
                                    [&key](const Field& one) { return one.key == key; });
    if (field == Fields().end()) {
      return InvalidArgument(place() + ": " + key + ": unknown key, expected one of " +
                             Listed(Fields()) + MeantKey(key));
    }
    const Status status = SetChecked(strategies, *field, item.value(), settings);
    if (!status.ok()) return status.WithContext(place());
  }
  return settings;
}

Result<JobSettings> LoadJobSettings(const StrategyRegistry& strategies, const std::string& path) {
  constexpr ExpectedFile kJob = {"a tuning job (JSON)"};
  const auto text = ReadFile(path, kMaxFileBytes);
  if (!text.ok()) return ExplainWrongFile(text.status(), IdentifyFile(path), path, kJob);
  if (const FileKind* kind = IdentifyBytes(*text, path);
      kind != nullptr && !Trim(*text).starts_with('{')) {
    return ExplainWrongFile(InvalidArgument(path), kind, path, kJob);
  }
  return ParseJobSettings(strategies, *text, path);
}

Status CheckJobSettings(const StrategyRegistry& strategies, const JobSettings& settings) {
  JobSettings unused;
  for (const Field& field : Fields()) {
    TW_RETURN_IF_ERROR(SetChecked(strategies, field, ValueOf(field, settings), unused));
  }
  return Status();
}

std::string ToJson(const JobSettings& settings) {
  Json json = Json::object();
  const JobSettings defaults;
  for (const Field& field : Fields()) {
    Json value = ValueOf(field, settings);
    const bool late = std::holds_alternative<Texts>(field.member) ||
                      std::ranges::find(kLate, field.key) != kLate.end();
    if (late && value == ValueOf(field, defaults)) continue;
    json[std::string(field.key)] = std::move(value);
  }
  return DumpJson(json);
}

}  // namespace tilewright::search
