#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/space/config.h"
#include "src/space/open/open_space.h"
#include "src/target/target.h"
#include "src/templates/open/problem.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// How a command receives a config. Its words and environment can name parameters in any case.
enum class OpenInput : std::uint8_t {
  kWords,   ///< nothing on standard input
  kJson,    ///< one line of JSON on standard input
  kServer,  ///< one line of JSON for each config; the process stays alive between configs
  kCaller,  ///< no command: a program asks for configs and tells results (search/open/ask_tell.h)
};

/// Parts of an open task that its user states.
struct OpenTaskParts {
  std::string name;  ///< IsOpenName
  OpenSpace space;
  /// Words of the measured command, and of the commands that build and verify; the latter two may
  /// be empty. Words contain "{NAME}" for the value of a parameter, "{out}" for the path of the
  /// built file, and "{{", "}}" for braces.
  std::vector<std::string> command, build, check;
  /// The three are texts for a shell, one word each, in which values are quoted.
  bool shell = false;
  OpenInput input = OpenInput::kWords;
  /// Variables of all three, with values as words.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Metrics of the answer that are recorded, the minimized one first.
  std::vector<std::string> metrics = {"seconds"};
  /// Of kCaller: what the kernel of this name solves. Else empty.
  Problem problem = {};
};

/// Open task: a program of a user, its space, and how to run it. The task itself (`workload`) is
/// determined by all parts but the space. A template is a space for a task.
struct OpenTask : OpenTaskParts {
  ConfigSpace knobs;  ///< of `space`, with equal indices
  Workload workload;
  /// Canonical text (JSON) of all parts. Stores and packages keep it with the records.
  std::string text;
  /// "open/NAME-HASH" with 160 bits of the SHA-256 of `text`, as of a template.
  std::string key;

  /// Target of its records: "program", with its metrics unless there is only the default one.
  Target target() const;
};

/// Version of the templates; raised if the meaning of a text changes.
inline constexpr int kOpenTaskVersion = 1;
inline constexpr std::size_t kMaxOpenTaskBytes = 1 << 20;

/// Checks the parts and completes the task.
/// Errors: kInvalidArgument naming the part: a name that is none, no command, a word that names an
/// unknown parameter, no metric or one twice, or a text that would be too long.
Result<OpenTask> MakeOpenTask(OpenTaskParts parts);
/// Parses a canonical text. It may come from anybody. source: for messages.
/// Errors: kInvalidArgument; kCorrupt if the text is not in canonical form.
Result<OpenTask> ParseOpenTask(std::string_view text, std::string_view source);

/// Returns the parameters that words of a task name.
std::set<std::string> ParametersIn(const std::vector<std::string>& words);
/// Returns a word of a task with the values of a config in place of names. out: the path of the
/// built file.
std::string ExpandWord(std::string_view word, const Config& config, std::string_view out);
/// Expands all words. A shell's text becomes the command of the shell.
std::vector<std::string> ExpandWords(const OpenTask& task, const std::vector<std::string>& words,
                                     const Config& config, std::string_view out);
/// Formats the values of a config as a JSON object, with the types of the parameters.
std::string ConfigJson(const OpenTask& task, const Config& config);
/// Formats a knob's value for a command line: text without quotes.
std::string ValueText(const KnobValue& value);

}  // namespace tilewright
