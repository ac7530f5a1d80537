// The result (the product with the values, its dimensions in any order) has all loops in which
// other stages are computed:
//
//   for each head, run of rows (parallel):     pack keys and values
//     for each block of rows:                  scores, elementwise stages, softmax by rows
//       for each group of columns:             a register tile of sums
//
// The scores have their own loops over groups of keys, with register tiles inside.

#include "src/templates/attention_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/ir/visit.h"
#include "src/schedule/check.h"
#include "src/target/cpu.h"
#include "src/templates/matmul_tile.h"
#include "src/templates/row_schedule.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"

namespace tilewright {
namespace {

constexpr std::int64_t kFewestRows = 8;              // with fewer, packing takes too long
constexpr std::int64_t kMaxScoreBytes = 128 * 1024;  // of a block of scores
constexpr std::int64_t kMaxPackedBytes = 4 << 20;    // of keys and values of a head

/// sum(a[b, m, k] * b[b, n, k]) in float32, of float32 or bfloat16.
bool IsMatrixProduct(const ComputeOp& op) {
  const bool sums = op.combiner == Combiner::kSum && op.reduce_axes.size() == 1;
  if (!sums || op.axes.size() != 3) return false;
  if (op.output->dtype != kFloat32 || op.body->kind != ExprKind::kMul) return false;
  return std::ranges::all_of(op.body->args, [](const Expr& factor) {
    const bool casts = factor->kind == ExprKind::kCast;
    const Expr& load = casts ? factor->args[0] : factor;
    return load->kind == ExprKind::kLoad && load->buffer->shape.size() == 3 &&
           load->buffer->dtype == (casts ? kBFloat16 : kFloat32);
  });
}

bool HasCalls(const Expr& expr) { return HasKind(expr, ExprKind::kCall); }

struct Tiles {
  MatmulTile scores, seen;
};

/// Register tile of scores for any number of rows and keys.
MatmulTile OpenTile(std::int64_t registers) {
  constexpr std::int64_t kManyRegisters = 32;
  return {registers >= kManyRegisters ? 8 : 4, 2};
}

class AttentionScheduler {
 public:
  /// open: tiles and runs do not depend on the number of rows and keys.
  AttentionScheduler(Compute compute, const CpuFeatures& features, const Target& target, bool open)
      : schedule_(std::move(compute)),
        target_(target),
        open_(open),
        lanes_(features.float_lanes()),
        registers_(features.vector_registers()) {}

  std::optional<Schedule> Run(const std::string& scores, const std::string& seen) {
    sum_ = schedule_.Stage(scores);
    seen_sum_ = schedule_.Stage(seen);
    keys_ = schedule_.Stage("keys");
    values_ = schedule_.Stage("values");
    if (!FindChances()) return std::nullopt;
    InlineCheap();
    FindScores();
    FindResult();
    if (!FindRows() || !FindLoops()) return std::nullopt;
    ChooseTiles();
    if (!Fits()) return std::nullopt;
    Place();
    if (!schedule_.status().ok()) return std::nullopt;
    return std::move(schedule_);
  }

 private:
  const ComputeOp& Op(StageId stage) const { return schedule_.stage(stage).op; }
  bool IsInline(StageId stage) const {
    return schedule_.stage(stage).attach == Schedule::Attach::kInline;
  }
  /// Stages that are not inlined and read the result of `stage`.
  std::vector<StageId> ReadersOf(StageId stage) const {
    std::vector<StageId> readers;
    for (StageId other : schedule_.order()) {
      if (!IsInline(other) && Reads(schedule_.stage(other), Op(stage).output))
        readers.push_back(other);
    }
    return readers;
  }

  /// Finds the first factor of the product with the values, the result of the softmax, as it was
  /// before stages that only move it.
  bool FindChances() {
    const Expr& factor = Op(seen_sum_).body->args[0];
    const Expr& load = factor->kind == ExprKind::kCast ? factor->args[0] : factor;
    chances_ = schedule_.ProducerOf(load->buffer);
    while (chances_.index >= 0 && Op(chances_).body->kind == ExprKind::kLoad) {
      chances_ = schedule_.ProducerOf(Op(chances_).body->buffer);
    }
    return chances_.index >= 0 && Op(chances_).combiner == Combiner::kNone;
  }

  void InlineCheap() {
    const std::vector<StageId> order = schedule_.order();
    for (StageId id : order) {
      const ComputeOp& op = Op(id);
      if (op.combiner != Combiner::kNone || HasCalls(op.body)) continue;
      if (id == chances_ || id == keys_ || id == values_ || id == order.back()) continue;
      const bool moves = op.body->kind == ExprKind::kLoad;
      // Inlined, the number of each row would be computed again for each element.
      if (op.body->kind == ExprKind::kDiv &&
          op.output->elements() < Op(chances_).output->elements()) {
        continue;
      }
      if (moves || ReadersOf(id).size() == 1) schedule_.ComputeInline(id);
    }
  }

