// Evaluation of expressions. For each stage one axis is that of lanes: bodies are computed node by
// node, for a few hundred positions along it at a time. The other axes are counted. If a reduced
// axis has the lanes, they are combined at the end. Reads outside of a tensor occur only in the arm
// of a select that is not chosen: they give 0.

#include "src/tensor/reference/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <mutex>

#include "src/tensor/reference/internal.h"
#include "src/tensor/reference/lanes.h"

namespace tilewright {
namespace reference {
namespace {

constexpr std::int64_t kMaxLanes = 512;
constexpr double kForever = std::numeric_limits<double>::infinity();

/// Candidate of an argmax.
struct Contender {
  double lower = 0, upper = 0;  // ends of its interval
  std::int64_t place = 0;
};

/// State of a reduction at one position.
struct Accumulator {
  double number = 0, error = 0, magnitude = 0;
  std::int64_t integer = 0, place = 0, count = 0;
  double most = 0, least = 0;  // of extremes: by the upper ends of intervals, and the lower ones
};

/// Candidates for the largest value of one position. Only a few are kept, because they are listed
/// for each position. If errors or ties allow more, every position counts as correct.
class Contenders {
 public:
  static constexpr std::size_t kMax = 64;

  void Clear() {
    all_.clear();
    least_ = best_exact_ = left_out_ = beaten_below_ = -kForever;
  }
  void Add(double value, double error, std::int64_t place) {
    const bool anything = std::isinf(error);
    const Contender one{anything ? -kForever : value - error, anything ? kForever : value + error,
                        place};
    if (one.upper < least_) return;
    // Of equal exact values, the first position is the result.
    if (error == 0 && value == best_exact_) {
      const auto same = std::ranges::find_if(all_, [value](const Contender& other) {
        return other.lower == value && other.upper == value;
      });
      if (same != all_.end()) {
        same->place = std::min(same->place, place);
        return;
      }
    }
    if (error == 0) best_exact_ = value;
    least_ = std::max(least_, one.lower);
    if (all_.size() == kMax && least_ > beaten_below_) DropBeaten();
    if (all_.size() == kMax) {
      left_out_ = std::max(left_out_, one.upper);
    } else {
      all_.push_back(one);
    }
  }
  /// Returns true if a dropped candidate may be the largest.
  bool too_many() const { return left_out_ > -kForever && left_out_ >= least_; }
  /// Returns the candidates that are the largest for some values within the intervals, by position.
  /// Of two equal ones the first is chosen.
  const std::vector<Contender>& Right() {
    DropBeaten();
    std::ranges::sort(all_, {}, &Contender::place);
    std::vector<double> behind(all_.size() + 1,
                               -kForever);  // the largest lower end from this index on
    for (std::size_t i = all_.size(); i-- > 0;) {
      behind[i] = std::max(behind[i + 1], all_[i].lower);
    }
    double before = -kForever;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Contender one = all_[i];
      const bool right = one.upper > before && one.upper >= behind[i + 1];
      before = std::max(before, one.lower);
      if (right || (i == 0 && all_.size() == 1)) all_[kept++] = one;
    }
    all_.resize(kept);
    return all_;
  }

 private:
  void DropBeaten() {
    std::erase_if(all_, [this](const Contender& one) { return one.upper < least_; });
    beaten_below_ = least_;
  }

  std::vector<Contender> all_;
  double least_ = -kForever;         // the largest lower end
  double best_exact_ = -kForever;    // of those without an error
  double left_out_ = -kForever;      // the largest upper end of the dropped candidates
  double beaten_below_ = -kForever;  // least_ when the beaten candidates were dropped
};

/// Loops of one stage, over a part of its positions.
class StageRun {
 public:
  StageRun(const ExpressionStage& stage, const std::vector<TensorValues>& tensors,
           TensorValues& out)
      : stage_(stage), tensors_(tensors), out_(out) {
    for (std::size_t i = 0; i < stage.axes.size() + stage.reduce_axes.size(); ++i) {
      extents_.push_back(stage.axis(static_cast<std::int64_t>(i)).extent);
    }
    ChooseLaneAxis();
    for (const ExpressionNode& node : stage.nodes) {
      Lanes lanes;
      const auto room = static_cast<std::size_t>(kMaxLanes);
      (node.dtype.is_float() ? lanes.numbers.resize(room) : lanes.integers.resize(room));
      lanes.errors.resize(room);
      lanes_.push_back(std::move(lanes));
    }
    at_.assign(extents_.size(), 0);
    sums_.resize(static_cast<std::size_t>(kMaxLanes));
    if (GivesPosition()) contenders_.resize(sums_.size());
  }

