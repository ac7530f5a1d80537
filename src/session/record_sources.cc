#include "src/session/record_sources.h"

#include <algorithm>

#include "records/autotvm/import.h"
#include "search/zero_shot.h"
#include "src/base/files/file.h"
#include "src/base/format_printable.h"
#include "src/session/user_paths.h"

namespace tilewright::session {
namespace {

constexpr const char* kNoModel = "none";

}  // namespace

Result<records::TrustPolicy> TrustOptions::Policy() const {
  records::TrustPolicy policy;
  policy.allow_unsigned = allow_unsigned;
  if (auto paths = FindUserPaths(); paths.ok()) {
    TW_ASSIGN_OR_RETURN(policy.keys, records::ReadTrustedKeys(paths->trusted_keys));
  }
  for (const std::string& file : keys) {
    if (!FileExists(file)) return NotFound("key " + file + ": no such file");
    TW_ASSIGN_OR_RETURN(auto more, records::ReadPublicKeys(file));
    policy.keys.insert(policy.keys.end(), more.begin(), more.end());
  }
  return policy;
}

Result<std::optional<records::Preference>> RecordSources::Preferred(const Target& target) const {
  if (prefer.empty()) return std::optional<records::Preference>();
  if (rule != "own") return InvalidArgument("prefer: imported records say one metric only");
  auto parsed = records::Preference::Parse(prefer, target);
  if (!parsed.ok()) return parsed.status().WithContext("prefer");
  return std::optional(*std::move(parsed));
}

Result<records::AnswerLevel> RecordSources::Accept() const {
  TW_ASSIGN_OR_RETURN(auto level, records::ParseAnswerLevel(accept));
  const bool given = !model_file.empty() && model_file != kNoModel;
  return given ? std::max(level, records::AnswerLevel::kModel) : level;
}

Status RecordSources::AddModel(const TemplateRegistry& templates, const Target& target,
                               records::Catalog& catalog, const NoteSink& note) const {
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
  note(FormatPrintable("shipped cost model left out: {}", model.status().message()));
  return {};
}

Result<records::Catalog> RecordSources::Open(const TemplateRegistry& templates,
                                             const Target& target, const NoteSink& note) const {
  records::Catalog catalog;
  std::vector<std::string> paths = stores;
  if (paths.empty() && user_store) {
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
    return InvalidArgument("package: rule autotvm looks at imported records, in stores");
  }
  if (packages.empty() && (!trust.keys.empty() || trust.allow_unsigned)) {
    return InvalidArgument("package: expected with key or allow-unsigned");
  }
  if (!no_packages) TW_RETURN_IF_ERROR(catalog.AddInstalledFrom(PackageRoots()));
  TW_RETURN_IF_ERROR(AddModel(templates, target, catalog, note));
  for (const std::string& problem : catalog.problems()) {
    note(FormatPrintable("package left out: {}", problem));
  }
  return catalog;
}

Result<std::optional<records::AutotvmLookup>> RecordSources::Autotvm(const Target& target) const {
  std::optional<records::AutotvmLookup> request;
  if (rule == "own") {
    if (!tophub.empty()) return InvalidArgument("tophub: needs rule autotvm");
    return request;
  }
  const auto known_packages = records::TophubPackages();
  if (!tophub.empty() && std::ranges::find(known_packages, tophub) == known_packages.end()) {
    std::string known;
    for (const std::string_view one : known_packages) known += " " + std::string(one);
    return InvalidArgument("tophub: '" + tophub + "', expected one of:" + known);
  }
  auto asked = records::AutotvmTarget::Parse(target.ToString());
  if (!asked.ok()) return asked.status().WithContext("target");
  request = records::AutotvmLookup{*std::move(asked), {}, tophub};
  return request;
}

Status ShareLimitOf(const std::vector<search::TuneTask>& tasks, const TemplateRegistry& templates,
                    const Target& target, const DeviceFingerprint& device,
                    records::Catalog& catalog, records::Preference& prefer, const NoteSink& note) {
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
    note(FormatPrintable("prefer: no record says {} of {} of {} tasks, which count for nothing",
                         prefer.limited, without, tasks.size()));
  }
  const Status shared = records::ShareLimit(fronts, prefer);
  return shared.ok() ? shared : shared.WithContext("prefer");
}

}  // namespace tilewright::session
