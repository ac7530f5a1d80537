// Strides and footprints as numbers, computed from indices and relations of loops.
//
// Every index becomes a sum of coefficient * component, where a component is a loop or, after a
// fuse, the part of a loop that counts one of the fused loops. Tails are ignored: the summary
// describes a full tile. From consumers to producers, the span of an index over the loops inside an
// attach point is the extent of the producer's axis there. Lowering computes the same exactly
// (attach.cc).

#include "src/schedule/summary.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "src/base/math.h"
#include "src/schedule/check.h"
#include "src/schedule/loops.h"

namespace tilewright {
namespace {

struct Component {
  int level = 0;  // of the loop among those around the stage's body
  std::int64_t extent = 1;
  std::int64_t divisor = 1;  // iterations of the loop per step
};

/// Sum of terms; `whole` if it is unknown (for example, an index loaded from memory).
struct Sum {
  struct Term {
    int component;
    std::int64_t coefficient;
  };
  std::int64_t constant = 0;
  int count = 0;
  bool whole = false;
  // 16: a loop split in four on both sides of an attach point. Sums are created and copied a
  // thousand times per candidate, so terms beyond `count` are neither initialized nor copied.
  std::array<Term, 16> terms;

  Sum() {}  // NOLINT: terms are uninitialized
  ~Sum() = default;
  Sum(const Sum& other) { *this = other; }
  Sum& operator=(const Sum& other) {
    if (this == &other) return *this;
    constant = other.constant;
    count = other.count;
    whole = other.whole;
    std::copy(other.begin(), other.end(), terms.begin());
    return *this;
  }

  void Add(int component, std::int64_t coefficient) {
    for (int i = 0; i < count; ++i) {
      if (terms[static_cast<std::size_t>(i)].component != component) continue;
      terms[static_cast<std::size_t>(i)].coefficient += coefficient;
      return;
    }
    if (count == static_cast<int>(terms.size())) {
      whole = true;
    } else {
      terms[static_cast<std::size_t>(count++)] = {component, coefficient};
    }
  }
  void Add(const Sum& other, std::int64_t scale) {
    constant += other.constant * scale;
    whole = whole || other.whole;
    for (const Term& term : other) Add(term.component, term.coefficient * scale);
  }
  const Term* begin() const { return terms.data(); }
  const Term* end() const { return terms.data() + count; }
};

/// Set of loops around a body, by their levels.
struct Levels {
  std::uint64_t bits = 0;

  static std::uint64_t Bit(int level) { return std::uint64_t{1} << std::min(level, 63); }
  static Levels From(int level) { return {~(Bit(level) - 1)}; }
  bool Has(int level) const { return (bits & Bit(level)) != 0; }
  Levels And(Levels other) const { return {bits & other.bits}; }
};

bool IsOfBlock(LoopKind kind) { return IsThreadLoop(kind) || kind == LoopKind::kVirtualThread; }

class Summarizer {
 public:
  explicit Summarizer(const Schedule& schedule)
      : schedule_(schedule), views_(schedule.stages().size()) {}
  LoopSummary Run();

 private:
  /// Stage as it will execute.
  struct View {
    bool computed = false;
    int prefix = 0;  // loops of other stages around it
    int root = 0;    // outermost of these stages
    Levels inside;   // loops that run during the live range of one instance of its memory
    std::vector<SummaryLoop> loops;
    std::vector<int> level_of_leaf;    // number of loops (of extent > 1) outside leaf p
    std::vector<Sum> axis;             // spatial, then reduction
    std::vector<Sum> origin;           // of its part, in components of loops outside
    std::vector<std::int64_t> low;     // constant part of the first index needed
    std::vector<std::int64_t> extent;  // of its part, per spatial axis; empty if not needed so far
    std::vector<bool> whole;           // its part covers this axis from 0 to its end
  };

