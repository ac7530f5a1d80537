// Open tasks: their checks, their canonical text, and how a config enters a command. The text is
// JSON with the members in a fixed order:
//   {"format": "tilewright-open 1", "name": …, "command": […], "build": […], "check": […],
//    "shell": …, "input": …, "environment": {…}, "metrics": […], "space": {T1}}
// A task of the input "caller" has the member "problem" before "space".
// The task's key is the hash of the same text without "space".

#include "src/templates/open/open_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <variant>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/base/shell/quote.h"
#include "src/space/open/knobs.h"
#include "src/space/open/value_json.h"
#include "src/templates/open/shell_quotes.h"
#include "src/templates/template_keys.h"
#include "src/tensor/open_workload.h"

namespace tilewright {
namespace {

constexpr std::string_view kFormat = "tilewright-open 1";
constexpr std::string_view kOut = "out";
constexpr std::string_view kVariablePrefix = "TILEWRIGHT_";
constexpr std::array<std::string_view, 4> kInputs = {"words", "json", "server", "caller"};
constexpr std::size_t kMaxWords = 4096;
constexpr std::size_t kMaxMetrics = 8;
constexpr std::size_t kMaxMetricBytes = 64;

std::string HashOf(std::string_view text) {
  constexpr std::size_t kBytes = 20;
  const auto hash = Sha256(text);
  std::string digits;
  for (std::size_t i = 0; i < kBytes; ++i) digits += fmt::format("{:02x}", hash[i]);
  return digits;
}

/// Calls `text` for each literal piece of a word and `name` for each name in braces.
/// Errors: kInvalidArgument for a brace without its pair.
template <typename OnText, typename OnName>
Status VisitWord(std::string_view word, OnText text, OnName name) {
  for (std::size_t at = 0; at < word.size();) {
    const char c = word[at];
    if (c != '{' && c != '}') {
      const std::size_t end = std::min(word.find_first_of("{}", at), word.size());
      text(word.substr(at, end - at));
      at = end;
    } else if (at + 1 < word.size() && word[at + 1] == c) {
      text(word.substr(at, 1));
      at += 2;
    } else {
      const std::size_t end = word.find('}', at);
      if (c == '}' || end == std::string_view::npos) {
        return InvalidArgument(
            fmt::format("'{}': a single {}, expected {{NAME}}, or {}{} for the "
                        "character",
                        word, c, c, c));
      }
      TW_RETURN_IF_ERROR(name(word.substr(at + 1, end - at - 1)));
      at = end + 1;
    }
  }
  return {};
}

std::string KnownNames(const OpenSpace& space) {
  std::string names;
  for (const Parameter& parameter : space.parameters()) {
    names += fmt::format("{}{{{}}}", names.empty() ? "" : ", ", parameter.name);
  }
  return names;
}

/// Checks a word; has_out: a build command makes a file that the word may name.
Status CheckWord(const OpenTaskParts& parts, std::string_view word, bool has_out) {
  if (word.find('\0') != std::string_view::npos) {
    return InvalidArgument("a word contains a zero byte");
  }
  return VisitWord(
      word, [](std::string_view) {},
      [&](std::string_view name) -> Status {
        if (name == kOut && has_out) return {};
        if (parts.space.Find(name) >= 0) return {};
        const bool is_name = std::ranges::all_of(
            name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
        const std::string more = name == kOut ? "; {out} needs a --build command that makes it"
                                 : is_name    ? ""
                                              : "; for braces, write {{ and }}";
        return InvalidArgument(fmt::format("{{{}}} is not a parameter, expected one of {}{}", name,
                                           KnownNames(parts.space), more));
      });
}

Status CheckWords(const OpenTaskParts& parts, const char* part,
                  const std::vector<std::string>& words, bool has_out) {
  if (words.size() > kMaxWords) return InvalidArgument(std::string(part) + ": too many words");
  for (const std::string& word : words) {
    const Status fine = CheckWord(parts, word, has_out);
    if (!fine.ok()) return fine.WithContext(part);
  }
  return {};
}

/// Refuses names of parameters in a word of a process that stays alive.
Status RefuseNames(const std::string& part, std::string_view word) {
  const auto refuse = [&](std::string_view name) {
    return InvalidArgument(fmt::format(
        "{}: {{{}}}: a process that stays alive gets configs on its standard input only", part,
        name));
  };
  return VisitWord(
      word, [](std::string_view) {}, refuse);
}

/// Refuses values in a shell's text where their quotes do not protect it.
Status CheckQuotes(const char* part, std::string_view text) {
  std::string shell;
  std::vector<std::string> names;
  TW_RETURN_IF_ERROR(VisitWord(
      text, [&](std::string_view literal) { shell += literal; },
      [&](std::string_view name) -> Status {
        shell += '\0';
        names.emplace_back(name);
        return {};
      }));
  const UnsafeValue found = FindUnsafeValue(shell);
  if (found.place == ShellPlace::kPlain) return {};
  const std::string& name = names[found.number];
  if (found.place == ShellPlace::kQuoted) {
    return InvalidArgument(
        fmt::format("{}: write {{{}}} without quotes: values are quoted", part, name));
  }
  return InvalidArgument(
      fmt::format("{}: {{{}}} after a here-document, $'…', or quotes within an expansion, expected "
                  "it before, or $TILEWRIGHT_{}",
                  part, name, name == kOut ? "OUT" : name));
}

Status CheckShell(const OpenTaskParts& parts) {
  if (!parts.shell) return {};
  if (parts.command.size() != 1 || parts.build.size() > 1 || parts.check.size() > 1) {
    return InvalidArgument("shell: expected one text for each command");
  }
  TW_RETURN_IF_ERROR(CheckQuotes("command", parts.command[0]));
  if (!parts.build.empty()) TW_RETURN_IF_ERROR(CheckQuotes("build", parts.build[0]));
  if (!parts.check.empty()) TW_RETURN_IF_ERROR(CheckQuotes("check", parts.check[0]));
  return {};
}

/// Refuses zero bytes, which no word can contain and no C text.
Status CheckValues(const Parameter& parameter) {
  for (const ParameterValue& value : parameter.values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && text->find('\0') != std::string::npos) {
      return InvalidArgument("space: a value of " + parameter.name + " contains a zero byte");
    }
  }
  return {};
}

/// Refuses names that collide with those of {out} and of other variables.
Status CheckParameters(const OpenSpace& space) {
  for (const Parameter& parameter : space.parameters()) {
    std::string lower = parameter.name;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower == kOut) {
      return InvalidArgument("space: a parameter is named '" + parameter.name +
                             "', the name of the built file");
    }
    if (parameter.name == "CONFIG" || parameter.name == "RUN") {
      return InvalidArgument("space: a parameter is named '" + parameter.name + "'; TILEWRIGHT_" +
                             parameter.name + " is another variable");
    }
  }
  return {};
}

/// Checks a task without commands.
Status CheckCaller(const OpenTaskParts& parts) {
  const bool has_command = !parts.command.empty() || !parts.build.empty() || !parts.check.empty();
  if (has_command || parts.shell || !parts.environment.empty()) {
    return InvalidArgument("command: a task of a calling program has none");
  }
  const Status fine = CheckProblem(parts.problem);
  return fine.ok() ? fine : fine.WithContext("problem");
}

Status CheckEnvironment(const OpenTaskParts& parts) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : parts.environment) {
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    if (!is_name) return InvalidArgument("env: '" + name + "' is not a name of a variable");
    if (name.starts_with(kVariablePrefix)) {
      return InvalidArgument("env: " + name + ": names with TILEWRIGHT_ are reserved");
    }
    if (!names.insert(name).second) return InvalidArgument("env: " + name + " twice");
    const Status fine = CheckWord(parts, value, !parts.build.empty());
    if (!fine.ok()) return fine.WithContext("env " + name);
    if (parts.input == OpenInput::kServer) {
      TW_RETURN_IF_ERROR(RefuseNames("env " + name, value));
    }
  }
  return {};
}

