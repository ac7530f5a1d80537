#include "bench/kernel_bench_ours.h"

#include <algorithm>
#include <set>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/schedule/lower/lower.h"
#include "tests/support/built_in.h"

namespace tilewright::bench {
namespace {

void Fill(Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.Set(i, tensor.dtype().is_float() ? 0.01 : 1);
  }
}

/// Returns the seconds per call: the minimum of a few short slices, enough to rank candidates.
double QuickTime(Runnable& kernel) {
  kernel.Run();
  const double first = Now();
  kernel.Run();
  constexpr double kSliceSeconds = 0.001;
  const int calls = std::clamp(static_cast<int>(kSliceSeconds / (Now() - first + 1e-9)), 1, 10000);
  double best = 1e9;
  constexpr int kSlices = 5;
  for (int slice = 0; slice < kSlices; ++slice) {
    const double start = Now();
    for (int i = 0; i < calls; ++i) kernel.Run();
    best = std::min(best, (Now() - start) / calls);
  }
  return best;
}

/// Search over one template.
class Climber {
 public:
  Climber(const TemplateEntry& entry, const Workload& workload, const Epilogue& epilogue,
          const Target& target, ConfigSpace space)
      : entry_(entry),
        workload_(workload),
        epilogue_(epilogue),
        target_(target),
        space_(std::move(space)) {}

  void Try(std::int64_t index) {
    if (!tried_.insert(index).second) return;
    auto kernel = OurKernel::Make(entry_, workload_, epilogue_, target_, space_.At(index));
    if (!kernel.ok()) return;
    ++builds_;
    const double seconds = QuickTime(**kernel);
    if (seconds < best_seconds_) best_seconds_ = seconds, best_ = index;
  }

  /// Tries every neighbour along one knob; returns true if the best changed.
  bool Climb(int limit) {
    const std::int64_t start = best_;
    for (std::size_t k = 0; k < space_.knobs().size() && builds_ < limit; ++k) {
      const std::vector<std::int64_t> digits = space_.Digits(best_);
      const std::int64_t size = space_.knobs()[k].size();
      constexpr std::int64_t kFewValues = 8;
      for (std::int64_t value = 0; value < size && builds_ < limit; ++value) {
        if (size > kFewValues && std::abs(value - digits[k]) > 4) continue;
        std::vector<std::int64_t> next = digits;
        next[k] = value;
        Try(space_.IndexOf(next));
      }
    }
    return best_ != start;
  }

  int builds() const { return builds_; }
  std::int64_t best() const { return best_; }
  double best_seconds() const { return best_seconds_; }
  const ConfigSpace& space() const { return space_; }

 private:
  const TemplateEntry& entry_;
  const Workload& workload_;
  const Epilogue& epilogue_;
  const Target& target_;
  ConfigSpace space_;
  std::set<std::int64_t> tried_;
  std::int64_t best_ = -1;
  double best_seconds_ = 1e9;
  int builds_ = 0;
};

}  // namespace

Result<std::unique_ptr<OurKernel>> OurKernel::Make(const TemplateEntry& entry,
                                                   const Workload& workload,
                                                   const Epilogue& epilogue, const Target& target,
                                                   const Config& config,
                                                   const TwParallel* threads) {
  TW_ASSIGN_OR_RETURN(auto kernel, entry.apply(workload, epilogue, target, config));
  TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, "kernel"));
  TW_ASSIGN_OR_RETURN(auto object, Generate({program}, target, Emit::kObject));
  TW_ASSIGN_OR_RETURN(auto folder, ScopedTempDir::Create("tilewright-bench"));
  const std::string path = folder.path() + "/kernel.so";
  TW_RETURN_IF_ERROR(LinkKernel(program, object, target, path));
  TW_ASSIGN_OR_RETURN(auto loaded, LoadKernel(path, "kernel"));
  std::unique_ptr<OurKernel> made(new OurKernel(std::move(loaded), threads));
  for (const Buffer& parameter : program.parameters) {
    made->tensors_.emplace_back(TensorType{parameter->shape, parameter->dtype});
    Fill(made->tensors_.back());
    made->pointers_.push_back(made->tensors_.back().data());
  }
  const int count = threads == nullptr ? 1 : threads->threads;
  made->workspace_ = Tensor(TensorType{{made->entry_.WorkspaceBytes(count) + 64}, kInt8});
  return made;
}

Result<Choice> QuickSearch(const Workload& workload, const Epilogue& epilogue, const Target& target,
                           int builds, std::uint64_t seed) {
  const auto entries = BuiltInTemplates().For(workload, target);
  if (entries.empty()) return NotFound(workload.Key() + ": no template");
  const TemplateEntry& entry = *entries.front();
  TW_ASSIGN_OR_RETURN(auto space, entry.define_space(workload, target));
  TW_ASSIGN_OR_RETURN(auto start, entry.default_config(workload, target));
  Climber climber(entry, workload, epilogue, target, std::move(space));
  climber.Try(start.index);
  Random random(seed);
  for (int i = 0; i < 4 * builds && climber.builds() < builds / 2; ++i) {
    climber.Try(static_cast<std::int64_t>(
        random.Below(static_cast<std::uint64_t>(climber.space().size()))));
  }
  if (climber.best() < 0) return Internal(workload.Key() + ": no config could be built");
  while (climber.builds() < builds && climber.Climb(builds)) {
  }
  return Choice{std::string(entry.key), climber.space().At(climber.best())};
}

}  // namespace tilewright::bench