  /// Returns the positions of the own axes without that of the lanes: the range of Run(i).
  std::int64_t rows() const {
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < stage_.axes.size(); ++i) {
      if (static_cast<int>(i) != lane_axis_) rows *= extents_[i];
    }
    return rows;
  }

  /// Returns other correct positions of the executed part (see TensorValues).
  const std::vector<std::pair<std::int64_t, std::int64_t>>& other_positions() const {
    return other_positions_;
  }

  void Run(std::int64_t row) {
    for (std::size_t i = stage_.axes.size(); i-- > 0;) {
      if (static_cast<int>(i) == lane_axis_) continue;
      at_[i] = row % extents_[i];
      row /= extents_[i];
    }
    const bool own = lane_axis_ >= 0 && lane_axis_ < static_cast<int>(stage_.axes.size());
    if (!own) {
      RunReduction(1);
      Store(1);
      return;
    }
    const std::int64_t extent = extents_[static_cast<std::size_t>(lane_axis_)];
    for (first_ = 0; first_ < extent; first_ += kMaxLanes) {
      const std::int64_t count = std::min(kMaxLanes, extent - first_);
      RunReduction(count);
      Store(count);
    }
  }

 private:
  /// Chooses the last own axis, or the last reduced one if that is much longer.
  void ChooseLaneAxis() {
    const auto own = static_cast<int>(stage_.axes.size());
    for (int i = 0; i < static_cast<int>(extents_.size()); ++i) {
      const std::int64_t extent = extents_[static_cast<std::size_t>(i)];
      const std::int64_t best = lane_axis_ < 0 ? 0 : extents_[static_cast<std::size_t>(lane_axis_)];
      constexpr std::int64_t kEnough = 32;
      const bool better =
          i < own ? extent >= std::min(best, kEnough) : extent > best && best < kEnough;
      if (better) lane_axis_ = i;
    }
  }

  bool LanesAreReduced() const { return lane_axis_ >= static_cast<int>(stage_.axes.size()); }

  void RunReduction(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) sums_[static_cast<std::size_t>(i)] = {};
    for (Contenders& contenders : contenders_) contenders.Clear();
    for (std::size_t i = stage_.axes.size(); i < extents_.size(); ++i) at_[i] = 0;
    if (LanesAreReduced()) first_ = 0;
    while (true) {
      if (LanesAreReduced()) {
        const std::int64_t extent = extents_[static_cast<std::size_t>(lane_axis_)];
        for (first_ = 0; first_ < extent; first_ += kMaxLanes) {
          const std::int64_t lanes = std::min(kMaxLanes, extent - first_);
          Body(lanes);
          for (std::int64_t i = 0; i < lanes; ++i) {
            Combine(0, static_cast<std::size_t>(i), PlaceOf(i));
          }
        }
      } else {
        Body(count);
        const std::int64_t place = PlaceOf(0);
        if (!CombineSums(count)) {
          for (std::int64_t i = 0; i < count; ++i) {
            Combine(static_cast<std::size_t>(i), static_cast<std::size_t>(i), place);
          }
        }
      }
      std::size_t axis = extents_.size();
      while (axis-- > stage_.axes.size()) {
        if (static_cast<int>(axis) == lane_axis_) continue;
        if (++at_[axis] < extents_[axis]) break;
        at_[axis] = 0;
      }
      if (axis + 1 == stage_.axes.size() || axis == static_cast<std::size_t>(-1)) return;
    }
  }

