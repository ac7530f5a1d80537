#include "python_free_cli/plugins/load_schedule.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "python_free_cli/user_paths.h"
#include "records/package/installed.h"
#include "records/package/schedules.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "src/templates/text/text_template.h"

namespace tilewright::cli {
namespace {

/// For workers, too.
Status AddParsed(ScheduleText schedule, Registries& registries) {
  if (std::ranges::count(registries.texts, schedule.text) == 0) {
    registries.texts.push_back(schedule.text);
  }
  return AddScheduleText(registries.templates, std::move(schedule));
}

Status AddText(std::string_view text, const std::string& file, Registries& registries) {
  TW_ASSIGN_OR_RETURN(auto parsed, ParseScheduleText(text, file));
  return AddParsed(std::move(parsed), registries);
}

/// As a worker has it: by its former name as well, as orders are whatever the records say.
Status AddByBothNames(const std::string& text, Registries& registries) {
  TW_ASSIGN_OR_RETURN(auto parsed, ParseScheduleText(text, "--schedule-text"));
  ScheduleText former = parsed;
  former.key = LegacyScheduleKey(former);
  TW_RETURN_IF_ERROR(AddParsed(std::move(parsed), registries));
  return AddParsed(std::move(former), registries);
}

/// Those of a store; one that says something else than its name is left out.
void AddTextsOf(const Result<records::Store>& store, Registries& registries) {
  if (!store.ok()) return;
  const auto texts = records::ScheduleTextsOf(*store);
  if (!texts.ok()) return;
  for (const auto& [key, text] : *texts) {
    auto parsed = ParseScheduleText(text, store->path());
    const Status added = !parsed.ok() ? parsed.status()
                         : !AcceptScheduleKey(key, *parsed)
                             ? InvalidArgument("the text of " + key + " is another one's")
                             : AddParsed(*std::move(parsed), registries);
    if (!added.ok()) PrintErr("schedule left out: {}\n", added.message());
  }
}

/// What was given to an option of a command or of one of its verbs.
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

Status LoadSchedules(const ExtensionArguments& extensions, Registries& registries) {
  for (const std::string& file : extensions.schedules) {
    auto text = ReadFile(file, kMaxScheduleBytes + 1);
    if (!text.ok()) return text.status().WithContext("--schedule " + file);
    TW_RETURN_IF_ERROR(AddText(*text, file, registries));
  }
  for (const std::string& text : extensions.texts) {
    TW_RETURN_IF_ERROR(AddByBothNames(text, registries));
  }
  return {};
}

void LoadStoredSchedules(const CLI::App& command, Registries& registries) {
  // Of what chooses templates by records, or looks after those.
  constexpr std::array<std::string_view, 11> kAskers = {"space", "lower",   "measure", "tune",
                                                        "query", "compile", "run",     "verify",
                                                        "bench", "package", "train"};
  const std::string name = command.get_name();
  if (std::ranges::count(kAskers, name) == 0 && name != "records" && name != "report") return;
  // It looks at the texts itself, and at the log beside the store before anybody opens that.
  if (name == "records" && command.got_subcommand("check")) return;
  bool given = false;
  for (const char* option : {"--records", "store", "stores", "from", "--compare"}) {
    for (const std::string& path : GivenTo(command, option)) {
      given = true;
      if (!FileExists(path)) continue;
      AddTextsOf(records::Store::Open(path, records::Store::Mode::kReadOnly), registries);
    }
  }
  const auto own = FindUserPaths();
  if (!given && own.ok() && FileExists(own->records)) {
    AddTextsOf(records::Store::Open(own->records, records::Store::Mode::kReadOnly), registries);
  }
  // Whom to trust is the command's to say; a text alone does nothing.
  const auto policy = TrustArguments{GivenTo(command, "--key"), true}.Policy();
  if (policy.ok() && name != "package") {
    for (const std::string& path : GivenTo(command, "--package")) {
      auto package = records::ReadPackageFile(path, *policy);
      if (package.ok()) {
        AddTextsOf(records::Store::OpenImage(package->database, path), registries);
      }
    }
  }
  for (const std::string& root : PackageRoots()) {
    const auto list = records::ListInstalled(root);
    if (!list.ok()) continue;
    for (const records::InstalledPackage& package : list->packages) {
      AddTextsOf(records::OpenInstalled(package), registries);
    }
  }
}

}  // namespace tilewright::cli
