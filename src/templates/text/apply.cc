// Applies the text of a schedule. Every primitive of the text is one of Schedule, which rejects
// what is illegal; the message gets the position in the text. Before there are loops, a text can
// set layouts and transpose and pack operands; these are the functions that built-in templates
// call, with the same limits.

#include "src/templates/text/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "src/ir/visit.h"
#include "src/templates/auto/joined_rows.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/stages.h"
#include "src/templates/text/keywords.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace {

// Nodes of a body after inlining, counted as a tree; and stages that a text may add.
constexpr double kMaxInlinedNodes = 16384;
constexpr std::size_t kMaxStages = 256;

/// Nodes of a value, counted as a tree, and the loads of one buffer among them.
struct TreeCount {
  double nodes = 1, loads = 0;
};

class TreeCounter {
 public:
  explicit TreeCounter(const Buffer& buffer) : buffer_(buffer) {}
  TreeCount Count(const Expr& node) {
    const auto found = known_.find(node.get());
    if (found != known_.end()) return found->second;
    TreeCount count;
    count.loads = node->kind == ExprKind::kLoad && node->buffer == buffer_ ? 1 : 0;
    for (const Expr& argument : node->args) {
      const TreeCount inside = Count(argument);
      count.nodes += inside.nodes;
      count.loads += inside.loads;
    }
    known_.emplace(node.get(), count);
    return count;
  }

 private:
  const Buffer& buffer_;
  std::unordered_map<const ExprNode*, TreeCount> known_;
};

}  // namespace

void ScheduleApplier::SetKnobs(const Config& config) {
  for (const ScheduleStatement& statement : text_.statements) {
    if (statement.kind != ScheduleStatement::Kind::kKnob) continue;
    const KnobValue* value = config.Find(statement.names[0]);
    if (value == nullptr) {
      return Fail(statement.offset, fmt::format("the config has no '{}'", statement.names[0]));
    }
    if (const auto* factors = std::get_if<std::vector<std::int64_t>>(&value->value)) {
      Set(statement.names[0], *factors);
    } else if (std::holds_alternative<std::int64_t>(value->value)) {
      Set(statement.names[0], value->integer());
    } else {
      return Fail(statement.offset, fmt::format("'{}' is {}, expected an integer or factors",
                                                statement.names[0], value->ToString()));
    }
  }
}

Result<Kernel> ScheduleApplier::Run(const Config& config) {
  SetKnobs(config);
  Follow(text_.statements, true);
  if (ok()) Begin();
  TW_RETURN_IF_ERROR(status());
  return FinishKernel(*std::move(schedule_), layouts_);
}

Status ScheduleApplier::Check(const Config& config) {
  SetKnobs(config);
  Follow(text_.statements, false);
  return status();
}

void ScheduleApplier::Follow(const std::vector<ScheduleStatement>& statements, bool all) {
  for (const ScheduleStatement& statement : statements) {
    if (!ok() || (!all && statement.of_schedule)) return;
    FollowOne(statement, all);
  }
}

void ScheduleApplier::FollowOne(const ScheduleStatement& statement, bool all) {
  using Kind = ScheduleStatement::Kind;
  switch (statement.kind) {
    case Kind::kKnob:
    case Kind::kWhere:
      return;  // statements of the space
    case Kind::kRequire:
      if (Integer(statement.value) != 0 || !ok()) return;
      return Fail(statement.offset, statement.second.empty() ? "this config does not hold"
                                                             : statement.second[0].text);
    case Kind::kIf:
      return Follow(Integer(statement.value) != 0 ? statement.inner : statement.otherwise, all);
    case Kind::kAssign:
      break;
  }
  if (statement.value.kind != ScheduleValue::Kind::kCall) {
    return Set(statement.names[0], Value(statement.value));
  }
  Terms results = Call(statement.value);
  if (!ok()) return;
  for (std::size_t i = 0; i < statement.names.size() && i < results.size(); ++i) {
    Set(statement.names[i], std::move(results[i]));
  }
}

// --- before there are loops ------------------------------------------------------------------

