// AutoTVM's convolutions for Adreno, of one group and depthwise ones. The data, with their padding,
// and the weight are copied to images whose texels are 4 channels. Then a work-item sums texels of
// the result in registers, one for each of its virtual threads.

#include <tuple>

#include "src/base/math.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/opencl/adreno.h"
#include "src/templates/opencl/adreno_sizes.h"
#include "src/templates/opencl/templates.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace conv2d_adreno {
namespace {

constexpr std::int64_t kMaxVirtual = 8, kMaxItems = 16, kMaxChannelItems = 255;

constexpr KnobDoc kDirectKnobs[] = {
    kTexelChannelsDoc,
    kTexelRowsDoc,
    kTexelColumnsDoc,
    {"tile_rcc", "Texels of 4 input channels: outer and inner loop."},
    {"tile_ry", "Kernel rows: outer and inner loop."},
    {"tile_rx", "Kernel columns: outer and inner loop."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

constexpr KnobDoc kDepthwiseKnobs[] = {
    kTexelChannelsDoc,
    kTexelRowsDoc,
    kTexelColumnsDoc,
    {"tile_ry", "Kernel rows: outer and inner loop."},
    {"tile_rx", "Kernel columns: outer and inner loop."},
    kUnrollStepsDoc,
    kUnrollExplicitDoc,
};

/// AutoTVM's limits of the tiles of texels: at least two work-items if the texels are even.
bool KeepsChannels(const std::vector<std::int64_t>& f) {
  const bool even = f[0] * f[1] * f[2] % 2 == 0;
  return f[1] <= kMaxVirtual && f[2] >= (even ? 2 : 1) && f[2] <= kMaxChannelItems;
}
bool KeepsPixels(const std::vector<std::int64_t>& f) {
  return f[1] <= kMaxVirtual && f[2] <= kMaxItems;
}

std::string RefusesDirect(const Workload& w, const Target& target) {
  return RefusesConvForAdreno(w, target, /*depthwise=*/false);
}

Result<ConfigSpace> DirectSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  const Knob::SplitOptions channels = {.keep = &KeepsChannels}, pixels = {.keep = &KeepsPixels};
  return SpaceWithUnroll({Knob::Split("tile_fc", CeilDiv(s.k, kTexelChannels), 3, channels),
                          Knob::Split("tile_y", AdrenoExtent(s.oh), 3, pixels),
                          Knob::Split("tile_x", AdrenoExtent(s.ow), 3, pixels),
                          Knob::Split("tile_rcc", CeilDiv(s.c, kTexelChannels), 2),
                          Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2)},
                         target, {0, 512, 1500});
}

/// Puts kernel rows and columns in one loop each, as AutoTVM does for an untuned operator.
std::vector<std::pair<std::string, KnobValue>> DefaultValues(const ConvShape& s) {
  auto values = DefaultTexelTiles(s);
  values.insert(values.end(), {{"tile_ry", InnerFactor(s.r, 1)}, {"tile_rx", InnerFactor(s.s, 1)}});
  return values;
}

Result<Config> DirectDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DirectSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  auto values = DefaultValues(s);
  values.emplace_back("tile_rcc", InnerFactor(CeilDiv(s.c, kTexelChannels), 1));
  return LocateValues(space, std::move(values));
}

/// Copies the operands to images and cuts the result. Returns the stage of the sum, within the loop
/// over work-items.
StageId ScheduleTexels(Schedule& s, const Target& target, const Config& config) {
  const AnchorStages stages = PrepareStages(s);
  CopyToImage(s, stages.has_pad ? "pad" : "data", stages.sum, target);
  CopyToImage(s, "weight", stages.sum, target);
  s.ComputeAt(stages.sum, stages.result, TileTexels(s, stages.result, config));
  return stages.sum;
}