  /// Finds the stage that writes the scores: the product, or the elementwise stage after it.
  void FindScores() {
    const std::vector<StageId> readers = ReadersOf(sum_);
    const bool one = readers.size() == 1 && readers[0] != chances_ && readers[0] != seen_sum_;
    if (one && Op(readers[0]).combiner == Combiner::kNone && !HasCalls(Op(readers[0]).body)) {
      scores_ = readers[0];
      schedule_.SetScope(sum_, Scope::kLocal);
    } else {
      scores_ = sum_;
      sum_ = schedule_.CacheWrite(scores_, Scope::kLocal);
    }
  }

  void FindResult() {
    result_ = schedule_.order().back();
    if (result_ == seen_sum_) {
      seen_sum_ = schedule_.CacheWrite(result_, Scope::kLocal);
    } else {
      schedule_.SetScope(seen_sum_, Scope::kLocal);
    }
  }

  /// Finds the stages from the scores to the softmax's result, each of which works on their rows.
  bool FindRows() {
    // The sums of all rows of a block are in registers at the same time, one vector each.
    const ComputeOp& scores = Op(scores_);
    SumInLanes(schedule_, lanes_, scores.output->elements() / scores.axes.back().extent, 1);
    bool max = false;
    for (StageId id : schedule_.order()) {
      const bool product = id == sum_ || id == seen_sum_ || id == result_;
      if (IsInline(id) || product || id == keys_ || id == values_) continue;
      rows_.push_back(id);
      max = max || Op(id).combiner == Combiner::kMax;
    }
    if (!max || rows_.empty() || rows_.front() != scores_ || rows_.back() != chances_) return false;
    finder_.emplace(schedule_, rows_);
    return finder_->Find();
  }

  /// Finds which loops of the result are rows and columns; the others are heads.
  bool FindLoops() {
    const ComputeOp& op = Op(result_);
    if (op.combiner != Combiner::kNone || op.axes.size() < 2 || HasCalls(op.body)) return false;
    Expr load;
    ForEachNode(op.body, [&](const Expr& node) {
      if (node->kind == ExprKind::kLoad && node->buffer == Op(seen_sum_).output) load = node;
    });
    if (!load || !load->args[2].Same(op.axes.back().var)) return false;
    for (std::size_t i = 0; i + 1 < op.axes.size(); ++i) {
      if (load->args[1].Same(op.axes[i].var)) row_axis_ = static_cast<int>(i);
    }
    return row_axis_ >= 0 && scores_rows() >= 0 && Op(scores_).axes.size() >= 2;
  }
  /// The axis of the scores that has the rows of a head: the last but one.
  int scores_rows() const { return static_cast<int>(Op(scores_).axes.size()) - 2; }

  void ChooseTiles() {
    const std::int64_t rows = Op(result_).axes[static_cast<std::size_t>(row_axis_)].extent;
    const auto blocks = [&](StageId stage) {
      return CeilDiv(Op(stage).axes.back().extent, lanes_);
    };
    tiles_.scores =
        open_ ? OpenTile(registers_) : DefaultMatmulTile(rows, blocks(scores_), registers_);
    tiles_.seen = {tiles_.scores[0], 1};
    for (std::int64_t block : MinWasteTiles(blocks(result_), registers_)) {
      if (4 * tiles_.scores[0] * block <= 3 * registers_) tiles_.seen[1] = block;
    }
  }

  bool Fits() const {
    const std::int64_t rows = Op(result_).axes[static_cast<std::size_t>(row_axis_)].extent;
    const std::int64_t keys = Op(scores_).axes.back().extent;
    const auto of_head = [&](StageId columns) {
      const Buffer& packed = Op(columns).output;
      return packed->bytes() / packed->shape[0];
    };
    const std::int64_t packed = of_head(keys_) + of_head(values_);
    return (open_ || rows >= kFewestRows) && keys >= 2 &&
           tiles_.scores[0] * keys * 4 <= kMaxScoreBytes && packed <= kMaxPackedBytes &&
           SharesWork(CeilDiv(rows, tiles_.seen[0]));
  }

  std::int64_t Heads() const {
    const ComputeOp& op = Op(result_);
    std::int64_t heads = 1;
    for (int i = 0; i + 1 < static_cast<int>(op.axes.size()); ++i) {
      if (i != row_axis_) heads *= op.axes[static_cast<std::size_t>(i)].extent;
    }
    return heads;
  }

