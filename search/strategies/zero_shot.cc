#include "search/zero_shot.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cost_model/tree_model.h"
#include "search/space.h"
#include "search/strategies/annealing.h"
#include "src/target/cpu.h"
#include "src/target/device.h"

namespace tilewright::search {
namespace {

constexpr std::uint64_t kSeed = 1;
// A model is trained on pairs: scores that differ by d mean odds of e^d that the better one is
// faster. A config that is not clearly better than the default config, 55 to 45, counts as a tie,
// and the hand-chosen default wins. Without this rule, one of 12 recorded tasks got a config of
// 0.19 to 0.67 of the fastest one's speed, depending on the seed of the training; the default has
// 0.74.
constexpr float kClearlyBetter = 0.2F;
// Models predict how fast loops are, not how evenly a new number of threads can share them. Configs
// that leave threads idle longer than the default config are excluded.
constexpr double kAsBusy = 0.97;

// Models also do not predict dense layers of few rows, which are bound by memory: a config that
// reads the weights again for some of the rows takes as many times as long. Below about this many
// bytes for an operation, the arithmetic dominates.
constexpr double kMemoryBound = 0.3, kAsFewBytes = 1.25;
bool IsThin(const Workload& workload) {
  return workload.op == OpKind::kDense && workload.data.shape[0] <= 16;
}

// Models rank configs of similar loops, not algorithms that are preferred on some workloads only.
bool IsOfAnotherAlgorithm(const TemplateEntry& entry) { return entry.is_preferred != nullptr; }

class FileChooser final : public records::ModelChooser {
 public:
  FileChooser(const TemplateRegistry& templates, std::string path,
              std::unique_ptr<cost_model::TreeModel> model)
      : templates_(templates), path_(std::move(path)), model_(std::move(model)) {}

  Result<std::optional<records::ModelChoice>> Choose(const Workload& workload,
                                                     const Target& target) const override {
    const std::string key = workload.Key() + " " + target.ToString();
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    TW_ASSIGN_OR_RETURN(auto choice, Predict(workload, target));
    constexpr std::size_t kMaxKnown = 4096;
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMaxKnown) known_.clear();
    known_.emplace(key, choice);
    return choice;
  }

 private:
  Result<std::optional<records::ModelChoice>> Predict(const Workload& workload,
                                                      const Target& target) const {
    const auto& families = model_->metadata().families;
    if (target.kind_name() != model_->metadata().target_kind ||
        std::ranges::count(families, FamilyOf({workload, target})) == 0) {
      return std::optional<records::ModelChoice>();
    }
    const auto entries = templates_.For(workload, target);
    if (!entries.empty() && IsOfAnotherAlgorithm(*entries.front())) {
      return std::optional<records::ModelChoice>();
    }
    auto predicted = PredictConfig(templates_, {workload, target}, Epilogue(), *model_);
    if (predicted.status().code() == StatusCode::kUnsupported) {
      return std::optional<records::ModelChoice>();  // no template serves it
    }
    TW_RETURN_IF_ERROR(predicted);
    const auto& metadata = model_->metadata();
    return std::optional(records::ModelChoice{
        *std::move(predicted),
        metadata.expected_slowdown > 0 ? metadata.expected_slowdown : std::nan(""),
        "what " + path_ + " (" + metadata.learned_from + ") thinks best, not measured"});
  }

  const TemplateRegistry& templates_;
  const std::string path_;
  const std::unique_ptr<cost_model::TreeModel> model_;
  mutable std::mutex mutex_;
  // Cached results by workload and target: each takes tens of milliseconds, and a network asks
  // twice.
  mutable std::map<std::string, std::optional<records::ModelChoice>> known_;
};

std::string VectorsOf(const Target& target, DataType data) {
  const auto features = FeaturesOf(target);
  if (!features.ok()) return "unknown";
  const bool tiles = data == kBFloat16 ? features->amx_bf16 : data.bits == 8 && features->amx_int8;
  if (tiles) return "amx";
  // The fastest tiles differ if wide vectors take two steps (Zen 4): there, a model trained on
  // other CPUs chose convolutions of 1.0 to 1.1 times the default configs' time.
  if (features->double_pumped_512) return "avx512_halves";
  return features->avx512 ? "avx512" : features->avx2 ? "avx2" : features->neon ? "neon" : "plain";
}

}  // namespace