void ScheduleApplier::Form(const ScheduleValue& call) {
  const std::string what = Text(call.args[0]);
  const ScheduleValue& value = call.args[1];
  if (call.args.size() != (what == "spatial_pack" ? 4U : 2U)) {
    return Fail(call.offset,
                "expected form(WHAT, VALUE) or "
                "form(spatial_pack, CHANNELS, ROWS, COLUMNS)");
  }
  if (what == "data") {
    layouts_.data = Text(value);
  } else if (what == "weight") {
    layouts_.weight = Text(value);
  } else if (what == "output") {
    layouts_.output = Text(value);
  } else if (what == "shift_data") {
    layouts_.shift_data = Integer(value) != 0;
  } else if (what == "winograd") {
    layouts_.winograd_tile = Integer(value);
  } else if (what == "spatial_pack") {
    layouts_.spatial_pack = {Integer(call.args[1]), Integer(call.args[2]), Integer(call.args[3])};
  } else if (what == "multiply_type") {
    const auto type = ParseDataType(Text(value));
    if (!type.ok()) return Fail(value.offset, type.status().message());
    layouts_.multiply_dtype = *type;
  } else {
    Fail(call.args[0].offset,
         "expected data, weight, output, shift_data, multiply_type, winograd or spatial_pack");
  }
  if (ok() && workload_.op == OpKind::kExpression) {
    Fail(call.offset,
         "an expression's tensors have no other form: it is 'arrange' that packs them");
  }
}

void ScheduleApplier::ArrangeOperand(const ScheduleValue& call) {
  const bool pack = Text(call.args[0]) == "pack";
  const bool turns = !pack && call.args.size() == 3;  // the dimension is given
  if ((call.args.size() != (pack ? 4u : 2u) && !turns) || !contraction_) {
    return Fail(call.offset,
                "expected arrange(turn, OPERAND), arrange(turn, OPERAND, DIMENSION) or "
                "arrange(pack, OPERAND, DIMENSION, BLOCK) behind arrange(contraction)");
  }
  Contraction& c = *contraction_;
  const std::int64_t number = Integer(call.args[1]);
  if (!ok()) return;
  if (number < 0 || number >= static_cast<std::int64_t>(c.operands.size())) {
    return Fail(call.args[1].offset, fmt::format("operand {} of {}", number, c.operands.size()));
  }
  const auto i = static_cast<std::size_t>(number);
  const Contraction::Operand& operand = c.operands[i];
  if (std::ranges::count(arranged_, operand.buffer) > 0) {
    return Fail(call.args[1].offset, fmt::format("operand {} is arranged already", number));
  }
  if (turns) {
    const std::int64_t last = Integer(call.args[2]);
    if (!ok()) return;
    if (last < 0 || last >= static_cast<std::int64_t>(operand.buffer->shape.size())) {
      return Fail(call.args[2].offset, fmt::format("dimension {}", last));
    }
    arranged_.push_back(operand.buffer);
    return TransposeOperand(c, i, static_cast<int>(last));
  }
  if (!pack) {
    if (operand.across < 0) return Fail(call.offset, "the operand lies along the vectors already");
    arranged_.push_back(operand.buffer);
    return TransposeOperand(c, i);
  }
  const std::int64_t dimension = Integer(call.args[2]), block = Integer(call.args[3]);
  if (!ok()) return;
  if (!operand.constant || !layouts_.weight.empty()) {
    return Fail(call.offset, "expected a constant, and one only");
  }
  const std::vector<std::int64_t>& shape = operand.buffer->shape;
  const bool known = dimension >= 0 && dimension < static_cast<std::int64_t>(shape.size());
  if (!known || block < 1 || block > 2 * shape[static_cast<std::size_t>(dimension)] + 64) {
    return Fail(call.offset, fmt::format("dimension {} in blocks of {}", dimension, block));
  }
  arranged_.push_back(operand.buffer);
  layouts_.weight = PackOperand(c, i, static_cast<int>(dimension), block);
}

