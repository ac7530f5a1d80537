#include "src/templates/opencl/work_items.h"

#include <algorithm>
#include <array>

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {

std::string RefusesForMali(const Workload& w, const Target& target) {
  if (std::ranges::count(target.keys(), "mali") == 0) return "only targets with -device=mali";
  return RefusesPlainTypes(w, target);
}

std::string RefusesConvForMali(const Workload& w, const Target& target, bool depthwise) {
  if (depthwise) {
    if (w.op_name() != "depthwise_conv2d") return "only depthwise convolutions";
  } else if (w.op != OpKind::kConv2d || w.groups != 1) {
    return "only convolutions of one group";
  }
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  return RefusesForMali(w, target);
}

Result<ItemLoops> TileItems(Schedule& s, StageId stage, const std::vector<ItemAxis>& axes,
                            LoopId images) {
  constexpr std::array kGroups = {LoopKind::kBlockZ, LoopKind::kBlockY, LoopKind::kBlockX};
  constexpr std::array kItems = {LoopKind::kThreadZ, LoopKind::kThreadY, LoopKind::kThreadX};
  std::vector<std::vector<LoopId>> parts;  // of each axis: groups, items, elements
  for (const ItemAxis& axis : axes) {
    parts.push_back(s.SplitBy(stage, axis.axis, axis.factors));
  }
  std::vector<LoopId> order;
  for (std::size_t part = 0; part < 3; ++part) {
    for (const auto& axis : parts) order.push_back(axis[part]);
  }
  s.Reorder(stage, order);
  if (images.index >= 0) parts[0][0] = s.Fuse(stage, images, parts[0][0]);
  ItemLoops loops;
  BlockThreads items = {1, 1, 1};
  const std::size_t first = kGroups.size() - axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    s.Bind(stage, parts[i][0], kGroups[first + i]);
    s.Bind(stage, parts[i][1], kItems[first + i]);
    items[first + i] = axes[i].factors[1];
    loops.item = parts[i][1];
    loops.inner.push_back(parts[i][2]);
  }
  TW_RETURN_IF_ERROR(CheckBlock(items));
  return loops;
}

KnobValue ItemsAndInner(std::int64_t extent, std::int64_t items, std::int64_t inner) {
  const std::int64_t elements = LargestDivisor(extent, inner);
  const std::int64_t threads = LargestDivisor(extent / elements, items);
  return KnobValue{std::vector<std::int64_t>{extent / elements / threads, threads, elements}};
}

}  // namespace tilewright
