// Features of a candidate for a GPU, from its loop summary only.
//
// A summary's stages belong to launches (those with the same root). The launch with most arithmetic
// is described in detail: the number of its threads and blocks, the resources of a block, and the
// memory addresses of one warp's accesses, which are computed lane by lane. The other launches
// enter as sums. In order:
//   gpu.*      the launch
//   block.*    the work of one block and of one of its threads
//   memory.*   traffic, coalescing, bank conflicts, arithmetic intensity
//   copy.*     the copies to shared memory
//   other.*    the other launches
//   loop<i>.*, knob<i>.*  as for CPUs (cost_model/feature_sink.h)
#include "cost_model/gpu_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cost_model/cost_model.h"
#include "cost_model/feature_sink.h"
#include "src/base/math.h"

namespace tilewright::cost_model {
namespace {

constexpr int kLanes = 32;            // threads of a warp
constexpr std::int64_t kSector = 32;  // bytes of one global memory transaction
constexpr std::int64_t kBanks = 32;   // of shared memory, 4 bytes wide
constexpr std::int64_t kWord = 4;     // bytes of a bank, and of a register
constexpr double kOwnRegisters = 24;  // addresses, loop counters, values in flight
constexpr double kMaxRegisters = 255;

/// Returns the product of the extents of the loops for which `which` returns true.
template <typename Which>
double ExtentsOf(const SummaryStage& stage, const Which& which) {
  double product = 1;
  for (const SummaryLoop& loop : stage.loops) {
    if (which(loop)) product *= static_cast<double>(loop.extent);
  }
  return product;
}

double ThreadsOf(const SummaryStage& stage) {
  return ExtentsOf(stage, [](const SummaryLoop& l) { return IsThreadLoop(l.kind); });
}
double BlocksOf(const SummaryStage& stage) {
  return ExtentsOf(stage, [](const SummaryLoop& l) { return IsBlockLoop(l.kind); });
}
double VirtualThreadsOf(const SummaryStage& stage) {
  return ExtentsOf(stage, [](const SummaryLoop& l) { return l.kind == LoopKind::kVirtualThread; });
}

double OpsOf(const SummaryStage& stage) {
  return ExecutionsOf(stage).back() * static_cast<double>(stage.arithmetic_ops);
}

/// Returns whether the access is a fragment of a matrix multiplication by a warp, which
/// redistributes the rows, columns and products of its threads (DistributeFragments in
/// src/schedule/lower/gpu_passes.h): a thread loads its chunk of the products of each row, and of
/// its own column among the eight.
bool IsFragment(const SummaryStage& stage, const SummaryAccess& access) {
  return stage.mma != nullptr && access.scope == Scope::kShared && !access.write;
}

/// Returns true for the factors of columns, which threads along x do not share; false for those of
/// rows.
bool FollowsColumns(const SummaryStage& stage, const SummaryAccess& access) {
  return std::ranges::any_of(access.thread_steps, [&](const ThreadStep& step) {
    return stage.loops[static_cast<std::size_t>(step.loop)].kind == LoopKind::kThreadX;
  });
}

/// Returns the first byte of a fragment that thread (x, y) of the warp loads.
std::int64_t FragmentOffset(const SummaryStage& stage, const SummaryAccess& access, std::int64_t x,
                            std::int64_t y) {
  const std::int64_t column_stride = access.strides[stage.loops.size() - 2];
  const bool columns = FollowsColumns(stage, access);
  std::int64_t offset = x * stage.mma->chunk();
  if (columns) offset += y % MmaIntrinsic::kColumns * column_stride;
  for (const ThreadStep& step : access.thread_steps) {
    const LoopKind kind = stage.loops[static_cast<std::size_t>(step.loop)].kind;
    if (kind == LoopKind::kThreadZ) continue;
    const std::int64_t index = columns ? y / MmaIntrinsic::kColumns : y;
    offset += step.stride * (index / step.divisor % step.extent);
  }
  return offset * access.dtype.bytes();
}

/// Returns the number of a warp's threads that share the factors of a row or column; each loads a
/// part.
std::int64_t SharersOf(const SummaryStage& stage, const SummaryAccess& access) {
  return FollowsColumns(stage, access) ? MmaIntrinsic::kThreadsY : MmaIntrinsic::kThreadsX;
}

/// Returns the first bytes, relative to each other, that the lanes of the first warp access at
/// once.
std::vector<std::int64_t> LaneOffsets(const SummaryStage& stage, const SummaryAccess& access) {
  std::array<int, 3> loop_of = {-1, -1, -1};  // x, y, z
  for (std::size_t i = 0; i < stage.loops.size(); ++i) {
    const LoopKind kind = stage.loops[i].kind;
    if (!IsThreadLoop(kind)) continue;
    const int axis = kind == LoopKind::kThreadX ? 0 : kind == LoopKind::kThreadY ? 1 : 2;
    // A stage's own loops come after those of the enclosing stages, which then have extent 1.
    loop_of[static_cast<std::size_t>(axis)] = static_cast<int>(i);
  }
  const auto lanes = static_cast<std::int64_t>(std::min<double>(kLanes, ThreadsOf(stage)));
  std::vector<std::int64_t> offsets;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    if (IsFragment(stage, access)) {
      constexpr std::int64_t kX = MmaIntrinsic::kThreadsX;
      offsets.push_back(FragmentOffset(stage, access, lane % kX, lane / kX));
      continue;
    }
    std::int64_t rest = lane, offset = 0;
    for (const int loop : loop_of) {
      if (loop < 0) continue;
      const std::int64_t extent = stage.loops[static_cast<std::size_t>(loop)].extent;
      const std::int64_t index = rest % extent;
      rest /= extent;
      for (const ThreadStep& step : access.thread_steps) {
        if (step.loop == loop) offset += step.stride * (index / step.divisor % step.extent);
      }
    }
    offsets.push_back(offset * access.dtype.bytes());
  }
  return offsets;
}

/// Returns the lanes of a vectorized loop whose elements are adjacent in memory.
std::int64_t VectorLanes(const SummaryStage& stage, const SummaryAccess& access) {
  if (IsFragment(stage, access)) return stage.mma->chunk();
  for (std::size_t i = 0; i < stage.loops.size() && i < access.strides.size(); ++i) {
    if (stage.loops[i].kind == LoopKind::kVectorized && access.strides[i] == 1) {
      return stage.loops[i].extent;
    }
  }
  return 1;
}

std::size_t SectorsOf(const std::vector<std::int64_t>& offsets, std::int64_t bytes) {
  std::vector<std::int64_t> sectors;
  for (const std::int64_t offset : offsets) {
    for (std::int64_t s = FloorDiv(offset, kSector); s <= FloorDiv(offset + bytes - 1, kSector);
         ++s) {
      sectors.push_back(s);
    }
  }
  std::ranges::sort(sectors);
  return static_cast<std::size_t>(std::unique(sectors.begin(), sectors.end()) - sectors.begin());
}

/// Returns the number of shared memory passes of one access of `each` words by each lane of a warp:
/// the largest number of different words in one bank.
double PassesOf(const std::vector<std::int64_t>& offsets, std::int64_t each) {
  std::vector<std::int64_t> words;
  for (const std::int64_t offset : offsets) {
    for (std::int64_t i = 0; i < each; ++i) words.push_back(FloorDiv(offset, kWord) + i);
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<int, kBanks> used{};
  for (const std::int64_t word : words) ++used[static_cast<std::size_t>(FloorMod(word, kBanks))];
  return *std::ranges::max_element(used);
}

/// Returns how often all threads together make the access. Inside the last reduction, a value stays
/// in a register while only loops run that do not move it; virtual threads run there, too.
double AccessCount(const SummaryStage& stage, const SummaryAccess& access) {
  const std::vector<double> executions = ExecutionsOf(stage);
  const bool fragment = IsFragment(stage, access);
  // The products inside an instruction are not a loop around it.
  const std::size_t loops = stage.loops.size() - (fragment ? 1 : 0);
  std::size_t level = loops;
  bool reduces = false;
  for (std::size_t i = 0; i < loops; ++i) {
    reduces = reduces || stage.loops[i].reduction;
    if (stage.loops[i].reduction) level = i + 1;
  }
  if (!reduces || level >= access.footprint_bytes.size()) return executions.back();
  double count = executions[level] * static_cast<double>(access.footprint_bytes[level]) /
                 static_cast<double>(access.dtype.bytes());
  for (std::size_t i = 0; i < level; ++i) {
    const bool same = stage.loops[i].kind == LoopKind::kVirtualThread && access.strides[i] == 0;
    if (same) count /= static_cast<double>(stage.loops[i].extent);
  }
  if (fragment) count /= static_cast<double>(SharersOf(stage, access));
  return count;
}

void AddAccess(const SummaryStage& stage, const SummaryAccess& access, GpuProfile* profile) {
  if (access.scope == Scope::kLocal) return;
  const std::vector<std::int64_t> offsets = LaneOffsets(stage, access);
  const std::int64_t vector = VectorLanes(stage, access);
  const auto lanes = static_cast<double>(offsets.size());
  const double count = AccessCount(stage, access);
  const double warps = count / lanes / static_cast<double>(vector);
  if (access.scope == Scope::kShared) {
    if (access.write) return;
    profile->shared_loads += count;
    profile->bank_passes +=
        warps * PassesOf(offsets, IsFragment(stage, access) ? stage.mma->words() : 1);
    return;
  }
  const std::int64_t bytes = vector * access.dtype.bytes();
  profile->global_bytes += count * static_cast<double>(access.dtype.bytes());
  profile->sector_bytes +=
      warps * static_cast<double>(kSector) * static_cast<double>(SectorsOf(offsets, bytes));
}

/// Stages of one launch, and the one with most of its arithmetic.
struct Launch {
  std::vector<const SummaryStage*> stages;
  const SummaryStage* main = nullptr;
  double ops = 0;
};

std::vector<Launch> LaunchesOf(const LoopSummary& summary) {
  std::map<int, Launch> by_root;
  for (const SummaryStage& stage : summary.stages) {
    Launch& launch = by_root[stage.root];
    launch.stages.push_back(&stage);
    launch.ops += OpsOf(stage);
    if (launch.main == nullptr || OpsOf(stage) > OpsOf(*launch.main)) launch.main = &stage;
  }
  std::vector<Launch> launches;
  for (auto& [root, launch] : by_root) launches.push_back(std::move(launch));
  // Sorts the largest first.
  std::ranges::stable_sort(launches, std::ranges::greater(), &Launch::ops);
  return launches;
}

double Occupancy(const GpuProfile& profile, const MultiprocessorLimits& limits) {
  const double warps = std::ceil(profile.threads / kLanes);
  const double most = static_cast<double>(limits.threads) / kLanes;
  double blocks = std::min<double>(static_cast<double>(limits.blocks), std::floor(most / warps));
  if (profile.shared_bytes > 0) {
    blocks = std::min(blocks,
                      std::floor(static_cast<double>(limits.shared_bytes) / profile.shared_bytes));
  }
  const double registers = profile.registers * warps * kLanes;
  blocks = std::min(blocks, std::floor(static_cast<double>(limits.registers) / registers));
  return blocks * warps / most;
}

GpuProfile ProfileLaunch(const Launch& launch, const MultiprocessorLimits& limits) {
  GpuProfile profile;
  const SummaryStage& main = *launch.main;
  profile.blocks = BlocksOf(main);
  profile.ops = launch.ops;
  profile.registers = kOwnRegisters;
  for (const SummaryStage* stage : launch.stages) {
    profile.threads = std::max(profile.threads, ThreadsOf(*stage));
    profile.virtual_threads = std::max(profile.virtual_threads, VirtualThreadsOf(*stage));
    profile.shared_bytes += static_cast<double>(stage->shared_bytes);
    const double own = static_cast<double>(stage->local_bytes) / static_cast<double>(kWord) *
                       VirtualThreadsOf(*stage);
    profile.registers += own;
    if (stage == &main) profile.sums = std::max(1.0, own);
    if (stage->shared_bytes > 0) {
      const double steps = ExtentsOf(*stage, [](const SummaryLoop& l) { return l.reduction; });
      profile.steps = std::max(profile.steps, steps);
    }
    for (const SummaryAccess& access : stage->accesses) AddAccess(*stage, access, &profile);
  }
  profile.registers = std::min(profile.registers, kMaxRegisters);
  profile.occupancy = Occupancy(profile, limits);
  return profile;
}

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

void PutLaunch(const GpuProfile& p, const SummaryStage& main, const MultiprocessorLimits& limits,
               FeatureSink& sink) {
  const double warps = std::ceil(p.threads / kLanes);
  const auto extent = [&](LoopKind kind) {
    return Log2Plus1(ExtentsOf(main, [&](const SummaryLoop& l) { return l.kind == kind; }));
  };
  sink.Put("gpu.blocks", Log2Plus1(p.blocks));
  sink.Put("gpu.threads", Log2Plus1(p.threads));
  sink.Put("gpu.lanes_used", Ratio(p.threads, warps * kLanes));
  sink.Put("gpu.warps", Log2Plus1(p.blocks * warps));
  sink.Put("gpu.occupancy", p.occupancy);
  sink.Put("gpu.resident_threads", Log2Plus1(p.occupancy * static_cast<double>(limits.threads)));
  sink.Put("gpu.shared_bytes", Log2Plus1(p.shared_bytes));
  sink.Put("gpu.registers", p.registers);
  sink.Put("gpu.threads_x", extent(LoopKind::kThreadX));
  sink.Put("gpu.threads_y", extent(LoopKind::kThreadY));
  sink.Put("gpu.threads_z", extent(LoopKind::kThreadZ));
  sink.Put("gpu.blocks_x", extent(LoopKind::kBlockX));
  sink.Put("gpu.blocks_y", extent(LoopKind::kBlockY));
  sink.Put("gpu.blocks_z", extent(LoopKind::kBlockZ));
  sink.Put("block.virtual_threads", Log2Plus1(p.virtual_threads));
  sink.Put("block.sums", Log2Plus1(p.sums));
  sink.Put("block.steps", Log2Plus1(p.steps));
  sink.Put("block.ops", Log2Plus1(p.ops));
  sink.Put("block.ops_per_thread", Log2Plus1(p.ops / (p.blocks * p.threads)));
  sink.Put("block.ops_per_step", Log2Plus1(p.ops / (p.blocks * p.threads * p.steps)));
  sink.Put("block.dot", main.mma != nullptr ? 2 : main.has_dot ? 1 : 0);
}

void PutMemory(const GpuProfile& p, const Launch& launch, FeatureSink& sink) {
  double touched = 0;
  for (const SummaryStage* stage : launch.stages) {
    for (const SummaryAccess& access : stage->accesses) {
      const bool global = access.scope == Scope::kGlobal && !access.footprint_bytes.empty();
      if (global) touched += static_cast<double>(access.footprint_bytes[0]);
    }
  }
  sink.Put("memory.touched_bytes", Log2Plus1(touched));
  sink.Put("memory.global_bytes", Log2Plus1(p.global_bytes));
  sink.Put("memory.sector_bytes", Log2Plus1(p.sector_bytes));
  sink.Put("memory.coalescing", Ratio(p.global_bytes, p.sector_bytes));
  sink.Put("memory.reloads", Log2Plus1(Ratio(p.global_bytes, touched)));
  sink.Put("memory.ops_per_byte", Log2Plus1(Ratio(p.ops, p.sector_bytes)));
  sink.Put("memory.ops_per_touched_byte", Log2Plus1(Ratio(p.ops, touched)));
  sink.Put("memory.shared_loads", Log2Plus1(p.shared_loads));
  sink.Put("memory.ops_per_shared_load", Log2Plus1(Ratio(p.ops, p.shared_loads)));
  sink.Put("memory.bank_ways",
           Ratio(p.bank_passes * std::min<double>(kLanes, p.threads), p.shared_loads));
  sink.Put("memory.ops_per_bank_pass", Log2Plus1(Ratio(p.ops, p.bank_passes)));
}

/// Adds the two largest copies to shared memory.
void PutCopies(const Launch& launch, FeatureSink& sink) {
  constexpr int kCopies = 2;
  std::vector<const SummaryStage*> copies;
  for (const SummaryStage* stage : launch.stages) {
    if (stage->shared_bytes > 0) copies.push_back(stage);
  }
  std::ranges::stable_sort(copies, std::ranges::greater(), &SummaryStage::shared_bytes);
  for (int i = 0; i < kCopies; ++i) {
    const auto at = static_cast<std::size_t>(i);
    GpuProfile own;
    const SummaryStage* copy = at < copies.size() ? copies[at] : nullptr;
    if (copy != nullptr) {
      for (const SummaryAccess& access : copy->accesses) AddAccess(*copy, access, &own);
    }
    const double threads = copy != nullptr ? ThreadsOf(*copy) : 0;
    const double bytes = copy != nullptr ? static_cast<double>(copy->shared_bytes) : 0;
    sink.Put("copy", i, "shared_bytes", Log2Plus1(bytes));
    sink.Put("copy", i, "threads", Log2Plus1(threads));
    sink.Put("copy", i, "bytes_per_thread", Log2Plus1(Ratio(bytes, threads)));
    sink.Put("copy", i, "coalescing", Ratio(own.global_bytes, own.sector_bytes));
    sink.Put("copy", i, "sector_bytes", Log2Plus1(own.sector_bytes));
  }
}

void PutGpuOthers(const std::vector<Launch>& launches, const MultiprocessorLimits& limits,
                  FeatureSink& sink) {
  double all = 0, ops = 0, bytes = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    all += launches[i].ops;
    if (i == 0) continue;
    const GpuProfile profile = ProfileLaunch(launches[i], limits);
    ops += profile.ops;
    bytes += profile.sector_bytes;
  }
  sink.Put("other.launches", static_cast<double>(launches.size()));
  sink.Put("other.ops", Log2Plus1(ops));
  sink.Put("other.share", Ratio(ops, all));
  sink.Put("other.sector_bytes", Log2Plus1(bytes));
}

void ExtractGpu(const LoopSummary& summary, const MultiprocessorLimits& limits,
                const Config& config, FeatureSink& sink) {
  static const SummaryStage kEmpty;
  std::vector<Launch> launches = LaunchesOf(summary);
  if (launches.empty()) launches.push_back({{&kEmpty}, &kEmpty, 0});
  const Launch& largest = launches.front();
  const GpuProfile profile = ProfileLaunch(largest, limits);
  PutLaunch(profile, *largest.main, limits, sink);
  PutMemory(profile, largest, sink);
  PutCopies(largest, sink);
  PutGpuOthers(launches, limits, sink);
  PutLoops(*largest.main, sink);
  PutKnobs(config, sink);
}

}  // namespace

GpuProfile ProfileLaunch(const LoopSummary& summary, const MultiprocessorLimits& limits) {
  const std::vector<Launch> launches = LaunchesOf(summary);
  return launches.empty() ? GpuProfile() : ProfileLaunch(launches.front(), limits);
}

const std::vector<std::string>& GpuFeatureNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    FeatureSink sink(&names);
    ExtractGpu(LoopSummary(), MultiprocessorLimits(), Config(), sink);
    return names;
  }();
  return kNames;
}

void ExtractGpuFeatures(const LoopSummary& summary, const MultiprocessorLimits& limits,
                        const Config& config, std::span<float> out) {
  TW_CHECK(out.size() == static_cast<std::size_t>(FeatureCount()), "wrong width of a feature row");
  std::ranges::fill(out, 0.0F);
  FeatureSink sink(out);
  ExtractGpu(summary, limits, config, sink);
}

}  // namespace tilewright::cost_model