Status CheckMetrics(const std::vector<std::string>& metrics) {
  if (metrics.empty() || metrics.size() > kMaxMetrics) {
    return InvalidArgument(
        fmt::format("metric: {} metrics, expected 1 to {}", metrics.size(), kMaxMetrics));
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const std::string& metric = metrics[i];
    const bool is_name = !metric.empty() && metric.size() <= kMaxMetricBytes &&
                         std::ranges::all_of(metric, [](char c) {
                           return c > ' ' && c < '\x7f' && c != ',' && c != '=' && c != '"';
                         });
    if (!is_name) {
      return InvalidArgument("metric: '" + metric + "', expected NAME, NAME[UNIT] or 1/NAME");
    }
    if (std::find(metrics.begin(), metrics.begin() + static_cast<std::ptrdiff_t>(i), metric) !=
        metrics.begin() + static_cast<std::ptrdiff_t>(i)) {
      return InvalidArgument("metric: " + metric + " twice");
    }
  }
  return {};
}

Status CheckParts(const OpenTaskParts& parts) {
  if (!IsOpenName(parts.name)) {
    return InvalidArgument(fmt::format("name: '{}', expected 1 to {} letters, digits, '_' and '-'",
                                       parts.name, kMaxOpenName));
  }
  if (parts.space.parameters().empty()) return InvalidArgument("space: it has no parameter");
  for (const Parameter& parameter : parts.space.parameters()) {
    TW_RETURN_IF_ERROR(CheckValues(parameter));
  }
  if (parts.input == OpenInput::kCaller) {
    TW_RETURN_IF_ERROR(CheckCaller(parts));
    return CheckMetrics(parts.metrics);
  }
  TW_RETURN_IF_ERROR(CheckParameters(parts.space));
  if (!parts.problem.empty())
    return InvalidArgument("problem: only tasks without commands have one");
  if (parts.command.empty()) return InvalidArgument("command: none is given");
  const bool has_out = !parts.build.empty();
  TW_RETURN_IF_ERROR(CheckWords(parts, "command", parts.command, has_out));
  TW_RETURN_IF_ERROR(CheckWords(parts, "build", parts.build, has_out));
  TW_RETURN_IF_ERROR(CheckWords(parts, "check", parts.check, has_out));
  TW_RETURN_IF_ERROR(CheckEnvironment(parts));
  TW_RETURN_IF_ERROR(CheckShell(parts));
  if (parts.input == OpenInput::kServer) {
    for (const std::string& word : parts.command) {
      TW_RETURN_IF_ERROR(RefuseNames("command", word));
    }
  }
  return CheckMetrics(parts.metrics);
}

