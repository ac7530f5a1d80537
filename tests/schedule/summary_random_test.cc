// Loop summaries compared with lowering of the same schedule. The two compute extents, strides and
// the regions of attached stages independently.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/base/math.h"
#include "src/base/sanitizer.h"
#include "src/ir/visit.h"
#include "src/schedule/loops.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/summary.h"
#include "tests/schedule/random_schedule.h"
#include "tests/support/interpreter.h"

namespace tilewright {
namespace {

/// A store of a program with its surrounding loops and conditions.
struct LoweredStore {
  const StmtNode* store = nullptr;
  std::vector<const StmtNode*> loops;  // outermost first
  bool guarded = false;

  std::int64_t Times() const {
    std::int64_t times = 1;
    for (const StmtNode* loop : loops) times *= loop->extent;
    return times;
  }
};

/// Allocations and stores of a program by buffer name.
struct LoweredCode {
  std::map<std::string, std::vector<LoweredStore>> stores;
  std::map<std::string, std::int64_t> allocated_bytes;  // the largest of that name

  void Read(const Stmt& stmt, LoweredStore around) {
    if (stmt->kind == StmtKind::kStore) {
      around.store = stmt.get();
      stores[stmt->buffer->name].push_back(around);
    }
    if (stmt->kind == StmtKind::kAllocate) {
      std::int64_t& bytes = allocated_bytes[stmt->buffer->name];
      bytes = std::max(bytes, stmt->buffer->bytes());
    }
    if (stmt->kind == StmtKind::kFor) around.loops.push_back(stmt.get());
    if (stmt->kind == StmtKind::kIf) around.guarded = true;
    for (const Stmt& part : stmt->body) Read(part, around);
  }
};

/// One access in the body of a store, as numbers.
class LoweredAccess {
 public:
  LoweredAccess(const LoweredStore& around, Buffer buffer, std::vector<Expr> indices)
      : around_(around), buffer_(std::move(buffer)), indices_(std::move(indices)) {}

  std::string name() const { return buffer_->name; }
  /// Returns for each loop the distance in elements from its first iteration to its second.
  std::vector<std::int64_t> Strides() const {
    std::vector<std::int64_t> strides;
    const std::int64_t first = Position(std::vector<std::int64_t>(around_.loops.size(), 0));
    for (std::size_t i = 0; i < around_.loops.size(); ++i) {
      std::vector<std::int64_t> at(around_.loops.size(), 0);
      at[i] = 1;
      strides.push_back(Position(at) - first);
    }
    return strides;
  }
  /// Returns the bytes that the loops from `level` inwards touch, all others in their first
  /// iteration. Elements outside of the buffer are padding, which is never read.
  std::int64_t TouchedBytes(std::size_t level) const {
    std::set<std::int64_t> touched;
    std::vector<std::int64_t> at(around_.loops.size(), 0);
    const auto visit = [&](const auto& self, std::size_t loop) -> void {
      if (loop == at.size()) {
        if (const auto position = PositionInside(at)) touched.insert(*position);
        return;
      }
      for (at[loop] = 0; at[loop] < around_.loops[loop]->extent; ++at[loop]) self(self, loop + 1);
      at[loop] = 0;
    };
    visit(visit, level);
    return std::ssize(touched) * buffer_->dtype.bytes();
  }

 private:
  std::vector<std::int64_t> Indices(const std::vector<std::int64_t>& at) const {
    for (std::size_t i = 0; i < at.size(); ++i) {
      interpreter_.SetVar(around_.loops[i]->var, at[i]);
    }
    std::vector<std::int64_t> values;
    for (const Expr& index : indices_) values.push_back(interpreter_.IndexOf(index));
    return values;
  }
  std::int64_t Position(const std::vector<std::int64_t>& at) const {
    const std::vector<std::int64_t> values = Indices(at);
    std::int64_t position = 0;
    for (std::size_t d = 0; d < values.size(); ++d) {
      position = position * buffer_->shape[d] + values[d];
    }
    return position;
  }
  std::optional<std::int64_t> PositionInside(const std::vector<std::int64_t>& at) const {
    const std::vector<std::int64_t> values = Indices(at);
    for (std::size_t d = 0; d < values.size(); ++d) {
      if (values[d] < 0 || values[d] >= buffer_->shape[d]) return std::nullopt;
    }
    return Position(at);
  }