std::string FamilyOf(const Task& task) {
  const Workload& w = task.workload;
  std::string family = std::string(w.op_name()) + "/" + std::string(DataTypeName(w.data.dtype));
  if (DeviceTraitsOf(task.target).machine_code) {
    family += "/" + VectorsOf(task.target, w.data.dtype);
  }
  return family;
}

Result<Point> PredictPoint(const SearchSpace& space, const StaticAnalyzer& analyzer,
                           const cost_model::CostModel& model) {
  FeatureCache features(analyzer);
  Random random(kSeed);
  const std::vector<Point> defaults = DefaultPoints(space);
  std::vector<Point> chains = defaults;
  TW_ASSIGN_OR_RETURN(const std::vector<ScoredPoint> visited,
                      Anneal(space, model, AnnealingOptions(), features, random, chains));
  if (visited.empty()) {
    return Unsupported(space.task.workload.Key() + ": no legal config was found");
  }
  if (defaults.empty()) return visited.front().point;
  const double busy = kAsBusy * analyzer.ThreadUtilization(defaults.front());
  const double cache_miss_bytes =
      std::max(kMemoryBound, kAsFewBytes * analyzer.CacheMissBytes(defaults.front()));
  const bool thin = IsThin(space.task.workload);
  const auto even = std::ranges::find_if(visited, [&](const ScoredPoint& scored) {
    const TemplateEntry& entry = *space.templates[static_cast<std::size_t>(scored.point.space)];
    return !IsOfAnotherAlgorithm(entry) && analyzer.ThreadUtilization(scored.point) >= busy &&
           !(thin && analyzer.CacheMissBytes(scored.point) > cache_miss_bytes);
  });
  if (even == visited.end()) return defaults.front();
  const ScoredPoint& best = *even;
  const auto standard = std::ranges::find(visited, defaults.front(), &ScoredPoint::point);
  const bool tie = standard != visited.end() && best.score < standard->score + kClearlyBetter;
  return tie ? standard->point : best.point;
}

Result<Candidate> PredictConfig(const TemplateRegistry& templates, const Task& task,
                                const Epilogue& epilogue, const cost_model::CostModel& model) {
  if (!DeviceTraitsOf(task.target).loops) {
    return Unsupported("shipped models predict loops, not VTA streams");
  }
  TW_ASSIGN_OR_RETURN(const SearchSpace space, MakeSearchSpace(templates, task, epilogue));
  TW_ASSIGN_OR_RETURN(const Point point, PredictPoint(space, TemplateAnalyzer(space), model));
  return ToCandidate(space, point);
}

/// Errors: kInvalidArgument for a model that was trained before families of machine code contained
/// their vector extension: it would match no workload.
Status CheckFamilies(const cost_model::TreeModel& model, const std::string& path) {
  const auto& metadata = model.metadata();
  if (!FindDeviceTraits(metadata.target_kind).machine_code) return {};
  for (const std::string& family : metadata.families) {
    if (std::ranges::count(family, '/') == 2) continue;
    return InvalidArgument(path + ": cost model of " + family +
                           ", without a vector extension; train it again");
  }
  return {};
}

Result<std::unique_ptr<records::ModelChooser>> LoadChooser(const TemplateRegistry& templates,
                                                           const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto model, cost_model::TreeModel::Load(path));
  TW_RETURN_IF_ERROR(CheckFamilies(*model, path));
  return std::unique_ptr<records::ModelChooser>(
      std::make_unique<FileChooser>(templates, path, std::move(model)));
}

}  // namespace tilewright::search
