#include "src/templates/vta/packed_template.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "src/templates/space_values.h"

namespace tilewright {
namespace {

/// What an epilogue of a quantized network takes at most: a bias and a residual.
std::vector<vta::EpilogueStep> LargestEpilogue() {
  using Operand = vta::EpilogueStep::Operand;
  return {{vta::AluOp::kAdd, Operand::kPerChannel, 0}, {vta::AluOp::kAdd, Operand::kTensor, 0}};
}

using Scheduled = std::function<Result<vta::PackedOperator>(const Config& config)>;

/// The leanest config that can be built with the epilogue.
std::optional<Config> MinTrafficWith(const vta::Design& design, const ConfigSpace& space,
                                     const Scheduled& schedule,
                                     const std::vector<vta::EpilogueStep>& epilogue) {
  std::vector<std::tuple<bool, std::int64_t, std::int64_t>> order;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const auto op = schedule(space.At(index));
    if (!op.ok() || !vta::CheckPackedOperator(design, *op, epilogue).ok()) continue;
    order.emplace_back(op->tiles.threads() == 1, vta::LoadedBytes(design, *op), index);
  }
  std::ranges::sort(order);
  for (const auto& [single, bytes, index] : order) {
    Config config = space.At(index);
    const auto op = schedule(config);
    if (op.ok() && vta::BuildPackedOperator(design, *op, epilogue).ok()) return config;
  }
  return std::nullopt;
}

}  // namespace

Result<ConfigSpace> PackedConvSpace(std::int64_t batch, std::int64_t out_h, std::int64_t out_w,
                                    std::int64_t ci, std::int64_t co) {
  std::vector<Result<Knob>> knobs;
  knobs.push_back(Knob::Split("tile_b", batch, 2));
  knobs.push_back(Knob::Split("tile_h", out_h, 2));
  knobs.push_back(Knob::Split("tile_w", out_w, 2));
  knobs.push_back(Knob::Split("tile_ci", ci, 2));
  knobs.push_back(Knob::Split("tile_co", co, 2));
  knobs.push_back(Knob::Other("oc_nthread", {1, 2}));
  knobs.push_back(Knob::Other("h_nthread", {1, 2}));
  return MakeSpace(std::move(knobs));
}

vta::PackedConv2dTiles PackedConvTiles(const Config& config) {
  return {.h = config.Factors("tile_h")[1],
          .w = config.Factors("tile_w")[1],
          .ci = config.Factors("tile_ci")[1],
          .co = config.Factors("tile_co")[1],
          .oc_threads = config.Integer("oc_nthread"),
          .h_threads = config.Integer("h_nthread")};
}

Config MinTrafficConfig(const vta::Design& design, const ConfigSpace& space,
                        const Scheduled& schedule) {
  for (const std::vector<vta::EpilogueStep>& epilogue : {LargestEpilogue(), {}}) {
    if (auto config = MinTrafficWith(design, space, schedule, epilogue)) return *std::move(config);
  }
  return space.At(0);
}

}  // namespace tilewright