  /// Returns the row-major position among the reduced axes.
  std::int64_t PlaceOf(std::int64_t lane) const {
    std::int64_t place = 0;
    for (std::size_t i = stage_.axes.size(); i < extents_.size(); ++i) {
      const bool moves = static_cast<int>(i) == lane_axis_;
      place = place * extents_[i] + (moves ? first_ + lane : at_[i]);
    }
    return place;
  }

  void Body(std::int64_t count) {
    for (std::size_t i = 0; i < stage_.nodes.size(); ++i) {
      const ExpressionNode& node = stage_.nodes[i];
      if (node.kind == ExprKind::kVar) {
        SetAxis(node.integer, count, lanes_[i]);
      } else if (node.kind == ExprKind::kLoad) {
        SetLoad(node, count, lanes_[i]);
      } else {
        args_.clear();
        for (int arg : node.args) args_.push_back(&lanes_[static_cast<std::size_t>(arg)]);
        ComputeLanes(node, args_, count, lanes_[i]);
      }
    }
  }

  void SetAxis(std::int64_t axis, std::int64_t count, Lanes& out) const {
    out.exact = true;
    out.uniform = static_cast<int>(axis) != lane_axis_;
    if (out.uniform) {
      out.integers[0] = at_[static_cast<std::size_t>(axis)];
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) out.integers[static_cast<std::size_t>(i)] = first_ + i;
  }

  void SetLoad(const ExpressionNode& node, std::int64_t count, Lanes& out) {
    const TensorValues& tensor = tensors_[static_cast<std::size_t>(node.integer)];
    out.uniform = std::ranges::all_of(
        node.args, [&](int arg) { return lanes_[static_cast<std::size_t>(arg)].uniform; });
    const bool sure = std::ranges::all_of(
        node.args, [&](int arg) { return lanes_[static_cast<std::size_t>(arg)].exact; });
    out.exact = sure && tensor.errors.empty();
    const auto lanes = static_cast<std::size_t>(out.uniform ? 1 : count);
    places_.assign(lanes, 0);
    for (std::size_t d = 0; d < node.args.size(); ++d) {
      const Lanes& index = lanes_[static_cast<std::size_t>(node.args[d])];
      const std::int64_t extent = tensor.type.shape[d];
      const std::size_t step = index.uniform ? 0 : 1;
      for (std::size_t i = 0; i < lanes; ++i) {
        const std::int64_t at = index.integers[i * step];
        const bool inside = places_[i] >= 0 && at >= 0 && at < extent;
        places_[i] = inside ? places_[i] * extent + at : -1;
      }
    }
    const bool floats = tensor.type.dtype.is_float();
    for (std::size_t i = 0; i < lanes; ++i) {
      const bool inside = places_[i] >= 0;
      const auto place = static_cast<std::size_t>(inside ? places_[i] : 0);
      if (floats) {
        out.numbers[i] = inside ? tensor.numbers[place] : 0;
      } else {
        out.integers[i] = inside ? tensor.integers[place] : 0;
      }
      if (out.exact) continue;
      out.errors[i] = !inside || tensor.errors.empty() ? 0 : tensor.errors[place];
    }
    if (!sure) MarkUnsure(node, lanes, out);
  }

  /// Marks reads at an inexact index as inexact.
  void MarkUnsure(const ExpressionNode& node, std::size_t lanes, Lanes& out) const {
    for (int arg : node.args) {
      const Lanes& index = lanes_[static_cast<std::size_t>(arg)];
      for (std::size_t i = 0; i < lanes && !index.exact; ++i) {
        if (index.errors[index.uniform ? 0 : i] > 0) out.errors[i] = kForever;
      }
    }
  }

