// Primitives that relate stages: place of computation, inlining, caches.

#include <algorithm>

#include "src/ir/print.h"
#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/schedule/schedule.h"

namespace tilewright {
namespace {

/// Returns the body with every load of `from` replaced by `value` of its indices. Visits a shared
/// load once and preserves sharing.
template <typename Value>
class LoadReplacer {
 public:
  LoadReplacer(const Buffer& from, const Value& value) : from_(from), value_(value) {}

  Expr Of(const Expr& expr) {
    const bool load = expr->kind == ExprKind::kLoad;
    if (!load && expr->args.empty()) return expr;
    if (load) {
      const auto known = std::ranges::find_if(
          seen_, [&](const auto& before) { return before.first == expr.get(); });
      if (known != seen_.end()) return known->second;
    }
    std::vector<Expr> args;
    args.reserve(expr->args.size());
    bool changed = false;
    for (const Expr& arg : expr->args) {
      args.push_back(Of(arg));
      changed = changed || !args.back().Same(arg);
    }
    const bool replaced = load && expr->buffer == from_;
    Expr result = replaced ? value_(args) : changed ? WithArgs(expr, std::move(args)) : expr;
    if (load) seen_.emplace_back(expr.get(), result);
    return result;
  }

 private:
  const Buffer& from_;
  const Value& value_;
  std::vector<std::pair<const ExprNode*, Expr>> seen_;
};

template <typename Value>
Expr ReplaceLoads(const Expr& body, const Buffer& from, const Value& value) {
  return LoadReplacer<Value>(from, value).Of(body);
}

/// Returns a stage without a computation: axes of `like` under new variables, with its own output.
ComputeOp CopyOf(const Buffer& source, std::string name, const std::vector<Axis>& like,
                 Buffer output) {
  ComputeOp op;
  op.name = std::move(name);
  op.output = std::move(output);
  std::vector<Expr> indices;
  for (const Axis& axis : like) {
    op.axes.push_back({MakeVar(axis.var->name), axis.extent, false});
    indices.push_back(op.axes.back().var);
  }
  op.body = MakeLoad(source, std::move(indices));
  return op;
}

}  // namespace

StageId Schedule::InsertBefore(StageId place, StageInfo stage) {
  const StageId id{static_cast<int>(stages_.size())};
  stages_.push_back(std::move(stage));
  order_.insert(std::find(order_.begin(), order_.end(), place), id);
  return id;
}

bool Schedule::ReadsWithin(StageId consumer, const Buffer& buffer) const {
  if (Reads(this->stage(consumer), buffer)) return true;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageInfo& inner = stages_[i];
    if (inner.attach != Attach::kAt || inner.consumer != consumer) continue;
    if (ReadsWithin({static_cast<int>(i)}, buffer)) return true;
  }
  return false;
}

void Schedule::ComputeAt(StageId stage, StageId consumer, LoopId loop) {
  if (!Usable(stage, "compute_at")) return;
  if (LeafOf(consumer, loop, "compute_at") < 0) return;
  const StageInfo& target = this->stage(consumer);
  if (stage == order_.back()) {
    RefuseStage(stage, "compute_at", "it is the result");
    return;
  }
  if (!ReadsWithin(consumer, this->stage(stage).op.output)) {
    RefuseStage(stage, "compute_at", "stage '" + target.op.name + "' does not read it");
    return;
  }
  StageInfo& info = Mutable(stage);
  info.attach = Attach::kAt;
  info.keep = false;
  info.consumer = consumer;
  info.at = loop;
  steps_.push_back(
      {.primitive = Primitive::kComputeAt, .stage = stage, .other = consumer, .loops = {loop}});
}

void Schedule::Keep(StageId stage) {
  if (!Usable(stage, "keep")) return;
  const StageInfo& info = this->stage(stage);
  if (info.attach != Attach::kAt) {
    RefuseStage(stage, "keep", "it is not computed in a loop of its reader");
  } else if (info.op.combiner != Combiner::kNone) {
    RefuseStage(stage, "keep", "it is a reduction");
  } else {
    Mutable(stage).keep = true;
    steps_.push_back({.primitive = Primitive::kKeep, .stage = stage});
  }
}

