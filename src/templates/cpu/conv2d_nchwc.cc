// AutoTVM's blocked convolutions for x86, with its knobs, so that its records apply: blocks of
// channels, a run of pixels in registers, and the kernel's loop unrolled or not; float, 8-bit and
// depthwise. Layouts: data NCHW<ic>c, weight OIHW<ic>i<oc>o (depthwise OIHW1i<oc>o), output
// NCHW<oc>c. The 8-bit template has blocks of multiples of 4 input and 16 output channels for the
// dot product of AVX-512.
// Source: reference of AutoTVM records, sections 9.4, 12.7 and 13.

#include "src/templates/cpu/templates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/templates/cpu/depthwise_nest.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace conv2d_nchwc_cpu {
namespace {

constexpr std::int64_t kMaxOwTile = 64;  // AutoTVM's limit
constexpr int kInt8Depth = 4;            // products per lane of one dot instruction
constexpr int kInt8OcBlock = 16;         // int32 lanes of a 512-bit register
/// Reference: a larger ow block left no register for the weights.
constexpr std::int64_t kFallbackOw = 31;
constexpr std::int64_t kFallbackPixels = 32;

std::string RefusesPlain(const Workload& w, const Target&) {
  if (w.op_name() != "conv2d") return "only convolutions of one group";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return {};
}

bool IsPointwise(const ConvShape& s) { return s.r == 1 && s.s == 1; }

/// Returns the knob after tile_ow: rows for 1x1 kernels, unrolled kernel columns for others.
Knob LastKnob(const ConvShape& s) {
  if (!IsPointwise(s)) return Knob::Bool("unroll_kw", {true, false});
  return s.oh > 1 ? Knob::Other("tile_oh", {1, 2}) : Knob::Other("tile_oh", {1});
}

/// Returns the vector lanes of AutoTVM's fallback config: 16 with AVX-512, else 8.
std::int64_t FallbackLanes(const Target& target) {
  const auto features = FeaturesOf(target);
  return features.ok() && features->avx512 ? 16 : 8;
}

std::pair<std::string, KnobValue> FallbackLast(const ConvShape& s, std::int64_t rows) {
  if (IsPointwise(s)) return {"tile_oh", KnobValue{rows}};
  return {"unroll_kw", KnobValue{false}};
}

/// Returns ow block and rows of the fallback.
std::array<std::int64_t, 2> FallbackPixels(const ConvShape& s) {
  if (!IsPointwise(s)) return {LargestDivisor(s.ow, kFallbackOw), 1};
  for (std::int64_t ow = s.ow; ow >= 1; --ow) {
    if (s.ow % ow != 0 || ow > kMaxOwTile) continue;
    for (std::int64_t oh = std::min<std::int64_t>(s.oh, 2); oh >= 1; --oh) {
      if (s.oh % oh == 0 && ow * oh < kFallbackPixels) return {ow, oh};
    }
  }
  return {1, 1};
}

Result<Kernel> ApplyNest(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const KernelLayouts& layouts, ConvNest nest, std::int64_t oc_block) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const std::int64_t lanes = features.float_lanes();
  const std::int64_t accumulators = CeilDiv(oc_block, lanes) * nest.rows * nest.cols;
  // A tile of twice the registers still runs, with spills; larger ones compile and run slowly.
  if (accumulators > 2 * features.vector_registers()) {
    return InvalidArgument("register tile of " + std::to_string(accumulators) +
                           " vectors, the target has " +
                           std::to_string(features.vector_registers()) + " registers");
  }
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule schedule(std::move(compute));
  ScheduleConvNest(schedule, nest, lanes, target);
  return FinishKernel(std::move(schedule), layouts);
}

void SetLastKnob(const ConvShape& s, const Config& config, ConvNest& nest) {
  if (IsPointwise(s)) {
    nest.rows = config.Integer("tile_oh");
  } else {
    nest.unroll_kw = config.Integer("unroll_kw") != 0;
    nest.ic_before_kw = nest.unroll_kw;
  }
}

