// `records import` and `records export`: exchange of records with AutoTVM.

#include "python_free_cli/commands/exchange_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/progress.h"
#include "python_free_cli/tune_display.h"
#include "records/autotvm/export.h"
#include "records/autotvm/import.h"
#include "records/imported.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/files/output_file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/session/format.h"
#include "src/session/user_paths.h"

namespace tilewright::cli {
namespace {

constexpr std::size_t kShownRefusals = 20;

Json FileJson(const records::ImportedFile& file) {
  Json refused = Json::array();
  for (const records::RefusedLine& line : file.refused) {
    refused.push_back({{"line", line.line}, {"reason", line.reason}});
  }
  Json agreement = Json::object();
  for (std::size_t i = 0; i < file.agreement.size(); ++i) {
    const auto kind = static_cast<records::AutotvmAgreement>(i);
    agreement[std::string(records::AutotvmAgreementName(kind))] = file.agreement[i];
  }
  Json flags = Json::object();
  for (std::size_t bit = 0; bit < file.flags.size(); ++bit) {
    for (std::string_view name : records::ImportedFlagNames(std::int64_t{1} << bit)) {
      flags[std::string(name)] = file.flags[bit];
    }
  }
  return {{"file", file.file},
          {"package", file.package},
          {"lines", file.lines},
          {"comments", file.comments},
          {"blank", file.blank},
          {"records", file.records},
          {"imported", file.imported},
          {"duplicates", file.duplicates},
          {"other_targets", file.other_targets},
          {"refused_count", file.refused_count},
          {"refused", std::move(refused)},
          {"index_agreement", std::move(agreement)},
          {"flags", std::move(flags)}};
}

void PrintFile(const records::ImportedFile& file, bool dry_run) {
  PrintOut("{}: {} lines, {} records: {} {}imported, {} duplicates", file.file, file.lines,
           file.records, file.imported, dry_run ? "would be " : "", file.duplicates);
  if (file.other_targets > 0) PrintOut(", {} of other targets", file.other_targets);
  PrintOut(", {} refused\n", file.refused_count);
  const auto edited = file.agreement[static_cast<std::size_t>(records::AutotvmAgreement::kEdited)];
  const auto outside =
      file.agreement[static_cast<std::size_t>(records::AutotvmAgreement::kOutside)];
  const auto unknown =
      file.agreement[static_cast<std::size_t>(records::AutotvmAgreement::kUnknown)];
  if (edited > 0) PrintOut("  {:>6} edited by hand: the values count, not the index\n", edited);
  if (outside > 0) PrintOut("  {:>6} outside the template's space\n", outside);
  if (unknown > 0) PrintOut("  {:>6} of templates whose space is not known\n", unknown);
  for (std::size_t bit = 0; bit < file.flags.size(); ++bit) {
    if (file.flags[bit] == 0) continue;
    for (std::string_view name : records::ImportedFlagNames(std::int64_t{1} << bit)) {
      PrintOut("  {:>6} {}\n", file.flags[bit], name);
    }
  }
}

void PrintRefusals(const records::ImportedFile& file) {
  for (std::size_t i = 0; i < std::min(kShownRefusals, file.refused.size()); ++i) {
    PrintErr("{}:{}: refused: {}\n", file.file, file.refused[i].line, file.refused[i].reason);
  }
  if (file.refused_count > static_cast<std::int64_t>(kShownRefusals)) {
    PrintErr("{}: {} more lines refused; --json lists them\n", file.file,
             file.refused_count - static_cast<std::int64_t>(kShownRefusals));
  }
}

/// Prints, for --best, the tasks whose best record cannot be exported.
void PrintSkippedWinners(const std::vector<records::AutotvmSkippedWinner>& winners) {
  for (std::size_t i = 0; i < std::min(kShownRefusals, winners.size()); ++i) {
    const records::AutotvmSkippedWinner& winner = winners[i];
    auto workload = Workload::Parse(winner.workload_key);
    PrintErr("not the best: {}: the best is left out ({}, {}); {}\n",
             workload.ok() ? session::ShortName(*workload) : Printable(winner.workload_key),
             session::ShortSeconds(winner.seconds), winner.reason,
             winner.written_seconds > 0
                 ? fmt::format("written is the fastest that AutoTVM can take, {:.2f} times as slow",
                               winner.written_seconds / winner.seconds)
                 : "nothing is written for this task");
  }
  if (winners.size() > kShownRefusals) {
    PrintErr("and {} more tasks; --json lists them\n", winners.size() - kShownRefusals);
  }
}

}  // namespace

Result<std::string> DefaultStorePath(bool make_folder) {
  auto paths = session::FindUserPaths();
  if (!paths.ok()) {
    return InvalidArgument("no record store: name one with --records (" + paths.status().message() +
                           ")");
  }
  if (make_folder) {
    const std::filesystem::path folder = std::filesystem::path(paths->records).parent_path();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return Unavailable(folder.string() + ": cannot be made: " + failed.message());
  }
  return paths->records;
}

void ExchangeCommands::Declare(CLI::App& records) {
  CLI::App* in = records.add_subcommand("import", "Read AutoTVM logs and TopHub packages");
  in->add_option("files", files_, "Logs, format 0.2 or 0.1")->required();
  in->add_option("--records", store_, "Record store (default: the user's)");
  in->add_option("--target", target_, "Only records of this target, such as 'cuda -model=v100'");
  in->add_flag("--dry-run", dry_run_, "Say what would be imported, write nothing");
  in->add_flag("--json", json_, "Print JSON");
  in->callback([this] { subcommand_ = "import"; });
  CLI::App* out = records.add_subcommand("export", "Write AutoTVM logs");
  out->add_option("--format", format_, "Only autotvm: its log format 0.2")->capture_default_str();
  out->add_option("--records", store_, "Record store (default: the user's)");
  out->add_flag("--best", best_,
                "Only the best of each workload; says where AutoTVM cannot take the best");
  out->add_option("-o,--output", output_, "File to write (default: standard output)");
  out->add_flag("--json", json_, "Print a JSON summary to standard error");
  out->callback([this] { subcommand_ = "export"; });
}

const char* ExchangeCommands::Examples() {
  return "  tilewright records import cuda_v0.10.log my_tuning.log --records records.db\n"
         "  tilewright records import tuning.log --target 'cuda -model=v100' --dry-run --json\n"
         "  tilewright records export --format autotvm --best --records records.db -o best.log\n";
}

Result<int> ExchangeCommands::Run(const TemplateRegistry& templates) {
  return subcommand_ == "import" ? Import() : Export(templates);
}

Result<int> ExchangeCommands::Import() {
  std::string path = store_;
  std::optional<LockedTempDir> scratch;
  if (path.empty()) {
    TW_ASSIGN_OR_RETURN(path, DefaultStorePath(!dry_run_));
  }
  if (dry_run_ && !FileExists(path)) {  // a dry run creates no store
    TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-dry-run"));
    scratch.emplace(std::move(folder));
    path = scratch->path() + "/records.db";
  }
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadWrite));
  records::ImportOptions options;
  options.target = target_;
  options.dry_run = dry_run_;
  WorkProgress progress("import");
  options.progress = [&progress](const records::ImportedFile& file) {
    progress.Set(static_cast<double>(file.lines), 0, "lines of " + file.file);
  };
  auto files = records::ImportAutotvm(store, files_, options);
  progress.Stop();
  TW_RETURN_IF_ERROR(files);
  Json list = Json::array();
  std::int64_t records = 0, refused = 0;
  for (const records::ImportedFile& file : *files) {
    records += file.records;
    refused += file.refused_count;
    list.push_back(FileJson(file));
    if (!json_) PrintFile(file, dry_run_);
    PrintRefusals(file);
  }
  if (json_) PrintJson({{"files", std::move(list)}});
  if (refused == 0) return kExitDone;
  return records == 0 ? kExitBadInput : kExitFailed;
}

