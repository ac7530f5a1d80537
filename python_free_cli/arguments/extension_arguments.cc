#include "python_free_cli/arguments/extension_arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "python_free_cli/print.h"
#include "records/package/installed.h"
#include "search/job.h"
#include "src/base/files/file.h"
#include "src/plugins/load_schedule.h"
#include "src/session/record_sources.h"
#include "src/session/user_paths.h"
#include "src/templates/text/text_template.h"

namespace tilewright::cli {
namespace {

/// Commands that choose, build or explain templates, or that search.
constexpr std::array<std::string_view, 15> kTakers = {
    "space",   "lower",   "tune",  "query",   "compile", "run",    "verify", "bench",
    "records", "package", "train", "targets", "measure", "worker", "child"};

/// Adds an option to a command and to its subcommands.
void AddOption(CLI::App& command, ExtensionArguments& extensions) {
  command
      .add_option("--plugin", extensions.plugins,
                  "Plugin: a shared library with templates and strategies; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      .add_option("--schedule", extensions.schedules,
                  "Text schedule (docs/schedules.md); repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  if (command.get_name() == "child") {
    command.add_option("--schedule-text", extensions.texts, "Text of a schedule")
        ->allow_extra_args(false)
        ->group("");
  }
  for (CLI::App* subcommand : command.get_subcommands(nullptr)) AddOption(*subcommand, extensions);
}

void AddTextsOf(const Result<records::Store>& store, plugins::Registries& registries) {
  plugins::AddSchedulesOf(store, registries,
                          [](const std::string& why) { PrintErr("schedule left out: {}\n", why); });
}

/// Returns the values given to an option of a command or of one of its subcommands.
std::vector<std::string> GivenTo(const CLI::App& command, const std::string& name) {
  std::vector<std::string> given;
  if (const CLI::Option* option = command.get_option_no_throw(name)) given = option->results();
  for (const CLI::App* subcommand : command.get_subcommands()) {
    const std::vector<std::string> more = GivenTo(*subcommand, name);
    given.insert(given.end(), more.begin(), more.end());
  }
  return given;
}

}  // namespace

void DeclarePlugins(CLI::App& command, ExtensionArguments& extensions) {
  if (std::ranges::count(kTakers, command.get_name()) > 0) AddOption(command, extensions);
}

Status LoadSchedules(const ExtensionArguments& extensions, plugins::Registries& registries) {
  for (const std::string& file : extensions.schedules) {
    auto text = ReadFile(file, kMaxScheduleBytes + 1);
    if (!text.ok()) return text.status().WithContext("--schedule " + file);
    TW_RETURN_IF_ERROR(plugins::AddSchedule(*text, file, registries));
  }
  for (const std::string& text : extensions.texts) {
    TW_RETURN_IF_ERROR(AddWorkerSchedule(registries.templates, text, "--schedule-text"));
  }
  return {};
}

void LoadStoredSchedules(const CLI::App& command, plugins::Registries& registries) {
  // Commands that choose templates by records, or maintain records.
  constexpr std::array<std::string_view, 11> kAskers = {"space", "lower",   "measure", "tune",
                                                        "query", "compile", "run",     "verify",
                                                        "bench", "package", "train"};
  const std::string name = command.get_name();
  if (std::ranges::count(kAskers, name) == 0 && name != "records" && name != "report") return;
  // `records check` reads the texts itself, and the write-ahead log next to the store before the
  // store is opened.
  if (name == "records" && command.got_subcommand("check")) return;
  std::vector<std::string> stores;
  for (const char* option : {"--records", "store", "stores", "from", "--compare"}) {
    for (std::string& path : GivenTo(command, option)) stores.push_back(std::move(path));
  }
  for (const std::string& job : stores.empty() ? GivenTo(command, "--job") : decltype(stores)()) {
    const auto settings = search::LoadJobSettings(registries.strategies, job);
    if (settings.ok() && !settings->records.empty()) stores.push_back(settings->records);
  }
  const auto own = session::FindUserPaths();
  if (stores.empty() && own.ok()) stores.push_back(own->records);
  for (const std::string& path : stores) {
    if (!FileExists(path)) continue;
    AddTextsOf(records::Store::Open(path, records::Store::Mode::kReadOnly), registries);
  }
  // The command reports invalid trust options; a schedule text alone has no effect.
  const auto policy = session::TrustOptions{GivenTo(command, "--key"), true}.Policy();
  if (policy.ok() && name != "package") {
    for (const std::string& path : GivenTo(command, "--package")) {
      auto package = records::ReadPackageFile(path, *policy);
      if (package.ok()) {
        AddTextsOf(records::Store::OpenImage(package->database, path), registries);
      }
    }
  }
  for (const std::string& root : session::PackageRoots()) {
    const auto list = records::ListInstalled(root);
    if (!list.ok()) continue;
    for (const records::InstalledPackage& package : list->packages) {
      AddTextsOf(records::OpenInstalled(package), registries);
    }
  }
}

}  // namespace tilewright::cli
