// One walk in post-order. A value of the new graph is plain, or integers with a scale. An operator
// with a rule works on the integers. An operator without one, and an output of the graph, reads
// cast(x, float32) * scale. At the end, constant folding converts the weights to integers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/output_channels.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/integral.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/rescale.h"
#include "src/graph/quantize/value_flow.h"

namespace tilewright::quantize {
namespace {

// A float32 can be multiplied and divided by this without becoming 0, infinite or imprecise.
constexpr double kMinScale = 0x1.0p-126;
constexpr double kMaxScale = 0x1.0p126;

const Annotation kStop{AnnotationKind::kStopFusion, kInt8, ValueKind::kInput, {}};

class Realizer {
 public:
  Realizer(Graph graph, const Config& config, std::vector<IntegerValue>* values)
      : config_(config),
        values_(values),
        rewriter_(std::move(graph)),
        rescaler_(rewriter_.result(), config),
        users_(rewriter_.source().Users()),
        integers_(users_.size()) {}

  Result<Graph> Run() {
    for (int id : PostOrder(rewriter_.source())) {
      const bool op = rewriter_.source().node(id).kind == NodeKind::kOperator;
      TW_RETURN_IF_ERROR(op ? AddOperator(id) : rewriter_.Copy(id));
    }
    for (int id : rewriter_.source().outputs()) TW_RETURN_IF_ERROR(AddOutput(id));
    return rewriter_.Finish();
  }

 private:
  const Node& Old(int id) const { return rewriter_.source().node(id); }
  const std::optional<Integers>& At(int old_id) const {
    return integers_[static_cast<std::size_t>(old_id)];
  }
  bool AllIntegers(const Node& node) const {
    return std::ranges::all_of(node.inputs, [&](int input) { return At(input).has_value(); });
  }

  /// Returns the value as floats: rewriter_.At, computed from the integers at the first call.
  Result<int> Plain(int id) {
    if (const int plain = rewriter_.At(id); plain >= 0) return plain;
    const Integers& value = *At(id);
    const std::string& name = Old(id).name;
    // TVM adds this cast even if the value is float.
    Operator cast{OpKind::kCast, {}};
    cast.attributes.dtype = kFloat32;
    TW_ASSIGN_OR_RETURN(auto floats, rescaler_.emitter().Emit(name, std::move(cast), {value.id}));
    const int scale = rescaler_.Constant(name, kFloat32, value.scales, value.trailing_dimensions);
    TW_ASSIGN_OR_RETURN(
        auto product, rescaler_.emitter().Emit(name, Operator{OpKind::kMul, {}}, {floats, scale}));
    TW_RETURN_IF_ERROR(CheckShape(id, product));
    rewriter_.Map(id, product);
    return product;
  }

  Status AddOutput(int id) {
    if (rewriter_.At(id) >= 0 && !At(id)) return Status();
    TW_ASSIGN_OR_RETURN(auto plain, Plain(id));
    rewriter_.result().Rename(plain, Old(id).name);
    return Status();
  }

  /// Adds the operator on plain values.
  Status Decline(int id) {
    std::vector<int> inputs;
    for (int input : Old(id).inputs) {
      TW_ASSIGN_OR_RETURN(auto plain, Plain(input));
      inputs.push_back(plain);
    }
    TW_ASSIGN_OR_RETURN(auto copy, rewriter_.CopyAs(id, Old(id).op, std::move(inputs)));
    rewriter_.Map(id, copy);
    return Status();
  }

  /// Errors: kInternal if the shape of the new value differs from that of the source value.
  Status CheckShape(int id, int made) {
    const auto &shape = rewriter_.result().node(made).type.shape, &wanted = Old(id).type.shape;
    if (shape == wanted) return Status();
    return Internal(fmt::format("value {}: integers of shape [{}], expected [{}]", Old(id).name,
                                fmt::join(shape, ","), fmt::join(wanted, ",")));
  }

  Status Keep(int id, Integers value) {
    TW_RETURN_IF_ERROR(CheckShape(id, value.id));
    integers_[static_cast<std::size_t>(id)] = std::move(value);
    return Status();
  }

  static Status CheckScales(const Node& node, const std::vector<double>& scales) {
    for (double scale : scales) {
      if (scale >= kMinScale && scale <= kMaxScale) continue;
      return InvalidArgument(
          fmt::format("value {} would have the scale {:g}, expected 2^-126 to 2^126: see "
                      "global_scale, and how large weights and data are",
                      node.name, scale));
    }
    return Status();
  }

