#include "src/optimize/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "measure/program/command.h"
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

/// Returns the hash of a file's contents, continued from `state`.
Result<std::uint64_t> HashOfFile(const std::string& path, std::uint64_t state) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint64_t> words(std::size_t{1} << 17);
  std::uint64_t bytes = 0;
  while (file) {
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof(words[0])));
    const auto count = static_cast<std::uint64_t>(file.gcount());
    auto* const end = reinterpret_cast<char*>(words.data()) + count;
    const std::uint64_t full = (count + sizeof(words[0]) - 1) / sizeof(words[0]);
    std::fill_n(end, full * sizeof(words[0]) - count, '\0');
    for (std::uint64_t i = 0; i < full; ++i) state = Mix64(state ^ words[i]);
    bytes += count;
  }
  if (!file.eof()) {
    return InvalidArgument(path + ": cannot be read, so that a change of it would not be seen");
  }
  return Mix64(state ^ bytes);
}

/// Returns the regular files of a folder, also of folders in it, sorted; of a file itself. Links in
/// a folder count if they lead to files, and links to folders are not followed.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::exists(path, failed)) return NotFound(path + ": does not exist");
  if (fs::is_regular_file(path, failed)) return std::vector<std::string>{path};
  if (!fs::is_directory(path, failed)) {
    return InvalidArgument(path + ": expected a file or a folder");
  }
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(path, failed), end; !failed && it != end;
       it.increment(failed)) {
    std::error_code unknown;  // a link that leads nowhere
    if (it->is_regular_file(unknown)) files.push_back(it->path().string());
  }
  if (failed) return InvalidArgument(path + ": " + failed.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Result<std::string> ScoreProgram::Key() const {
  std::uint64_t state = Fnv1a64(fmt::format("{}", seconds));
  std::error_code failed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    state = Fnv1a64(words[i] + '\n', state);
    const std::string path = i == 0 ? measure::FindProgram(words[0]) : words[i];
    if (!std::filesystem::is_regular_file(path, failed)) continue;
    TW_ASSIGN_OR_RETURN(state, HashOfFile(path, state));
  }
  for (const std::string& path : depends) {
    const auto files = FilesOf(path);
    if (!files.ok()) return files.status().WithContext("--score-depends");
    for (const std::string& file : *files) {
      state = Fnv1a64(file.substr(path.size()) + '\n', state);
      TW_ASSIGN_OR_RETURN(state, HashOfFile(file, state));
    }
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
