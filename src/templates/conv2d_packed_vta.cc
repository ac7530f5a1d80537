#include "src/templates/conv2d_packed_vta.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/templates/parts.h"
#include "src/templates/vta_parts.h"

namespace tilewright {
namespace {

using vta::PackedConv2d;
using vta::PackedConv2dTiles;

PackedConv2dTiles TilesOf(const Config& config) {
  return {.h = config.Factors("tile_h")[1],
          .w = config.Factors("tile_w")[1],
          .ci = config.Factors("tile_ci")[1],
          .co = config.Factors("tile_co")[1],
          .oc_threads = config.Integer("oc_nthread"),
          .h_threads = config.Integer("h_nthread")};
}

/// Bytes of activations and weights that a schedule loads, each tile's share of the border taken
/// as data.
std::int64_t LoadedBytes(const vta::Design& design, const PackedConv2d& conv,
                         const PackedConv2dTiles& tiles) {
  const std::int64_t rows =
      conv.out_height() / tiles.h * ((tiles.h - 1) * conv.stride_h + conv.kernel_h);
  const std::int64_t columns =
      conv.out_width() / tiles.w * ((tiles.w - 1) * conv.stride_w + conv.kernel_w);
  const std::int64_t inp = conv.co / tiles.co * conv.ci * rows * columns;
  const std::int64_t wgt = conv.out_height() / tiles.h * (conv.out_width() / tiles.w) * conv.co *
                           conv.ci * conv.kernel_h * conv.kernel_w;
  return conv.batch * (inp * design.ElementBytes(vta::Memory::kInp) +
                       wgt * design.ElementBytes(vta::Memory::kWgt));
}

/// What an epilogue of a quantized network takes at most: a bias and a residual.
std::vector<vta::EpilogueStep> LargestEpilogue() {
  using Operand = vta::EpilogueStep::Operand;
  return {{vta::AluOp::kAdd, Operand::kPerChannel, 0}, {vta::AluOp::kAdd, Operand::kTensor, 0}};
}

}  // namespace

std::string Conv2dPackedVta::Refuses(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  if (!vta.ok()) return vta.status().message();
  return PackedConv2dOf(vta->design, workload).status().message();
}

Result<ConfigSpace> Conv2dPackedVta::DefineSpace(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  const auto conv = PackedConv2dOf(vta->design, workload);
  TW_RETURN_IF_ERROR(conv);
  std::vector<Result<Knob>> knobs;
  knobs.push_back(Knob::Split("tile_b", conv->batch, 2));
  knobs.push_back(Knob::Split("tile_h", conv->out_height(), 2));
  knobs.push_back(Knob::Split("tile_w", conv->out_width(), 2));
  knobs.push_back(Knob::Split("tile_ci", conv->ci, 2));
  knobs.push_back(Knob::Split("tile_co", conv->co, 2));
  knobs.push_back(Knob::Other("oc_nthread", {1, 2}));
  knobs.push_back(Knob::Other("h_nthread", {1, 2}));
  return MakeSpace(std::move(knobs));
}

// Two virtual threads, so that loads run beside products, and among those the fewest bytes.
Result<Config> Conv2dPackedVta::DefaultConfig(const Workload& workload, const Target& target) {
  const auto space = DefineSpace(workload, target);
  TW_RETURN_IF_ERROR(space);
  const vta::Design design = VtaTargetOf(target)->design;
  const PackedConv2d conv = *PackedConv2dOf(design, workload);
  const std::vector<vta::EpilogueStep> epilogue = LargestEpilogue();
  std::vector<std::tuple<bool, std::int64_t, std::int64_t>> order;
  for (std::int64_t index = 0; index < space->size(); ++index) {
    const PackedConv2dTiles tiles = TilesOf(space->At(index));
    if (!vta::CheckPackedConv2d(design, conv, tiles, epilogue).ok()) continue;
    order.emplace_back(tiles.threads() == 1, LoadedBytes(design, conv, tiles), index);
  }
  std::ranges::sort(order);
  for (const auto& [single, bytes, index] : order) {
    Config config = space->At(index);
    if (vta::BuildPackedConv2d(design, conv, TilesOf(config), epilogue).ok()) return config;
  }
  return space->At(0);
}

Result<vta::Stream> Conv2dPackedVta::BuildStream(const Workload& workload, const Epilogue& epilogue,
                                                 const Target& target, const Config& config) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  const auto conv = PackedConv2dOf(vta->design, workload);
  TW_RETURN_IF_ERROR(conv);
  const auto steps = VtaEpilogueOf(vta->design, epilogue);
  TW_RETURN_IF_ERROR(steps);
  return vta::BuildPackedConv2d(vta->design, *conv, TilesOf(config), steps->steps);
}

}  // namespace tilewright