Result<int> ExchangeCommands::Export(const TemplateRegistry& templates) {
  if (format_ != "autotvm") {
    return InvalidArgument("--format: '" + format_ + "', expected autotvm");
  }
  std::string path = store_;
  if (path.empty()) {
    TW_ASSIGN_OR_RETURN(path, DefaultStorePath(false));
  }
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
  records::AutotvmExportReport exported;
  const Status written = WriteOutput(output_, [&](const TextSink& sink) -> Status {
    TW_ASSIGN_OR_RETURN(exported, records::ExportAutotvm(templates, store, {.best = best_},
                                                         [&](std::string_view line) {
                                                           const Status status = sink(line);
                                                           return status.ok() ? sink("\n") : status;
                                                         }));
    return {};
  });
  TW_RETURN_IF_ERROR(written);
  if (json_) {
    Json left = Json::object();
    for (const auto& [reason, count] : exported.left) left[reason] = count;
    Json winners = Json::array();
    for (const records::AutotvmSkippedWinner& winner : exported.skipped_winners) {
      winners.push_back({{"workload", winner.workload_key},
                         {"target", winner.target},
                         {"template", winner.template_key},
                         {"seconds", winner.seconds},
                         {"reason", winner.reason},
                         {"written_seconds", winner.written_seconds}});
    }
    PrintErr("{}\n", DumpJson({{"imported", exported.imported},
                               {"trials", exported.trials},
                               {"left_winners", std::move(winners)},
                               {"left_out", std::move(left)}}));
    return kExitDone;
  }
  PrintErr("{} imported records and {} own trials written\n", exported.imported, exported.trials);
  for (const auto& [reason, count] : exported.left) {
    PrintErr("  {:>6} {} left out: {}\n", count, best_ ? "tasks" : "trials", reason);
  }
  PrintSkippedWinners(exported.skipped_winners);
  return kExitDone;
}

}  // namespace tilewright::cli
