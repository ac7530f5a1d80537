// One walk in post-order. A value of the new graph is plain, or integers with a scale. An operator
// with a rule works on the integers; one without a rule reads cast(x, float32) * scale, and so do
// outputs of the graph. At the end constants are folded, which makes integers of the weights.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/graph/passes.h"
#include "src/graph/quantize/channel.h"
#include "src/graph/quantize/integral.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/rescale.h"
#include "src/graph/rewrite.h"

namespace tilewright::quantize {
namespace {

// What a float32 can be multiplied and divided by without becoming 0, infinite or imprecise.
constexpr double kLeastScale = 0x1.0p-126;
constexpr double kMostScale = 0x1.0p126;

const Mark kStop{MarkKind::kStopFusion, kInt8, ValueKind::kInput, {}};

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

  /// The value as floats: rewriter_.At, made from the integers when first asked for.
  Result<int> Plain(int id) {
    if (const int plain = rewriter_.At(id); plain >= 0) return plain;
    const Integers& value = *At(id);
    const std::string& name = Old(id).name;
    // Written even where the value is float already, as TVM does.
    Operator cast{OpKind::kCast, {}};
    cast.attributes.dtype = kFloat32;
    auto floats = rescaler_.emitter().Emit(name, std::move(cast), {value.id});
    TW_RETURN_IF_ERROR(floats);
    const int scale = rescaler_.Constant(name, kFloat32, value.scales, value.id, value.channel);
    auto product = rescaler_.emitter().Emit(name, Operator{OpKind::kMul, {}}, {*floats, scale});
    TW_RETURN_IF_ERROR(product);
    rewriter_.Map(id, *product);
    return *product;
  }

  Status AddOutput(int id) {
    if (rewriter_.At(id) >= 0 && !At(id)) return Status();
    auto plain = Plain(id);
    TW_RETURN_IF_ERROR(plain);
    rewriter_.result().Rename(*plain, Old(id).name);
    return Status();
  }

  /// The operator on plain values.
  Status Decline(int id) {
    std::vector<int> inputs;
    for (int input : Old(id).inputs) {
      auto plain = Plain(input);
      TW_RETURN_IF_ERROR(plain);
      inputs.push_back(*plain);
    }
    auto copy = rewriter_.CopyAs(id, Old(id).op, std::move(inputs));
    TW_RETURN_IF_ERROR(copy);
    rewriter_.Map(id, *copy);
    return Status();
  }

  static Status CheckScales(const Node& node, const std::vector<double>& scales) {
    for (double scale : scales) {
      if (scale >= kLeastScale && scale <= kMostScale) continue;
      return InvalidArgument(
          fmt::format("value {} would have the scale {:g}, expected 2^-126 to 2^126: see "
                      "global_scale, and how large weights and data are",
                      node.name, scale));
    }
    return Status();
  }

  /// The operator of the source on integers.
  Status Finish(int id, Operator op, std::vector<int> inputs, Integers value) {
    const Node& node = Old(id);
    TW_RETURN_IF_ERROR(CheckScales(node, value.scales));
    auto result = rescaler_.emitter().Emit(node.name, std::move(op), std::move(inputs));
    TW_RETURN_IF_ERROR(result);
    const bool stop = node.mark.kind == MarkKind::kStopFusion;
    rewriter_.result().Annotate(*result, node.source, stop ? node.mark : Mark());
    value.id = *result;
    Record(id, value);
    integers_[static_cast<std::size_t>(id)] = std::move(value);
    return Status();
  }

  void Record(int id, const Integers& value) {
    if (Old(id).mark.kind != MarkKind::kNone) return;
    const std::string& integers = rewriter_.result().node(value.id).name;
    values_->push_back({Old(id).name, integers, value.scales, value.channel});
    const std::vector<float> scales(value.scales.begin(), value.scales.end());
    rewriter_.result().quantization.insert_or_assign(
        integers, Quantization{scales, static_cast<std::int64_t>(value.channel), 0,
                               rewriter_.source().FloatName(id)});
  }

  Status AddOperator(int id) {
    const Node& node = Old(id);
    if (node.mark.kind == MarkKind::kQuantize) return AddMark(id);
    const bool any = std::ranges::any_of(node.inputs, [&](int in) { return At(in).has_value(); });
    if (!any) return Decline(id);
    switch (node.op.kind) {
      case OpKind::kConv2d:
      case OpKind::kDense:
        // Sums of products of data with scales of their own have none.
        return AllIntegers(node) && At(node.inputs[0])->scales.size() == 1 ? AddAnchor(id)
                                                                           : Decline(id);
      case OpKind::kMul:
        return AllIntegers(node) ? AddProduct(id) : Decline(id);
      case OpKind::kAdd:
      case OpKind::kConcat:
        return AllIntegers(node) ? AddUnified(id) : Decline(id);
      case OpKind::kClip:
        return At(node.inputs[0])->scales.size() == 1 ? AddClip(id) : AddChannelClip(id);
      case OpKind::kIdentity:
        if (node.mark.kind == MarkKind::kCastHint) return AddHint(id);
        [[fallthrough]];
      case OpKind::kRelu:
        return Finish(id, node.op, {At(node.inputs[0])->id}, *At(node.inputs[0]));
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kSlice:  // channels would not stay where they are
        if (At(node.inputs[0])->scales.size() != 1) return Decline(id);
        return Finish(id, node.op, {At(node.inputs[0])->id}, *At(node.inputs[0]));
      case OpKind::kMaxPool2d:
        return AddPool(id, config_.dtype_input);
      case OpKind::kAvgPool2d:
      case OpKind::kGlobalAvgPool2d:
        return AddPool(id, config_.dtype_activation);
      default:
        return Decline(id);
    }
  }