  /// Number of equally long runs of blocks of rows of a head. Each run packs the keys and values of
  /// its head, so there are no more of them than threads need.
  std::int64_t RunsOf(std::int64_t blocks) const {
    constexpr std::int64_t kIterationsPerThread = 2;
    if (open_ || target_.num_threads() == 1) return 1;
    std::int64_t runs =
        std::min(CeilDiv(kIterationsPerThread * target_.num_threads(), Heads()), blocks);
    while (blocks % runs != 0) --runs;
    return runs;
  }

  /// Whether every thread gets a run if a head has this many blocks.
  bool SharesWork(std::int64_t blocks) const {
    const std::int64_t runs = RunsOf(blocks);
    return open_ || runs == blocks || Heads() * runs >= target_.num_threads();
  }

  /// Returns the intrinsic of a product, of which TransposeColumns made pairs or not.
  std::string DotOf(StageId product) const {
    return Op(product).reduce_axes.size() == 2 ? "dot2.bf16" : "";
  }

  void Place() {
    PlaceResult();
    schedule_.ComputeAt(seen_sum_, result_, group_);
    TileMatmulSum(schedule_, seen_sum_, true, lanes_, kUnrolledK, DotOf(seen_sum_));
    for (std::size_t i = rows_.size(); i-- > 0;) {  // each before the stages that it reads
      const StageId id = rows_[i];
      // In registers, all rows would be unrolled, and spilled.
      const bool whole = finder_->ElementsOfRow(id) > lanes_;
      schedule_.SetScope(id, whole ? Scope::kGlobal : Scope::kLocal);
      schedule_.ComputeAt(id, result_, block_);
      if (id != scores_) ScheduleInRow(schedule_, id, finder_->Of(id), lanes_);
    }
    PlaceScores();
    ScheduleColumns(schedule_, keys_, result_, outer_, lanes_);
    ScheduleColumns(schedule_, values_, result_, outer_, lanes_);
    for (StageId columns : {keys_, values_}) {  // any number of them
      if (open_) schedule_.SetScope(columns, Scope::kGlobal);
    }
  }

  void PlaceResult() {
    const ComputeOp& op = Op(result_);
    std::vector<LoopId> outer;
    for (int i = 0; i + 1 < static_cast<int>(op.axes.size()); ++i) {
      if (i != row_axis_) outer.push_back(schedule_.SpatialAxis(result_, i));
    }
    const auto [blocks, row] = schedule_.Split(result_, schedule_.SpatialAxis(result_, row_axis_),
                                               tiles_.seen[0], Tail::kPeel);
    const std::int64_t count = schedule_.Extent(blocks);
    const auto [run, block] = schedule_.Split(result_, blocks, count / RunsOf(count), Tail::kPeel);
    const LoopId columns = schedule_.SpatialAxis(result_, static_cast<int>(op.axes.size()) - 1);
    const auto [group, column] =
        schedule_.Split(result_, columns, tiles_.seen[1] * lanes_, Tail::kPeel);
    const auto [vector, lane] = schedule_.Split(result_, column, lanes_, Tail::kPeel);
    outer.push_back(run);
    std::vector<LoopId> order = outer;
    order.insert(order.end(), {block, group, row, vector, lane});
    schedule_.Reorder(result_, order);
    schedule_.Unroll(result_, row);
    schedule_.Unroll(result_, vector);
    schedule_.Vectorize(result_, lane);
    outer_ = FuseAll(schedule_, result_, outer);
    ParallelFor(schedule_, result_, outer_, target_);
    block_ = block;
    group_ = group;
  }

  void PlaceScores() {
    const int axes = static_cast<int>(Op(scores_).axes.size());
    const LoopId row = schedule_.SpatialAxis(scores_, scores_rows());
    const LoopId columns = schedule_.SpatialAxis(scores_, axes - 1);
    const auto [group, column] =
        schedule_.Split(scores_, columns, tiles_.scores[1] * lanes_, Tail::kPeel);
    const auto [vector, lane] = schedule_.Split(scores_, column, lanes_, Tail::kPeel);
    schedule_.Reorder(scores_, {group, row, vector, lane});
    schedule_.Unroll(scores_, row);
    schedule_.Unroll(scores_, vector);
    schedule_.Vectorize(scores_, lane);
    schedule_.ComputeAt(sum_, scores_, group);
    TileMatmulSum(schedule_, sum_, true, lanes_, kUnrolledK, DotOf(sum_));
  }