Result<Kernel> ApplyDirect(const Workload& w, const Epilogue& epilogue, const Target& target,
                           const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto shape, ConvShapeOf(w));
  const KernelLayouts layouts = TexelLayouts(w, shape);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId sum = ScheduleTexels(s, target, config);
  LoopId texel = s.ReductionAxis(sum, 0), channel;
  const LoopId ky = s.ReductionAxis(sum, 1), kx = s.ReductionAxis(sum, 2);
  if (shape.c % kTexelChannels == 0) {
    std::tie(texel, channel) = s.Split(sum, texel, kTexelChannels);
  } else {
    channel = s.ReductionAxis(sum, 3);
  }
  const auto c = s.SplitBy(sum, texel, config.Factors("tile_rcc"));
  const auto y = s.SplitBy(sum, ky, config.Factors("tile_ry"));
  const auto x = s.SplitBy(sum, kx, config.Factors("tile_rx"));
  s.Reorder(sum, {c[0], y[0], x[0], c[1], y[1], x[1], channel, s.SpatialAxis(sum, 0),
                  s.SpatialAxis(sum, 1), s.SpatialAxis(sum, 2), s.SpatialAxis(sum, 3),
                  s.SpatialAxis(sum, 4)});
  s.Unroll(sum, channel);
  VectorizeTexel(s, sum, s.SpatialAxis(sum, 4));
  return FinishKernel(std::move(s), layouts);
}

std::string RefusesDepthwise(const Workload& w, const Target& target) {
  return RefusesConvForAdreno(w, target, /*depthwise=*/true);
}

Result<ConfigSpace> DepthwiseSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return SpaceWithUnroll(
      {Knob::Split("tile_fc", CeilDiv(s.k, kTexelChannels), 3),
       Knob::Split("tile_y", AdrenoExtent(s.oh), 3), Knob::Split("tile_x", AdrenoExtent(s.ow), 3),
       Knob::Split("tile_ry", s.r, 2), Knob::Split("tile_rx", s.s, 2)},
      target, {0, 512, 1500});
}

Result<Config> DepthwiseDefault(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DepthwiseSpace(w, target));
  TW_ASSIGN_OR_RETURN(const auto s, ConvShapeOf(w));
  return LocateValues(space, DefaultValues(s));
}

Result<Kernel> ApplyDepthwise(const Workload& w, const Epilogue& epilogue, const Target& target,
                              const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto shape, ConvShapeOf(w));
  const KernelLayouts layouts = TexelLayouts(w, shape);
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue, layouts));
  Schedule s(std::move(compute));
  const StageId sum = ScheduleTexels(s, target, config);
  const auto y = s.SplitBy(sum, s.ReductionAxis(sum, 0), config.Factors("tile_ry"));
  const auto x = s.SplitBy(sum, s.ReductionAxis(sum, 1), config.Factors("tile_rx"));
  s.Reorder(sum, {y[0], x[0], y[1], x[1], s.SpatialAxis(sum, 0), s.SpatialAxis(sum, 1),
                  s.SpatialAxis(sum, 2), s.SpatialAxis(sum, 3), s.SpatialAxis(sum, 4)});
  VectorizeTexel(s, sum, s.SpatialAxis(sum, 4));
  return FinishKernel(std::move(s), layouts);
}

}  // namespace
}  // namespace conv2d_adreno

TemplateEntry Conv2dImageEntry() {
  using namespace conv2d_adreno;
  return LoopTemplate("conv2d_nchwc.image2d", 1, "opencl", kDirectKnobs, &RefusesDirect,
                      &DirectSpace, &DirectDefault, &ApplyDirect);
}

TemplateEntry DepthwiseConv2dImageEntry() {
  using namespace conv2d_adreno;
  return LoopTemplate("depthwise_conv2d_nchwc.image2d", 1, "opencl", kDepthwiseKnobs,
                      &RefusesDepthwise, &DepthwiseSpace, &DepthwiseDefault, &ApplyDepthwise);
}

}  // namespace tilewright