  Status AddMark(int id) {
    const Node& node = Old(id);
    auto dimension = ScaleDimension(rewriter_.source(), users_, id);
    TW_RETURN_IF_ERROR(dimension);
    TW_RETURN_IF_ERROR(CheckScales(node, node.mark.scales));
    if (At(node.inputs[0])) return RescaleMark(id);
    auto value = rescaler_.Round(node, rewriter_.At(node.inputs[0]), *dimension);
    TW_RETURN_IF_ERROR(value);
    integers_[static_cast<std::size_t>(id)] = *std::move(value);
    return Status();
  }

  Status RescaleMark(int id) {
    const Node& node = Old(id);
    const Integers before = *At(node.inputs[0]);
    if (node.mark.scales.size() != 1) {
      return InvalidArgument("value " + node.name + ": integers with more than one new scale");
    }
    auto value = rescaler_.Rescale(node.name, before, node.mark.scales);
    TW_RETURN_IF_ERROR(value);
    const double most = config_.Valid(node.mark.value) - 1;
    auto clipped = rescaler_.Clip(node.name, value->id, -most, most);
    TW_RETURN_IF_ERROR(clipped);
    auto cast = rescaler_.Cast(node.name, *clipped, rewriter_.result().node(before.id).type.dtype);
    TW_RETURN_IF_ERROR(cast);
    value->id = *cast;
    integers_[static_cast<std::size_t>(id)] = *std::move(value);
    return Status();
  }

  Status AddAnchor(int id) {
    const Node& node = Old(id);
    const Integers &data = *At(node.inputs[0]), &weight = *At(node.inputs[1]);
    auto left = rescaler_.Cast(node.name, data.id, config_.dtype_input);
    TW_RETURN_IF_ERROR(left);
    auto right = rescaler_.Cast(node.name, weight.id, config_.dtype_weight);
    TW_RETURN_IF_ERROR(right);
    Integers value{-1, config_.dtype_activation, weight.scales, ChannelDimension(node)};
    for (double& scale : value.scales) scale *= data.scales[0];
    Operator op = node.op;
    op.attributes.dtype = config_.dtype_activation;
    return Finish(id, std::move(op), {*left, *right}, std::move(value));
  }

  Status AddProduct(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    const Integers& factor = *At(node.inputs[1]);
    if (factor.scales.size() != 1) return Decline(id);
    std::vector<int> sides;
    for (int input : node.inputs) {
      auto side = rescaler_.Cast(node.name, At(input)->id, config_.dtype_activation);
      TW_RETURN_IF_ERROR(side);
      sides.push_back(*side);
    }
    for (double& scale : value.scales) scale *= factor.scales[0];
    value.dtype = config_.dtype_activation;
    return Finish(id, node.op, std::move(sides), std::move(value));
  }

  /// The type in which a sum or a concatenation is formed. Two sides of one scale stay narrow; TVM
  /// does that with other scales too, and what is multiplied up wraps around.
  DataType UnifiedType(const Node& node) const {
    const bool narrow = node.op.kind == OpKind::kConcat && node.inputs.size() == 2 &&
                        At(node.inputs[1])->dtype == config_.dtype_input &&
                        At(node.inputs[0])->scales == At(node.inputs[1])->scales;
    return narrow ? config_.dtype_input : config_.dtype_activation;
  }

  /// Two sides: the smaller scale. More: one with which the configured range, or a wider one that
  /// a side was calibrated to, fits in 31 bits.
  std::vector<double> UnifiedScales(const Node& node) const {
    if (node.inputs.size() != 2) {
      double range = config_.global_scale;
      for (int input : node.inputs) {
        for (double scale : At(input)->scales) {
          range = std::max(range, scale * config_.Valid(ValueKind::kInput));
        }
      }
      return {range / config_.Valid(ValueKind::kActivation)};
    }
    std::vector<double> scales = At(node.inputs[0])->scales;
    const std::vector<double>& right = At(node.inputs[1])->scales;
    if (right.size() > scales.size()) scales.assign(right.size(), scales[0]);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      scales[i] = std::min(scales[i], right[right.size() == 1 ? 0 : i]);
    }
    return scales;
  }