Json ToJson(const OpenTaskParts& parts) {
  Json environment = Json::object();
  for (const auto& [name, value] : parts.environment) environment[name] = value;
  Json json = {{"format", kFormat},
               {"name", parts.name},
               {"command", parts.command},
               {"build", parts.build},
               {"check", parts.check},
               {"shell", parts.shell},
               {"input", kInputs[static_cast<std::size_t>(parts.input)]},
               {"environment", std::move(environment)},
               {"metrics", parts.metrics}};
  if (parts.input == OpenInput::kCaller) json["problem"] = *ParseJson(ProblemJson(parts.problem));
  return json;
}

Result<std::vector<std::string>> Texts(const Json& json, const char* member) {
  std::vector<std::string> texts;
  const auto found = json.find(member);
  if (found == json.end() || !found->is_array()) {
    return InvalidArgument(std::string("expected a list \"") + member + "\"");
  }
  for (const Json& item : *found) {
    if (!item.is_string()) return InvalidArgument(std::string(member) + ": expected texts");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Result<OpenTaskParts> OpenPartsOf(const Json& json) {
  OpenTaskParts parts;
  const auto is_text = [&](const char* member) {
    return json.contains(member) && json[member].is_string();
  };
  if (!json.is_object() || !is_text("format") || json["format"] != kFormat || !is_text("name") ||
      !is_text("input") || !json.contains("shell") || !json["shell"].is_boolean() ||
      !json.contains("environment") || !json["environment"].is_object() ||
      !json.contains("space")) {
    return InvalidArgument("it is not an open task");
  }
  parts.name = json["name"].get<std::string>();
  TW_ASSIGN_OR_RETURN(parts.command, Texts(json, "command"));
  TW_ASSIGN_OR_RETURN(parts.build, Texts(json, "build"));
  TW_ASSIGN_OR_RETURN(parts.check, Texts(json, "check"));
  TW_ASSIGN_OR_RETURN(parts.metrics, Texts(json, "metrics"));
  parts.shell = json["shell"].get<bool>();
  const auto* input = std::ranges::find(kInputs, json["input"].get_ref<const std::string&>());
  if (input == kInputs.end())
    return InvalidArgument("input: not one of words, json, server, caller");
  parts.input = static_cast<OpenInput>(input - kInputs.begin());
  for (const auto& [name, value] : json["environment"].items()) {
    if (!value.is_string()) return InvalidArgument("environment: expected texts");
    parts.environment.emplace_back(name, value.get<std::string>());
  }
  if (json.contains("problem")) {
    TW_ASSIGN_OR_RETURN(parts.problem, ParseProblem(DumpJson(json["problem"])));
  }
  TW_ASSIGN_OR_RETURN(parts.space, OpenSpace::FromT1(json["space"]));
  return parts;
}

}  // namespace

Target OpenTask::target() const {
  Target target = *Target::Parse("program");
  if (metrics != OpenTaskParts().metrics) {
    target.SetOption("metrics", fmt::format("{}", fmt::join(metrics, ",")));
  }
  return target;
}

Result<OpenTask> MakeOpenTask(OpenTaskParts parts) {
  TW_RETURN_IF_ERROR(CheckParts(parts));
  OpenTask task;
  static_cast<OpenTaskParts&>(task) = std::move(parts);
  task.knobs = KnobsOf(task.space);
  Json json = ToJson(task);
  task.workload = OpenWorkload(task.name, HashOf(DumpJson(json)));
  json["space"] = task.space.T1();
  task.text = DumpJson(json);
  if (task.text.size() > kMaxOpenTaskBytes) {
    return InvalidArgument(fmt::format("space: a text of {} bytes, expected at most {}",
                                       task.text.size(), kMaxOpenTaskBytes));
  }
  task.key = fmt::format("{}{}-{}", kOpenTaskKeyPrefix, task.name, HashOf(task.text));
  return task;
}

Result<OpenTask> ParseOpenTask(std::string_view text, std::string_view source) {
  if (text.size() > kMaxOpenTaskBytes) {
    return InvalidArgument(
        fmt::format("{}: {} bytes, expected at most {}", source, text.size(), kMaxOpenTaskBytes));
  }
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(source);
  auto parts = OpenPartsOf(*json);
  if (!parts.ok()) return parts.status().WithContext(source);
  auto task = MakeOpenTask(std::move(*parts));
  if (!task.ok()) return task.status().WithContext(source);
  if (task->text != text) return Corrupt(std::string(source) + ": not the canonical text");
  return task;
}

std::string ValueText(const KnobValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  return value.ToString();
}

namespace {

/// Returns a word with values in place of names. quoted: each value is a word of a shell.
std::string ExpandValues(std::string_view word, const Config& config, std::string_view out,
                         bool quoted) {
  std::string expanded;
  const Status fine = VisitWord(
      word, [&](std::string_view text) { expanded += text; },
      [&](std::string_view name) -> Status {
        const KnobValue* value = config.Find(name);
        const std::string text = value == nullptr ? std::string(out) : ValueText(*value);
        expanded += quoted ? ShellWord(text) : text;
        return {};
      });
  TW_CHECK(fine.ok(), fine.message());
  return expanded;
}

}  // namespace

std::set<std::string> ParametersIn(const std::vector<std::string>& words) {
  std::set<std::string> names;
  for (const std::string& word : words) {
    const Status fine = VisitWord(
        word, [](std::string_view) {},
        [&](std::string_view name) -> Status {
          if (name != kOut) names.emplace(name);
          return {};
        });
    TW_CHECK(fine.ok(), fine.message());
  }
  return names;
}

std::string ExpandWord(std::string_view word, const Config& config, std::string_view out) {
  return ExpandValues(word, config, out, /*quoted=*/false);
}

std::vector<std::string> ExpandWords(const OpenTask& task, const std::vector<std::string>& words,
                                     const Config& config, std::string_view out) {
  std::vector<std::string> expanded;
  if (task.shell && !words.empty()) expanded = {"/bin/sh", "-c"};
  for (const std::string& word : words)
    expanded.push_back(ExpandValues(word, config, out, task.shell));
  return expanded;
}

std::string ConfigJson(const OpenTask& task, const Config& config) {
  Json json = Json::object();
  const std::vector<std::int64_t> digits = task.knobs.Digits(config.index);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const Parameter& parameter = task.space.parameters()[i];
    json[parameter.name] = ToJson(parameter.values[static_cast<std::size_t>(digits[i])]);
  }
  return DumpJson(json);
}

}  // namespace tilewright