constexpr KnobDoc kKnobs[] = {
    {"tile_ic", "Input channels: blocks, channels of a block of data and weight."},
    {"tile_oc", "Output channels: blocks, channels of a block of weight and result."},
    {"tile_ow", "Columns of the result: register tiles, columns of one register tile."},
    {"tile_oh", "Rows of one register tile. Only for 1x1 kernels."},
    {"unroll_kw",
     "true unrolls the loop over kernel columns, inside the loop over the channels of a block."
     " Only for kernels larger than 1x1."},
};

constexpr KnobDoc kDepthwiseKnobs[] = {
    {"tile_ic", "Channels of the data: blocks, channels of a block. Has to equal tile_oc."},
    {"tile_oc", "Channels of the result: blocks, channels of a block."},
    {"tile_ow", "Columns of the result: register tiles, columns of one register tile."},
    {"unroll_kw", "true unrolls the loop over kernel columns."},
};

Result<ConfigSpace> PlainSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  return MakeSpace({Knob::Split("tile_ic", s.c, 2), Knob::Split("tile_oc", s.k, 2),
                    Knob::Split("tile_ow", s.ow, 2, {.max_factor = kMaxOwTile}), LastKnob(s)});
}

Result<Config> PlainDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto space, PlainSpace(w, target));
  const std::int64_t oc = LargestDivisor(s.k, FallbackLanes(target));
  const auto [ow, rows] = FallbackPixels(s);
  return LocateValues(space, {{"tile_ic", InnerFactor(s.c, LargestDivisor(s.c, oc))},
                              {"tile_oc", InnerFactor(s.k, oc)},
                              {"tile_ow", InnerFactor(s.ow, ow)},
                              FallbackLast(s, rows)});
}

Result<Kernel> ApplyPlain(const Workload& w, const Epilogue& epilogue, const Target& target,
                          const Config& config) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  const std::int64_t ic = config.Factors("tile_ic")[1], oc = config.Factors("tile_oc")[1];
  KernelLayouts layouts;
  layouts.data = Blocked("NCHW", ic, 'c');
  layouts.weight = Blocked(Blocked("OIHW", ic, 'i'), oc, 'o');
  layouts.output = Blocked("NCHW", oc, 'c');
  ConvNest nest;
  nest.cols = config.Factors("tile_ow")[1];
  nest.channels_first = true;
  SetLastKnob(s, config, nest);
  return ApplyNest(w, epilogue, target, layouts, nest, oc);
}

std::string RefusesInt8(const Workload& w, const Target& target) {
  if (std::string reason = RefusesPlain(w, target); !reason.empty()) return reason;
  if (!IsInt8(w)) return "only 8-bit data and int8 weights summed in int32";
  const auto features = FeaturesOf(target);
  if (!features.ok() || !features->avx512_vnni) return "the target has no AVX-512 dot product";
  const auto s = ConvShapeOf(w);
  if (!s.ok()) return s.status().message();
  if (s->c % kInt8Depth != 0) return "input channels are no multiple of 4";
  if (s->k % kInt8OcBlock != 0) return "output channels are no multiple of 16";
  return {};
}

Result<ConfigSpace> Int8Space(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  return MakeSpace({Knob::Split("tile_ic", s.c, 2,
                                {.keep = [](const auto& f) { return f[1] % kInt8Depth == 0; }}),
                    Knob::Split("tile_oc", s.k, 2,
                                {.keep = [](const auto& f) { return f[1] % kInt8OcBlock == 0; }}),
                    Knob::Split("tile_ow", s.ow, 2, {.max_factor = kMaxOwTile}), LastKnob(s)});
}

Result<Config> Int8Default(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto space, Int8Space(w, target));
  std::int64_t ic = kInt8Depth;
  for (std::int64_t candidate : {8, 12, 16}) {
    if (s.c % candidate == 0) ic = candidate;
  }
  const auto [ow, rows] = FallbackPixels(s);
  return LocateValues(space, {{"tile_ic", InnerFactor(s.c, ic)},
                              {"tile_oc", InnerFactor(s.k, kInt8OcBlock)},
                              {"tile_ow", InnerFactor(s.ow, ow)},
                              FallbackLast(s, rows)});
}