  Status AddUnified(int id) {
    const Node& node = Old(id);
    const DataType dtype = UnifiedType(node);
    std::vector<double> scales = UnifiedScales(node);
    if (scales.size() != 1 && node.op.kind == OpKind::kConcat) return Decline(id);
    std::size_t channel = 0;
    std::vector<int> sides;
    for (int input : node.inputs) {
      if (At(input)->scales.size() != 1) channel = SumChannel(node, input);
    }
    for (int input : node.inputs) {
      auto side = UnifySide(node, input, dtype, scales);
      TW_RETURN_IF_ERROR(side);
      sides.push_back(*side);
    }
    return Finish(id, node.op, std::move(sides), {-1, dtype, std::move(scales), channel});
  }

  /// Where a side's channels are in the sum: broadcasting aligns the last dimensions.
  std::size_t SumChannel(const Node& sum, int side) const {
    return At(side)->channel + sum.type.shape.size() - Old(side).type.shape.size();
  }

  Result<int> UnifySide(const Node& node, int input, DataType dtype,
                        const std::vector<double>& scales) {
    Integers value = *At(input);
    auto& emitter = rescaler_.emitter();
    const Mark& mark = Old(input).mark;
    if (value.dtype == dtype && mark.kind == MarkKind::kQuantize &&
        mark.value == ValueKind::kInput) {
      auto narrow = rescaler_.Cast(node.name, value.id, config_.dtype_input);
      TW_RETURN_IF_ERROR(narrow);
      auto stopped = emitter.EmitMark(node.name, kStop, *narrow);
      TW_RETURN_IF_ERROR(stopped);
      value.id = *stopped;
    }
    auto cast = rescaler_.Cast(node.name, value.id, dtype);
    TW_RETURN_IF_ERROR(cast);
    const DataType before = value.dtype;
    value.id = *cast;
    if (value.scales.size() != scales.size()) value.scales.assign(scales.size(), value.scales[0]);
    auto scaled = rescaler_.Rescale(node.name, value, scales);
    TW_RETURN_IF_ERROR(scaled);
    auto back = rescaler_.Cast(node.name, scaled->id, dtype);
    TW_RETURN_IF_ERROR(back);
    if (before != kFloat32) return *back;
    return emitter.EmitMark(node.name, kStop, *back);
  }

  /// Integers between two real bounds are between the whole numbers inside of them.
  Status AddClip(int id) {
    const Node& node = Old(id);
    const Integers& value = *At(node.inputs[0]);
    Operator op = node.op;
    op.attributes.a_min = std::trunc(op.attributes.a_min / value.scales[0]);
    op.attributes.a_max = std::trunc(op.attributes.a_max / value.scales[0]);
    return Finish(id, std::move(op), {value.id}, value);
  }

  Status AddChannelClip(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    std::vector<double> least, most;
    for (double scale : value.scales) {
      least.push_back(std::trunc(node.op.attributes.a_min / scale));
      most.push_back(std::trunc(node.op.attributes.a_max / scale));
    }
    const auto bound = [&](const std::vector<double>& values) {
      return rescaler_.Constant(node.name, value.dtype, values, value.id, value.channel);
    };
    auto lower =
        rescaler_.emitter().Emit(node.name, Operator{OpKind::kMax, {}}, {value.id, bound(least)});
    TW_RETURN_IF_ERROR(lower);
    return Finish(id, Operator{OpKind::kMin, {}}, {*lower, bound(most)}, std::move(value));
  }

  Status AddPool(int id, DataType dtype) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    auto cast = CastTo(node.name, value, dtype);
    TW_RETURN_IF_ERROR(cast);
    value.dtype = dtype;
    return Finish(id, node.op, {*cast}, std::move(value));
  }

  Status AddHint(int id) {
    const Node& node = Old(id);
    Integers value = *At(node.inputs[0]);
    auto cast = CastTo(node.name, value, node.mark.dtype);
    TW_RETURN_IF_ERROR(cast);
    value.id = *cast;
    value.dtype = node.mark.dtype;
    integers_[static_cast<std::size_t>(id)] = std::move(value);
    return Status();
  }

  /// Written to a narrow type even from that type, as TVM does.
  Result<int> CastTo(const std::string& name, const Integers& value, DataType dtype) {
    if (value.dtype == dtype && dtype == config_.dtype_activation) return value.id;
    Operator op{OpKind::kCast, {}};
    op.attributes.dtype = dtype;
    return rescaler_.emitter().Emit(name, std::move(op), {value.id});
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
  auto realized = Realizer(std::move(graph), config, values).Run();
  TW_RETURN_IF_ERROR(realized);
  auto folded = FoldConstants(*std::move(realized));
  if (folded.ok() && config.partition_conversions == PartitionConversions::kFullyIntegral) {
    TW_RETURN_IF_ERROR(CheckIntegral(*folded));
  }
  return folded;
}

}  // namespace tilewright::quantize