  /// Adds the operator of the source on integers.
  Status Finish(int id, Operator op, std::vector<int> inputs, Integers value) {
    const Node& node = Old(id);
    TW_RETURN_IF_ERROR(CheckScales(node, value.scales));
    TW_ASSIGN_OR_RETURN(auto result,
                        rescaler_.emitter().Emit(node.name, std::move(op), std::move(inputs)));
    const bool stop = node.annotation.kind == AnnotationKind::kStopFusion;
    rewriter_.result().Annotate(result, node.source, stop ? node.annotation : Annotation());
    value.id = result;
    TW_RETURN_IF_ERROR(Keep(id, value));
    Record(id, value);
    return Status();
  }

  void Record(int id, const Integers& value) {
    if (Old(id).annotation.kind != AnnotationKind::kNone) return;
    const std::string& integers = rewriter_.result().node(value.id).name;
    values_->push_back({Old(id).name, integers, value.scales});
    const std::vector<float> scales(value.scales.begin(), value.scales.end());
    const std::int64_t channel =
        std::ssize(Old(id).type.shape) - 1 - static_cast<std::int64_t>(value.trailing_dimensions);
    rewriter_.result().quantization.insert_or_assign(
        integers, QuantizationParams{scales, scales.size() == 1 ? 0 : channel, 0,
                                     rewriter_.source().FloatName(id)});
  }

  Status AddOperator(int id) {
    const Node& node = Old(id);
    if (node.annotation.kind == AnnotationKind::kQuantize) return AddAnnotation(id);
    const bool any = std::ranges::any_of(node.inputs, [&](int in) { return At(in).has_value(); });
    if (!any) return Decline(id);
    switch (node.op.kind) {
      case OpKind::kConv2d:
      case OpKind::kConv2dTranspose:
      case OpKind::kDense:
        // Sums of products cannot have per-channel scales of the data.
        return AllIntegers(node) && At(node.inputs[0])->scales.size() == 1 ? AddAnchor(id)
                                                                           : Decline(id);
      case OpKind::kMul:
        return AllIntegers(node) && !MayOverflow(node) ? AddProduct(id) : Decline(id);
      case OpKind::kAdd:
      case OpKind::kConcat:
        return AllIntegers(node) ? AddUnified(id) : Decline(id);
      case OpKind::kClip:
        return At(node.inputs[0])->scales.size() == 1 ? AddClip(id) : AddChannelClip(id);
      case OpKind::kIdentity:
        if (node.annotation.kind == AnnotationKind::kCastHint) return AddHint(id);
        [[fallthrough]];
      case OpKind::kRelu:
        return Finish(id, node.op, {At(node.inputs[0])->id}, *At(node.inputs[0]));
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kSlice:  // channels would change position
        if (At(node.inputs[0])->scales.size() != 1) return Decline(id);
        return Finish(id, node.op, {At(node.inputs[0])->id}, *At(node.inputs[0]));
      case OpKind::kGather:
      case OpKind::kPad:
      case OpKind::kBroadcastTo:
      case OpKind::kLayoutTransform:
      case OpKind::kGlobalMaxPool2d:
        return AddMove(id);
      case OpKind::kMaxPool2d:
        return AddMaxPool(id);
      case OpKind::kAvgPool2d:
      case OpKind::kGlobalAvgPool2d:
        return AddAveragePool(id);
      default:
        return Decline(id);
    }
  }

  Status AddAnnotation(int id) {
    const Node& node = Old(id);
    TW_ASSIGN_OR_RETURN(auto trailing_dimensions,
                        TrailingDimensionsOfScales(rewriter_.source(), users_, id));
    TW_RETURN_IF_ERROR(CheckScales(node, node.annotation.scales));
    if (At(node.inputs[0])) return RescaleAnnotation(id);
    TW_ASSIGN_OR_RETURN(auto value,
                        rescaler_.Round(node, rewriter_.At(node.inputs[0]), trailing_dimensions));
    return KeepAnnotated(id, std::move(value));
  }

  /// Adds an annotated value. By the rules `accurate`, a value is stored at its annotation: inputs
  /// are narrow from there on.
  Status KeepAnnotated(int id, Integers value) {
    const Annotation& annotation = Old(id).annotation;
    if (config_.rules >= kAccurateRules && annotation.value == ValueKind::kInput) {
      const DataType dtype = annotation.dtype == kUInt8 ? kUInt8 : config_.dtype_input;
      TW_ASSIGN_OR_RETURN(value.id, rescaler_.Cast(Old(id).name, value.id, dtype));
      value.dtype = dtype;
    }
    return Keep(id, std::move(value));
  }