  /// Combines sums of floats, in a loop without branches. Returns false for all others.
  bool CombineSums(std::int64_t count) {
    const Lanes& body = lanes_.back();
    if (stage_.reduction != ExpressionReduction::kSum || body.numbers.empty()) return false;
    const std::size_t step = body.uniform ? 0 : 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const double value = body.numbers[i * step];
      Accumulator& sum = sums_[i];
      sum.number += value;
      sum.magnitude += std::fabs(value);
      if (!body.exact) sum.error += body.errors[i * step];
      ++sum.count;
    }
    return true;
  }

  void Combine(std::size_t into, std::size_t lane, std::int64_t place) {
    const Lanes& body = lanes_.back();
    const std::size_t i = body.uniform ? 0 : lane;
    const double error = body.exact ? 0 : body.errors[i];
    Accumulator& sum = sums_[into];
    const bool first = sum.count++ == 0;
    const bool floats = !body.numbers.empty();
    if (floats) {
      CombineNumber(sum, body.numbers[i], error, place, first);
    } else {
      CombineInteger(sum, body.integers[i], error, place, first);
    }
    if (!GivesPosition()) return;
    const double value = floats ? body.numbers[i] : static_cast<double>(body.integers[i]);
    const bool min = stage_.reduction == ExpressionReduction::kArgMin;
    contenders_[into].Add(min ? -value : value, error, place);
  }

  void CombineNumber(Accumulator& sum, double value, double error, std::int64_t place, bool first) {
    switch (stage_.reduction) {
      case ExpressionReduction::kNone:
        sum.number = value;
        sum.error = error;
        return;
      case ExpressionReduction::kSum:
        sum.number += value;
        sum.magnitude += std::fabs(value);
        sum.error += error;
        return;
      case ExpressionReduction::kProduct:
        sum.magnitude = (first ? 1 : sum.magnitude) * (std::fabs(value) + error);
        sum.number = first ? value : sum.number * value;
        return;
      default:
        return Extreme(sum, value, error, place, first);
    }
  }

  /// Minima are maxima of negated values.
  void Extreme(Accumulator& sum, double value, double error, std::int64_t place, bool first) const {
    const bool min = stage_.reduction == ExpressionReduction::kMin ||
                     stage_.reduction == ExpressionReduction::kArgMin;
    const double v = min ? -value : value;
    const double upper = v + error, lower = v - error;
    if (first) {
      sum = {
          .number = v, .error = error, .place = place, .count = 1, .most = upper, .least = lower};
      return;
    }
    sum.most = std::max(sum.most, upper);
    sum.least = std::max(sum.least, lower);
    // If the lanes are not the innermost reduced axis, positions do not ascend.
    const bool is_nan = std::isnan(v) && !std::isnan(sum.number);
    if (v > sum.number || is_nan || (v == sum.number && place < sum.place)) {
      sum.number = v;
      sum.error = error;
      sum.place = place;
    }
  }

  void CombineInteger(Accumulator& sum, std::int64_t value, double error, std::int64_t place,
                      bool first) const {
    const bool min = stage_.reduction == ExpressionReduction::kMin ||
                     stage_.reduction == ExpressionReduction::kArgMin;
    switch (stage_.reduction) {
      case ExpressionReduction::kNone:
        sum.integer = value;
        break;
      case ExpressionReduction::kSum:
        sum.integer = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.integer) +
                                                static_cast<std::uint64_t>(value));
        break;
      case ExpressionReduction::kProduct:
        sum.integer = first ? value
                            : static_cast<std::int64_t>(static_cast<std::uint64_t>(sum.integer) *
                                                        static_cast<std::uint64_t>(value));
        if (error > 0) error = kForever;
        break;
      default:
        if (first || (min ? value < sum.integer : value > sum.integer) ||
            (value == sum.integer && place < sum.place)) {
          sum.integer = value;
          sum.place = place;
        }
        break;
    }
    const bool adds = stage_.reduction == ExpressionReduction::kSum;
    sum.error = adds ? sum.error + error : std::max(sum.error, error);
  }

  bool GivesPosition() const {
    return stage_.reduction == ExpressionReduction::kArgMax ||
           stage_.reduction == ExpressionReduction::kArgMin;
  }

  void Store(std::int64_t count) {
    std::int64_t place = 0, stride = 0;
    for (std::size_t i = 0; i < stage_.axes.size(); ++i) {
      const bool moves = static_cast<int>(i) == lane_axis_;
      place = place * extents_[i] + (moves ? first_ : at_[i]);
      stride = moves ? 1 : stride * extents_[i];
    }
    for (std::int64_t lane = 0; lane < count; ++lane, place += stride) {
      if (GivesPosition()) {
        StorePosition(static_cast<std::size_t>(lane), place);
      } else {
        StoreOne(sums_[static_cast<std::size_t>(lane)], static_cast<std::size_t>(place));
      }
    }
  }

  void StorePosition(std::size_t lane, std::int64_t place) {
    const Accumulator& sum = sums_[lane];
    const auto at = static_cast<std::size_t>(place);
    out_.integers[at] = sum.place;
    out_.errors[at] = 0;
    // Doubles cannot distinguish very large integers; without errors, all are exact.
    if (!stage_.body().dtype.is_float() && sum.error == 0) return;
    Contenders& contenders = contenders_[lane];
    if (contenders.too_many()) {
      out_.errors[at] = static_cast<double>(sum.count) - 1;
      return;
    }
    const std::vector<Contender>& right = contenders.Right();
    const bool all = std::ssize(right) == sum.count;  // already included in the error
    for (const Contender& other : right) {
      if (other.place == sum.place) continue;
      const auto apart = static_cast<double>(std::abs(other.place - sum.place));
      out_.errors[at] = std::max(out_.errors[at], apart);
      if (!all) other_positions_.emplace_back(place, other.place);
    }
  }

  void StoreOne(Accumulator& sum, std::size_t place) {
    const DataType dtype = stage_.body().dtype;
    const bool floats = dtype.is_float();
    const bool extreme = stage_.reduction >= ExpressionReduction::kMax &&
                         stage_.reduction != ExpressionReduction::kProduct;
    if (!floats) {
      out_.integers[place] = Wrapped(dtype, sum.integer);
      out_.errors[place] = sum.error;
      return;
    }
    const bool min = stage_.reduction == ExpressionReduction::kMin;
    if (extreme) sum.error = std::max(sum.most - sum.number, sum.number - sum.least);
    const double unit = RoundingOf(dtype), count = static_cast<double>(sum.count);
    if (stage_.reduction == ExpressionReduction::kSum && sum.count > 1) {
      constexpr double kUnits = 32;  // sums with a larger error lose digits without need
      sum.error += std::max(kUnits, 2 * std::sqrt(count)) * unit * sum.magnitude;
    } else if (stage_.reduction == ExpressionReduction::kProduct) {
      sum.error = sum.magnitude - std::fabs(sum.number) + count * unit * sum.magnitude;
    }
    out_.numbers[place] = min ? -sum.number : sum.number;
    out_.errors[place] = std::isnan(sum.error) ? kForever : sum.error;
  }

  const ExpressionStage& stage_;
  const std::vector<TensorValues>& tensors_;
  TensorValues& out_;
  std::vector<std::int64_t> extents_, at_;  // by axis
  int lane_axis_ = -1;
  std::int64_t first_ = 0;  // position of the first lane
  std::vector<Lanes> lanes_;
  std::vector<Accumulator> sums_;
  std::vector<Contenders> contenders_;  // for requested positions
  std::vector<std::pair<std::int64_t, std::int64_t>> other_positions_;
  std::vector<const Lanes*> args_;
  std::vector<std::int64_t> places_;
};

