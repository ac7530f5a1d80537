#include "python_free_cli/record_sources.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "python_free_cli/print.h"
#include "python_free_cli/tune_display.h"
#include "python_free_cli/user_paths.h"
#include "search/zero_shot.h"
#include "src/base/files/file.h"

namespace tilewright::cli {
namespace {

constexpr const char* kNoModel = "none";

}  // namespace

void TrustArguments::Declare(CLI::App& app) {
  app.add_option("--key", keys, "Public key file to trust as well (FILE.pub)");
  app.add_flag("--allow-unsigned", allow_unsigned, "Take packages without a signature too");
}

Result<records::TrustPolicy> TrustArguments::Policy() const {
  records::TrustPolicy policy;
  policy.allow_unsigned = allow_unsigned;
  if (auto paths = FindUserPaths(); paths.ok()) {
    TW_ASSIGN_OR_RETURN(policy.keys, records::ReadTrustedKeys(paths->trusted_keys));
  }
  for (const std::string& file : keys) {
    if (!FileExists(file)) return NotFound("--key " + file + ": no such file");
    TW_ASSIGN_OR_RETURN(auto more, records::ReadPublicKeys(file));
    policy.keys.insert(policy.keys.end(), more.begin(), more.end());
  }
  return policy;
}

void RecordSources::Declare(CLI::App& app, const std::string& accept_default) {
  accept = accept_default;
  app.add_option("--records", stores,
                 "Record stores, asked in order (default: the user's own, if there is one)");
  app.add_option("--package", packages, "Package files, asked before the installed packages");
  app.add_flag("--no-packages", no_packages, "Do not ask the installed packages");
  app.add_option("--accept", accept, "How far down an answer may be")
      ->check(CLI::IsMember({"hit", "near", "model", "default"}))
      ->capture_default_str();
  app.add_option("--rule", rule, "How records are chosen: own, or autotvm for imported ones")
      ->check(CLI::IsMember({"own", "autotvm"}))
      ->capture_default_str();
  app.add_option("--tophub", tophub, "With --rule autotvm: only this TopHub package");
  app.add_option("--model", model_file,
                 "Cost model that chooses configs where no record serves, or none (default: the "
                 "shipped one)");
  app.add_option("--prefer", prefer,
                 "Of records that know several metrics take the least of one, such as dram_bytes, "
                 "or within a limit: cycles,dram_bytes<=15.3MB");
  trust.Declare(app);
}

Result<std::optional<records::Preference>> RecordSources::Preferred(const Target& target) const {
  if (prefer.empty()) return std::optional<records::Preference>();
  if (rule != "own") return InvalidArgument("--prefer: imported records say one metric only");
  auto parsed = records::Preference::Parse(prefer, target);
  if (!parsed.ok()) return parsed.status().WithContext("--prefer");
  return std::optional(*std::move(parsed));
}

Result<records::AnswerLevel> RecordSources::Accept() const {
  TW_ASSIGN_OR_RETURN(auto level, records::ParseAnswerLevel(accept));
  const bool given = !model_file.empty() && model_file != kNoModel;
  return given ? std::max(level, records::AnswerLevel::kModel) : level;
}

Status RecordSources::AddModel(const TemplateRegistry& templates, const Target& target,
                               records::Catalog& catalog) const {
  if (model_file == kNoModel) return {};
  const std::string shipped = model_file.empty() ? ShippedModel(target.kind_name()) : "";
  const std::string& path = model_file.empty() ? shipped : model_file;
  if (path.empty()) return {};
  auto model = search::LoadChooser(templates, path);
  if (model.ok()) {
    catalog.SetModel(*std::move(model));
    return {};
  }
  if (!model_file.empty()) return model.status();
  PrintErr("shipped cost model left out: {}\n", model.status().message());
  return {};
}

Result<records::Catalog> RecordSources::Open(const TemplateRegistry& templates,
                                             const Target& target) const {
  records::Catalog catalog;
  std::vector<std::string> paths = stores;
  if (paths.empty()) {
    auto own = FindUserPaths();
    if (own.ok() && FileExists(own->records)) paths.push_back(own->records);
  }
  for (const std::string& path : paths) {
    TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadOnly));
    catalog.AddStore(std::move(store));
  }
  if (!packages.empty()) {
    TW_ASSIGN_OR_RETURN(auto policy, trust.Policy());
    for (const std::string& path : packages) {
      TW_RETURN_IF_ERROR(catalog.AddPackageFile(path, policy));
    }
  }
  if (rule != "own" && !packages.empty()) {
    return InvalidArgument("--package: --rule autotvm looks at imported records, in stores");
  }
  if (packages.empty() && (!trust.keys.empty() || trust.allow_unsigned)) {
    return InvalidArgument("--key and --allow-unsigned: need --package");
  }
  if (!no_packages) TW_RETURN_IF_ERROR(catalog.AddInstalledFrom(PackageRoots()));
  TW_RETURN_IF_ERROR(AddModel(templates, target, catalog));
  for (const std::string& problem : catalog.problems()) {
    PrintErr("package left out: {}\n", problem);
  }
  return catalog;
}