void ScheduleApplier::Arrange(const ScheduleValue& call) {
  const std::string what = Text(call.args[0]);
  if (!ok()) return;
  if (what == "turn" || what == "pack") return ArrangeOperand(call);
  const bool axis = what == "contraction" && call.args.size() == 2;
  if (call.args.size() != 1 && !axis) return Fail(call.offset, what + " takes nothing more");
  const bool expression = workload_.op == OpKind::kExpression;
  if (what == "sums_in_blocks") {
    if (contraction_) return Fail(call.offset, "blocks of sums of a contraction");
    if (!expression) return Fail(call.offset, "sums in blocks of what is not an expression");
    if (!compute_) compute_ = DefineExpression(workload_.expression);
    return SplitLongReductions(*compute_);
  }
  if (compute_ || contraction_) return Fail(call.offset, "arranged already");
  if (what == "joined" && expression) {
    compute_ = DefineExpression(Collapsed(workload_.expression));
  } else if ((what == "windows" || what == "rows_of_windows") && expression) {
    auto found = FindWindows(workload_.expression, what == "windows");
    if (!found.ok()) return Fail(call.offset, found.status().message());
    compute_ = std::move(found->compute);
  } else if (what == "contraction" && expression) {
    const std::int64_t along = axis ? Integer(call.args[1]) : -1;
    if (!ok()) return;
    if (axis && (along < 0 || along >= static_cast<std::int64_t>(kMaxExpressionAxes))) {
      return Fail(call.args[1].offset, fmt::format("axis {}", along));
    }
    auto found = FindContraction(workload_.expression, static_cast<int>(along));
    if (!found.ok()) return Fail(call.offset, found.status().message());
    contraction_ = *std::move(found);
  } else if (what == "turned_columns" && workload_.op == OpKind::kBatchMatmul &&
             workload_.kernel_layout == "BNK" &&
             (workload_.data.dtype == kFloat32 || workload_.data.dtype.is_half() ||
              layouts_.weight == "BNK4k")) {
    auto compute = DefineAnchor(workload_, epilogue_, layouts_);
    if (!compute.ok()) return Fail(call.offset, compute.status().message());
    compute_ = *std::move(compute);
    TransposeColumns(*compute_, "reduce", "columns");
  } else if (what == "copied_columns" && workload_.op == OpKind::kBatchMatmul &&
             layouts_ == KernelLayouts()) {
    auto compute = DefineWithCopiedColumns(workload_, epilogue_);
    if (!compute.ok()) return Fail(call.offset, compute.status().message());
    compute_ = *std::move(compute);
  } else {
    Fail(call.offset, fmt::format("'{}' is nothing that this workload can be arranged by", what));
  }
}

void ScheduleApplier::Begin() {
  if (schedule_ || !ok()) return;
  if (contraction_) {
    schedule_.emplace(std::move(contraction_->compute));
  } else if (compute_) {
    schedule_.emplace(*std::move(compute_));
  } else if (workload_.op == OpKind::kExpression) {
    schedule_.emplace(DefineExpression(workload_.expression));
  } else {
    auto compute = DefineAnchor(workload_, epilogue_, layouts_);
    if (!compute.ok()) return Fail(0, compute.status().message());
    schedule_.emplace(*std::move(compute));
  }
}

// --- primitives --------------------------------------------------------------------------------

StageId ScheduleApplier::StageOf(const ScheduleValue& value) {
  const ScheduleTerm term = Value(value);
  if (const auto* stage = std::get_if<StageId>(&term)) return *stage;
  Fail(value.offset, "expected a stage");
  return {};
}

ScheduleLoop ScheduleApplier::LoopOf(const ScheduleValue& value) {
  const ScheduleTerm term = Value(value);
  if (const auto* loop = std::get_if<ScheduleLoop>(&term)) return *loop;
  Fail(value.offset, "expected a loop");
  return {};
}

Scope ScheduleApplier::ScopeOf(const ScheduleValue& value) {
  const std::string name = Text(value);
  if (name == "local") return Scope::kLocal;
  if (name == "shared") return Scope::kShared;
  if (name != "global") Fail(value.offset, "expected local, shared or global");
  return Scope::kGlobal;
}

std::vector<ScheduleTerm> ScheduleApplier::Act(const ScheduleValue& call) {
  Terms out;
  if (FindScheduleFunction(call.text)->stage == ScheduleStage::kForm) {
    call.text == "form" ? Form(call) : Arrange(call);
    return out;
  }
  Begin();
  if (!ok()) return out;
  if (!Query(call, out) && !OfLoops(call, out) && !Annotate(call)) OfStages(call, out);
  if (ok() && !schedule_->status().ok()) Fail(call.offset, schedule_->status().message());
  return out;
}

