// `records import` and `records export`: exchange of records with AutoTVM, and T4 files.

#include "python_free_cli/commands/exchange_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "records/autotvm/export.h"
#include "records/autotvm/import.h"
#include "records/exchange/t4_files.h"
#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/files/output_file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/base/text/plural.h"
#include "src/report/store/exchange.h"
#include "src/report/terminal/progress.h"
#include "src/session/open_task.h"
#include "src/session/user_paths.h"

namespace tilewright::cli {
namespace {

void RemoveStore(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(path + suffix, ignored);
  }
}

}  // namespace

void ExchangeCommands::Declare(CLI::App& records) {
  CLI::App* in = records.add_subcommand(
      "import", "Import AutoTVM logs, TopHub packages, T4 files and Kernel Tuner's cachefiles");
  in_ = in;
  in->add_option(
        "files", files_,
        "AutoTVM logs, format 0.2 or 0.1, or T4 files and cachefiles, KERNEL.DEVICE.….json; "
        "a record store among them takes their records")
      ->required();
  in->add_option("--job", job_,
                 "Of T4 files: job file of the program whose task it is (default: a task without a "
                 "command)");
  in->add_option(
      "--space", t4_.space,
      "Of T4 files: the space of their task, a T1 file or a text (default: the values that "
      "occur)");
  in->add_option("--name", t4_.name, "Of T4 files: name of their task (default: the file's)");
  in->add_option("--problem", t4_.problem,
                 "Of T4 files: what the kernel solves, a JSON object such as {\"m\": 512}");
  in->add_option("--environment", t4_.environment,
                 "Of a T4 file: its device, as in tune (default: the file's name)");
  in->add_option("--records", store_, "Record store (default: the user's store)");
  in->add_option("--target", target_, "Only records of this target, such as 'cuda -model=v100'");
  in->add_flag("--dry-run", dry_run_, "Only print what would be imported");
  in->add_flag("--json", json_, "Print JSON");
  in->callback([this] { subcommand_ = "import"; });
  in->footer(std::string("Examples:\n") + Examples() + report::ImportFlagsText());
  CLI::App* out = records.add_subcommand(
      "export", "Export records as an AutoTVM log, as T4 files, or as those of other tuners");
  out->add_option("--format", format_,
                  "Format: autotvm (log format 0.2); all measured configs as t4 or cachefile (of "
                  "Kernel Tuner); t1 (spaces of programs)")
      ->capture_default_str();
  from_.Declare(*out);
  out->add_flag(
      "--best", best_,
      "Only the best record of each workload; notes where AutoTVM cannot use the best one");
  out->add_option("--target", target_, "Only records of this target, such as 'cuda -model=v100'");
  out->add_option("--task", task_,
                  "Only this workload key, AutoTVM tuple, operator or template, such as conv2d or "
                  "conv2d_nchw.cuda");
  out->add_option("-o,--output", output_,
                  "File to write (default: standard output); of several tasks a folder, FOLDER/");
  out->add_flag("--json", json_, "Print a JSON summary to standard error");
  out->callback([this] { subcommand_ = "export"; });
}

const char* ExchangeCommands::Examples() {
  return "  tilewright records import cuda_v0.10.log my_tuning.log --records records.db\n"
         "  tilewright records import tuning.log --target 'cuda -model=v100' --dry-run --json\n"
         "  tilewright records export --format autotvm --best --records records.db -o best.log\n"
         "  tilewright records export --best --target 'cuda -model=v100' --task conv2d -o "
         "v100.log\n"
         "  tilewright records import gemm.A100.T4.json.gz gemm.A4000.T4.json.gz --space "
         "gemm.T1.json --records gpu.db\n"
         "  tilewright records export --format t4 --records records.db -o landscapes/\n";
}

Result<int> ExchangeCommands::Run(const TemplateRegistry& templates,
                                  const search::StrategyRegistry& strategies) {
  return subcommand_ == "import" ? Import(strategies) : Export(templates);
}

namespace {

/// Returns true for a record store, and for the name of one to be made.
bool IsStoreFile(const std::string& file) {
  const FileKind* kind = IdentifyFile(file);
  return (kind != nullptr && kind->name == "record-store") ||
         (!FileExists(file) && file.ends_with(".db"));
}

}  // namespace

Result<std::string> ExchangeCommands::StoreAmongFiles() {
  std::string store = store_;
  std::vector<std::string> logs;
  for (const std::string& file : files_) {
    if (!IsStoreFile(file)) {
      logs.push_back(file);
    } else if (store.empty()) {
      store = file;
    } else {
      return InvalidArgument(file + ": a record store, but records go to " + store +
                             "; to merge stores: tilewright records merge " + ShellWord(store) +
                             " " + ShellWord(file));
    }
  }
  if (logs.empty()) return InvalidArgument("no AutoTVM log given, only the record store " + store);
  files_ = std::move(logs);
  return store;
}

