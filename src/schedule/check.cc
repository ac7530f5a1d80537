#include "src/schedule/check.h"

#include <algorithm>
#include <vector>

#include "src/ir/visit.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/loops.h"

namespace tilewright {
namespace {

using Attach = Schedule::Attach;

Status Refusal(const Schedule::StageInfo& stage, const std::string& reason) {
  return InvalidArgument("stage '" + stage.op.name + "': " + reason);
}

/// Returns true for an unrolled pair of 16-bit elements inside of a vector loop: the back end makes
/// one vector of the pairs of all lanes.
bool IsPairOfLanes(const Schedule::StageInfo& stage, const Schedule::LoopInfo& loop) {
  return loop.kind == LoopKind::kUnrolled && loop.extent == 2 && !loop.reduction &&
         stage.op.output->dtype.bytes() == 2;
}

Status CheckLeaves(const Schedule& schedule, const Schedule::StageInfo& stage) {
  if (stage.leaves.size() > kMaxLeaves) {
    return Refusal(stage, std::to_string(stage.leaves.size()) + " loops, expected at most " +
                              std::to_string(kMaxLeaves));
  }
  for (std::size_t p = 0; p < stage.leaves.size(); ++p) {
    const auto& loop = schedule.loop(stage.leaves[p]);
    if (loop.kind != LoopKind::kVectorized) continue;
    if (stage.tensorized.index >= 0) {
      return Refusal(stage, "vectorized loop '" + loop.name + "' beside a tensorized one");
    }
    const auto inner = stage.leaves.begin() + static_cast<std::ptrdiff_t>(p) + 1;
    if (std::any_of(inner, stage.leaves.end(), [&](LoopId other) {
          const auto& nested = schedule.loop(other);
          return nested.extent > 1 && !IsPairOfLanes(stage, nested);
        })) {
      return Refusal(stage, "vectorized loop '" + loop.name + "' is not innermost");
    }
  }
  if (stage.tensorized.index < 0) return {};
  if (FindTileIntrinsic(stage.intrinsic) != nullptr) {
    // Rows and columns, then all reductions: the products replace the sums of an outer one.
    const auto first = static_cast<std::size_t>(LeafPosition(stage, stage.tensorized));
    bool same = first + 2 + stage.op.reduce_axes.size() == stage.leaves.size();
    for (std::size_t p = 0; same && p < stage.leaves.size(); ++p) {
      same = schedule.loop(stage.leaves[p]).reduction == (p >= first + 2);
    }
    return same ? Status()
                : Refusal(stage, "the loops of intrinsic '" + stage.intrinsic + "' were changed");
  }
  const int inner = FindMmaIntrinsic(stage.intrinsic) != nullptr ? 3 : 2;
  if (LeafPosition(stage, stage.tensorized) + inner != static_cast<int>(stage.leaves.size()) ||
      !schedule.loop(stage.leaves.back()).reduction) {
    return Refusal(stage, "the loops of intrinsic '" + stage.intrinsic + "' were changed");
  }
  return {};
}

Status CheckAttachPoint(const Schedule& schedule, const Schedule::StageInfo& stage) {
  const auto& consumer = schedule.stage(stage.consumer);
  const std::string at =
      "loop '" + schedule.loop(stage.at).name + "' of stage '" + consumer.op.name + "'";
  if (consumer.attach == Attach::kInline) {
    return Refusal(stage, "computed at " + at + ", which is inlined");
  }
  const int position = LeafPosition(consumer, stage.at);
  if (position < 0) return Refusal(stage, "computed at " + at + ", which was split or fused since");
  const int tensorized = LeafPosition(consumer, consumer.tensorized);
  if (schedule.loop(stage.at).kind == LoopKind::kVectorized ||
      (tensorized >= 0 && position >= tensorized)) {
    return Refusal(stage, "computed at " + at + ", which is vectorized");
  }
  return {};
}

/// Checks a pipeline. Its steps are those of the innermost loop around its attach point.
Status CheckPipeline(const Schedule& schedule, const Schedule::StageInfo& stage) {
  const auto& consumer = schedule.stage(stage.consumer);
  for (int p = LeafPosition(consumer, stage.at); p >= 0; --p) {
    const std::int64_t steps = schedule.loop(consumer.leaves[static_cast<std::size_t>(p)]).extent;
    if (steps >= stage.pipeline) return {};
    if (steps == 1) continue;
    return Refusal(stage, "a pipeline of " + std::to_string(stage.pipeline) + " copies, but " +
                              std::to_string(steps) + " steps");
  }
  return {};
}

/// Returns the readers of an attached stage beside its consumer.
std::vector<StageId> OtherReadersOf(const Schedule& schedule, const Schedule::StageInfo& stage) {
  std::vector<StageId> readers;
  for (StageId id : schedule.order()) {
    const auto& other = schedule.stage(id);
    if (id == stage.consumer || other.attach == Attach::kInline) continue;
    if (Reads(other, stage.op.output)) readers.push_back(id);
  }
  return readers;
}

/// Checks a stage that is kept for later readers. Those run after its consumer, in the loop around
/// it.
Status CheckKept(const Schedule& schedule, StageId id) {
  const auto& stage = schedule.stage(id);
  const auto& consumer = schedule.stage(stage.consumer);
  const auto place = [&](StageId other) {
    return std::ranges::find(schedule.order(), other) - schedule.order().begin();
  };
  if (IsBound(schedule)) return Refusal(stage, "kept in a program of a GPU");
  if (consumer.keep) return Refusal(stage, "kept, and computed in a stage that is kept itself");
  const bool root = consumer.attach == Attach::kRoot;
  const auto beside = [&](const Schedule::StageInfo& other) {
    return !root && other.attach == Attach::kAt && other.consumer == consumer.consumer &&
           other.at == consumer.at;
  };
  for (StageId reader : OtherReadersOf(schedule, stage)) {
    StageId nest = reader;  // computes it in its loops, next to the consumer or around it
    while (schedule.stage(nest).attach == Attach::kAt && !beside(schedule.stage(nest)) &&
           (root || nest != consumer.consumer)) {
      nest = schedule.stage(nest).consumer;
    }
    const bool reaches = root ? schedule.stage(nest).attach == Attach::kRoot
                              : nest == consumer.consumer || beside(schedule.stage(nest));
    if (!reaches || place(nest) <= place(stage.consumer)) {
      return Refusal(stage, "kept, but stage '" + schedule.stage(reader).op.name +
                                "' does not read it after stage '" + consumer.op.name +
                                "' in the same loop");
    }
  }
  return {};
}

/// Checks that every reader of an attached stage runs where the stage's value exists.
Status CheckReaders(const Schedule& schedule, StageId id) {
  const auto& stage = schedule.stage(id);
  const auto position =
      static_cast<std::size_t>(LeafPosition(schedule.stage(stage.consumer), stage.at));
  for (StageId reader : OtherReadersOf(schedule, stage)) {
    if (!ComputedInside(schedule, reader, stage.consumer, position)) {
      return Refusal(stage, "also read by stage '" + schedule.stage(reader).op.name +
                                "', which is not computed inside loop '" +
                                schedule.loop(stage.at).name + "'");
    }
  }
  return {};
}

/// Threads cannot start threads.
Status CheckParallel(const Schedule& schedule, StageId id) {
  const auto& stage = schedule.stage(id);
  const auto parallel = [&](LoopId loop) {
    return schedule.loop(loop).kind == LoopKind::kParallel;
  };
  if (std::none_of(stage.leaves.begin(), stage.leaves.end(), parallel)) return {};
  StageId inner = id;
  while (schedule.stage(inner).attach == Attach::kAt) {
    const auto& info = schedule.stage(inner);
    const auto& outer = schedule.stage(info.consumer);
    const auto end = outer.leaves.begin() + LeafPosition(outer, info.at) + 1;
    if (std::any_of(outer.leaves.begin(), end, parallel)) {
      return Refusal(stage, "parallel inside the parallel loop of stage '" + outer.op.name + "'");
    }
    inner = info.consumer;
  }
  return {};
}

/// Checks scopes of a GPU's memory. A stage whose loops are distributed to threads needs memory
/// that they share; a stage that each thread computes needs private memory.
Status CheckBindings(const Schedule& schedule, StageId id) {
  const auto& stage = schedule.stage(id);
  const auto bound = [&](LoopId loop) {
    const LoopKind kind = schedule.loop(loop).kind;
    return IsThreadLoop(kind) || IsBlockLoop(kind);
  };
  const bool own = std::ranges::any_of(stage.leaves, bound);
  if (own && stage.scope == Scope::kLocal) {
    return Refusal(stage, "its loops are bound to threads and its memory is private to one");
  }
  if (stage.attach != Attach::kAt || stage.scope != Scope::kGlobal) return {};
  const auto& outer = schedule.stage(stage.consumer);
  const auto end = outer.leaves.begin() + LeafPosition(outer, stage.at) + 1;
  if (own || std::any_of(outer.leaves.begin(), end, bound)) {
    return Refusal(stage, "computed inside a launch, expected shared or local memory");
  }
  return {};
}

}  // namespace

bool Reads(const Schedule::StageInfo& stage, const Buffer& buffer) {
  return std::ranges::any_of(stage.loads,
                             [&](const ExprNode* load) { return load->buffer == buffer; });
}

int LeafPosition(const Schedule::StageInfo& stage, LoopId loop) {
  const auto found = std::find(stage.leaves.begin(), stage.leaves.end(), loop);
  return found == stage.leaves.end() ? -1 : static_cast<int>(found - stage.leaves.begin());
}

namespace {

/// Returns true if two pieces of code for the value can give different results: one may contract
/// products and sums, or use vector functions instead of scalar ones.
bool IsRounded(const Expr& value) {
  return AnyNode(value, [](const Expr& node) {
    const ExprKind kind = node->kind;
    return node->dtype.is_float() &&
           (kind == ExprKind::kAdd || kind == ExprKind::kSub || kind == ExprKind::kMul ||
            kind == ExprKind::kDiv || kind == ExprKind::kCall);
  });
}

}  // namespace

bool FeedsArgReduction(const Schedule& schedule, StageId stage) {
  const Buffer& made = schedule.stage(stage).op.output;
  if (!IsRounded(schedule.stage(stage).op.body)) return false;
  bool extreme = false, compared = false;
  for (const Schedule::StageInfo& reader : schedule.stages()) {
    const Combiner combiner = reader.op.combiner;
    const bool of_all = combiner == Combiner::kMax || combiner == Combiner::kMin;
    extreme = extreme || (of_all && Reads(reader, made));
    compared = compared || AnyNode(reader.op.body, [&](const Expr& node) {
                 const bool equals = node->kind == ExprKind::kEq || node->kind == ExprKind::kNe;
                 return equals && LoadsFrom(node, made);
               });
  }
  return extreme && compared;
}

bool IsBound(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.loop_count(); ++i) {
    const LoopKind kind = schedule.loop({static_cast<int>(i)}).kind;
    if (IsThreadLoop(kind) || IsBlockLoop(kind)) return true;
  }
  return false;
}

