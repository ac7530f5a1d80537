#include "src/optimize/score.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "measure/program/command.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/printable.h"
#include "src/base/strings.h"

namespace tilewright::optimize {
namespace {

using measure::CommandEnd;

/// Parses the output of a call: one finite number.
Score ScoreOf(const std::string& output) {
  const std::string_view text = Trim(output);
  const auto number = ParseDouble(text);
  if (number.ok() && std::isfinite(*number)) return {*number, ""};
  constexpr std::size_t kShown = 60;
  return {std::numeric_limits<double>::quiet_NaN(),
          text.empty()
              ? "it printed nothing, expected one number"
              : fmt::format("it printed '{}{}', expected one number",
                            Printable(text.substr(0, kShown)), text.size() > kShown ? "…" : "")};
}

}  // namespace

std::string ScoreProgram::Key() const {
  std::uint64_t state = Fnv1a64(fmt::format("{}", seconds));
  for (std::size_t i = 0; i < words.size(); ++i) {
    state = Fnv1a64(words[i] + '\n', state);
    const std::string path = i == 0 ? measure::FindProgram(words[0]) : words[i];
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) continue;
    // A file that cannot be read is known by its name.
    if (const auto contents = ReadFile(path); contents.ok()) state = Fnv1a64(*contents, state);
  }
  return HexOf(state);
}

Result<Score> RunScore(const ScoreProgram& program, const std::string& library,
                       std::vector<std::string> environment, const std::string& scratch) {
  measure::CommandSpec spec;
  spec.words = program.words;
  spec.words.push_back(library);
  spec.environment = std::move(environment);
  spec.scratch = scratch;
  spec.limits.seconds = program.seconds;
  const measure::CommandResult result = measure::RunCommand(spec);
  switch (result.end) {
    case CommandEnd::kNotStarted:
      return InvalidArgument("--score: " + result.Reason());
    case CommandEnd::kNoResource:
    case CommandEnd::kLost:
    case CommandEnd::kStopped:
      return Unavailable("--score: " + result.Reason());
    default:
      break;
  }
  if (!result.ok()) {
    return Score{std::numeric_limits<double>::quiet_NaN(), Printable(result.Reason())};
  }
  return ScoreOf(result.output);
}

}  // namespace tilewright::optimize