void Schedule::ComputeInline(StageId stage) {
  if (!Usable(stage, "compute_inline")) return;
  StageInfo& info = Mutable(stage);
  if (info.op.combiner != Combiner::kNone) {
    RefuseStage(stage, "compute_inline", "it is a reduction");
    return;
  }
  if (stage == order_.back()) {
    RefuseStage(stage, "compute_inline", "it is the result");
    return;
  }
  if (FeedsArgReduction(*this, stage)) {
    RefuseStage(stage, "compute_inline",
                "its largest or least value is looked for among its values, which code that makes "
                "them twice may round differently");
    return;
  }
  for (const StageInfo& other : stages_) {
    if (other.attach == Attach::kAt && other.consumer == stage) {
      RefuseStage(stage, "compute_inline", "stage '" + other.op.name + "' is computed in it");
      return;
    }
  }
  for (StageInfo& reader : stages_) {
    if (!Reads(reader, info.op.output)) continue;
    SetBody(&reader,
            ReplaceLoads(reader.op.body, info.op.output, [&](const std::vector<Expr>& indices) {
              Substitution substitution;
              for (std::size_t i = 0; i < indices.size(); ++i) {
                substitution.emplace_back(info.op.axes[i].var.get(), indices[i]);
              }
              return Substitute(info.op.body, substitution);
            }));
  }
  info.attach = Attach::kInline;
  steps_.push_back({.primitive = Primitive::kComputeInline, .stage = stage});
}

StageId Schedule::CacheWrite(StageId stage, Scope scope) {
  if (!Usable(stage, "cache_write")) return {};
  if (!this->stage(stage).relations.empty()) {
    RefuseStage(stage, "cache_write", "its loops are split or fused already");
    return {};
  }
  const std::string name = this->stage(stage).op.name + "." + std::string(ScopeName(scope));
  if (HasStage(name)) {
    RefuseStage(stage, "cache_write", "there is a stage '" + name + "' already");
    return {};
  }
  StageInfo cache;
  {
    StageInfo& info = Mutable(stage);
    cache.scope = scope;
    cache.op = std::move(info.op);
    const Buffer output = cache.op.output;
    cache.op.output = MakeBuffer(name, output->dtype, output->shape, scope);
    cache.loads = std::move(info.loads);
    info.op = CopyOf(cache.op.output, cache.op.name, cache.op.axes, output);
    SetBody(&info, info.op.body);
    cache.op.name = name;
    // The stage keeps the handles of its spatial loops; the reductions move to the cache.
    info.root.resize(info.op.axes.size());
    info.leaves.erase(std::remove_if(info.leaves.begin(), info.leaves.end(),
                                     [&](LoopId loop) { return this->loop(loop).reduction; }),
                      info.leaves.end());
    cache.skip_zero_taps = std::exchange(info.skip_zero_taps, false);
  }
  NewRootLoops(&cache);
  const StageId id = InsertBefore(stage, std::move(cache));
  steps_.push_back(
      {.primitive = Primitive::kCacheWrite, .stage = stage, .other = id, .scope = scope});
  // The cache now reads the stages that were computed inside this one.
  for (const StageInfo& other : stages_) {
    if (other.attach != Attach::kAt || other.consumer != stage) continue;
    RefuseStage(stage, "cache_write", "stage '" + other.op.name + "' is computed in it already");
  }
  return id;
}

StageId Schedule::CacheRead(std::string_view buffer, Scope scope, StageId reader) {
  if (!Usable(reader, "cache_read")) return {};
  Buffer source;
  for (const ExprNode* load : this->stage(reader).loads) {
    if (load->buffer->name == buffer) source = load->buffer;
  }
  if (source == nullptr) {
    RefuseStage(reader, "cache_read", "it does not read '" + std::string(buffer) + "'");
    return {};
  }
  std::string name = std::string(buffer) + "." + std::string(ScopeName(scope));
  if (HasStage(name)) name += "." + this->stage(reader).op.name;
  if (HasStage(name)) {
    RefuseStage(reader, "cache_read", "there is a stage '" + name + "' already");
    return {};
  }
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < source->shape.size(); ++i) {
    axes.push_back({MakeVar("a" + std::to_string(i)), source->shape[i], false});
  }
  const Buffer output = MakeBuffer(name, source->dtype, source->shape, scope);
  StageInfo cache;
  cache.scope = scope;
  cache.op = CopyOf(source, std::move(name), axes, output);
  SetBody(&cache, cache.op.body);
  NewRootLoops(&cache);
  SetBody(&Mutable(reader),
          ReplaceLoads(this->stage(reader).op.body, source, [&](const std::vector<Expr>& indices) {
            return MakeLoad(output, indices);
          }));
  const StageId id = InsertBefore(reader, std::move(cache));
  steps_.push_back({.primitive = Primitive::kCacheRead,
                    .stage = reader,
                    .other = id,
                    .scope = scope,
                    .text = source->name});  // `buffer` may belong to a stage that was moved
  return id;
}

