#include "src/templates/cuda/winograd_tiles.h"

#include "src/templates/cuda/block_tiles.h"
#include "src/templates/stages.h"

namespace tilewright {

void KeepPrivate(Schedule& s, StageId stage, StageId consumer, LoopId thread,
                 std::initializer_list<int> unrolled) {
  s.SetScope(stage, Scope::kLocal);
  s.ComputeAt(stage, consumer, thread);
  for (const int axis : unrolled) s.Unroll(stage, s.SpatialAxis(stage, axis));
}

WinogradResultTiles TileWinogradResult(Schedule& s, std::int64_t m, std::int64_t threads) {
  const StageId result = InlineIntoResult(s);
  const auto [row, i] = s.Split(result, s.SpatialAxis(result, 2), m);
  const auto [col, j] = s.Split(result, s.SpatialAxis(result, 3), m);
  const LoopId image = s.SpatialAxis(result, 0), channel = s.SpatialAxis(result, 1);
  s.Reorder(result, {image, channel, row, col, i, j});
  const LoopId thread = SpreadOverThreads(s, result, {image, channel, row, col}, threads);
  s.Unroll(result, i);
  s.Unroll(result, j);
  return {result, thread};
}

void ScheduleWinogradResult(Schedule& s, std::int64_t m, std::int64_t threads) {
  const StageId columns = s.Stage("columns");
  const StageId products = s.CacheRead("products", Scope::kLocal, columns);
  const auto [result, thread] = TileWinogradResult(s, m, threads);
  KeepPrivate(s, s.Stage("tile"), result, thread, {2, 3});
  KeepPrivate(s, columns, result, thread, {2, 3});
  KeepPrivate(s, products, result, thread, {0, 1});
}

}  // namespace tilewright