TensorValues EvaluateStage(const ExpressionStage& stage, const std::vector<TensorValues>& tensors,
                           int threads) {
  TensorValues out;
  out.type = stage.type();
  const auto elements = static_cast<std::size_t>(out.type.elements());
  (out.type.dtype.is_float() ? out.numbers.resize(elements) : out.integers.resize(elements));
  out.errors.resize(elements);
  StageRun first(stage, tensors, out);
  const std::int64_t rows = first.rows();
  constexpr std::int64_t kParts = 64;
  const std::int64_t step = (rows + kParts - 1) / kParts;
  std::mutex mutex;
  RunInParallel(threads, (rows + step - 1) / step, [&](std::int64_t part) {
    StageRun run(stage, tensors, out);
    const std::int64_t end = std::min(rows, (part + 1) * step);
    for (std::int64_t row = part * step; row < end; ++row) run.Run(row);
    const std::lock_guard lock(mutex);
    std::ranges::copy(run.other_positions(), std::back_inserter(out.other_positions));
  });
  const bool exact = std::ranges::all_of(out.errors, [](double error) { return error == 0; });
  if (exact) out.errors.clear();
  return out;
}

TensorValues ValuesOf(const Tensor& tensor) {
  TensorValues values;
  values.type = tensor.type();
  const auto elements = static_cast<std::size_t>(tensor.elements());
  if (values.type.dtype.is_float()) {
    values.numbers.resize(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      values.numbers[i] = tensor.At(static_cast<std::int64_t>(i));
    }
    return values;
  }
  values.integers.resize(elements);
  VisitType(values.type.dtype, [&]<typename T>() {
    const auto from = tensor.As<T>();
    for (std::size_t i = 0; i < elements; ++i) {
      values.integers[i] = static_cast<std::int64_t>(from[i]);
      if (values.type.dtype.is_bool()) values.integers[i] = from[i] != 0 ? 1 : 0;
    }
  });
  return values;
}

