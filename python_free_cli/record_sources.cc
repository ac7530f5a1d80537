#include "python_free_cli/record_sources.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cost_model/xgboost_model.h"
#include "python_free_cli/tune_display.h"
#include "python_free_cli/user_paths.h"
#include "search/guess.h"
#include "src/base/file.h"
#include "src/templates/vta_parts.h"

namespace tilewright::cli {
namespace {

/// What differs between where a record was measured and where it is to be used.
Json Differences(const Target& target, const DeviceFingerprint& device, const Workload& workload,
                 const Trial& trial) {
  Json list = Json::array();
  const auto differ = [&](const char* what, const std::string& recorded, const std::string& here) {
    if (recorded != here) list.push_back({{"what", what}, {"record", recorded}, {"here", here}});
  };
  differ("workload", trial.candidate.task.workload.Key(), workload.Key());
  differ("target", trial.candidate.task.target.ToString(), target.ToString());
  differ("device", trial.device.model, device.model);
  differ("isa", fmt::format("{}", fmt::join(trial.device.isa, ",")),
         fmt::format("{}", fmt::join(device.isa, ",")));
  differ("driver", trial.device.extra, device.extra);
  return list;
}

}  // namespace

void TrustArguments::Declare(CLI::App& app) {
  app.add_option("--key", keys, "Public key file to trust as well (FILE.pub)");
  app.add_flag("--allow-unsigned", allow_unsigned, "Take packages without a signature too");
}

Result<records::TrustPolicy> TrustArguments::Policy() const {
  records::TrustPolicy policy;
  policy.allow_unsigned = allow_unsigned;
  if (auto paths = FindUserPaths(); paths.ok()) {
    auto trusted = records::ReadTrustedKeys(paths->trusted_keys);
    TW_RETURN_IF_ERROR(trusted);
    policy.keys = *std::move(trusted);
  }
  for (const std::string& file : keys) {
    if (!FileExists(file)) return NotFound("--key " + file + ": no such file");
    auto more = records::ReadTrustedKeys(file);
    TW_RETURN_IF_ERROR(more);
    policy.keys.insert(policy.keys.end(), more->begin(), more->end());
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
  app.add_option("--model", model_file, "Cost model that chooses configs where no record serves");
  trust.Declare(app);
}

Result<records::AnswerLevel> RecordSources::Accept() const {
  auto level = records::ParseAnswerLevel(accept);
  TW_RETURN_IF_ERROR(level);
  return model_file.empty() ? *level : std::max(*level, records::AnswerLevel::kModel);
}

Result<records::Catalog> RecordSources::Open() {
  records::Catalog catalog;
  std::vector<std::string> paths = stores;
  if (paths.empty()) {
    auto own = FindUserPaths();
    if (own.ok() && FileExists(own->records)) paths.push_back(own->records);
  }
  for (const std::string& path : paths) {
    auto store = records::Store::Open(path, records::Store::Mode::kReadOnly);
    TW_RETURN_IF_ERROR(store);
    catalog.AddStore(*std::move(store));
  }
  if (!packages.empty()) {
    auto policy = trust.Policy();
    TW_RETURN_IF_ERROR(policy);
    for (const std::string& path : packages) {
      TW_RETURN_IF_ERROR(catalog.AddPackageFile(path, *policy));
    }
  }
  if (!no_packages) TW_RETURN_IF_ERROR(catalog.AddInstalledFrom(PackageRoots()));
  if (!model_file.empty()) {
    auto model = cost_model::XgboostModel::Load(model_file);
    TW_RETURN_IF_ERROR(model);
    model_ = *std::move(model);
    catalog.SetModel([this](const Workload& workload,
                            const Target& target) -> Result<std::optional<records::ModelChoice>> {
      auto guess = search::GuessConfig({workload, target}, Epilogue(), *model_);
      if (guess.status().code() == StatusCode::kUnsupported) {
        return std::optional<records::ModelChoice>();  // no template serves it
      }
      TW_RETURN_IF_ERROR(guess);
      records::ModelChoice choice;
      choice.candidate = *std::move(guess);
      choice.explanation = "what " + model_file + " thinks best, not measured";
      return std::optional<records::ModelChoice>(std::move(choice));
    });
  }
  for (const std::string& problem : catalog.problems()) {
    fmt::print(stderr, "package left out: {}\n", problem);
  }
  return catalog;
}

Json AnswerJson(const Workload& workload, const Target& target, const DeviceFingerprint& device,
                const records::CatalogAnswer& answer) {
  Json out = {{"workload", workload.Key()},
              {"target", target.ToString()},
              {"kind", std::string(records::AnswerLevelName(answer.level))},
              {"source", answer.source},
              {"why", answer.answer.explanation},
              {"cost_seconds", nullptr},
              {"cost", nullptr},
              {"metric", MetricOf(target)},
              {"config", nullptr},
              {"record", nullptr},
              {"differs", Json::array()}};
  if (!answer.candidate.has_value()) return out;
  out["config"] = *ParseJson(answer.candidate->config.ToString());
  out["template"] = answer.candidate->template_key;
  out["expected_slowdown"] = answer.answer.expected_slowdown;
  if (!answer.answer.record.has_value()) return out;
  const Trial& trial = answer.answer.record->trial;
  out["cost"] = trial.value;
  out["metric"] = trial.metric;
  if (trial.metric == "seconds") out["cost_seconds"] = trial.value;
  out["record"] = {{"id", answer.answer.record->id},
                   {"noise", trial.noise},
                   {"epilogue", trial.candidate.epilogue.ToString()},
                   {"template_version", trial.candidate.template_version},
                   {"codegen_version", trial.codegen_version},
                   {"device", trial.device.model},
                   {"measured_unix_seconds", trial.finished_unix_seconds}};
  out["differs"] = Differences(target, device, workload, trial);
  return out;
}

void PrintAnswer(const Workload& workload, const records::CatalogAnswer& answer, bool whole) {
  const std::string name = ShortName(workload);
  const std::string_view kind = records::AnswerLevelName(answer.level);
  if (answer.candidate.has_value()) {
    const auto& record = answer.answer.record;
    fmt::print("{:<38} {:<8} {:>10}  {} #{}\n", name, kind,
               record.has_value() ? ShortValue(record->trial.metric, record->trial.value) : "-",
               answer.candidate->template_key, answer.candidate->config.index);
    if (whole) {
      fmt::print("  config    {}\n  source    {}\n", answer.candidate->config.ToString(),
                 answer.source);
    }
    if (whole && record.has_value()) {
      fmt::print("  record    {}\n  device    {}\n  measured  {}\n", record->id,
                 record->trial.device.model, records::UtcText(record->trial.finished_unix_seconds));
    }
  } else {
    fmt::print("{:<38} {:<8}\n", name, kind);
  }
  if (whole || answer.level != records::AnswerLevel::kHit) {
    fmt::print("  {}\n", answer.answer.explanation);
  }
}

}  // namespace tilewright::cli