  static constexpr std::int64_t kUnrolledK = 4;
  Schedule schedule_;
  const Target& target_;
  const bool open_;
  const std::int64_t lanes_, registers_;
  StageId sum_, scores_, chances_, keys_, values_, seen_sum_, result_;
  std::vector<StageId> rows_;  // from the scores on, each after the stages that it reads
  std::optional<RowFinder> finder_;
  int row_axis_ = -1;  // of the result
  Tiles tiles_;
  LoopId outer_, block_, group_;  // of the result
};

/// Returns the names of the two products; others than two if the computation is not attention.
std::vector<std::string> ProductsOf(const Compute& compute) {
  std::vector<std::string> products;
  for (const ComputeOp& op : compute.stages) {
    if (IsMatrixProduct(op)) products.push_back(op.name);
  }
  return products;
}

/// Makes attention independent of keys from length[0] on.
class KeyMasker {
 public:
  KeyMasker(Compute& compute, const Buffer& length, std::int64_t positions)
      : compute_(compute), length_(MakeLoad(length, {Expr(0)})), positions_(positions) {}

  /// Returns false if it cannot.
  bool Run() {
    const auto is_max = [](const ComputeOp& op) { return op.combiner == Combiner::kMax; };
    if (std::ranges::count_if(compute_.stages, is_max) != 1) return false;
    const auto max = std::ranges::find_if(compute_.stages, is_max);
    const Expr scores = max->body;
    if (scores->kind != ExprKind::kLoad || max->reduce_axes.size() != 1 ||
        !scores->args.back().Same(max->reduce_axes[0].var) ||
        max->reduce_axes[0].extent != positions_) {
      return false;
    }
    return MaskScores(scores->buffer) && MaskValues();
  }

 private:
  Expr Masked(const Expr& key, Expr value, double otherwise) const {
    const DataType dtype = value->dtype;
    return MakeSelect(Lt(key, length_), std::move(value), MakeConst(dtype, otherwise));
  }

  /// The exponential of a score of minus infinity is zero.
  bool MaskScores(const Buffer& scores) {
    const auto made = std::ranges::find_if(
        compute_.stages, [&](const ComputeOp& op) { return op.output == scores; });
    if (made == compute_.stages.end()) return false;
    ComputeOp valid;
    valid.name = "valid";
    valid.output = MakeBuffer(valid.name, scores->dtype, scores->shape);
    std::vector<Expr> indices;
    for (const Axis& axis : made->axes) {
      valid.axes.push_back({MakeVar(axis.var->name), axis.extent, false});
      indices.push_back(valid.axes.back().var);
    }
    valid.body =
        Masked(indices.back(), MakeLoad(scores, indices), -std::numeric_limits<double>::infinity());
    for (auto reader = made + 1; reader != compute_.stages.end(); ++reader) {
      reader->body = LoadInstead(reader->body, scores, valid.output);
    }
    compute_.stages.insert(made + 1, std::move(valid));
    return true;
  }

  /// Makes values of keys beyond the length zero: the memory there may hold NaN.
  bool MaskValues() {
    const auto values = std::ranges::find(compute_.stages, "values", &ComputeOp::name);
    Expr key = values->axes[1].var;
    std::int64_t keys = values->axes[1].extent;
    if (values->axes.size() > 3) {
      key = key * Expr(2) + values->axes[3].var;
      keys *= 2;
    }
    values->body = Masked(key, values->body, 0);
    return keys == positions_;
  }

  Compute& compute_;
  Expr length_;
  std::int64_t positions_;
};

/// length: number of keys that exist, for an open number of them; null: all of them do.
std::optional<Schedule> ScheduleOf(Compute compute, const Buffer& length, std::int64_t positions,
                                   const Target& target) {
  const auto features = FeaturesOf(target);
  if (!features.ok()) return std::nullopt;
  const std::vector<std::string> products = ProductsOf(compute);
  if (products.size() != 2) return std::nullopt;
  TransposeColumns(compute, products[0], "keys");
  TransposeColumns(compute, products[1], "values");
  if (length != nullptr) {
    compute.inputs.insert(compute.inputs.begin(), length);
    if (!KeyMasker(compute, length, positions).Run()) return std::nullopt;
  }
  return AttentionScheduler(std::move(compute), *features, target, /*open=*/length != nullptr)
      .Run(products[0], products[1]);
}

}  // namespace

std::optional<Schedule> AttentionSchedule(Compute compute, const Target& target) {
  return ScheduleOf(std::move(compute), nullptr, 0, target);
}

std::int64_t OpenAttentionBlock(const Target& target) {
  const auto features = FeaturesOf(target);
  if (!features.ok()) return 1;
  const MatmulTile tile = OpenTile(features->vector_registers());
  return std::lcm(tile[0], tile[1] * features->float_lanes());
}

std::optional<Schedule> OpenAttentionSchedule(Compute compute, const Buffer& length,
                                              std::int64_t positions, const Target& target) {
  return ScheduleOf(std::move(compute), length, positions, target);
}

}  // namespace tilewright