namespace {

/// Checks that files can be logs before any of them is read. Errors: kInvalidArgument for a folder
/// and for a file of another kind, by its name.
Status CheckLogs(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
      return InvalidArgument(file + ": is a folder, expected files: tilewright records import " +
                             ShellWord(file) + "/*.log");
    }
    const FileKind* kind = IdentifyFile(file);
    // Damaged logs look like other texts; their lines are refused one by one.
    if (kind == nullptr || (kind->role != FileRole::kModel && kind->name != "elf" &&
                            kind->name != "library" && kind->name != "package")) {
      continue;
    }
    return InvalidArgument(file + ": not an AutoTVM log; this is " + std::string(kind->what));
  }
  return {};
}

}  // namespace

int ExchangeCommands::NothingImported(const std::vector<records::ImportedFile>& files,
                                      const std::string& store, bool new_store) const {
  if (new_store) RemoveStore(store);  // without any record it only hides the failure
  std::int64_t others = 0, refused = 0;
  for (const records::ImportedFile& file : files) {
    others += file.other_targets;
    refused += file.refused_count;
  }
  if (others > 0) {
    PrintErr("nothing was imported: no record is for the target '{}'\n", target_);
  } else if (refused == 0) {
    PrintErr("nothing was imported: the files have no records\n");
  }
  return refused > 0 && others == 0 ? kExitBadInput : kExitFailed;
}

Result<int> ExchangeCommands::ImportT4Files(const search::StrategyRegistry& strategies) {
  TW_RETURN_IF_ERROR(RejectOptions(*in_, {"--target"}, "T4 files have no target"));
  std::optional<session::OpenTaskOfJob> job;
  if (!job_.empty()) {
    TW_RETURN_IF_ERROR(RejectOptions(*in_, {"--space", "--name", "--problem"},
                                     "not allowed with --job, whose task it is"));
    TW_ASSIGN_OR_RETURN(job, session::LoadOpenTaskOfJob(strategies, job_));
    t4_.task = &job->task;
  }
  if (!t4_.environment.empty() && files_.size() > 1) {
    return InvalidArgument("--environment: expected one file, that of this device");
  }
  TW_ASSIGN_OR_RETURN(std::string path, StoreAmongFiles());
  std::optional<LockedTempDir> scratch;
  if (path.empty() && !dry_run_) {
    TW_ASSIGN_OR_RETURN(path, session::UserStorePath(true));
  }
  if (dry_run_) {  // it neither makes nor changes a store
    TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-dry-run"));
    scratch.emplace(std::move(folder));
    path = scratch->path() + "/records.db";
  }
  t4_.dry_run = dry_run_;
  const bool is_new = !FileExists(path);
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  TW_RETURN_IF_ERROR(store);
  const auto imports = records::ImportT4Files(*store, files_, t4_);
  if (!imports.ok()) {
    const auto imported = store->CountTrials({});
    store = NotFound("closed");
    // After an error of writing, files before it are imported.
    if (is_new && !dry_run_ && imported.ok() && *imported == 0) RemoveStore(path);
    return imports.status();
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < files_.size(); ++i) {
    list.push_back(report::T4ImportJson(files_[i], (*imports)[i]));
    if (!json_) WriteText(report::T4ImportText(files_[i], (*imports)[i], dry_run_));
  }
  if (json_) PrintJson({{"files", std::move(list)}});
  return kExitDone;
}