Result<Kernel> ApplyInt8(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const Config& config) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  const std::int64_t ic = config.Factors("tile_ic")[1], oc = config.Factors("tile_oc")[1];
  KernelLayouts layouts;
  layouts.data = Blocked("NCHW", ic, 'c');
  layouts.weight =
      Blocked(Blocked(Blocked("OIHW", ic / kInt8Depth, 'i'), oc, 'o'), kInt8Depth, 'i');
  layouts.output = Blocked("NCHW", oc, 'c');
  layouts.shift_data = w.data.dtype == kInt8;
  ConvNest nest;
  nest.cols = config.Factors("tile_ow")[1];
  nest.channels_first = true;
  nest.dot = "dot4.u8s8";
  SetLastKnob(s, config, nest);
  return ApplyNest(w, epilogue, target, layouts, nest, oc);
}

std::string RefusesDepthwise(const Workload& w, const Target&) {
  if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  const auto s = ConvShapeOf(w);
  if (!s.ok()) return s.status().message();
  return s->c == s->k ? "" : "only as many channels out as in";
}

Result<ConfigSpace> DepthwiseSpace(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  return MakeSpace({Knob::Split("tile_ic", s.c, 2), Knob::Split("tile_oc", s.k, 2),
                    Knob::Split("tile_ow", s.ow, 2, {.max_factor = kMaxOwTile}),
                    Knob::Bool("unroll_kw", {true, false})});
}

Result<Config> DepthwiseDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto s, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto space, DepthwiseSpace(w, target));
  const std::int64_t oc = LargestDivisor(s.k, FallbackLanes(target));
  return LocateValues(space, {{"tile_ic", InnerFactor(s.c, oc)},
                              {"tile_oc", InnerFactor(s.k, oc)},
                              {"tile_ow", InnerFactor(s.ow, LargestDivisor(s.ow, kFallbackOw))},
                              {"unroll_kw", KnobValue{false}}});
}

Result<Kernel> ApplyDepthwise(const Workload& w, const Epilogue& epilogue, const Target& target,
                              const Config& config) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const std::int64_t oc = config.Factors("tile_oc")[1], ic = config.Factors("tile_ic")[1];
  // Data and result have the same blocks here; AutoTVM repacks the data if they differ.
  if (ic != oc) return InvalidArgument("tile_ic and tile_oc differ");
  const std::int64_t cols = config.Factors("tile_ow")[1], lanes = features.float_lanes();
  if (const std::int64_t accumulators = CeilDiv(oc, lanes) * cols;
      accumulators > 2 * features.vector_registers()) {
    return InvalidArgument("register tile of " + std::to_string(accumulators) +
                           " vectors, the target has " +
                           std::to_string(features.vector_registers()) + " registers");
  }
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", oc, 'c');
  layouts.weight = Blocked("OIHW1i", oc, 'o');
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule schedule(std::move(compute));
  DepthwiseNest nest;
  nest.cols = cols;
  nest.unroll_kh = false;
  nest.unroll_kw = config.Integer("unroll_kw") != 0;
  ScheduleDepthwiseNest(schedule, nest, lanes, target);
  return FinishKernel(std::move(schedule), layouts);
}

}  // namespace
}  // namespace conv2d_nchwc_cpu

TemplateEntry Conv2dNchwcX86Entry() {
  using namespace conv2d_nchwc_cpu;
  return LoopTemplate("conv2d_NCHWc.x86", 1, "llvm", kKnobs, &RefusesPlain, &PlainSpace,
                      &PlainDefault, &ApplyPlain);
}

TemplateEntry Conv2dNchwcInt8X86Entry() {
  using namespace conv2d_nchwc_cpu;
  return LoopTemplate("conv2d_NCHWc_int8.x86", 1, "llvm", kKnobs, &RefusesInt8, &Int8Space,
                      &Int8Default, &ApplyInt8);
}

TemplateEntry DepthwiseNchwcX86Entry() {
  using namespace conv2d_nchwc_cpu;
  return LoopTemplate("depthwise_conv2d_NCHWc.x86", 1, "llvm", kDepthwiseKnobs, &RefusesDepthwise,
                      &DepthwiseSpace, &DepthwiseDefault, &ApplyDepthwise);
}

}  // namespace tilewright
