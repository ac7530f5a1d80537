#include "src/templates/auto/tile_stages.h"

#include <vector>

#include "src/ir/visit.h"

namespace tilewright {

bool ReadsBuffer(const Schedule& s, StageId id, const Buffer& buffer, bool* as_it_is) {
  bool reads = false;
  const ComputeOp& op = s.stage(id).op;
  ForEachNode(op.body, [&](const Expr& node) {
    if (node->kind != ExprKind::kLoad || node->buffer != buffer) return;
    reads = true;
    *as_it_is = *as_it_is && node->args.size() == op.axes.size();
    for (std::size_t d = 0; *as_it_is && d < node->args.size(); ++d) {
      *as_it_is = node->args[d].Same(op.axes[d].var);
    }
  });
  return reads;
}

StageId OnlyConsumer(const Schedule& s, const Buffer& buffer) {
  std::vector<StageId> readers;
  bool as_it_is = true;
  for (const StageId id : s.order()) {
    if (s.stage(id).attach == Schedule::Attach::kInline) continue;
    if (ReadsBuffer(s, id, buffer, &as_it_is)) readers.push_back(id);
  }
  const bool follows =
      readers.size() == 1 && as_it_is && s.stage(readers[0]).op.combiner == Combiner::kNone;
  return follows ? readers[0] : StageId();
}

SumAndWriter SumInRegisters(Schedule& s, StageId main) {
  const StageId follower = OnlyConsumer(s, s.stage(main).op.output);
  if (follower.index < 0) return {s.CacheWrite(main, Scope::kLocal), main};
  s.SetScope(main, Scope::kLocal);
  return {main, follower};
}

}  // namespace tilewright
