#include "src/templates/dense_mma_cuda.h"

#include <string_view>
#include <utility>

#include "src/schedule/intrinsics.h"
#include "src/target/gpu.h"
#include "src/templates/parts_cuda.h"

namespace tilewright {
namespace {

constexpr std::int64_t kX = MmaIntrinsic::kThreadsX, kY = MmaIntrinsic::kThreadsY;

/// The largest instruction that the device has and whose sizes divide the layer's; null if none.
const MmaIntrinsic* Choose(const Workload& w, int capability) {
  for (const std::string_view name : {"mma.m16n8k32.s8", "mma.m8n8k16.s8"}) {
    const MmaIntrinsic* mma = FindMmaIntrinsic(name);
    if (capability >= mma->capability && w.data.shape[0] % mma->m == 0 &&
        w.weight.shape[0] % mma->n == 0 && w.data.shape[1] % mma->k == 0) {
      return mma;
    }
  }
  return nullptr;
}

Result<const MmaIntrinsic*> IntrinsicFor(const Workload& w, const Target& target) {
  const auto capability = ComputeCapabilityOf(target);
  TW_RETURN_IF_ERROR(capability);
  const MmaIntrinsic* mma = Choose(w, *capability);
  if (mma == nullptr) {
    return Unsupported("tensor cores of sm_" + std::to_string(*capability) +
                       " have no product whose sizes divide the layer's");
  }
  return mma;
}

/// Powers of two up to `most` that divide the extent.
std::vector<std::int64_t> Powers(std::int64_t extent, std::int64_t most) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most && extent % power == 0; power *= 2) {
    powers.push_back(power);
  }
  return powers;
}

}  // namespace

std::string DenseMmaCuda::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kDense) return "only dense";
  if (w.data_layout != "MK" || w.kernel_layout != "NK") return "only MK data and NK weights";
  if (!IsInt8(w) || w.data.dtype != kInt8) return "only int8 summed in int32";
  return IntrinsicFor(w, target).status().message();
}

Result<ConfigSpace> DenseMmaCuda::DefineSpace(const Workload& w, const Target& target) {
  auto mma = IntrinsicFor(w, target);
  TW_RETURN_IF_ERROR(mma);
  const std::int64_t m = w.data.shape[0] / (*mma)->m, n = w.weight.shape[0] / (*mma)->n;
  const std::int64_t k = w.data.shape[1] / (*mma)->k;
  return MakeSpace({Knob::Other("warps_m", Powers(m, 4)), Knob::Other("warps_n", Powers(n, 4)),
                    Knob::Other("tiles_m", Powers(m, 8)), Knob::Other("tiles_n", Powers(n, 8)),
                    Knob::Other("steps_k", Powers(k, 8)),
                    Knob::Other("auto_unroll_max_step", {0, 512, 1500})});
}

Result<Config> DenseMmaCuda::DefaultConfig(const Workload& w, const Target& target) {
  auto mma = IntrinsicFor(w, target);
  TW_RETURN_IF_ERROR(mma);
  auto space = DefineSpace(w, target);
  TW_RETURN_IF_ERROR(space);
  // Of each axis the tiles of a warp first, then warps; a block of 64 x 64 where the layer has it.
  const auto along = [](std::int64_t products, std::int64_t tiles) {
    const std::int64_t own = Powers(products, tiles).back();
    return std::pair(own, Powers(products / own, 2).back());
  };
  const auto [tiles_m, warps_m] = along(w.data.shape[0] / (*mma)->m, 32 / (*mma)->m);
  const auto [tiles_n, warps_n] = along(w.weight.shape[0] / (*mma)->n, 4);
  const std::int64_t steps = Powers(w.data.shape[1] / (*mma)->k, 2).back();
  return LocateValues(*space, {{"warps_m", KnobValue{warps_m}},
                               {"warps_n", KnobValue{warps_n}},
                               {"tiles_m", KnobValue{tiles_m}},
                               {"tiles_n", KnobValue{tiles_n}},
                               {"steps_k", KnobValue{steps}},
                               {"auto_unroll_max_step", KnobValue{std::int64_t{512}}}});
}

Result<Kernel> DenseMmaCuda::Apply(const Workload& w, const Epilogue& epilogue,
                                   const Target& target, const Config& config) {
  auto chosen = IntrinsicFor(w, target);
  TW_RETURN_IF_ERROR(chosen);
  const MmaIntrinsic& mma = **chosen;
  const std::int64_t warps_m = config.Integer("warps_m"), warps_n = config.Integer("warps_n");
  const std::int64_t rows = config.Integer("tiles_m") * mma.rows();
  const std::int64_t columns = config.Integer("tiles_n") * MmaIntrinsic::kColumns;
  const std::int64_t m = w.data.shape[0], n = w.weight.shape[0];
  if (m % (warps_m * kY * rows) != 0 || n % (warps_n * kX * columns) != 0) {
    return InvalidArgument("a block of " + std::to_string(warps_m * kY * rows) + " x " +
                           std::to_string(warps_n * kX * columns) + " does not divide " +
                           std::to_string(m) + " x " + std::to_string(n));
  }
  const BlockThreads threads = {warps_m * warps_n, kY, kX};
  TW_RETURN_IF_ERROR(CheckBlock(threads));
  auto compute = DefineAnchor(w, epilogue);
  TW_RETURN_IF_ERROR(compute);
  Schedule s(*std::move(compute));
  const GpuStages stages = PrepareGpuStages(s);
  const StageId result = stages.result, sum = stages.sum;
  // A thread's rows and columns are neighbours; its warp's are those of eight and of four threads.
  const std::vector<LoopId> y =
      s.SplitBy(result, s.SpatialAxis(result, 0), {m / (warps_m * kY * rows), warps_m, kY, rows});
  const std::vector<LoopId> x = s.SplitBy(result, s.SpatialAxis(result, 1),
                                          {n / (warps_n * kX * columns), warps_n, kX, columns});
  s.Reorder(result, {y[0], x[0], y[1], x[1], y[2], x[2], y[3], x[3]});
  s.Bind(result, y[0], LoopKind::kBlockY);
  s.Bind(result, x[0], LoopKind::kBlockX);
  BindThreadLoops(s, result, {s.Fuse(result, y[1], x[1]), y[2], x[2]});
  s.Pragma(result, y[0], "auto_unroll_max_step", config.Integer("auto_unroll_max_step"));

  s.ComputeAt(sum, result, x[2]);
  const std::int64_t staged = config.Integer("steps_k") * mma.k;
  const auto [step, inside] = s.Split(sum, s.ReductionAxis(sum, 0), staged);
  const auto [product, depth] = s.Split(sum, inside, mma.k);
  const auto [tile_row, row] = s.Split(sum, s.SpatialAxis(sum, 0), mma.rows());
  const auto [tile_column, column] = s.Split(sum, s.SpatialAxis(sum, 1), MmaIntrinsic::kColumns);
  s.Reorder(sum, {step, product, tile_row, tile_column, row, column, depth});
  s.Tensorize(sum, row, mma.name);
  constexpr std::int64_t kCopyBytes = 16;
  for (const StageId copy : {stages.data, stages.weight}) {
    s.ComputeAt(copy, sum, step);
    FetchVectors(s, copy, threads, kCopyBytes / mma.operand.bytes());
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), AnchorForm()};
}

}  // namespace tilewright
