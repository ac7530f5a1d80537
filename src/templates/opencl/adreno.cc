#include "src/templates/opencl/adreno.h"

#include <algorithm>
#include <array>
#include <optional>

#include "src/base/math.h"
#include "src/base/strings.h"
#include "src/schedule/workspace_images.h"
#include "src/templates/cuda/block_tiles.h"
#include "src/templates/opencl/adreno_sizes.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::array kTexelKnobs = {"tile_fc", "tile_y", "tile_x"};

constexpr const char* kLimitExpected = "expected -texture_spatial_limit from 1 to 1048576";

/// Limit of the rows and of the columns of an image, in texels; nullopt for an option that is none.
std::optional<std::int64_t> ImageLimitOf(const Target& target) {
  constexpr std::int64_t kUsual = 16384, kMax = 1 << 20;
  const std::string option = target.Option("texture_spatial_limit");
  if (option.empty()) return kUsual;
  const auto number = ParseInt64(option);
  if (!number.ok() || *number < 1 || *number > kMax) return std::nullopt;
  return *number;
}

}  // namespace

std::string RefusesConvForAdreno(const Workload& w, const Target& target, bool depthwise) {
  if (std::ranges::count(target.keys(), "adreno") == 0) return "only targets with -device=adreno";
  if (depthwise) {
    if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
    if (w.weight.shape[0] != w.groups) return "only one output channel of each input channel";
  } else if (w.op != OpKind::kConv2d || w.groups != 1) {
    return "only convolutions of one group";
  }
  if (!ImageLimitOf(target)) return kLimitExpected;
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w) && !IsFloat16(w)) return "only float32, or float16 summed in float32";
  return "";
}

KernelLayouts TexelLayouts(const Workload& w, const ConvShape& s) {
  KernelLayouts layouts;
  layouts.data = layouts.output = Blocked("NCHW", kTexelChannels, 'c');
  layouts.weight = "OIHW";
  const bool padded = w.groups == 1 && s.c % kTexelChannels != 0;
  if (padded) layouts.weight = Blocked(layouts.weight, kTexelChannels, 'i');
  layouts.weight = Blocked(layouts.weight, kTexelChannels, 'o');
  return layouts;
}

void VectorizeTexel(Schedule& s, StageId stage, LoopId channel) {
  s.Vectorize(stage, channel);
  s.Pragma(stage, channel, kWholeVectorAttribute, 1);
}

void StoreInImage(Schedule& s, StageId stage, const Target& target) {
  if (!s.status().ok()) return;
  const std::vector<std::int64_t>& shape = s.stage(stage).op.output->shape;
  const std::optional<std::int64_t> limit_option = ImageLimitOf(target);
  if (!limit_option) return s.Refuse(kLimitExpected);
  const std::int64_t limit = *limit_option, texels = Product(shape) / kTexelChannels;
  const LoopId channel = s.Leaves(stage).back();
  VectorizeTexel(s, stage, channel);
  for (const std::size_t rows : {shape.size() - 2, std::size_t{2}, std::size_t{1}}) {
    std::int64_t height = 1;
    for (std::size_t d = 0; d < rows; ++d) height *= shape[d];
    if (height >= limit || texels / height >= limit) continue;
    s.Pragma(stage, channel, kImageRowsAttribute, static_cast<std::int64_t>(rows));
    return;
  }
  s.Refuse("stage '" + s.stage(stage).op.name + "': no image has room for its " +
           std::to_string(texels) + " texels with fewer than " + std::to_string(limit) +
           " rows and columns");
}

void CopyToImage(Schedule& s, std::string_view buffer, StageId reader, const Target& target) {
  constexpr std::int64_t kItems = 64;  // AutoTVM's number
  const StageId copy =
      buffer == "pad" ? s.Stage(buffer) : s.CacheRead(buffer, Scope::kGlobal, reader);
  if (!s.status().ok()) return;
  std::vector<LoopId> outer = s.Leaves(copy);
  outer.pop_back();
  std::int64_t texels = 1;
  for (const LoopId loop : outer) texels *= s.Extent(loop);
  SpreadOverThreads(s, copy, outer, LargestDivisor(texels, kItems));
  StoreInImage(s, copy, target);
}

LoopId TileTexels(Schedule& s, StageId result, const Config& config) {
  std::array<std::vector<LoopId>, 3> parts;
  std::vector<LoopId> order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LoopId axis = s.SpatialAxis(result, static_cast<int>(i) + 1);
    parts[i] = s.SplitBy(result, axis, config.Factors(kTexelKnobs[i]));
  }
  for (std::size_t part = 0; part < 3; ++part) {
    for (const auto& axis : parts) order.push_back(axis[part]);
  }
  s.Reorder(result, order);
  const LoopId groups = s.Fuse(result, s.SpatialAxis(result, 0), parts[0][0]);
  BindBlockLoops(s, result, {groups, parts[1][0], parts[2][0]});
  for (const auto& axis : parts) s.VirtualThread(result, axis[1]);
  BindThreadLoops(s, result, {parts[0][2], parts[1][2], parts[2][2]});
  VectorizeTexel(s, result, s.SpatialAxis(result, 4));
  PragmaUnroll(s, result, groups, config);
  return parts[2][2];
}

std::vector<std::pair<std::string, KnobValue>> DefaultTexelTiles(const ConvShape& s) {
  constexpr std::int64_t kVirtual = 5, kMaxVirtual = 8, kChannels = 64, kItems = 16,
                         kMaxItems = 512;
  const std::int64_t texels = CeilDiv(s.k, kTexelChannels);
  const std::int64_t rows = AdrenoExtent(s.oh), columns = AdrenoExtent(s.ow);
  const std::int64_t vy = LargestDivisor(rows, kVirtual);
  const std::int64_t vx = LargestDivisor(columns, std::min(kVirtual, kMaxVirtual / vy));
  const std::int64_t tf = LargestDivisor(texels, kChannels);
  const std::int64_t ty = LargestDivisor(rows / vy, std::min(kItems, kMaxItems / tf));
  const std::int64_t tx = LargestDivisor(columns / vx, std::min(kItems, kMaxItems / (tf * ty)));
  const auto split = [](std::int64_t extent, std::int64_t threads, std::int64_t items) {
    return KnobValue{std::vector<std::int64_t>{extent / threads / items, threads, items}};
  };
  return {{"tile_fc", split(texels, 1, tf)},
          {"tile_y", split(rows, vy, ty)},
          {"tile_x", split(columns, vx, tx)},
          {"auto_unroll_max_step", KnobValue{std::int64_t{0}}},
          {"unroll_explicit", KnobValue{std::int64_t{0}}}};
}

}  // namespace tilewright
