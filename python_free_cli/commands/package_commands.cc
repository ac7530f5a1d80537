// `tilewright package`: builds, signs, verifies and installs packages of records.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/print.h"
#include "python_free_cli/progress.h"
#include "python_free_cli/record_sources.h"
#include "python_free_cli/tune_display.h"
#include "records/answer_json.h"
#include "records/package/build.h"
#include "records/package/catalog.h"
#include "records/package/diff.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/report/text/answer_text.h"
#include "src/session/format.h"
#include "src/session/names.h"
#include "src/session/tasks.h"
#include "src/session/text_table.h"
#include "src/session/user_paths.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

Json ManifestJson(const records::PackageManifest& manifest) {
  return *ParseJson(manifest.ToText());
}

/// Returns package files: the named ones, and those in named folders, by name.
Result<std::vector<std::string>> PackageFiles(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code failed;
    if (!fs::is_directory(argument, failed)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> found;
    for (fs::directory_iterator at(argument, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (at->path().extension() == records::kPackageExtension) found.push_back(at->path());
    }
    if (failed) return InvalidArgument(argument + ": " + failed.message());
    if (found.empty()) return NotFound(argument + ": no package files (*.twpkg) in this folder");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

/// Returns every installed package, in lookup order.
Result<records::InstalledList> AllInstalled() {
  records::InstalledList all;
  for (const std::string& root : session::PackageRoots()) {
    TW_ASSIGN_OR_RETURN(auto list, records::ListInstalled(root));
    std::ranges::move(list.packages, std::back_inserter(all.packages));
    std::ranges::move(list.problems, std::back_inserter(all.problems));
  }
  return all;
}

class PackageCommand final : public Command {
 public:
  const char* name() const override { return "package"; }
  const char* summary() const override {
    return "Build, sign, verify and install packages of records";
  }
  const char* examples() const override {
    return "  tilewright package keygen -o lab --comment 'Lab tuning'\n"
           "  tilewright package build records.db -o packages --license CC0-1.0 --key lab\n"
           "  tilewright package trust lab.pub\n"
           "  tilewright package verify packages\n"
           "  tilewright package install packages\n"
           "  tilewright package query llvm-znver5-t1-8c1f22ab.twpkg resnet18.onnx\n"
           "  tilewright package diff old.twpkg new.twpkg\n";
  }
  void Declare(CLI::App& app) override;
  Result<int> Run() override { return (this->*run_)(); }

 private:
  using Subcommand = Result<int> (PackageCommand::*)();
  CLI::App* Add(CLI::App& app, const char* subcommand, const char* what, Subcommand run) {
    CLI::App* sub = app.add_subcommand(subcommand, what);
    sub->add_flag("--json", json_, "Print JSON");
    sub->callback([this, run] { run_ = run; });
    return sub;
  }
  Result<int> Build();
  Result<int> Verify();
  Result<int> VerifyInstalled();
  Result<int> Install();
  Result<int> List();
  Result<int> Remove();
  Result<int> Diff();
  Result<int> Query();
  Result<int> Keygen();
  Result<int> Trust();
  /// Opens the records of a package file, or of an installed package of this name.
  Result<records::Store> OpenEither(const std::string& which);
  Status AddTrusted(const records::PublicKey& key, const std::string& comment);

  Subcommand run_ = nullptr;
  std::vector<std::string> arguments_;
  ModelArguments model_;
  std::string output_ = ".", key_file_, comment_, task_, before_, after_;
  records::PackageOptions build_;
  session::TrustOptions trust_;
  TargetArguments target_;
  bool json_ = false, unsigned_ = false, system_ = false, downgrade_ = false, installed_ = false,
       trust_new_ = false;
};

void PackageCommand::Declare(CLI::App& app) {
  app.require_subcommand(1);
  CLI::App* build = Add(app, "build", "Build a package for each target of some record stores",
                        &PackageCommand::Build);
  build->add_option("stores", arguments_, "Record stores")->required();
  build->add_option("-o,--output", output_, "Folder, or a file name that ends in .twpkg")
      ->capture_default_str();
  build->add_option("--license", build_.license, "License of the records, such as CC0-1.0")
      ->required();
  build->add_option("--key", key_file_, "Secret key to sign with (from keygen)");
  build->add_flag("--unsigned", unsigned_, "Build without a signature");
  build->add_option("--target", build_.target, "Only records of this target");
  build->add_option("--name", build_.name, "Name of the package (default: from its target)");
  build->add_option("--best", build_.best, "Number of fastest trials per task, plus ties (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();

  CLI::App* verify =
      Add(app, "verify", "Verify packages: signatures and all records", &PackageCommand::Verify);
  verify->add_option("packages", arguments_, "Package files, or folders of them");
  verify->add_flag("--installed", installed_, "Verify the installed packages");
  DeclareTrust(*verify, trust_);

  CLI::App* install =
      Add(app, "install", "Verify packages and install them for queries", &PackageCommand::Install);
  install->add_option("packages", arguments_, "Package files, or folders of them")->required();
  install->add_flag("--system", system_,
                    std::string("For all users, in ") + session::kSystemPackages);
  install->add_flag("--downgrade", downgrade_, "Install even if a newer version is installed");
  DeclareTrust(*install, trust_);

  Add(app, "list", "List installed packages in the order in which they are searched",
      &PackageCommand::List);
  CLI::App* remove = Add(app, "remove", "Remove installed packages", &PackageCommand::Remove);
  remove->add_option("packages", arguments_, "Names, or prefixes of digests")->required();

  CLI::App* diff = Add(app, "diff", "Show tasks whose best config differs between two packages",
                       &PackageCommand::Diff);
  diff->add_option("before", before_, "Package file, or name of an installed package")->required();
  diff->add_option("after", after_, "Package file, or name of an installed package")->required();
  DeclareTrust(*diff, trust_);

  CLI::App* query =
      Add(app, "query", "Show the best config of a task in one package", &PackageCommand::Query);
  query->add_option("package", before_, "Package file, or name of an installed package")
      ->required();
  query
      ->add_option("task", task_,
                   "Workload key, AutoTVM tuple, FILE#N for one task, or FILE for all tasks")
      ->required();
  DeclareTrust(*query, trust_);
  target_.Declare(*query);
  model_.Declare(*query);

  CLI::App* keygen = Add(app, "keygen", "Generate a key pair for signing", &PackageCommand::Keygen);
  keygen
      ->add_option("-o,--output", output_,
                   "File for the secret key; the public key is written to FILE.pub")
      ->required();
  keygen->add_option("--comment", comment_, "Comment that names the owner");
  keygen->add_flag("--trust", trust_new_, "Also trust the key on this machine");
  CLI::App* trust = Add(app, "trust", "Trust public keys permanently", &PackageCommand::Trust);
  trust->add_option("keys", arguments_, "Public key files")->required();
}

Result<int> PackageCommand::Build() {
  if (key_file_.empty() != unsigned_) {
    return InvalidArgument("sign it with --key FILE, or say --unsigned");
  }
  std::optional<records::SecretKey> key;
  if (!key_file_.empty()) {
    TW_ASSIGN_OR_RETURN(key, records::ReadSecretKey(key_file_));
    build_.key = &*key;
  }
  build_.tool_version = TILEWRIGHT_VERSION;
  if (!build_.target.empty()) {
    auto target = Target::Parse(build_.target);
    if (!target.ok()) return target.status().WithContext("--target");
    build_.target = target->ToString();
  }
  WorkProgress progress("package build");
  progress.Set(0, 0, "of " + Counted(std::ssize(arguments_), "store"));
  std::int64_t refused = 0;
  std::vector<std::string> reasons;
  build_.refused = [&](const std::string& store, std::int64_t count, const std::string& first) {
    refused += count;
    reasons.push_back(
        fmt::format("{}: {} refused, the first: {}", store, Counted(count, "trial"), first));
  };
  auto packages = records::BuildPackages(templates(), arguments_, build_);
  progress.Stop();
  TW_RETURN_IF_ERROR(packages);
  for (const std::string& reason : reasons) PrintErr("{}\n", reason);
  const bool one_file = output_.ends_with(records::kPackageExtension);
  if (one_file && packages->size() > 1) {
    return InvalidArgument(fmt::format("-o {}: one file, but {} targets; choose one with --target",
                                       output_, packages->size()));
  }
  if (!one_file) {
    std::error_code failed;
    fs::create_directories(output_, failed);
    if (failed) return Unavailable(output_ + ": cannot be made: " + failed.message());
  }
  Json out = Json::array();
  for (const records::BuiltPackage& package : *packages) {
    const std::string path =
        one_file ? output_
                 : output_ + "/" + package.manifest.name + std::string(records::kPackageExtension);
    TW_RETURN_IF_ERROR(WriteFile(path, package.bytes));
    out.push_back({{"file", path},
                   {"bytes", package.bytes.size()},
                   {"manifest", ManifestJson(package.manifest)}});
    if (json_) continue;
    PrintOut("{}: {} of {} on {}, {:.1f} kB, {}\n", path, Counted(package.manifest.trials, "trial"),
             Counted(package.manifest.tasks, "task"), Counted(package.manifest.devices, "device"),
             1e-3 * static_cast<double>(package.bytes.size()), unsigned_ ? "unsigned" : "signed");
  }
  if (json_) PrintJson({{"packages", out}, {"refused", refused}});
  return refused == 0 ? kExitDone : kExitFailed;
}

Result<int> PackageCommand::Verify() {
  if (installed_) {
    if (arguments_.empty()) return VerifyInstalled();
    return InvalidArgument("--installed: checks what is installed, expected no package files");
  }
  if (arguments_.empty()) return InvalidArgument("name package files, or say --installed");
  TW_ASSIGN_OR_RETURN(auto policy, trust_.Policy());
  TW_ASSIGN_OR_RETURN(auto files, PackageFiles(arguments_));
  Json out = Json::array();
  int refused = 0;
  for (const std::string& file : files) {
    auto package = records::ReadPackageFile(file, policy, &templates());
    if (!package.ok()) {
      ++refused;
      out.push_back({{"file", file}, {"ok", false}, {"reason", package.status().message()}});
      PrintErr("refused: {}\n", package.status().message());
      continue;
    }
    out.push_back({{"file", file},
                   {"ok", true},
                   {"digest", package->digest},
                   {"signer", package->SignerText()},
                   {"manifest", ManifestJson(package->manifest)}});
    if (json_) continue;
    const records::PackageManifest& m = package->manifest;
    PrintOut(
        "{}: sound\n  target   {}\n  records  {} of {}, newest {}\n"
        "  signer   {}\n  licence  {}\n  digest   {}\n",
        file, fmt::join(m.targets, "; "), Counted(m.trials, "trial"), Counted(m.tasks, "task"),
        m.newest_trial, package->SignerText(), m.license, package->digest);
  }
  if (json_) PrintJson({{"packages", out}});
  return refused > 0 ? kExitBadInput : kExitDone;
}

Result<int> PackageCommand::VerifyInstalled() {
  TW_ASSIGN_OR_RETURN(auto policy, trust_.Policy());
  TW_ASSIGN_OR_RETURN(auto list, AllInstalled());
  Json out = Json::array();
  std::size_t refused = list.problems.size();
  for (const std::string& problem : list.problems) PrintErr("refused: {}\n", problem);
  for (const records::InstalledPackage& package : list.packages) {
    const Status status = records::CheckInstalled(package, policy, &templates());
    out.push_back({{"name", package.manifest.name},
                   {"digest", package.digest},
                   {"ok", status.ok()},
                   {"reason", status.message()}});
    if (!status.ok()) {
      ++refused;
      PrintErr("refused: {}\n", status.message());
    } else if (!json_) {
      PrintOut("{} ({}): sound\n", package.manifest.name, package.digest.substr(0, 12));
    }
  }
  if (json_) PrintJson({{"packages", out}, {"problems", list.problems}});
  return refused > 0 ? kExitBadInput : kExitDone;
}

Result<int> PackageCommand::Install() {
  TW_ASSIGN_OR_RETURN(auto policy, trust_.Policy());
  std::string root = session::kSystemPackages;
  if (!system_) {
    TW_ASSIGN_OR_RETURN(auto paths, session::FindUserPaths());
    root = paths.packages;
  }
  TW_ASSIGN_OR_RETURN(auto files, PackageFiles(arguments_));
  Json out = Json::array();
  Status first;
  for (const std::string& file : files) {
    const auto install = [&]() -> Result<records::InstallResult> {
      TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(file, records::kMaxPackageBytes));
      auto package = records::ReadPackage(bytes, policy, &templates());
      if (!package.ok()) return records::NotAPackage(package.status(), bytes, file);
      return records::InstallPackage(*package, bytes, root, downgrade_);
    };
    auto installed = install();
    if (!installed.ok()) {
      // The other packages of a folder are installed; the exit code reports the failure.
      if (first.ok()) first = installed.status();
      if (files.size() > 1) PrintErr("refused: {}\n", installed.status().message());
      out.push_back({{"file", file}, {"ok", false}, {"reason", installed.status().message()}});
      continue;
    }
    const records::InstalledPackage& package = installed->package;
    out.push_back({{"file", file},
                   {"ok", true},
                   {"name", package.manifest.name},
                   {"digest", package.digest},
                   {"was_there", installed->was_there},
                   {"now_signed", installed->now_signed},
                   {"replaced", installed->replaced}});
    if (json_) continue;
    PrintOut("{} ({}): {}, {}, {}{}\n", package.manifest.name, package.digest.substr(0, 12),
             installed->now_signed  ? "was there unsigned, now signed"
             : installed->was_there ? "was there"
                                    : "installed",
             Counted(package.manifest.tasks, "task"), package.SignerText(),
             installed->replaced.empty() ? "" : ", replaces an older one");
  }
  if (json_) PrintJson({{"packages", out}});
  if (!first.ok() && files.size() > 1 && first.code() != StatusCode::kUnavailable) {
    return kExitBadInput;
  }
  TW_RETURN_IF_ERROR(first);
  return kExitDone;
}

Result<int> PackageCommand::List() {
  TW_ASSIGN_OR_RETURN(auto list, AllInstalled());
  session::TextTable table({{"package", false, 16},
                            {"digest"},
                            {"tasks", true},
                            {"trials", true},
                            {"newest", false, 10},
                            {"signer", false, 12}});
  Json out = Json::array();
  for (const records::InstalledPackage& package : list.packages) {
    out.push_back({{"name", package.manifest.name},
                   {"digest", package.digest},
                   {"signer", package.SignerText()},
                   {"folder", package.folder},
                   {"manifest", ManifestJson(package.manifest)}});
    table.AddRow({Printable(package.manifest.name), package.digest.substr(0, 12),
                  std::to_string(package.manifest.tasks), std::to_string(package.manifest.trials),
                  Printable(package.manifest.newest_trial), Printable(package.SignerText())});
  }
  if (!json_) PrintTable(table);
  for (const std::string& problem : list.problems) PrintErr("left out: {}\n", problem);
  if (json_) PrintJson({{"packages", out}, {"problems", list.problems}});
  return kExitDone;
}

Result<int> PackageCommand::Remove() {
  TW_ASSIGN_OR_RETURN(auto list, AllInstalled());
  std::vector<records::InstalledPackage> chosen;
  for (const std::string& which : arguments_) {
    TW_ASSIGN_OR_RETURN(auto package, records::FindInstalled(list.packages, which));
    chosen.push_back(std::move(package));
  }
  Json out = Json::array();
  for (const records::InstalledPackage& package : chosen) {
    TW_RETURN_IF_ERROR(records::RemoveInstalled(package));
    out.push_back(package.digest);
    if (json_) continue;
    PrintOut("{} ({}): removed\n", package.manifest.name, package.digest.substr(0, 12));
  }
  if (json_) PrintJson({{"removed", out}});
  return kExitDone;
}

Result<records::Store> PackageCommand::OpenEither(const std::string& which) {
  if (FileExists(which)) {
    TW_ASSIGN_OR_RETURN(auto policy, trust_.Policy());
    TW_ASSIGN_OR_RETURN(auto package, records::ReadPackageFile(which, policy, &templates()));
    return records::Store::OpenImage(package.database, which);
  }
  TW_ASSIGN_OR_RETURN(auto list, AllInstalled());
  TW_ASSIGN_OR_RETURN(auto package, records::FindInstalled(list.packages, which));
  return records::OpenInstalled(package);
}

Result<int> PackageCommand::Diff() {
  TW_ASSIGN_OR_RETURN(auto before, OpenEither(before_));
  TW_ASSIGN_OR_RETURN(auto after, OpenEither(after_));
  TW_ASSIGN_OR_RETURN(auto tasks, records::CompareBest(before, after));
  Json out = Json::array();
  int same = 0;
  session::TextTable table({{"task", false, 24}, {"before", true}, {"after", true}});
  const auto side = [](const std::optional<records::Record>& record) -> Json {
    if (!record.has_value()) return nullptr;
    return {{"template", record->trial.candidate.template_key},
            {"config", *ParseJson(record->trial.candidate.config.ToString())},
            {record->trial.metric, record->trial.value},
            {"record", record->id}};
  };
  for (const records::TaskDifference& task : tasks) {
    if (task.same()) {
      ++same;
      continue;
    }
    out.push_back({{"workload", task.workload_key},
                   {"target", task.target},
                   {"device", task.device},
                   {"before", side(task.before)},
                   {"after", side(task.after)}});
    if (json_) continue;
    const auto text = [](const std::optional<records::Record>& record) {
      return record.has_value()
                 ? fmt::format("{} #{}",
                               session::ShortValue(record->trial.metric, record->trial.value),
                               record->trial.candidate.config.index)
                 : std::string("-");
    };
    auto workload = Workload::Parse(task.workload_key);
    table.AddRow({Printable(workload.ok() ? session::ShortName(*workload) : task.workload_key),
                  text(task.before), text(task.after)});
  }
  if (!json_) PrintTable(table);
  if (json_) {
    PrintJson({{"same", same}, {"different", out}});
  } else {
    PrintOut("{} the same, {} different\n", Counted(same, "task"), out.size());
  }
  return kExitDone;
}

Result<int> PackageCommand::Query() {
  TW_ASSIGN_OR_RETURN(auto target, target_.Parse());
  TW_ASSIGN_OR_RETURN(auto store, OpenEither(before_));
  records::Catalog catalog;
  catalog.AddStore(std::move(store));
  TW_ASSIGN_OR_RETURN(const auto source, model_.Source(task_));
  TW_ASSIGN_OR_RETURN(auto tasks, session::ParseTasks(source, target));
  TW_ASSIGN_OR_RETURN(const auto device, DeviceFor(target));
  Json out = Json::array();
  const std::vector<std::string> names = session::DistinctNames(tasks);
  report::AnswerTable table;
  bool missed = false;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const search::TuneTask& task = tasks[i];
    records::LookupRequest request;
    request.templates = &templates();
    request.workload = &task.task.workload;
    request.target = &target;
    request.device = &device;
    TW_ASSIGN_OR_RETURN(auto answer, catalog.Query(request));
    missed = missed || answer.level == records::AnswerLevel::kMiss;
    const std::string key = task.task.workload.Key();
    out.push_back(records::AnswerJson(answer, request.workload, key, target.ToString()));
    if (json_) continue;
    if (tasks.size() == 1) {
      WriteText(report::AnswerText(names[i], request.workload, target, answer));
    } else {
      table.Add(names[i], request.workload, answer);
    }
  }
  if (json_) {
    PrintJson({{"answers", out}});
  } else if (tasks.size() != 1) {
    WriteText(table.Text(target, OutputColumns()));
  }
  return missed ? kExitFailed : kExitDone;
}

Status PackageCommand::AddTrusted(const records::PublicKey& key, const std::string& comment) {
  TW_ASSIGN_OR_RETURN(auto paths, session::FindUserPaths());
  TW_ASSIGN_OR_RETURN(auto known, records::ReadTrustedKeys(paths.trusted_keys));
  const bool is_known = std::ranges::find(known, key, &records::TrustedKey::key) != known.end();
  if (!is_known) {
    std::string text;
    if (FileExists(paths.trusted_keys)) {
      TW_ASSIGN_OR_RETURN(text, ReadFile(paths.trusted_keys));
      if (!text.empty() && text.back() != '\n') text += '\n';
    }
    TW_RETURN_IF_ERROR(
        records::WriteTrustedKeys(paths.trusted_keys, text + records::PublicKeyLine(key, comment)));
  }
  if (!json_) {
    PrintOut("{}{}: {}trusted ({})\n", key.Hex().substr(0, 16),
             comment.empty() ? comment : " " + comment, is_known ? "already " : "",
             paths.trusted_keys);
  }
  return {};
}

Result<int> PackageCommand::Keygen() {
  TW_ASSIGN_OR_RETURN(auto key, records::GenerateKey());
  TW_RETURN_IF_ERROR(records::WriteKeyFiles(key, output_, comment_));
  if (json_) {
    PrintJson({{"secret", output_}, {"public", output_ + ".pub"}, {"key", key.public_key().Hex()}});
  } else {
    PrintOut("{}: secret, keep it; {}.pub: give it to those who shall trust it\n", output_,
             output_);
  }
  if (trust_new_) TW_RETURN_IF_ERROR(AddTrusted(key.public_key(), comment_));
  return kExitDone;
}

Result<int> PackageCommand::Trust() {
  Json out = Json::array();
  for (const std::string& file : arguments_) {
    TW_ASSIGN_OR_RETURN(auto keys, records::ReadPublicKeys(file));
    if (keys.empty()) return InvalidArgument(file + ": no key in it");
    for (const records::TrustedKey& key : keys) {
      TW_RETURN_IF_ERROR(AddTrusted(key.key, key.comment));
      out.push_back({{"key", key.key.Hex()}, {"comment", key.comment}});
    }
  }
  if (json_) PrintJson({{"trusted", out}});
  return kExitDone;
}

}  // namespace

std::unique_ptr<Command> MakePackageCommand() { return std::make_unique<PackageCommand>(); }

}  // namespace tilewright::cli