/// Functions that return stages and loops of the schedule.
bool ScheduleApplier::Query(const ScheduleValue& call, Terms& out) {
  const std::string& name = call.text;
  Schedule& s = *schedule_;
  if (name == "has") {
    out.emplace_back(std::int64_t{s.HasStage(Text(call.args[0]))});
  } else if (name == "stage") {
    out.emplace_back(s.Stage(Text(call.args[0])));
  } else if (name == "extent") {
    out.emplace_back(s.Extent(LoopOf(call.args[0]).loop));
  } else if (name == "axes" || name == "reductions") {
    const StageId stage = StageOf(call.args[0]);
    if (!ok()) return true;
    const ComputeOp& op = s.stage(stage).op;
    const std::size_t count = name == "axes" ? op.axes.size() : op.reduce_axes.size();
    out.emplace_back(static_cast<std::int64_t>(count));
  } else if (name == "axis" || name == "reduced") {
    const StageId stage = StageOf(call.args[0]);
    const std::int64_t i = std::clamp<std::int64_t>(Integer(call.args[1]), -1, 1000);
    if (!ok()) return true;
    const auto number = static_cast<int>(i);
    const LoopId loop =
        name == "axis" ? s.SpatialAxis(stage, number) : s.ReductionAxis(stage, number);
    out.emplace_back(ScheduleLoop{stage, loop});
  } else {
    return false;
  }
  return true;
}

bool ScheduleApplier::OfLoops(const ScheduleValue& call, Terms& out) {
  const std::string& name = call.text;
  const bool several = name == "fuse" || name == "reorder";
  if (name != "split" && name != "parts" && !several) return false;
  std::vector<LoopId> loops;
  StageId stage;
  for (std::size_t i = 0; i < (several ? call.args.size() : 1); ++i) {
    const ScheduleLoop loop = LoopOf(call.args[i]);
    if (!ok()) return true;
    if (i > 0 && !(loop.stage == stage)) Fail(call.args[i].offset, "a loop of another stage");
    stage = loop.stage;
    loops.push_back(loop.loop);
  }
  Schedule& s = *schedule_;
  if (name == "reorder") {
    s.Reorder(stage, loops);
    return true;
  }
  if (name == "fuse") {
    out.emplace_back(ScheduleLoop{stage, FuseAll(s, stage, loops)});
    return true;
  }
  const std::int64_t number = Integer(call.args[1]);
  Tail tail = Tail::kGuard;
  if (call.args.size() > 2) {
    if (Text(call.args[2]) != "peel") Fail(call.args[2].offset, "expected peel");
    tail = Tail::kPeel;
  }
  if (!ok()) return true;
  const auto [outer, inner] = name == "split" ? s.Split(stage, loops[0], number, tail)
                                              : s.SplitParts(stage, loops[0], number);
  out.emplace_back(ScheduleLoop{stage, outer});
  out.emplace_back(ScheduleLoop{stage, inner});
  return true;
}

/// Functions that annotate one loop.
bool ScheduleApplier::Annotate(const ScheduleValue& call) {
  constexpr std::array<std::string_view, 7> kOfLoops = {"parallel", "vectorize", "unroll",   "bind",
                                                        "pragma",   "prefetch",  "tensorize"};
  const std::string& name = call.text;
  if (std::ranges::count(kOfLoops, name) == 0) return false;
  const auto [stage, loop] = LoopOf(call.args[0]);
  const std::string word = call.args.size() > 1 ? Text(call.args[1]) : std::string();
  if (!ok()) return true;
  Schedule& s = *schedule_;
  if (name == "parallel") s.Parallel(stage, loop);
  if (name == "vectorize") s.Vectorize(stage, loop);
  if (name == "unroll") s.Unroll(stage, loop);
  if (name == "tensorize") s.Tensorize(stage, loop, word);
  if (name == "pragma") s.Pragma(stage, loop, word, Integer(call.args[2]));
  if (name == "prefetch") {
    const std::int64_t locality = call.args.size() > 3 ? Integer(call.args[3]) : 3;
    s.Prefetch(stage, word, loop, Integer(call.args[2]),
               static_cast<int>(std::clamp<std::int64_t>(locality, -1, 4)));
  }
  if (name != "bind") return true;
  for (const auto& [kind, own] : kThreadKeywords) {
    if (word == own) {
      s.Bind(stage, loop, kind);
      return true;
    }
  }
  Fail(call.args[1].offset, "expected block_x, thread_x, ..., or virtual_thread");
  return true;
}

