// Long sums of floats in blocks. One accumulator loses digits as it grows: of a million equal
// numbers, the last ones are cut to a millionth. So a long sum becomes sums of about a hundred
// elements, then sums of those, and so on. If the elements are adjacent in memory, sixteen
// neighbors go to sixteen accumulators, so that the loop over them can be vectorized. For that
// reason only, maxima and minima of neighbors are split, too.

#include <algorithm>
#include <limits>

#include "src/ir/visit.h"
#include "src/tensor/compute/internal.h"

namespace tilewright {
namespace {

constexpr std::int64_t kLongest = 256;  // elements per accumulator
constexpr std::int64_t kLanes = 16;     // neighbors summed separately
// Block sizes of longer sums, with and without lanes.
constexpr std::int64_t kBlockOfLanes = 64, kBlock = 192;

std::int64_t Elements(const ComputeOp& stage) {
  std::int64_t elements = 1;
  for (const Axis& axis : stage.reduce_axes) elements *= axis.extent;
  return elements;
}

/// Returns true if the last reduced axis is the last index of a load, and no other axis moves
/// there: then neighbors of the sum are neighbors in memory.
bool SumsNeighbours(const ComputeOp& stage) {
  return AnyNode(stage.body, [&](const Expr& load) {
    if (load->kind != ExprKind::kLoad || load->args.empty()) return false;
    const Expr& index = load->args.back();
    return Contains(index, stage.reduce_axes.back().var) &&
           std::ranges::none_of(stage.axes, [&](const Axis& axis) {
             return axis.extent > 1 && Contains(index, axis.var);
           });
  });
}

/// An extent as blocks of `inner` elements; the last one may be shorter.
struct Blocks {
  std::int64_t count = 1, inner = 1;
};

/// Returns blocks of up to `most` elements, of equal size unless that makes them much smaller.
Blocks InBlocksOf(std::int64_t extent, std::int64_t most) {
  if (extent <= most) return {1, extent};
  for (std::int64_t inner = most; inner * 3 >= most; --inner) {
    if (extent % inner == 0) return {extent / inner, inner};
  }
  const std::int64_t count = (extent + most - 1) / most;
  return {count, (extent + count - 1) / count};
}

/// Returns the neutral element of the combiner, as a float.
Expr NothingOf(Combiner combiner, DataType dtype) {
  if (combiner == Combiner::kSum) return MakeConst(dtype, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  return MakeConst(dtype, combiner == Combiner::kMax ? -infinity : infinity);
}

std::int64_t LanesOf(std::int64_t extent) {
  if (extent <= 2 * kLanes) return extent;
  return extent % kLanes != 0 && extent % (kLanes / 2) == 0 ? kLanes / 2 : kLanes;
}

/// Builder of the stage of partial sums of another stage.
class BlockedSum {
 public:
  explicit BlockedSum(const ComputeOp& whole) : whole_(whole) {}

  /// Returns the partial sums; `whole` becomes the sum of those.
  ComputeOp Take(ComputeOp& whole, std::size_t level) {
    std::vector<Axis> kept;
    std::vector<Expr> kept_index;
    for (const Axis& axis : whole_.axes) {
      kept.push_back({MakeVar(axis.var->name), axis.extent, false});
      substitution_.emplace_back(axis.var.get(), kept.back().var);
      kept_index.push_back(axis.var);
    }
    const bool neighbours = SumsNeighbours(whole_);
    room_ = neighbours ? kBlockOfLanes : kBlock;
    for (std::size_t i = whole_.reduce_axes.size(); i-- > 0;) {
      const Axis& axis = whole_.reduce_axes[i];
      const bool last = i + 1 == whole_.reduce_axes.size();
      Divide(axis, last && neighbours ? LanesOf(axis.extent) : 1);
    }
    // The last axis is the vector axis: the lanes, or the kept axes.
    std::vector<Axis> axes = lane_.empty() ? outer_ : kept;
    std::vector<Expr> index = lane_.empty() ? outer_index_ : kept_index;
    Append(axes, lane_.empty() ? kept : outer_);
    Append(index, lane_.empty() ? kept_index : outer_index_);
    Append(axes, lane_);
    Append(index, lane_index_);
    Expr body = Substitute(whole_.body, substitution_);
    if (inside_) body = MakeSelect(inside_, body, NothingOf(whole_.combiner, body.dtype()));
    ComputeOp partial =
        ReductionStage(whole_.name + ".part" + std::to_string(level), std::move(axes),
                       std::move(inner_), whole_.combiner, std::move(body));
    whole.reduce_axes = std::move(rest_);
    whole.body = MakeLoad(partial.output, std::move(index));
    return partial;
  }

 private:
  template <typename T>
  static void Append(std::vector<T>& list, const std::vector<T>& more) {
    list.insert(list.end(), more.begin(), more.end());
  }

  /// axis = (block * elements of a block + element) * lanes + lane
  void Divide(const Axis& axis, std::int64_t lanes) {
    const std::string& name = axis.var->name;
    const Blocks blocks = InBlocksOf((axis.extent + lanes - 1) / lanes, room_);
    room_ = std::max<std::int64_t>(room_ / blocks.inner, 1);
    inner_.insert(inner_.begin(), {MakeVar(name), blocks.inner, true});
    Expr position = inner_.front().var;
    if (blocks.count > 1) {
      outer_.insert(outer_.begin(), {MakeVar(name + ".block"), blocks.count, false});
      position = outer_.front().var * Expr(blocks.inner) + position;
    }
    if (lanes > 1) {
      lane_ = {{MakeVar(name + ".lane"), lanes, false}};
      position = position * Expr(lanes) + lane_.front().var;
      rest_ = {{MakeVar(name + ".lane"), lanes, true}};
      lane_index_ = {rest_.front().var};
    }
    if (blocks.count > 1) {
      rest_.insert(rest_.begin(), {MakeVar(name), blocks.count, true});
      outer_index_.insert(outer_index_.begin(), rest_.front().var);
    }
    if (blocks.count * blocks.inner * lanes != axis.extent) {
      const Expr within = Lt(position, Expr(axis.extent));
      inside_ = inside_ ? And(within, inside_) : within;
    }
    substitution_.emplace_back(axis.var.get(), position);
  }

  const ComputeOp whole_;
  Substitution substitution_;
  std::vector<Axis> outer_, inner_, lane_;      // of the partial sums
  std::vector<Axis> rest_;                      // of the sum of those
  std::vector<Expr> outer_index_, lane_index_;  // into them
  Expr inside_;                                 // condition for blocks that reach beyond the end
  std::int64_t room_ = 1;  // elements that blocks of the remaining dimensions may have
};

}  // namespace

void SplitLongReductions(Compute& compute) {
  std::vector<ComputeOp> stages;
  for (ComputeOp& stage : compute.stages) {
    const bool real = stage.output->dtype.is_float();
    const auto is_cut = [&] {
      if (!real || Elements(stage) <= kLongest || stage.combiner == Combiner::kNone ||
          stage.combiner == Combiner::kProduct) {
        return false;
      }
      return stage.combiner == Combiner::kSum || SumsNeighbours(stage);
    };
    for (std::size_t level = 0; is_cut(); ++level) {
      stages.push_back(BlockedSum(stage).Take(stage, level));
    }
    stages.push_back(std::move(stage));
  }
  compute.stages = std::move(stages);
}

}  // namespace tilewright