  const LoweredStore& around_;
  Buffer buffer_;
  std::vector<Expr> indices_;
  mutable Interpreter interpreter_;
};

/// Returns the reads except those of the stored element (a sum reads itself), then the write.
std::vector<LoweredAccess> AccessesOf(const LoweredStore& store) {
  std::vector<LoweredAccess> accesses;
  ForEachNode(store.store->value, [&](const Expr& node) {
    if (node->kind == ExprKind::kLoad && node->buffer != store.store->buffer) {
      accesses.emplace_back(store, node->buffer, node->args);
    }
  });
  accesses.emplace_back(store, store.store->buffer, store.store->indices);
  return accesses;
}

using Strides = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

/// Number of comparisons over all schedules.
struct Compared {
  int stages = 0, attached = 0, kept = 0, footprints = 0;
};

/// Returns the loops of a stage that is computed as a whole.
StageLoops LoopsOfAll(const Schedule& schedule, StageId id) {
  const ComputeOp& op = schedule.stage(id).op;
  std::vector<std::int64_t> extents;
  for (const Axis& axis : op.axes) extents.push_back(axis.extent);
  for (const Axis& axis : op.reduce_axes) extents.push_back(axis.extent);
  return StageLoops(schedule, id, extents);
}

/// Returns whether a split of the stage, or of one around it, leaves a tail.
bool HasTail(const Schedule& schedule, StageId id) {
  const auto& info = schedule.stage(id);
  const StageLoops loops = LoopsOfAll(schedule, id);
  for (std::size_t i = 0; i < info.relations.size(); ++i) {
    if (loops.HasTail(i)) return true;
  }
  return info.attach == Schedule::Attach::kAt && HasTail(schedule, info.consumer);
}

/// Returns whether a fused loop of the stage, or of one around it, is split so that parts begin in
/// the middle of the inner one: a summary then describes strides and regions approximately.
bool IsMisaligned(const Schedule& schedule, StageId id) {
  const auto& info = schedule.stage(id);
  const StageLoops loops = LoopsOfAll(schedule, id);
  using Kind = Schedule::Relation::Kind;
  for (std::size_t i = 0; i < info.relations.size(); ++i) {
    if (info.relations[i].kind == Kind::kSplit) continue;
    for (std::size_t j = i + 1; j < info.relations.size(); ++j) {
      if (info.relations[j].kind != Kind::kSplit) continue;
      const std::int64_t fused = loops.factor(i), split = loops.factor(j);
      if (fused % split != 0 && split % fused != 0) return true;
    }
  }
  return info.attach == Schedule::Attach::kAt && IsMisaligned(schedule, info.consumer);
}

void CompareStage(Schedule& schedule, const SummaryStage& stage, const LoweredCode& code,
                  bool footprints, Compared* compared) {
  const StageId id = schedule.Stage(stage.name);
  if (IsMisaligned(schedule, id)) return;
  const bool sums = schedule.stage(id).op.combiner != Combiner::kNone;
  const std::string& result = stage.accesses.back().buffer;
  if (stage.local_bytes > 0) {
    ASSERT_TRUE(code.allocated_bytes.contains(result));
    EXPECT_EQ(stage.local_bytes, code.allocated_bytes.at(result));
    ++compared->kept;
  }
  const auto found = code.stores.find(result);
  ASSERT_NE(found, code.stores.end());
  const auto& stores = found->second;
  const bool guarded =
      std::ranges::any_of(stores, [](const LoweredStore& store) { return store.guarded; });
  // The initialization of a sum and its update. Additional stores are tails, which a summary
  // ignores.
  if (guarded || stores.size() > (sums ? 2 : 1)) return;
  const LoweredStore& store = stores.back();

  std::vector<std::size_t> levels;  // indices of the existing loops
  std::vector<std::int64_t> extents, lowered_extents;
  for (std::size_t i = 0; i < stage.loops.size(); ++i) {
    if (stage.loops[i].extent == 1) continue;
    levels.push_back(i);
    extents.push_back(stage.loops[i].extent);
  }
  for (const StmtNode* loop : store.loops) lowered_extents.push_back(loop->extent);
  if (extents != lowered_extents && HasTail(schedule, id)) return;  // a loop without iterations
  ASSERT_EQ(extents, lowered_extents);

  const auto accesses = AccessesOf(store);
  ASSERT_EQ(stage.accesses.size(), accesses.size());
  Strides strides, lowered_strides;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    std::vector<std::int64_t> of_loops;
    for (const std::size_t level : levels) of_loops.push_back(stage.accesses[i].strides[level]);
    strides.emplace_back(stage.accesses[i].buffer, of_loops);
    lowered_strides.emplace_back(accesses[i].name(), accesses[i].Strides());
  }
  EXPECT_EQ(strides, lowered_strides);
  ++compared->stages;
  if (stage.accesses.back().scope == Scope::kLocal) ++compared->attached;

  // All of these loops run for each level.
  constexpr std::int64_t kMaxTimes = 512;
  if (!footprints || store.Times() > kMaxTimes) return;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t level = 0; level < levels.size(); ++level) {
      EXPECT_GE(stage.accesses[i].footprint_bytes[levels[level]], accesses[i].TouchedBytes(level))
          << accesses[i].name() << ", level " << level;
    }
    ++compared->footprints;
  }
}

TEST(SummaryRandomTest, SaysWhatLoweringDoes) {
  constexpr int kCases = kHasShadowMemory ? 300 : 1000;  // slower with shadow memory
  constexpr int kFootprintCases = 200;
  Compared compared;
  for (int seed = 0; seed < kCases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    Schedule schedule(RandomCompute(&random));
    RandomSchedule(&schedule, &random);
    const auto program = Lower(schedule, "kernel");
    if (!program.ok()) continue;
    const auto summary = Summarize(schedule);
    ASSERT_TRUE(summary.ok()) << summary.status().message();
    LoweredCode code;
    code.Read(program->body, {});
    for (const SummaryStage& stage : summary->stages) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", stage " + stage.name + "\n" +
                   schedule.ToString() + ToString(*program));
      CompareStage(schedule, stage, code, seed < kFootprintCases, &compared);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(compared.stages, kCases / 2);
  EXPECT_GT(compared.attached, kCases / 20);
  EXPECT_GT(compared.kept, kCases / 10);
  EXPECT_GT(compared.footprints, kFootprintCases);
}

}  // namespace
}  // namespace tilewright