  Status RescaleAnnotation(int id) {
    const Node& node = Old(id);
    if (node.annotation.scales.size() != 1) {
      return InvalidArgument("value " + node.name + ": integers with more than one new scale");
    }
    const auto [least, most] = config_.Bounds(node.annotation);
    Integers wide = *At(node.inputs[0]);
    if (config_.rules >= kAccurateRules && wide.dtype != kFloat32) {
      // The new type may differ from the old one.
      TW_ASSIGN_OR_RETURN(wide.id, rescaler_.Cast(node.name, wide.id, config_.dtype_activation));
      wide.dtype = config_.dtype_activation;
    }
    TW_ASSIGN_OR_RETURN(
        auto value, rescaler_.RescaleWithin(node.name, wide, node.annotation.scales, least, most));
    return KeepAnnotated(id, std::move(value));
  }

  Status AddAnchor(int id) {
    const Node& node = Old(id);
    const Integers &data = *At(node.inputs[0]), &weight = *At(node.inputs[1]);
    TW_RETURN_IF_ERROR(CheckSums(node));
    const DataType dtype = data.dtype == kUInt8 ? kUInt8 : config_.dtype_input;
    TW_ASSIGN_OR_RETURN(auto within, rescaler_.Saturate(node.name, data, LargestOf(dtype)));
    TW_ASSIGN_OR_RETURN(auto left, rescaler_.Cast(node.name, within.id, dtype));
    TW_ASSIGN_OR_RETURN(auto right, rescaler_.Cast(node.name, weight.id, config_.dtype_weight));
    const double most = ProductsOf(node) * within.most * weight.most;
    Integers value{-1, config_.dtype_activation, weight.scales, 0, std::min(most, kLargestInt32)};
    if (const auto channels = OutputChannelsOf(rewriter_.source(), node)) {
      value.trailing_dimensions = node.type.shape.size() - 1 - channels->result;
    }
    for (double& scale : value.scales) scale *= data.scales[0];
    Operator op = node.op;
    op.attributes.dtype = config_.dtype_activation;
    return Finish(id, std::move(op), {left, right}, std::move(value));
  }

  /// Errors: kUnsupported if products of more than 8 bits can sum to more than the range of the
  /// sums' type. Sums of 8-bit products can exceed it only with more than 133,000 products, all of
  /// the largest magnitude.
  Status CheckSums(const Node& anchor) const {
    if (config_.dtype_input == kInt8 && config_.dtype_weight == kInt8) return Status();
    const double count = ProductsOf(anchor);
    const double largest =
        (config_.Valid(ValueKind::kInput) - 1) * (config_.Valid(ValueKind::kWeight) - 1);
    if (count * largest < config_.Valid(ValueKind::kActivation)) return Status();
    const int bits = config_.nbit_activation + 1 - static_cast<int>(std::ceil(std::log2(count)));
    return Unsupported(
        fmt::format("value {}: a sum of {:.0f} products of {} and {} bits can leave {}: expected "
                    "nbit_input and nbit_weight of at most {} together",
                    anchor.name, count, config_.nbit_input, config_.nbit_weight,
                    DataTypeName(config_.dtype_activation), bits));
  }

  /// Returns the number of products per element of an anchor's result.
  double ProductsOf(const Node& anchor) const {
    double outputs = 1;
    const std::vector<bool> channel = ChannelDimensions(anchor);
    for (std::size_t i = 0; i < channel.size(); ++i) {
      if (channel[i]) outputs *= static_cast<double>(anchor.type.shape[i]);
    }
    return static_cast<double>(Old(anchor.inputs[1]).type.elements()) / outputs;
  }

  /// Returns true if a product can exceed int32. False by TVM's rules: their products wrap around.
  bool MayOverflow(const Node& product) const {
    return config_.rules >= kAccurateRules &&
           At(product.inputs[0])->most * At(product.inputs[1])->most > kLargestInt32;
  }

  Status AddProduct(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    const Integers& factor = *At(node.inputs[1]);
    if (factor.scales.size() != 1) return Decline(id);
    std::vector<int> sides;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto side,
                          rescaler_.Cast(node.name, At(input)->id, config_.dtype_activation));
      sides.push_back(side);
    }
    for (double& scale : value.scales) scale *= factor.scales[0];
    value.dtype = config_.dtype_activation;
    value.most = std::min(value.most * factor.most, kLargestInt32);
    return Finish(id, node.op, std::move(sides), std::move(value));
  }