  View& ViewOf(StageId id) { return views_[static_cast<std::size_t>(id.index)]; }
  void MakeView(StageId id);
  int PrefixOf(const Schedule::StageInfo& info);
  Levels InteriorOf(const Schedule::StageInfo& info, int prefix);
  void MakeAxes(const Schedule::StageInfo& info, const StageLoops& loops, View* view);
  void NeedLoads(StageId reader);
  void Need(const ExprNode& load, const Schedule::StageInfo& reader, const View& view,
            StageId producer);
  Sum SumOf(const Expr& index, const Schedule::StageInfo& info, const View& view);
  Sum Divide(const Sum& sum, std::int64_t divisor);
  Sum Modulo(const Sum& sum, std::int64_t divisor);
  /// Returns the span of the index while the loops of the given levels run.
  std::int64_t Span(const Sum& sum, Levels levels) const;
  std::int64_t Distinct(const Sum& sum, Levels levels) const;
  SummaryStage Describe(StageId id);
  SummaryAccess Access(const Buffer& buffer, std::vector<Sum> indices, const View& view,
                       bool write);

  const Schedule& schedule_;
  std::vector<Component> components_;
  std::vector<View> views_;
};

std::int64_t Summarizer::Span(const Sum& sum, Levels levels) const {
  std::int64_t span = 1;
  for (const auto& term : sum) {
    const Component& c = components_[static_cast<std::size_t>(term.component)];
    if (levels.Has(c.level)) span += std::abs(term.coefficient) * (c.extent - 1);
  }
  return span;
}

/// Returns the number of different values: fewer than the span if there are gaps.
std::int64_t Summarizer::Distinct(const Sum& sum, Levels levels) const {
  std::int64_t values = 1;
  for (const auto& term : sum) {
    const Component& c = components_[static_cast<std::size_t>(term.component)];
    if (levels.Has(c.level) && term.coefficient != 0) values *= c.extent;
  }
  return std::min(values, Span(sum, levels));
}

Sum Summarizer::Divide(const Sum& sum, std::int64_t divisor) {
  Sum quotient;
  quotient.whole = sum.whole;
  quotient.constant = FloorDiv(sum.constant, divisor);
  for (const auto& term : sum) {
    const Component c = components_[static_cast<std::size_t>(term.component)];
    const std::int64_t step = std::max<std::int64_t>(1, std::abs(term.coefficient));
    if (term.coefficient % divisor == 0) {
      quotient.Add(term.component, term.coefficient / divisor);
    } else if (step * (c.extent - 1) >= divisor) {
      components_.push_back({c.level, CeilDiv(step * c.extent, divisor),
                             c.divisor * std::max<std::int64_t>(1, divisor / step)});
      quotient.Add(static_cast<int>(components_.size()) - 1, 1);
    }
  }
  return quotient;
}

Sum Summarizer::Modulo(const Sum& sum, std::int64_t divisor) {
  Sum rest;
  rest.whole = sum.whole;
  rest.constant = FloorMod(sum.constant, divisor);
  for (const auto& term : sum) {
    const Component c = components_[static_cast<std::size_t>(term.component)];
    const std::int64_t step = std::max<std::int64_t>(1, std::abs(term.coefficient));
    if (term.coefficient % divisor == 0) continue;
    if (step * (c.extent - 1) < divisor) {
      rest.Add(term.component, term.coefficient);
    } else {
      components_.push_back({c.level, std::max<std::int64_t>(1, divisor / step), c.divisor});
      rest.Add(static_cast<int>(components_.size()) - 1, term.coefficient);
    }
  }
  return rest;
}

Sum Summarizer::SumOf(const Expr& index, const Schedule::StageInfo& info, const View& view) {
  Sum sum;
  std::int64_t value = 0;
  switch (index->kind) {
    case ExprKind::kInt:
      sum.constant = index->int_value;
      return sum;
    case ExprKind::kVar:
      for (std::size_t a = 0; a < view.axis.size(); ++a) {
        const auto& op = info.op;
        const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
        if (axis.var.Same(index)) return view.axis[a];
      }
      break;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      sum = SumOf(index->args[0], info, view);
      sum.Add(SumOf(index->args[1], info, view), index->kind == ExprKind::kAdd ? 1 : -1);
      return sum;
    case ExprKind::kMul:
      if (!index->args[1].IsInt(&value)) break;
      sum.Add(SumOf(index->args[0], info, view), value);
      return sum;
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      if (!index->args[1].IsInt(&value) || value <= 0) break;
      sum = SumOf(index->args[0], info, view);
      return index->kind == ExprKind::kFloorDiv ? Divide(sum, value) : Modulo(sum, value);
    case ExprKind::kMin:
    case ExprKind::kMax: {
      // Clamped indices: use the operand that varies.
      sum = SumOf(index->args[0], info, view);
      return sum.count > 0 ? sum : SumOf(index->args[1], info, view);
    }
    default:
      break;
  }
  sum.whole = true;
  return sum;
}

void Summarizer::MakeAxes(const Schedule::StageInfo& info, const StageLoops& loops, View* view) {
  std::vector<Sum> values(schedule_.loop_count());
  const auto value = [&](LoopId loop) -> Sum& {
    return values[static_cast<std::size_t>(loop.index)];
  };
  for (LoopId leaf : info.leaves) {
    view->level_of_leaf.push_back(static_cast<int>(view->loops.size()));
    const std::int64_t extent = loops.extent(leaf);
    if (extent == 1) continue;
    const auto& loop = schedule_.loop(leaf);
    const LoopKind kind = leaf == info.tensorized ? LoopKind::kVectorized : loop.kind;
    components_.push_back({static_cast<int>(view->loops.size()), extent, 1});
    value(leaf).Add(static_cast<int>(components_.size()) - 1, 1);
    view->loops.push_back({extent, kind, loop.reduction});
  }
  for (std::size_t i = info.relations.size(); i-- > 0;) {
    const auto& r = info.relations[i];
    if (r.kind == Schedule::Relation::Kind::kSplit) {
      value(r.parent).Add(value(r.outer), loops.factor(i));
      value(r.parent).Add(value(r.inner), 1);
    } else if (loops.factor(i) == 1) {
      value(r.outer) = value(r.parent);
    } else {
      value(r.outer) = Divide(value(r.parent), loops.factor(i));
      value(r.inner) = Modulo(value(r.parent), loops.factor(i));
    }
  }
  for (std::size_t a = 0; a < info.root.size(); ++a) {
    Sum sum = value(info.root[a]);
    if (a < view->origin.size()) sum.Add(view->origin[a], 1);
    view->axis.push_back(sum);
  }
}

/// Returns the number of loops of other stages around an attached stage.
int Summarizer::PrefixOf(const Schedule::StageInfo& info) {
  const View& outer = ViewOf(info.consumer);
  // Levels count the loops before a leaf; the attach point itself is one more outer leaf.
  const auto position =
      static_cast<std::size_t>(LeafPosition(schedule_.stage(info.consumer), info.at)) + 1;
  return position < outer.level_of_leaf.size() ? outer.level_of_leaf[position]
                                               : static_cast<int>(outer.loops.size());
}

/// Returns the loops that run during the live range of one instance of an attached stage's memory.
Levels Summarizer::InteriorOf(const Schedule::StageInfo& info, int prefix) {
  Levels inside = Levels::From(prefix);
  if (info.scope != Scope::kShared) return inside;
  const View& outer = ViewOf(info.consumer);
  for (int level = 0; level < prefix; ++level) {
    if (IsOfBlock(outer.loops[static_cast<std::size_t>(level)].kind)) {
      inside.bits |= Levels::Bit(level);
    }
  }
  return inside;
}

void Summarizer::MakeView(StageId id) {
  const auto& info = schedule_.stage(id);
  View& view = ViewOf(id);
  view.computed = true;
  view.root = id.index;
  view.inside = Levels::From(0);
  if (info.attach == Schedule::Attach::kAt) {
    const View& outer = ViewOf(info.consumer);
    view.root = outer.root;
    view.prefix = PrefixOf(info);
    view.inside = InteriorOf(info, view.prefix);
    view.loops.assign(outer.loops.begin(), outer.loops.begin() + view.prefix);
    for (SummaryLoop& loop : view.loops) {
      // The loops that distribute work to threads execute once for all of them.
      if (info.scope == Scope::kShared && IsOfBlock(loop.kind)) loop.extent = 1;
    }
  }
  std::vector<std::int64_t> extents;
  for (std::size_t a = 0; a < info.op.axes.size(); ++a) {
    const std::int64_t size = info.op.axes[a].extent;
    const bool part = info.attach == Schedule::Attach::kAt && !view.extent.empty();
    extents.push_back(part ? std::min(size, view.extent[a]) : size);
  }
  view.extent = extents;
  view.origin.resize(info.op.axes.size());
  for (const Axis& axis : info.op.reduce_axes) extents.push_back(axis.extent);
  MakeAxes(info, StageLoops(schedule_, id, extents), &view);
}

/// Extends the part of `producer` that is needed by the elements that one load reads.
void Summarizer::Need(const ExprNode& load, const Schedule::StageInfo& reader, const View& view,
                      StageId producer) {
  const auto& info = schedule_.stage(producer);
  if (info.attach != Schedule::Attach::kAt) return;
  const bool later = info.keep && reader.op.output != schedule_.stage(info.consumer).op.output;
  if (later) return;  // reads what the consumer's loops made
  View& needed = ViewOf(producer);
  const Levels inside = InteriorOf(info, PrefixOf(info));
  const bool first = needed.extent.empty();
  for (std::size_t d = 0; d < load.args.size(); ++d) {
    const Sum index = SumOf(load.args[d], reader, view);
    const std::int64_t span = index.whole ? load.buffer->shape[d] : Span(index, inside);
    if (first) {
      needed.low.push_back(index.constant);
      needed.extent.push_back(span);
      Sum origin;
      for (const auto& term : index) {
        const Component& c = components_[static_cast<std::size_t>(term.component)];
        if (!inside.Has(c.level)) origin.Add(term.component, term.coefficient);
      }
      needed.origin.push_back(origin);
      needed.whole.push_back(false);
    } else {
      const std::int64_t low = std::min(needed.low[d], index.constant);
      const std::int64_t end = std::max(needed.low[d] + needed.extent[d], index.constant + span);
      needed.low[d] = low;
      needed.extent[d] = end - low;
    }
    if (needed.extent[d] < load.buffer->shape[d]) continue;
    needed.extent[d] = load.buffer->shape[d];
    needed.origin[d] = Sum();  // for every position of the outer loops
    needed.whole[d] = true;
  }
}

void Summarizer::NeedLoads(StageId reader) {
  const auto& info = schedule_.stage(reader);
  for (auto load = info.loads.begin(); load != info.loads.end(); ++load) {
    if (std::find(info.loads.begin(), load, *load) != load) continue;  // already extended by it
    const StageId producer = schedule_.ProducerOf((*load)->buffer);
    if (producer.index >= 0) Need(**load, info, ViewOf(reader), producer);
  }
}

SummaryAccess Summarizer::Access(const Buffer& buffer, std::vector<Sum> indices, const View& view,
                                 bool write) {
  SummaryAccess access;
  access.buffer = buffer->name;
  access.dtype = buffer->dtype;
  access.scope = buffer->scope;
  access.write = write;
  std::vector<std::int64_t> shape = buffer->shape;
  // Loops outside of a part shift it: they do not count unless the part is the whole axis.
  Levels inside = Levels::From(0);
  std::vector<bool> whole(buffer->shape.size(), false);
  const Schedule::StageInfo* padded = nullptr;
  const StageId producer = schedule_.ProducerOf(buffer);
  if (producer.index >= 0) {
    const auto& info = schedule_.stage(producer);
    access.scope = info.scope;
    if (info.attach == Schedule::Attach::kAt && !info.keep) {
      shape = ViewOf(producer).extent;
      whole = ViewOf(producer).whole;
      whole.resize(shape.size());  // not read
      if (info.row_padding > 0) padded = &info;
      inside = ViewOf(producer).inside;
    }
  }
  const auto levels = view.loops.size();
  access.strides.assign(levels, 0);
  access.footprint_bytes.assign(levels + 1, 1);
  const auto move = [&](const Sum& index, std::int64_t stride, Levels counted) {
    for (const auto& term : index) {
      const Component& c = components_[static_cast<std::size_t>(term.component)];
      if (!counted.Has(c.level)) continue;
      const auto loop = static_cast<std::size_t>(c.level);
      if (c.divisor == 1) access.strides[loop] += term.coefficient * stride;
      if (IsThreadLoop(view.loops[loop].kind)) {
        access.thread_steps.push_back({c.level, c.divisor, c.extent, term.coefficient * stride});
      }
    }
  };
  std::int64_t row = 1;
  Sum rows;
  for (std::size_t d = indices.size(); d-- > 0;) {
    const Sum& index = indices[d];
    const Levels counted = whole[d] ? Levels::From(0) : inside;
    move(index, row, counted);
    if (padded != nullptr && d + 1 < indices.size()) rows.Add(index, row / shape.back());
    for (std::size_t level = 0; level <= levels; ++level) {
      const Levels running = Levels::From(static_cast<int>(level)).And(counted);
      const std::int64_t count = index.whole ? shape[d] : Distinct(index, running);
      access.footprint_bytes[level] *= std::min(count, shape[d]);
    }
    row *= shape[d];
  }
  if (padded != nullptr) move(Divide(rows, padded->padded_rows), padded->row_padding, inside);
  for (std::int64_t& bytes : access.footprint_bytes) bytes *= buffer->dtype.bytes();
  return access;
}

/// Counts operations on values; operations on indices and conditions on indices are free.
std::int64_t ValueOps(const Expr& expr) {
  if (expr->kind == ExprKind::kLoad) return 0;
  std::int64_t ops = 0;
  for (const Expr& arg : expr->args) {
    if (!arg.dtype().is_bool()) ops += ValueOps(arg);
  }
  switch (expr->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
    case ExprKind::kCast:
    case ExprKind::kSelect:
      return ops;
    default:
      return ops + 1;
  }
}

SummaryStage Summarizer::Describe(StageId id) {
  const auto& info = schedule_.stage(id);
  const View& view = ViewOf(id);
  SummaryStage stage;
  stage.name = info.op.name;
  stage.has_dot = info.tensorized.index >= 0;
  if (stage.has_dot) stage.mma = FindMmaIntrinsic(info.intrinsic);
  stage.arithmetic_ops = ValueOps(info.op.body) + (info.op.combiner != Combiner::kNone ? 1 : 0);
  if (info.scope == Scope::kLocal) {
    stage.local_bytes = Product(view.extent) * info.op.output->dtype.bytes();
  }
  stage.root = view.root;
  if (info.scope == Scope::kShared) {
    const bool two =
        info.double_buffer && view.prefix > 0 &&
        view.loops[static_cast<std::size_t>(view.prefix) - 1].kind == LoopKind::kSerial;
    const std::int64_t bytes = info.HeldElements(view.extent) * info.op.output->dtype.bytes();
    const int copies = info.pipeline > 0 ? info.pipeline : two ? 2 : 1;
    stage.shared_bytes = copies * RoundUp(bytes, kSharedAlignment);
  }
  stage.accesses.reserve(info.loads.size() + 1);
  for (auto load = info.loads.begin(); load != info.loads.end(); ++load) {
    const auto before = std::find(info.loads.begin(), load, *load);
    if (before != load) {
      const auto same = static_cast<std::size_t>(before - info.loads.begin());
      stage.accesses.push_back(stage.accesses[same]);
      continue;
    }
    std::vector<Sum> indices;
    indices.reserve((*load)->args.size());
    for (const Expr& arg : (*load)->args) indices.push_back(SumOf(arg, info, view));
    stage.accesses.push_back(Access((*load)->buffer, std::move(indices), view, false));
  }
  const auto dimensions = static_cast<std::ptrdiff_t>(info.op.axes.size());
  stage.accesses.push_back(
      Access(info.op.output, {view.axis.begin(), view.axis.begin() + dimensions}, view, true));
  stage.loops = view.loops;
  return stage;
}

LoopSummary Summarizer::Run() {
  components_.reserve(64);
  const auto& order = schedule_.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (schedule_.stage(*id).attach == Schedule::Attach::kInline) continue;
    MakeView(*id);
    NeedLoads(*id);
  }
  LoopSummary summary;
  summary.stages.reserve(order.size());
  for (StageId id : order) {
    if (schedule_.stage(id).attach == Schedule::Attach::kInline) continue;
    summary.stages.push_back(Describe(id));
  }
  return summary;
}

}  // namespace