BoundedTensor RoundedTo(const TensorValues& values) {
  BoundedTensor result{Tensor(values.type), Tensor()};
  const auto elements = static_cast<std::size_t>(values.type.elements());
  if (values.type.dtype.is_float()) {
    for (std::size_t i = 0; i < elements; ++i) {
      result.value.Set(static_cast<std::int64_t>(i), values.numbers[i]);
    }
  } else {
    VisitType(values.type.dtype, [&]<typename T>() {
      auto to = result.value.As<T>();
      for (std::size_t i = 0; i < elements; ++i) to[i] = static_cast<T>(values.integers[i]);
    });
  }
  if (values.errors.empty()) return result;
  result.error = Tensor(TensorType{values.type.shape, kFloat64});
  std::ranges::copy(values.errors, result.error.As<double>().begin());
  // Only these positions are correct, not those between them.
  result.other_positions = values.other_positions;
  std::ranges::sort(result.other_positions);
  for (const auto& [element, position] : result.other_positions) {
    result.error.As<double>()[static_cast<std::size_t>(element)] = 0;
  }
  // A number beyond the type may have been another number before.
  const bool single = values.type.dtype == kFloat32;
  constexpr double kLargest = 3.4e38;
  for (std::size_t i = 0; i < elements && single; ++i) {
    if (std::fabs(values.numbers[i]) > kLargest) result.error.As<double>()[i] = kForever;
  }
  return result;
}

}  // namespace
}  // namespace reference

Result<BoundedTensor> EvaluateExpression(const Expression& expression,
                                         std::span<const Tensor* const> inputs, int threads) {
  if (inputs.size() != expression.inputs.size()) {
    return InvalidArgument(
        fmt::format("expression: {} inputs, expected {}", inputs.size(), expression.inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& expected = expression.inputs[i].type;
    if (inputs[i]->type() == expected) continue;
    return InvalidArgument(fmt::format("expression: input {} is {}, expected {}", i,
                                       inputs[i]->type().ToString(), expected.ToString()));
  }
  if (expression.iterations() > kMaxIterations) {
    return Unsupported(fmt::format(
        "expression: {:.3g} values to compute, the reference evaluator does at most {:.3g}",
        expression.iterations(), kMaxIterations));
  }
  std::vector<reference::TensorValues> tensors;
  for (const Tensor* input : inputs) tensors.push_back(reference::ValuesOf(*input));
  for (const ExpressionStage& stage : expression.stages) {
    tensors.push_back(reference::EvaluateStage(stage, tensors, threads));
  }
  return reference::RoundedTo(tensors.back());
}

}  // namespace tilewright
