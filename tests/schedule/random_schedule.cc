#include "tests/schedule/random_schedule.h"

#include <utility>
#include <vector>

#include "src/ir/expr.h"
#include "tests/schedule/computes.h"

namespace tilewright {
namespace {

bool Chance(Random* random, std::uint64_t percent) { return random->Below(100) < percent; }

/// Splits, fuses, reorders and annotates the loops of one stage.
void RandomLoops(Schedule* schedule, StageId stage, Random* random) {
  const auto pick = [&] {
    const auto leaves = schedule->Leaves(stage);
    return leaves[random->Below(leaves.size())];
  };
  for (int i = static_cast<int>(random->Below(4)); i > 0; --i) {
    schedule->Split(stage, pick(), 1 + static_cast<std::int64_t>(random->Below(5)),
                    Chance(random, 60) ? Tail::kPeel : Tail::kGuard);
  }
  if (Chance(random, 60)) {
    std::vector<LoopId> order = schedule->Leaves(stage);
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random->Below(i + 1)]);
    if (Chance(random, 50)) order.resize(1 + random->Below(order.size()));
    schedule->Reorder(stage, order);
  }
  const auto leaves = schedule->Leaves(stage);
  if (leaves.size() > 1 && Chance(random, 40)) {
    const auto at = random->Below(leaves.size() - 1);
    if (schedule->loop(leaves[at]).reduction == schedule->loop(leaves[at + 1]).reduction) {
      const LoopId fused = schedule->Fuse(stage, leaves[at], leaves[at + 1]);
      if (Chance(random, 30)) {
        schedule->Split(stage, fused, 2 + static_cast<std::int64_t>(random->Below(4)),
                        Chance(random, 50) ? Tail::kPeel : Tail::kGuard);
      }
    }
  }
  const LoopId last = schedule->Leaves(stage).back();
  if (!schedule->loop(last).reduction && Chance(random, 50)) schedule->Vectorize(stage, last);
}

void RandomAnnotations(Schedule* schedule, StageId stage, Random* random) {
  for (LoopId leaf : schedule->Leaves(stage)) {
    if (schedule->loop(leaf).kind == LoopKind::kSerial && Chance(random, 20)) {
      schedule->Unroll(stage, leaf);
    }
  }
}

}  // namespace

Compute RandomCompute(Random* random) {
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(random->Below(bound));
  };
  switch (random->Below(4)) {
    case 0:
      return MakeMatmul(1 + below(9), 1 + below(11), 1 + below(7));
    case 1:
      return MakeSoftmaxLike(1 + below(6), 1 + below(9));
    default: {
      ConvCase c;
      c.channel_blocks = 1 + below(2);
      c.output_blocks = 1 + below(3);
      c.kernel = 1 + below(3);
      c.stride = 1 + below(2);
      c.pad = below(3);
      c.dilation = 1 + below(2);
      c.height = 5 + below(4);
      c.width = 5 + below(6);
      return MakeConv(c);
    }
  }
}

void RandomSchedule(Schedule* schedule, Random* random) {
  if (schedule->HasStage("matmul") && Chance(random, 25)) {
    const StageId c = schedule->Stage("matmul");
    const std::int64_t depth = schedule->Extent(schedule->ReductionAxis(c, 0));
    const std::int64_t divisor = depth % 3 == 0 ? 3 : depth % 2 == 0 ? 2 : 1;
    const auto any = 1 + random->Below(static_cast<std::uint64_t>(depth));
    schedule->RFactor(c, 0, Chance(random, 50) ? divisor : static_cast<std::int64_t>(any));
  }
  if (Chance(random, 40)) {
    const StageId last = schedule->order().back();
    schedule->CacheWrite(last, Chance(random, 50) ? Scope::kLocal : Scope::kGlobal);
  }
  if (schedule->HasStage("conv")) {
    const StageId conv = schedule->Stage("conv");
    if (Chance(random, 25)) schedule->CacheWrite(conv, Scope::kLocal);
    const StageId sum = schedule->Stage(schedule->HasStage("conv.local") ? "conv.local" : "conv");
    if (Chance(random, 25)) schedule->CacheRead("weight", Scope::kLocal, sum);
    if (Chance(random, 40)) schedule->SkipZeroTaps(sum);
  }
  for (StageId id : std::vector<StageId>(schedule->order())) {
    const auto& info = schedule->stage(id);
    if (!(id == schedule->order().back()) && info.op.combiner == Combiner::kNone &&
        Chance(random, 30)) {
      schedule->ComputeInline(id);
      continue;
    }
    RandomLoops(schedule, id, random);
  }
  // Attach to a reader, last stages first.
  const auto order = schedule->order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const auto& info = schedule->stage(*id);
    if (info.attach == Schedule::Attach::kInline || *id == order.back()) continue;
    if (!Chance(random, 70)) continue;
    for (auto reader = order.rbegin(); reader != order.rend(); ++reader) {
      const auto& other = schedule->stage(*reader);
      if (other.attach == Schedule::Attach::kInline) continue;
      if (ToString(other.op.body).find(info.op.output->name + "[") == std::string::npos) continue;
      const auto leaves = schedule->Leaves(*reader);
      LoopId at = leaves[random->Below(leaves.size())];
      if (schedule->loop(at).kind == LoopKind::kVectorized) continue;
      schedule->ComputeAt(*id, *reader, at);
      break;
    }
  }
  for (StageId id : order) {
    if (schedule->stage(id).attach == Schedule::Attach::kInline) continue;
    RandomAnnotations(schedule, id, random);
    const LoopId first = schedule->Leaves(id).front();
    if (schedule->stage(id).attach == Schedule::Attach::kRoot && Chance(random, 30) &&
        !schedule->loop(first).reduction && schedule->loop(first).kind == LoopKind::kSerial) {
      schedule->Parallel(id, first);
    }
  }
}

}  // namespace tilewright
