#include "src/templates/vta/templates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "src/templates/space_values.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/packed_workload.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/kernels/slot_conv2d_space.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright {
namespace conv2d_packed_slots_vta {
namespace {

using vta::PackedConv2d;
using vta::SlotConv2dPlan;
using Operand = vta::EpilogueStep::Operand;

// Streams that are timed for a default config, in some hundredths of a second.
constexpr int kMaxTimed = 100;

/// Errors: those of PackedConv2dOf; kUnsupported for convolutions that the slots do not support.
Result<PackedConv2d> SlotsShapeOf(const vta::Design& design, const Workload& workload) {
  TW_ASSIGN_OR_RETURN(auto conv, PackedConv2dOf(design, workload));
  if (conv.extra_pad_h != 0 || conv.extra_pad_w != 0) {
    return Unsupported("expected the same padding on opposite sides");
  }
  return conv;
}

SlotConv2dPlan PlanOf(const Config& config) {
  return {.h = config.Integer("tile_h"),
          .w = config.Integer("tile_w"),
          .ci = config.Integer("tile_ci"),
          .co = config.Integer("tile_co"),
          .inp_slots = config.Integer("inp_slots"),
          .wgt_slots = config.Integer("wgt_slots"),
          .acc_slots = config.Integer("acc_slots"),
          .channels_outer = config.Integer("channels_outer") != 0,
          .serpentine = config.Integer("serpentine") != 0,
          .unrolled = static_cast<vta::UnrolledLoop>(config.Integer("unrolled"))};
}

/// Returns `plan` completed for an epilogue.
SlotConv2dPlan Completed(const vta::Design& design, const PackedConv2d& conv, SlotConv2dPlan plan,
                         const std::vector<vta::EpilogueStep>& epilogue) {
  plan.gemm_adds = std::ranges::any_of(epilogue, [](const vta::EpilogueStep& step) {
    return step.operand == Operand::kTensorInt8 && step.op == vta::AluOp::kAdd;
  });
  return FillSlots(design, conv, plan, epilogue);
}

/// Largest epilogue of a quantized network: a bias and a residual.
std::vector<vta::EpilogueStep> LargestEpilogue() {
  return {{vta::AluOp::kAdd, Operand::kPerChannel, 0}, {vta::AluOp::kAdd, Operand::kTensorInt8, 0}};
}

/// Returns the configs of a space, by index, that have one of these values for each of some knobs.
std::vector<Config> ConfigsWith(
    const ConfigSpace& space,
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& fixed) {
  std::vector<std::vector<std::int64_t>> digits = {{}};
  for (const Knob& knob : space.knobs()) {
    const auto at = std::ranges::find(fixed, knob.name(), [](const auto& f) { return f.first; });
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& prefix : digits) {
      for (std::int64_t i = 0; i < knob.size(); ++i) {
        if (at != fixed.end() && std::ranges::count(at->second, knob[i].integer()) == 0) continue;
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    }
    digits = std::move(longer);
  }
  std::vector<Config> configs;
  for (const auto& each : digits) configs.push_back(space.At(space.IndexOf(each)));
  return configs;
}

std::string Refuses(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  if (!vta.ok()) return vta.status().message();
  return SlotsShapeOf(vta->design, workload).status().message();
}

constexpr KnobDoc kKnobs[] = {
    {"tile_h", "Rows of one tile of the result; the last tile has the rest."},
    {"tile_w", "Columns of one tile of the result; the last tile has the rest."},
    {"tile_ci", "Input channel blocks that are loaded and multiplied at once."},
    {"tile_co", "Output channel blocks of one tile of the result."},
    {"inp_slots", "Blocks of data that are on the chip at the same time. 0: as many as fit."},
    {"wgt_slots", "Blocks of weights that are on the chip at the same time. 0: as many as fit."},
    {"acc_slots", "Tiles of sums that are on the chip at the same time."},
    {"channels_outer",
     "1 computes all positions of one tile of output channels before the next tile of "
     "channels, 0 all tiles of channels of one position before the next position."},
    {"serpentine",
     "1 reverses every other pass over the input channels and over the inner loop of tiles, so"
     " that blocks on the chip are used again."},
    {"unrolled",
     "The loop of a tile that becomes micro-ops, in addition to columns and kernel taps: 0 "
     "rows, 1 input channels, 2 output channels."},
};

Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  TW_ASSIGN_OR_RETURN(const auto conv, SlotsShapeOf(vta->design, workload));
  const auto even = [](const char* name, std::int64_t extent, std::int64_t parts) {
    return Knob::Other(name, vta::EvenTiles(extent, parts));
  };
  std::vector<Result<Knob>> knobs;
  knobs.push_back(even("tile_h", conv.out_height(), conv.out_height()));
  knobs.push_back(even("tile_w", conv.out_width(), vta::kMaxColumnParts));
  knobs.push_back(even("tile_ci", conv.ci, conv.ci));
  knobs.push_back(even("tile_co", conv.co, conv.co));
  knobs.push_back(Knob::Other("inp_slots", {2, 3, 0}));
  knobs.push_back(Knob::Other("wgt_slots", {2, 3, 0}));
  knobs.push_back(Knob::Other("acc_slots", {1, 2}));
  knobs.push_back(Knob::Other("channels_outer", {0, 1}));
  knobs.push_back(Knob::Other("serpentine", {0, 1}));
  knobs.push_back(Knob::Other("unrolled", {0, 1, 2}));
  return MakeSpace(std::move(knobs));
}

// Returns the fastest config of those with the least lower bounds, double buffered and with whole
// rows.
Result<Config> DefaultConfig(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto space, DefineSpace(workload, target));
  const VtaTarget vta = *VtaTargetOf(target);
  const PackedConv2d conv = *SlotsShapeOf(vta.design, workload);
  const std::vector<vta::EpilogueStep> epilogue = LargestEpilogue();
  const std::vector<Config> configs = ConfigsWith(space, {{"inp_slots", {2}},
                                                          {"wgt_slots", {2, 0}},
                                                          {"tile_w", {conv.out_width()}},
                                                          {"serpentine", {0}}});
  struct Candidate {
    SlotConv2dPlan plan;
    double bound = 0;
    const Config* config = nullptr;
  };
  std::vector<Candidate> candidates;
  for (const Config& config : configs) {
    const SlotConv2dPlan plan = Completed(vta.design, conv, PlanOf(config), epilogue);
    if (!vta::CheckSlotConv2d(vta.design, conv, plan, epilogue).ok()) continue;
    const auto bound = vta::LowerBound(vta.design, conv, plan, epilogue, vta.cycles);
    if (bound.uops > vta.design.UsableUops()) continue;
    candidates.push_back({plan, bound.cycles, &config});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::bound);
  double best_cycles = std::numeric_limits<double>::infinity();
  const Config* best = nullptr;
  int timed = 0;
  for (const Candidate& candidate : candidates) {
    if (timed == kMaxTimed || candidate.bound >= best_cycles) break;
    const auto stream = vta::BuildSlotConv2d(vta.design, conv, candidate.plan, epilogue);
    if (!stream.ok()) continue;
    ++timed;
    const vta::RunResult run = vta::RunStream(vta.design, stream->instructions, nullptr);
    const double cycles =
        vta::Simulate(vta.design, stream->instructions, run.pipeline, vta.cycles).cycles;
    if (cycles >= best_cycles) continue;
    best_cycles = cycles;
    best = candidate.config;
  }
  return best != nullptr ? *best : space.At(0);
}

Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                const Target& target, const Config& config) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  TW_ASSIGN_OR_RETURN(const auto conv, SlotsShapeOf(vta->design, workload));
  TW_ASSIGN_OR_RETURN(const auto translated,
                      VtaEpilogueOf(vta->design, epilogue, /*gemm_adds=*/true));
  const std::vector<vta::EpilogueStep>& steps = translated.steps;
  return vta::BuildSlotConv2d(vta->design, conv,
                              Completed(vta->design, conv, PlanOf(config), steps), steps);
}

}  // namespace
}  // namespace conv2d_packed_slots_vta

TemplateEntry Conv2dPackedSlotsVtaEntry() {
  using namespace conv2d_packed_slots_vta;
  return {"conv2d_packed_slots.vta",
          1,
          "vta",
          kKnobs,
          &Refuses,
          &DefineSpace,
          &DefaultConfig,
          nullptr,
          &BuildStream};
}

}  // namespace tilewright