/// Limits inlining: it repeats the inlined body, and a chain of it would repeat without end.
void ScheduleApplier::Inline(const ScheduleValue& call, StageId stage) {
  const ComputeOp& op = schedule_->stage(stage).op;
  const double nodes = TreeCounter(op.output).Count(op.body).nodes;
  for (const Schedule::StageInfo& reader : schedule_->stages()) {
    const TreeCount count = TreeCounter(op.output).Count(reader.op.body);
    if (count.loads == 0 || count.nodes + count.loads * nodes <= kMaxInlinedNodes) continue;
    return Fail(call.offset, fmt::format("stage '{}' would have more than {} parts", reader.op.name,
                                         kMaxInlinedNodes));
  }
  schedule_->ComputeInline(stage);
}

void ScheduleApplier::OfStages(const ScheduleValue& call, Terms& out) {
  const std::string& name = call.text;
  Schedule& s = *schedule_;
  const bool adds = name == "cache_write" || name == "cache_read" || name == "rfactor";
  if (adds && s.stages().size() >= kMaxStages) {
    return Fail(call.offset, fmt::format("more than {} stages", kMaxStages));
  }
  if (name == "cache_read") {
    const std::string buffer = Text(call.args[0]);
    const Scope scope = ScopeOf(call.args[1]);
    const StageId reader = StageOf(call.args[2]);
    if (ok()) out.emplace_back(s.CacheRead(buffer, scope, reader));
    return;
  }
  const StageId stage = StageOf(call.args[0]);
  if (!ok()) return;
  const auto number = [&](std::size_t i) { return Integer(call.args[i]); };
  if (name == "compute_at") {
    const ScheduleLoop at = LoopOf(call.args[1]);
    if (ok()) s.ComputeAt(stage, at.stage, at.loop);
  } else if (name == "inline") {
    Inline(call, stage);
  } else if (name == "scope") {
    const Scope scope = ScopeOf(call.args[1]);
    if (ok()) s.SetScope(stage, scope);
  } else if (name == "cache_write") {
    const Scope scope = ScopeOf(call.args[1]);
    if (ok()) out.emplace_back(s.CacheWrite(stage, scope));
  } else if (name == "rfactor") {
    const std::int64_t reduction = std::clamp<std::int64_t>(number(1), -1, 1000), by = number(2);
    if (ok()) out.emplace_back(s.RFactor(stage, static_cast<int>(reduction), by));
  } else if (name == "keep") {
    s.Keep(stage);
  } else if (name == "skip_zero_taps") {
    s.SkipZeroTaps(stage);
  } else if (name == "double_buffer") {
    s.DoubleBuffer(stage);
  } else if (name == "pipeline") {
    s.Pipeline(stage, static_cast<int>(std::clamp<std::int64_t>(number(1), 0, 1000)));
  } else if (name == "pad_rows") {
    const std::int64_t rows = number(1), elements = number(2);
    if (ok() && elements > kMaxKnobValues) return Fail(call.offset, "too many elements");
    if (ok()) s.PadRows(stage, rows, elements);
  } else if (name == "flat") {
    const std::int64_t count = number(1), tile = call.args.size() > 2 ? number(2) : 1;
    const bool across = call.args.size() > 3 && number(3) != 0;
    if (!ok() || count < 1 || tile < 1) return Fail(call.offset, "expected 1 lane or more");
    if (!s.stage(stage).relations.empty()) return Fail(call.offset, "its loops are split already");
    ScheduleFlat(s, stage, count, target_, tile,
                 across ? AcrossAxis(s.stage(stage).op, count) : -1);
  }
}

}  // namespace tilewright