Result<int> ExchangeCommands::Import(const search::StrategyRegistry& strategies) {
  const auto t4_files = std::ranges::count_if(files_, records::LooksLikeT4);
  const auto stores = std::ranges::count_if(files_, IsStoreFile);
  if (t4_files > 0 && t4_files + stores == std::ssize(files_)) return ImportT4Files(strategies);
  if (t4_files > 0) return InvalidArgument("expected either AutoTVM logs or T4 files");
  TW_RETURN_IF_ERROR(RejectOptions(*in_,
                                   {"--job", "--space", "--name", "--problem", "--environment"},
                                   "expected T4 files or cachefiles with it"));
  TW_ASSIGN_OR_RETURN(std::string path, StoreAmongFiles());
  TW_RETURN_IF_ERROR(CheckLogs(files_));
  std::optional<LockedTempDir> scratch;
  if (path.empty()) {
    TW_ASSIGN_OR_RETURN(path, session::UserStorePath(!dry_run_));
  }
  const bool new_store = !FileExists(path);
  if (dry_run_ && !FileExists(path)) {  // a dry run creates no store
    TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-dry-run"));
    scratch.emplace(std::move(folder));
    path = scratch->path() + "/records.db";
  }
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  TW_RETURN_IF_ERROR(store);
  records::ImportOptions options;
  options.target = target_;
  options.dry_run = dry_run_;
  report::WorkProgress progress("import");
  options.progress = [&progress](const records::ImportedFile& file) {
    progress.Set(static_cast<double>(file.lines), 0, "lines of " + file.file);
  };
  auto files = records::ImportAutotvm(*store, files_, options);
  progress.Stop();
  if (!files.ok() && new_store && !scratch) {
    store = NotFound("closed");
    RemoveStore(path);
  }
  TW_RETURN_IF_ERROR(files);
  Json list = Json::array();
  std::int64_t imported = 0, refused = 0;
  for (const records::ImportedFile& file : *files) {
    refused += file.refused_count;
    list.push_back(report::ImportedFileJson(file));
    imported += file.imported + file.duplicates;
    if (!json_ && !file.IsNoLog()) WriteText(report::ImportedFileText(file, dry_run_));
    WriteMessage(report::ImportRefusalsText(file));
  }
  if (json_) PrintJson({{"files", std::move(list)}});
  if (imported == 0) {
    store = NotFound("closed");
    return NothingImported(*files, path, new_store && !scratch);
  }
  return refused == 0 ? kExitDone : kExitFailed;
}

Result<int> ExchangeCommands::ExportT4(const TemplateRegistry& templates) {
  if (best_) {
    return InvalidArgument("--best: a file of --format " + format_ + " has all measured configs");
  }
  TW_ASSIGN_OR_RETURN(const std::string path, from_.Path());
  TW_ASSIGN_OR_RETURN(const auto selection, records::Selection::Parse(target_, task_));
  TW_ASSIGN_OR_RETURN(const auto store,
                      records::Store::Open(path, records::Store::Mode::kReadOnly));
  TW_ASSIGN_OR_RETURN(const auto exported, records::ExportT4(templates, store, selection));
  if (output_.empty() && exported.spaces.size() == 1) {
    TW_ASSIGN_OR_RETURN(const std::string text,
                        records::T4FileText(exported.spaces.front(), format_));
    TW_RETURN_IF_ERROR(WriteOutput("", [&](const TextSink& sink) { return sink(text); }));
  } else {
    TW_RETURN_IF_ERROR(records::WriteT4Files(exported, format_, output_));
  }
  WriteMessage(json_ ? DumpJson(report::T4ExportJson(exported)) + "\n"
                     : report::T4ExportText(exported));
  return exported.trials > 0 ? kExitDone : kExitFailed;
}

Result<int> ExchangeCommands::Export(const TemplateRegistry& templates) {
  if (format_ == "t4" || format_ == "t1" || format_ == "cachefile") return ExportT4(templates);
  if (format_ != "autotvm") {
    return InvalidArgument("--format: '" + format_ + "', expected autotvm, t4, cachefile or t1");
  }
  TW_ASSIGN_OR_RETURN(const std::string path, from_.Path());
  records::AutotvmExportOptions options;
  options.best = best_;
  TW_ASSIGN_OR_RETURN(options.selection, records::Selection::Parse(target_, task_));
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
  records::AutotvmExportReport exported;
  bool finished = false;
  const Status written = WriteOutput(output_, [&](const TextSink& sink) -> Status {
    TW_ASSIGN_OR_RETURN(
        exported, records::ExportAutotvm(templates, store, options, [&](std::string_view line) {
          const Status status = sink(line);
          return status.ok() ? sink("\n") : status;
        }));
    finished = true;
    // No file takes the place of another one, or is made, for nothing.
    return exported.imported + exported.trials > 0 ? Status() : NotFound("nothing to export");
  });
  const bool nothing = finished && exported.imported + exported.trials == 0;
  if (!nothing) TW_RETURN_IF_ERROR(written);
  if (written.ok() && !finished) return kExitDone;  // the reader of a pipe (| head) has enough
  if (json_) {
    PrintErr("{}\n", DumpJson(report::AutotvmExportJson(exported)));
    return nothing ? kExitFailed : kExitDone;
  }
  if (!nothing)
    PrintErr("{} and {} written\n", Counted(exported.imported, "imported record"),
             Counted(exported.trials, "own trial"));
  if (nothing) {
    PrintErr("nothing is exported: {}; `tilewright records stats {}` lists what the store has\n",
             options.selection.all() ? "no record can be written as a line of an AutoTVM log"
                                     : "no record has this --target and --task",
             ShellWord(path));
  }
  WriteMessage(report::AutotvmLeftText(exported, best_));
  return nothing ? kExitFailed : kExitDone;
}

}  // namespace tilewright::cli
