#include "python_free_cli/arguments/output_check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/files/file_kind.h"
#include "src/base/shell/quote.h"
#include "src/base/strings.h"

namespace tilewright::cli {
namespace {

/// Kinds of existing files that a command replaces, by its name: those that it writes.
struct Replaces {
  std::string_view command;
  std::array<std::string_view, 3> kinds;
};
constexpr auto kReplaces = std::to_array<Replaces>({
    {"compile", {"library", "elf", "bundle"}},
    {"optimize", {"library", "elf", "bundle"}},
    {"model", {"onnx"}},
    {"export", {"autotvm-log"}},
    {"build", {"package"}},
});

/// Kinds that hold work which a mistyped output would destroy.
constexpr std::array<std::string_view, 9> kValuable = {"onnx",    "onnx-weights", "record-store",
                                                       "package", "job",          "autotvm-log",
                                                       "library", "elf",          "relay-json"};

struct Paths {
  std::vector<std::string> outputs, inputs;
  std::string command;  ///< name of the innermost command
};

void CollectPaths(const CLI::App& app, Paths& paths) {
  for (const CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    const bool output = std::ranges::find(names, "output") != names.end() ||
                        std::ranges::find(names, "into") != names.end();
    if (option->count() == 0) continue;
    auto& to = output ? paths.outputs : paths.inputs;
    for (const std::string& value : option->results()) to.push_back(value);
  }
  for (const CLI::App* sub : app.get_subcommands()) {
    paths.command = sub->get_name();
    CollectPaths(*sub, paths);
  }
}

/// Returns the files that an argument can name: itself, the parts of a list, and the file of
/// "FILE#3".
std::vector<std::string> FilesIn(const std::string& value) {
  std::vector<std::string> files = {value};
  for (const std::string_view part : Split(value, ',')) {
    files.emplace_back(part);
    files.emplace_back(part.substr(0, part.find('#')));
  }
  return files;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code failed;
  return std::filesystem::equivalent(a, b, failed) && !failed;
}

Status CheckFolder(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (folder.empty() || std::filesystem::is_directory(folder, failed)) return {};
  return InvalidArgument("output '" + path + "': there is no folder " + folder.string() +
                         "; make it first (mkdir -p " + ShellWord(folder.string()) + ")");
}

Status CheckReplaced(const std::string& path, const Paths& paths) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) ||
      std::filesystem::file_size(path, failed) == 0) {
    return {};
  }
  for (const std::string& input : paths.inputs) {
    if (std::ranges::none_of(FilesIn(input),
                             [&path](const std::string& file) { return IsSameFile(file, path); })) {
      continue;
    }
    return InvalidArgument("output '" + path + "': is a file that this command reads (" + input +
                           "); give another name");
  }
  const FileKind* kind = IdentifyFile(path);
  if (kind == nullptr || std::ranges::find(kValuable, kind->name) == kValuable.end()) return {};
  const auto writes = std::ranges::find(kReplaces, paths.command, &Replaces::command);
  if (writes != kReplaces.end() &&
      std::ranges::find(writes->kinds, kind->name) != writes->kinds.end()) {
    return {};
  }
  return InvalidArgument("output '" + path + "': is " + std::string(kind->what) + ", which `" +
                         paths.command +
                         "` does not replace; give another name or remove it first");
}

}  // namespace

Status CheckOutputs(const CLI::App& app) {
  Paths paths;
  CollectPaths(app, paths);
  for (std::string path : paths.outputs) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    TW_RETURN_IF_ERROR(CheckFolder(path));
    TW_RETURN_IF_ERROR(CheckReplaced(path, paths));
  }
  return {};
}

}  // namespace tilewright::cli
