#include "records/package/catalog.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "src/templates/device.h"

namespace tilewright::records {
namespace {

/// Store, or package that is opened on first use.
class KeptSource final : public RecordSource {
 public:
  explicit KeptSource(Store store) : name_(store.path()), store_(std::move(store)) {}
  /// problems: receives packages that cannot be opened; outlives the source.
  KeptSource(InstalledPackage package, std::vector<std::string>& problems)
      : name_(PackageSourceName(package.manifest, package.digest)),
        manifest_(package.manifest),
        package_(std::move(package)),
        problems_(&problems) {}
  KeptSource(const Package& package, Store store)
      : name_(PackageSourceName(package.manifest, package.digest)),
        manifest_(package.manifest),
        store_(std::move(store)) {}

  const std::string& name() const override { return name_; }
  bool MayServe(const LookupRequest& request) const override {
    return !manifest_.has_value() || PackageMayServe(*manifest_, request);
  }
  Result<bool> With(const std::function<Status(const Store&)>& ask) override {
    if (!Ready()) return false;
    TW_RETURN_IF_ERROR(ask(*store_));
    return true;
  }
  const Store* kept() const override { return store_.has_value() ? &*store_ : nullptr; }

 private:
  bool Ready() {
    if (!package_.has_value()) return store_.has_value();
    auto opened = OpenInstalled(*package_);
    if (opened.ok()) {
      store_ = *std::move(opened);
    } else {
      problems_->push_back(name_ + ": " + opened.status().message());
    }
    package_.reset();
    return store_.has_value();
  }

  std::string name_;
  std::optional<PackageManifest> manifest_;  // none: a store
  std::optional<InstalledPackage> package_;  // not opened yet
  std::optional<Store> store_;
  std::vector<std::string>* problems_ = nullptr;
};

}  // namespace

struct Catalog::Impl {
  std::vector<std::unique_ptr<RecordSource>> sources;  // pointers to stores stay valid
  std::vector<RecordSource*> in_order;                 // as `sources`
  std::vector<std::string> problems;
  std::unique_ptr<ModelChooser> model;

  void Add(std::unique_ptr<RecordSource> source) {
    in_order.push_back(source.get());
    sources.push_back(std::move(source));
  }
};

Catalog::Catalog() : impl_(std::make_unique<Impl>()) {}
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;
Catalog::~Catalog() = default;

void Catalog::AddStore(Store store) { impl_->Add(std::make_unique<KeptSource>(std::move(store))); }

Status Catalog::AddPackageFile(const std::string& path, const TrustPolicy& policy) {
  TW_ASSIGN_OR_RETURN(auto package, ReadPackageFile(path, policy));
  TW_ASSIGN_OR_RETURN(auto store, Store::OpenImage(package.database, path));
  impl_->Add(std::make_unique<KeptSource>(package, std::move(store)));
  return {};
}

void Catalog::AddInstalled(InstalledPackage package) {
  impl_->Add(std::make_unique<KeptSource>(std::move(package), impl_->problems));
}

Status Catalog::AddInstalledFrom(const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    TW_ASSIGN_OR_RETURN(auto list, ListInstalled(root));
    for (InstalledPackage& package : list.packages) AddInstalled(std::move(package));
    std::ranges::move(list.problems, std::back_inserter(impl_->problems));
  }
  return {};
}

void Catalog::SetModel(std::unique_ptr<ModelChooser> model) { impl_->model = std::move(model); }
const std::vector<std::string>& Catalog::problems() const { return impl_->problems; }
std::size_t Catalog::size() const { return impl_->sources.size(); }

Result<CatalogAnswer> Catalog::Query(const LookupRequest& request) {
  return LookUpBest(impl_->in_order, impl_->model.get(), request);
}

Result<ImportedTargets> Catalog::ImportedFor(const Workload& workload) {
  const AutotvmLookup any;
  LookupRequest request;
  request.autotvm = &any;
  ImportedTargets all;
  for (RecordSource* source : impl_->in_order) {
    if (!source->MayServe(request)) continue;  // a package, which has no imported records
    TW_RETURN_IF_ERROR(source->With([&](const Store& store) -> Status {
      auto found = ImportedTargetsOf(store, workload);
      if (!found.ok()) return found.status().WithContext(source->name());
      all.records += found->records;
      for (std::string& target : found->targets) {
        if (std::ranges::count(all.targets, target) == 0) all.targets.push_back(std::move(target));
      }
      return {};
    }));
  }
  return all;
}

Status Catalog::ForEachStore(const std::function<Status(const Store&)>& visit) {
  for (RecordSource* source : impl_->in_order) {
    const auto visited = source->With(visit);
    if (!visited.ok()) return visited.status().WithContext(source->name());
  }
  return {};
}

Result<std::vector<Record>> Catalog::Front(const LookupRequest& request,
                                           const std::vector<std::string>& metrics) {
  return LookUpFront(impl_->in_order, request, metrics);
}

Result<FrontByMetrics> Catalog::TaskFront(const LookupRequest& request) {
  const std::vector<std::string> known = MetricsOf(*request.target);
  std::vector<std::vector<std::string>> sets = {known};
  for (std::size_t i = 1; i < known.size() && known.size() > 2; ++i) {
    sets.push_back({known.front(), known[i]});
  }
  for (std::vector<std::string>& metrics : sets) {
    TW_ASSIGN_OR_RETURN(auto records, Front(request, metrics));
    if (!records.empty()) return FrontByMetrics{std::move(metrics), std::move(records)};
  }
  return FrontByMetrics();
}

std::string PackageSourceName(const PackageManifest& manifest, std::string_view digest) {
  return "package " + manifest.name + " (" + std::string(digest.substr(0, 12)) + ")";
}

bool PackageMayServe(const PackageManifest& manifest, const LookupRequest& request) {
  if (request.autotvm != nullptr) return false;
  return std::ranges::any_of(manifest.targets, [&](const std::string& text) {
    const auto target = Target::Parse(text);
    return target.ok() && target->kind_name() == request.target->kind_name();
  });
}

}  // namespace tilewright::records