Result<std::optional<records::AutotvmLookup>> RecordSources::Autotvm(const Target& target) const {
  std::optional<records::AutotvmLookup> request;
  if (rule == "own") {
    if (!tophub.empty()) return InvalidArgument("--tophub: needs --rule autotvm");
    return request;
  }
  auto asked = records::AutotvmTarget::Parse(target.ToString());
  if (!asked.ok()) return asked.status().WithContext("--target");
  request = records::AutotvmLookup{*std::move(asked), {}, tophub};
  return request;
}

Status ShareLimitOf(const std::vector<search::TuneTask>& tasks, const TemplateRegistry& templates,
                    const Target& target, const DeviceFingerprint& device,
                    records::Catalog& catalog, records::Preference& prefer) {
  std::vector<records::FrontTask> fronts;
  std::size_t without = 0;
  for (const search::TuneTask& task : tasks) {
    records::LookupRequest request;
    request.templates = &templates;
    request.workload = &task.task.workload;
    request.target = &target;
    request.device = &device;
    TW_ASSIGN_OR_RETURN(auto front, catalog.Front(request, prefer.Metrics(target)));
    without += front.empty() ? 1 : 0;
    fronts.push_back({task.task.workload.Key(), task.occurrences, std::move(front)});
  }
  if (without > 0) {
    PrintErr("--prefer: no record says {} of {} of {} tasks, which count for nothing\n",
             prefer.limited, without, tasks.size());
  }
  const Status shared = records::ShareLimit(fronts, prefer);
  return shared.ok() ? shared : shared.WithContext("--prefer");
}

void PrintAnswer(const Workload* workload, const std::string& name,
                 const records::CatalogAnswer& answer, bool whole) {
  const std::string_view kind = records::AnswerLevelName(answer.level);
  const std::string shown = workload != nullptr ? ShortName(*workload) : name;
  const auto& record = answer.answer.record;
  const double seconds = answer.CostSeconds(workload);
  if (const Candidate* candidate = answer.candidate()) {
    const std::string cost = record.has_value()
                                 ? ShortValue(record->trial.metric, record->trial.value)
                             : std::isfinite(seconds) ? ShortSeconds(seconds)
                                                      : "-";
    PrintOut("{:<38} {:<8} {:>10}  {} #{}\n", shown, kind, cost, candidate->template_key,
             candidate->config.index);
    if (whole) {
      PrintOut("  config    {}\n  source    {}\n", candidate->config.ToString(), answer.source);
    }
    if (whole && record.has_value()) {
      PrintOut("  record    {}\n  device    {}\n  measured  {}\n", record->id,
               record->trial.device.model, records::UtcText(record->trial.finished_unix_seconds));
    }
    if (const records::ImportedRecord* imported = answer.imported(); whole && imported != nullptr) {
      PrintOut("  record    {} line {}, not verified\n  measured  {}\n", imported->file,
               imported->line, records::UtcText(imported->finished));
    }
  } else {
    PrintOut("{:<38} {:<8}\n", shown, kind);
  }
  if (whole || answer.level != records::AnswerLevel::kHit || answer.imported() != nullptr ||
      !answer.answer.skipped_record.empty()) {
    PrintOut("  {}\n", answer.answer.explanation);
  }
}

}  // namespace tilewright::cli