bool ComputedInside(const Schedule& schedule, StageId stage, StageId consumer,
                    std::size_t position) {
  while (schedule.stage(stage).attach == Attach::kAt) {
    const auto& info = schedule.stage(stage);
    if (info.consumer == consumer) {
      return LeafPosition(schedule.stage(consumer), info.at) >= static_cast<int>(position);
    }
    stage = info.consumer;
  }
  return false;
}

Status CheckSchedule(const Schedule& schedule) {
  TW_RETURN_IF_ERROR(schedule.status());
  for (StageId id : schedule.order()) {
    const auto& stage = schedule.stage(id);
    if (stage.attach == Attach::kInline) continue;
    if (stage.library && stage.attach == Attach::kAt) {
      return Refusal(stage, "computed in a loop, but a library computes it as a whole");
    }
    TW_RETURN_IF_ERROR(CheckLeaves(schedule, stage));
    if (stage.attach == Attach::kAt) {
      TW_RETURN_IF_ERROR(CheckAttachPoint(schedule, stage));
      TW_RETURN_IF_ERROR(stage.keep ? CheckKept(schedule, id) : CheckReaders(schedule, id));
      TW_RETURN_IF_ERROR(CheckPipeline(schedule, stage));
    }
    TW_RETURN_IF_ERROR(CheckParallel(schedule, id));
    TW_RETURN_IF_ERROR(CheckBindings(schedule, id));
  }
  return {};
}

}  // namespace tilewright
