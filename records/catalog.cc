#include "records/catalog.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

constexpr std::array<std::pair<AnswerLevel, std::string_view>, 5> kLevels = {{
    {AnswerLevel::kHit, "hit"},
    {AnswerLevel::kNearHit, "near"},
    {AnswerLevel::kModel, "model"},
    {AnswerLevel::kDefault, "default"},
    {AnswerLevel::kMiss, "miss"},
}};

std::string PackageSource(const PackageManifest& manifest, std::string_view digest) {
  return "package " + manifest.name + " (" + std::string(digest.substr(0, 12)) + ")";
}

}  // namespace

/// A store, or a package that is opened when it is first needed.
struct Source {
  std::string name;
  std::optional<Store> store;
  std::optional<InstalledPackage> package;
  std::vector<std::string> kinds;  ///< of its targets; empty: any

  bool MayServe(const Target& target) const {
    return kinds.empty() || std::ranges::find(kinds, target.kind_name()) != kinds.end();
  }
};

struct Catalog::Impl {
  std::vector<std::unique_ptr<Source>> sources;  // pointers to stores stay good
  std::vector<std::string> problems;
  ModelChooser model;

  void Add(Source source) { sources.push_back(std::make_unique<Source>(std::move(source))); }
  /// Opens what is not open yet. False if it cannot be; it is then left out, and told.
  bool Ready(Source& source);
};

bool Catalog::Impl::Ready(Source& source) {
  if (source.store.has_value()) return true;
  if (!source.package.has_value()) return false;
  auto opened = OpenInstalled(*source.package);
  if (opened.ok()) {
    source.store = *std::move(opened);
  } else {
    problems.push_back(source.name + ": " + opened.status().message());
  }
  source.package.reset();
  return source.store.has_value();
}

std::string_view AnswerLevelName(AnswerLevel level) {
  return std::ranges::find(kLevels, level, &std::pair<AnswerLevel, std::string_view>::first)
      ->second;
}

Result<AnswerLevel> ParseAnswerLevel(std::string_view name) {
  for (const auto& [level, text] : kLevels) {
    if (text == name) return level;
  }
  return InvalidArgument("'" + std::string(name) + "': expected hit, near, model, default or miss");
}

Catalog::Catalog() : impl_(std::make_unique<Impl>()) {}
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;
Catalog::~Catalog() = default;

void Catalog::AddStore(Store store) {
  Source source;
  source.name = store.path();
  source.store = std::move(store);
  impl_->Add(std::move(source));
}

namespace {

std::vector<std::string> KindsOf(const PackageManifest& manifest) {
  std::vector<std::string> kinds;
  for (const std::string& text : manifest.targets) {
    if (auto target = Target::Parse(text); target.ok()) kinds.push_back(target->kind_name());
  }
  return kinds;
}

}  // namespace

Status Catalog::AddPackageFile(const std::string& path, const TrustPolicy& policy) {
  auto package = ReadPackageFile(path, policy);
  TW_RETURN_IF_ERROR(package);
  Source source;
  source.name = PackageSource(package->manifest, package->digest);
  source.kinds = KindsOf(package->manifest);
  auto store = Store::OpenImage(package->database, path);
  TW_RETURN_IF_ERROR(store);
  source.store = *std::move(store);
  impl_->Add(std::move(source));
  return {};
}

void Catalog::AddInstalled(InstalledPackage package) {
  Source source;
  source.name = PackageSource(package.manifest, package.digest);
  source.kinds = KindsOf(package.manifest);
  source.package = std::move(package);
  impl_->Add(std::move(source));
}

Status Catalog::AddInstalledFrom(const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    auto list = ListInstalled(root);
    TW_RETURN_IF_ERROR(list);
    for (InstalledPackage& package : list->packages) AddInstalled(std::move(package));
    std::ranges::move(list->problems, std::back_inserter(impl_->problems));
  }
  return {};
}

void Catalog::SetModel(ModelChooser model) { impl_->model = std::move(model); }
const std::vector<std::string>& Catalog::problems() const { return impl_->problems; }
std::size_t Catalog::size() const { return impl_->sources.size(); }

Result<CatalogAnswer> Catalog::Query(const Workload& workload, const Target& target,
                                     const DeviceFingerprint& device, AnswerLevel accept) {
  CatalogAnswer best;
  best.answer.explanation = "miss: no record store or package was asked";
  bool asked = false;
  for (const auto& source : impl_->sources) {
    if (!source->MayServe(target) || !impl_->Ready(*source)) continue;
    auto answer = source->store->Query(workload, target, device);
    if (!answer.ok()) return answer.status().WithContext(source->name);
    const bool hit = answer->kind == AnswerKind::kHit;
    const bool near = answer->kind == AnswerKind::kNearHit;
    // Of near hits the one expected to be fastest counts, of equal ones the first.
    const bool better = best.level == AnswerLevel::kMiss ||
                        answer->expected_slowdown < best.answer.expected_slowdown;
    if (hit || (near && accept >= AnswerLevel::kNearHit && better)) {
      best.level = hit ? AnswerLevel::kHit : AnswerLevel::kNearHit;
      best.answer = *std::move(answer);
      best.source = source->name;
      best.store = &*source->store;
    } else if (near && accept < AnswerLevel::kNearHit) {
      best.answer.explanation =
          "miss: only a near hit, which was not asked for (" + answer->explanation + ")";
    } else if (!near && best.level == AnswerLevel::kMiss && !asked) {
      best.answer = *std::move(answer);
    }
    asked = true;
    if (hit) break;
  }
  if (best.level != AnswerLevel::kMiss) {
    best.candidate = best.answer.record->trial.candidate;
    return best;
  }
  if (accept >= AnswerLevel::kModel && impl_->model) {
    auto choice = impl_->model(workload, target);
    TW_RETURN_IF_ERROR(choice);
    if (choice->has_value()) {
      best.level = AnswerLevel::kModel;
      best.candidate = std::move((*choice)->candidate);
      best.answer.expected_slowdown = (*choice)->expected_slowdown;
      best.answer.explanation += "; model: " + (*choice)->explanation;
      best.source = "model";
      return best;
    }
  }
  if (accept < AnswerLevel::kDefault || accept == AnswerLevel::kMiss) return best;
  for (const TemplateEntry* entry : TemplatesFor(workload, target)) {
    auto config = entry->default_config(workload, target);
    if (!config.ok()) continue;
    best.level = AnswerLevel::kDefault;
    best.candidate =
        Candidate{{workload, target}, {}, std::string(entry->key), entry->version, *config};
    best.answer.explanation += "; default config of " + std::string(entry->key);
    best.source = "default";
    return best;
  }
  return best;
}

}  // namespace tilewright::records