void Schedule::SetScope(StageId stage, Scope scope) {
  if (!Usable(stage, "set_scope")) return;
  if (stage == order_.back() && scope != Scope::kGlobal) {
    RefuseStage(stage, "set_scope", "it is the result");
    return;
  }
  Mutable(stage).scope = scope;
  steps_.push_back({.primitive = Primitive::kSetScope, .stage = stage, .scope = scope});
}

void Schedule::SkipZeroTaps(StageId stage) {
  if (!Usable(stage, "skip_zero_taps")) return;
  const Combiner combiner = this->stage(stage).op.combiner;
  if (combiner != Combiner::kSum && combiner != Combiner::kMax) {
    RefuseStage(stage, "skip_zero_taps", "the stage is not a sum or maximum");
    return;
  }
  Mutable(stage).skip_zero_taps = true;
  steps_.push_back({.primitive = Primitive::kSkipZeroTaps, .stage = stage});
}

void Schedule::DoubleBuffer(StageId stage) {
  if (!Usable(stage, "double_buffer")) return;
  if (this->stage(stage).scope != Scope::kShared) {
    RefuseStage(stage, "double_buffer", "it is not in shared memory");
    return;
  }
  if (this->stage(stage).pipeline > 0) {
    RefuseStage(stage, "double_buffer", "it is a pipeline already");
    return;
  }
  Mutable(stage).double_buffer = true;
  steps_.push_back({.primitive = Primitive::kDoubleBuffer, .stage = stage});
}

void Schedule::CallLibrary(StageId stage, LibraryCall call) {
  if (!Usable(stage, "call_library")) return;
  StageInfo& info = Mutable(stage);
  for (const ExprNode* load : info.loads) {
    if (ProducerOf(load->buffer).index < 0) continue;
    RefuseStage(stage, "call_library", "it reads stage '" + load->buffer->name + "'");
  }
  info.library = std::move(call);
  steps_.push_back({.primitive = Primitive::kCallLibrary, .stage = stage});
}

void Schedule::Pipeline(StageId stage, int copies) {
  constexpr int kMaxCopies = 16;
  if (!Usable(stage, "pipeline")) return;
  const StageInfo& info = this->stage(stage);
  if (copies < 2 || copies > kMaxCopies) {
    RefuseStage(stage, "pipeline",
                std::to_string(copies) + " copies, expected 2 to " + std::to_string(kMaxCopies));
  } else if (info.scope != Scope::kShared) {
    RefuseStage(stage, "pipeline", "it is not in shared memory");
  } else if (info.op.combiner != Combiner::kNone) {
    RefuseStage(stage, "pipeline", "it is a reduction, no copy");
  } else if (info.double_buffer) {
    RefuseStage(stage, "pipeline", "it is double-buffered already");
  } else {
    Mutable(stage).pipeline = copies;
    steps_.push_back({.primitive = Primitive::kPipeline, .stage = stage, .number = copies});
  }
}

void Schedule::PadRows(StageId stage, std::int64_t rows, std::int64_t elements) {
  if (!Usable(stage, "pad_rows")) return;
  if (elements < 0 || rows < 1) {
    RefuseStage(stage, "pad_rows",
                std::to_string(elements) + " elements after " + std::to_string(rows) + " rows");
  } else if (this->stage(stage).scope != Scope::kShared) {
    RefuseStage(stage, "pad_rows", "it is not in shared memory");
  } else {
    Mutable(stage).padded_rows = rows;
    Mutable(stage).row_padding = elements;
    steps_.push_back(
        {.primitive = Primitive::kPadRows, .stage = stage, .number = rows, .more = elements});
  }
}

}  // namespace tilewright
