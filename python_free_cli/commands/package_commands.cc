// `tilewright package`: builds, signs, verifies and installs packages of records.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "records/package/build.h"
#include "records/package/catalog.h"
#include "records/package/diff.h"
#include "src/base/files/file.h"
#include "src/base/files/folder.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/report/store/packages.h"
#include "src/report/terminal/progress.h"
#include "src/report/text/answers.h"
#include "src/session/packages/packages.h"
#include "src/session/query/questions.h"
#include "src/session/tasks.h"
#include "src/session/user_paths.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

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
  report::WorkProgress progress("package build");
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
  if (!one_file) TW_RETURN_IF_ERROR(MakeFolder(output_));
  Json out = Json::array();
  for (const records::BuiltPackage& package : *packages) {
    const std::string path =
        one_file ? output_
                 : output_ + "/" + package.manifest.name + std::string(records::kPackageExtension);
    TW_RETURN_IF_ERROR(WriteFile(path, package.bytes));
    out.push_back(report::BuiltPackageJson(path, package));
    if (!json_) WriteText(report::BuiltPackageText(path, package, !unsigned_));
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
  TW_ASSIGN_OR_RETURN(auto files, session::PackageFiles(arguments_));
  Json out = Json::array();
  int refused = 0;
  for (const std::string& file : files) {
    const auto package = records::ReadPackageFile(file, policy, &templates());
    if (!package.ok()) {
      ++refused;
      out.push_back(report::RefusedPackageJson(file, package.status()));
      PrintErr("refused: {}\n", package.status().message());
      continue;
    }
    out.push_back(report::VerifiedPackageJson(file, *package));
    if (!json_) WriteText(report::VerifiedPackageText(file, *package));
  }
  if (json_) PrintJson({{"packages", out}});
  return refused > 0 ? kExitBadInput : kExitDone;
}

Result<int> PackageCommand::VerifyInstalled() {
  TW_ASSIGN_OR_RETURN(auto policy, trust_.Policy());
  TW_ASSIGN_OR_RETURN(auto list, session::InstalledPackages());
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
      PrintOut("{}: sound\n", report::PackageTitle(package));
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
  TW_ASSIGN_OR_RETURN(auto files, session::PackageFiles(arguments_));
  Json out = Json::array();
  Status first;
  for (const std::string& file : files) {
    const auto installed = session::InstallPackageFile(file, policy, templates(), root, downgrade_);
    if (!installed.ok()) {
      // The other packages of a folder are installed; the exit code reports the failure.
      if (first.ok()) first = installed.status();
      if (files.size() > 1) PrintErr("refused: {}\n", installed.status().message());
      out.push_back(report::RefusedPackageJson(file, installed.status()));
      continue;
    }
    out.push_back(report::InstallJson(file, *installed));
    if (!json_) WriteText(report::InstallText(*installed));
  }
  if (json_) PrintJson({{"packages", out}});
  if (!first.ok() && files.size() > 1 && first.code() != StatusCode::kUnavailable) {
    return kExitBadInput;
  }
  TW_RETURN_IF_ERROR(first);
  return kExitDone;
}

Result<int> PackageCommand::List() {
  TW_ASSIGN_OR_RETURN(const auto list, session::InstalledPackages());
  if (!json_) WriteText(report::InstalledText(list, OutputColumns()));
  for (const std::string& problem : list.problems) PrintErr("left out: {}\n", problem);
  if (json_) PrintJson(report::InstalledJson(list));
  return kExitDone;
}

Result<int> PackageCommand::Remove() {
  TW_ASSIGN_OR_RETURN(const auto chosen, session::FindInstalledPackages(arguments_));
  Json out = Json::array();
  for (const records::InstalledPackage& package : chosen) {
    TW_RETURN_IF_ERROR(records::RemoveInstalled(package));
    out.push_back(package.digest);
    if (!json_) PrintOut("{}: removed\n", report::PackageTitle(package));
  }
  if (json_) PrintJson({{"removed", out}});
  return kExitDone;
}

Result<int> PackageCommand::Diff() {
  TW_ASSIGN_OR_RETURN(auto before, session::OpenPackage(before_, trust_, templates()));
  TW_ASSIGN_OR_RETURN(auto after, session::OpenPackage(after_, trust_, templates()));
  TW_ASSIGN_OR_RETURN(const auto tasks, records::CompareBest(before, after));
  json_ ? PrintJson(report::DifferencesJson(tasks))
        : WriteText(report::DifferencesText(tasks, OutputColumns()));
  return kExitDone;
}

Result<int> PackageCommand::Query() {
  TW_ASSIGN_OR_RETURN(auto target, target_.Parse());
  TW_ASSIGN_OR_RETURN(auto store, session::OpenPackage(before_, trust_, templates()));
  records::Catalog catalog;
  catalog.AddStore(std::move(store));
  TW_ASSIGN_OR_RETURN(const auto source, model_.Source(task_));
  TW_ASSIGN_OR_RETURN(const auto tasks, session::ParseTasks(source, target));
  TW_ASSIGN_OR_RETURN(const auto device, DeviceFor(target));
  const auto questions = session::QuestionsOf(tasks);
  records::LookupRequest terms;
  terms.templates = &templates();
  terms.target = &target;
  terms.device = &device;
  TW_ASSIGN_OR_RETURN(const auto answers, session::AnswerAll(questions, terms, catalog));
  if (json_) {
    PrintJson({{"answers", report::AnswersJson(questions, answers, target.ToString())}});
  } else {
    WriteText(report::AnswersText(questions, answers, target, OutputColumns()));
  }
  const bool missed =
      std::ranges::count(answers, records::AnswerLevel::kMiss, &records::CatalogAnswer::level) > 0;
  return missed ? kExitFailed : kExitDone;
}

Status PackageCommand::AddTrusted(const records::PublicKey& key, const std::string& comment) {
  TW_ASSIGN_OR_RETURN(const auto trust, session::TrustKey(key, comment));
  if (json_) return {};
  PrintOut("{}{}: {}trusted ({})\n", key.Hex().substr(0, 16),
           comment.empty() ? comment : " " + comment, trust.was_known ? "already " : "",
           trust.file);
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