  /// Returns the type of a sum or concatenation. Two narrow sides with the same scale stay narrow.
  /// TVM keeps them narrow with other scales too, and values that are scaled up wrap around.
  DataType UnifiedType(const Node& node) const {
    const Integers &left = *At(node.inputs[0]), &right = *At(node.inputs[1]);
    if (config_.rules >= kAccurateRules && node.op.kind == OpKind::kConcat) {
      const bool same = left.dtype != kFloat32 && std::ranges::all_of(node.inputs, [&](int input) {
                          return At(input)->dtype == left.dtype && At(input)->scales == left.scales;
                        });
      if (same) return left.dtype;
    }
    const bool narrow = node.op.kind == OpKind::kConcat && node.inputs.size() == 2 &&
                        right.dtype == config_.dtype_input && left.scales == right.scales &&
                        left.most <= LargestOf(config_.dtype_input);
    return narrow ? config_.dtype_input : config_.dtype_activation;
  }

  /// Returns the scales of the result. Two sides: the smaller scale. More: a scale with which the
  /// configured range fits in 31 bits.
  std::vector<double> UnifiedScales(const Node& node, DataType dtype) const {
    if (dtype != config_.dtype_activation) return At(node.inputs[0])->scales;
    if (node.inputs.size() != 2) {
      return {config_.global_scale / config_.Valid(ValueKind::kActivation)};
    }
    std::vector<double> scales = At(node.inputs[0])->scales;
    const std::vector<double>& right = At(node.inputs[1])->scales;
    if (right.size() > scales.size()) scales.assign(right.size(), scales[0]);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = std::min(scales[i], right[right.size() == 1 ? 0 : i]);
    }
    return scales;
  }

  /// Returns the step of a side that becomes the `i`-th scale: the largest step if all of them
  /// become one scale.
  static double StepOf(const Integers& side, const Integers& unified, std::size_t i) {
    if (unified.scales.size() == 1) return std::ranges::max(side.scales);
    return side.scales[side.scales.size() == 1 ? 0 : i];
  }

  /// Doubles a scale until no side, and no sum of the sides, exceeds int32. A side with much
  /// smaller steps than another would be lost in float32 as well. TVM's sums wrap around.
  void FitSides(const Node& node, Integers& unified) const {
    const bool adds = node.op.kind == OpKind::kAdd;
    // Rounding error of the sides.
    const auto slack = static_cast<double>(node.inputs.size());
    unified.most = 0;
    for (std::size_t i = 0; i < unified.scales.size(); ++i) {
      double reach = 0;
      for (int input : node.inputs) {
        const Integers& side = *At(input);
        const double most = side.most * StepOf(side, unified, i);
        reach = adds ? reach + most : std::max(reach, most);
      }
      double& scale = unified.scales[i];
      while (reach / scale + slack > kLargestInt32) scale *= 2;
      unified.most = std::max(unified.most, std::ceil(reach / scale));
    }
    unified.most += slack;
  }

  Status AddUnified(int id) {
    const Node& node = Old(id);
    const DataType dtype = UnifiedType(node);
    std::optional<std::size_t> trailing_dimensions;
    for (int input : node.inputs) {
      const Integers& side = *At(input);
      if (side.scales.size() == 1) continue;
      if (trailing_dimensions.value_or(side.trailing_dimensions) != side.trailing_dimensions)
        return Decline(id);  // channels do not match
      trailing_dimensions = side.trailing_dimensions;
    }
    Integers sum{-1, dtype, UnifiedScales(node, dtype), trailing_dimensions.value_or(0)};
    if (sum.scales.size() != 1 && node.op.kind == OpKind::kConcat) return Decline(id);
    TW_RETURN_IF_ERROR(CheckScales(node, sum.scales));
    if (dtype == config_.dtype_activation) {
      FitSides(node, sum);
    } else {
      sum.most = LargestOf(dtype);
    }
    std::vector<int> sides;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto side, UnifySide(node, input, sum));
      sides.push_back(side);
    }
    return Finish(id, node.op, std::move(sides), std::move(sum));
  }

  /// Converts a side to the type and scales of the result.
  Result<int> UnifySide(const Node& node, int input, const Integers& sum) {
    Integers value = *At(input);
    auto& emitter = rescaler_.emitter();
    const Annotation& annotation = Old(input).annotation;
    if (value.dtype == sum.dtype && annotation.kind == AnnotationKind::kQuantize &&
        annotation.value == ValueKind::kInput) {
      TW_ASSIGN_OR_RETURN(auto narrow, rescaler_.Cast(node.name, value.id, config_.dtype_input));
      TW_ASSIGN_OR_RETURN(value.id, emitter.EmitAnnotation(node.name, kStop, narrow));
    }
    TW_ASSIGN_OR_RETURN(auto cast, rescaler_.Cast(node.name, value.id, sum.dtype));
    const DataType before = value.dtype;
    value.id = cast;
    if (value.scales.size() == 1 && sum.scales.size() != 1) {
      value.scales.assign(sum.scales.size(), value.scales[0]);
      value.trailing_dimensions = sum.trailing_dimensions;
    }
    TW_ASSIGN_OR_RETURN(auto scaled, rescaler_.Rescale(node.name, value, sum.scales));
    TW_ASSIGN_OR_RETURN(auto back, rescaler_.Cast(node.name, scaled.id, sum.dtype));
    if (before != kFloat32) return back;
    return emitter.EmitAnnotation(node.name, kStop, back);
  }

  /// Clips integers between the integers inside the two real bounds.
  Status AddClip(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    const auto [least, greatest] = Bounds(node.op, value.scales[0], value.dtype);
    Operator op = node.op;
    op.attributes.a_min = least;
    op.attributes.a_max = greatest;
    value.most = MaxMagnitudeBetween(least, greatest, value.most);
    return Finish(id, std::move(op), {value.id}, std::move(value));
  }

  /// Returns the largest magnitude up to `most` that remains between two bounds; larger if a bound
  /// is.
  static double MaxMagnitudeBetween(double least, double greatest, double most) {
    return std::max(std::abs(std::clamp(-most, least, greatest)),
                    std::abs(std::clamp(most, least, greatest)));
  }

  /// Returns the integers inside the real bounds, or the nearest integer if there is none. Within
  /// the range of the type.
  static std::pair<double, double> Bounds(const Operator& clip, double scale, DataType dtype) {
    const double largest = LargestOf(dtype), smallest = dtype == kUInt8 ? 0 : -largest;
    const auto whole = [&](double bound) { return std::clamp(bound, smallest, largest); };
    const double least = whole(std::ceil(clip.attributes.a_min / scale));
    const double most = whole(std::floor(clip.attributes.a_max / scale));
    if (least <= most) return {least, most};
    const double nearest = whole(std::round(clip.attributes.a_max / scale));
    return {nearest, nearest};
  }

  Status AddChannelClip(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    std::vector<double> least, greatest;
    double most = 0;
    for (double scale : value.scales) {
      const auto [lower, upper] = Bounds(node.op, scale, value.dtype);
      least.push_back(lower);
      greatest.push_back(upper);
      most = std::max(most, MaxMagnitudeBetween(lower, upper, value.most));
    }
    value.most = most;
    const auto bound = [&](const std::vector<double>& values) {
      return rescaler_.Constant(node.name, value.dtype, values, value.trailing_dimensions);
    };
    TW_ASSIGN_OR_RETURN(auto lower, rescaler_.emitter().Emit(node.name, Operator{OpKind::kMax, {}},
                                                             {value.id, bound(least)}));
    return Finish(id, Operator{OpKind::kMin, {}}, {lower, bound(greatest)}, std::move(value));
  }

  /// Adds a data movement operator, for which TVM has no rule.
  Status AddMove(int id) {
    const Node& node = Old(id);
    const std::optional<Integers>& value = At(node.inputs[0]);
    const bool moves =
        IsFirstInputDataMovement(node.op) || node.op.kind == OpKind::kGlobalMaxPool2d;
    if (config_.rules < kAccurateRules || !moves || !value || value->scales.size() != 1) {
      return Decline(id);
    }
    std::vector<int> inputs = {value->id};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      TW_ASSIGN_OR_RETURN(auto other, Plain(node.inputs[i]));
      inputs.push_back(other);
    }
    return Finish(id, node.op, std::move(inputs), *value);
  }

  Status AddMaxPool(int id) {
    const Node& node = Old(id);
    if (config_.rules >= kAccurateRules) {
      return Finish(id, node.op, {At(node.inputs[0])->id}, *At(node.inputs[0]));
    }
    TW_ASSIGN_OR_RETURN(auto value, CastTo(node.name, *At(node.inputs[0]), config_.dtype_input));
    return Finish(id, node.op, {value.id}, std::move(value));
  }

  /// Adds an average pool in steps large enough for the sums of a window to fit. A concatenation's
  /// integers use the whole range of their type.
  Status AddAveragePool(int id) {
    const Node& node = Old(id);
    auto value = CastTo(node.name, *At(node.inputs[0]), config_.dtype_activation);
    TW_RETURN_IF_ERROR(value);
    const auto window = static_cast<double>(WindowOf(node));
    if (config_.rules >= kAverageKeepsSum) {
      value = MultiplyForSum(node.name, *std::move(value), window);
      TW_RETURN_IF_ERROR(value);
    }
    const double most = value->most * window;
    if (most > kLargestInt32) {
      // Twice the minimum, because rounding may add one.
      const double factor = std::exp2(std::ceil(std::log2(most / kLargestInt32)) + 1);
      std::vector<double> scales = value->scales;
      for (double& scale : scales) scale *= factor;
      value = rescaler_.Rescale(node.name, *std::move(value), scales);
      TW_RETURN_IF_ERROR(value);
      TW_ASSIGN_OR_RETURN(value->id,
                          rescaler_.Cast(node.name, value->id, config_.dtype_activation));
    }
    return Finish(id, node.op, {value->id}, *std::move(value));
  }

  /// Divides the step by the number of elements of a window. The pool divides their sum by that
  /// number, so its result is the sum itself, without loss. Divides by less if the sums would
  /// exceed int32 (windows above 64 x 64).
  Result<Integers> MultiplyForSum(const std::string& name, Integers value, double window) {
    const double factor = std::min(window, std::floor(kLargestInt32 / (value.most * window)));
    if (factor < 2) return value;
    TW_ASSIGN_OR_RETURN(
        value.id,
        rescaler_.emitter().Emit(
            name, Operator{OpKind::kMul, {}},
            {value.id, rescaler_.emitter().EmitScalar(name, config_.dtype_activation, factor)}));
    value.most *= factor;
    for (double& scale : value.scales) scale /= factor;
    return value;
  }

  /// Returns the number of elements that an average is computed from.
  std::int64_t WindowOf(const Node& pool) const {
    const auto& size = pool.op.attributes.pool_size;
    if (pool.op.kind == OpKind::kAvgPool2d) return size[0] * size[1];
    return Old(pool.inputs[0]).type.elements() / pool.type.elements();
  }

  Status AddHint(int id) {
    const Node& node = Old(id);
    TW_ASSIGN_OR_RETURN(auto value, CastTo(node.name, *At(node.inputs[0]), node.annotation.dtype));
    return Keep(id, std::move(value));
  }

  /// Returns the largest integer of a type; for floats, that of int32.
  static double LargestOf(DataType dtype) {
    if (dtype == kUInt8) return 255;
    return dtype.is_integer() ? std::ldexp(1.0, dtype.bits - 1) - 1 : kLargestFloatInt32;
  }

  /// Adds a cast, also to the same narrow type, as TVM does. Saturates values outside the range of
  /// the type (a sum of inputs, by the rules before 2023-08); TVM's wrap around.
  Result<Integers> CastTo(const std::string& name, const Integers& value, DataType dtype) {
    if (value.dtype == dtype && dtype == config_.dtype_activation) return value;
    TW_ASSIGN_OR_RETURN(auto result, rescaler_.Saturate(name, value, LargestOf(dtype)));
    Operator op{OpKind::kCast, {}};
    op.attributes.dtype = dtype;
    TW_ASSIGN_OR_RETURN(result.id, rescaler_.emitter().Emit(name, std::move(op), {result.id}));
    result.dtype = dtype;
    return result;
  }

  const Config& config_;
  std::vector<IntegerValue>* values_;
  Rewriter rewriter_;
  Rescaler rescaler_;
  std::vector<std::vector<int>> users_;            // of the source's values
  std::vector<std::optional<Integers>> integers_;  // of the source's values
};

}  // namespace

Result<Graph> Realize(Graph graph, const Config& config, std::vector<IntegerValue>* values) {
  TW_ASSIGN_OR_RETURN(auto realized, Realizer(std::move(graph), config, values).Run());
  auto folded = FoldConstants(std::move(realized));
  if (folded.ok() && config.partition_conversions == PartitionConversions::kFullyIntegral) {
    TW_RETURN_IF_ERROR(CheckIntegral(*folded));
  }
  return folded;
}

}  // namespace tilewright::quantize