Result<LoopSummary> Summarize(const Schedule& schedule) {
  TW_RETURN_IF_ERROR(CheckSchedule(schedule));
  return Summarizer(schedule).Run();
}

double CacheMissBytesPerOperation(const LoopSummary& summary, std::int64_t cache_bytes) {
  double bytes = 0, operations = 0;
  for (const SummaryStage& stage : summary.stages) {
    double executions = 1;
    for (const SummaryLoop& loop : stage.loops) executions *= static_cast<double>(loop.extent);
    operations += executions * static_cast<double>(stage.arithmetic_ops);
    for (const SummaryAccess& access : stage.accesses) {
      if (access.write || access.scope != Scope::kGlobal) continue;
      std::size_t level = 0;
      double times = 1;
      for (; level < stage.loops.size() && access.footprint_bytes[level] > cache_bytes; ++level) {
        times *= static_cast<double>(stage.loops[level].extent);
      }
      bytes += times * static_cast<double>(access.footprint_bytes[level]);
    }
  }
  return operations > 0 ? bytes / operations : 0;
}

double ParallelEfficiency(const LoopSummary& summary, int threads) {
  if (threads == 1) return 1;
  struct Root {
    double operations = 0, busy = 1;
  };
  std::map<int, Root> roots;
  for (const SummaryStage& stage : summary.stages) {
    double executions = 1, elements = 1;
    for (const SummaryLoop& loop : stage.loops) {
      executions *= static_cast<double>(loop.extent);
      if (!loop.reduction) elements *= static_cast<double>(loop.extent);
    }
    Root& root = roots[stage.root];
    root.operations +=
        executions * static_cast<double>(std::max<std::int64_t>(1, stage.arithmetic_ops));
    const SummaryAccess& result = stage.accesses.back();
    if (!result.write || result.scope != Scope::kGlobal || stage.loops.empty()) continue;
    if (stage.loops[0].kind != LoopKind::kParallel) {
      root.busy = 1.0 / threads;
      continue;
    }
    // Extents are rounded up: the last of these iterations may have only part of the work.
    const double work = static_cast<double>(result.footprint_bytes[0]) / result.dtype.bytes() /
                        elements * static_cast<double>(stage.loops[0].extent);
    const auto whole = static_cast<std::int64_t>(work);
    const double last = whole % threads == 0 ? work - static_cast<double>(whole) : 0;
    root.busy = work / (threads * (static_cast<double>(CeilDiv(whole, threads)) + last));
  }
  double worked = 0, spent = 0;
  for (const auto& [id, root] : roots) {
    worked += root.operations;
    spent += root.operations / std::max(root.busy, 1e-6);
  }
  return spent > 0 ? worked / spent : 1;
}

Status CheckSharedMemory(const LoopSummary& summary, const LaunchLimits& limits) {
  std::map<int, Launch> launches;
  for (const SummaryStage& stage : summary.stages) {
    if (stage.shared_bytes == 0) continue;
    launches[stage.root].shared_bytes += stage.shared_bytes;
  }
  for (const auto& [root, launch] : launches) TW_RETURN_IF_ERROR(CheckLaunch(launch, limits));
  return {};
}

}  // namespace tilewright
