// One walk in topological order. Each value exists plain, packed, or both; the form that an
// operator asks for is made when it is not there, once. An operator works on packed values if it
// can and one of its inputs is packed; convolutions begin that.

#include "src/graph/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/base/math.h"
#include "src/graph/operand.h"
#include "src/graph/rewrite.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

Operator Reshape(Shape shape) {
  Operator op{OpKind::kReshape, {}};
  op.attributes.new_shape = std::move(shape);
  return op;
}

Operator BroadcastTo(Shape shape) {
  Operator op{OpKind::kBroadcastTo, {}};
  op.attributes.new_shape = std::move(shape);
  return op;
}

Operator Transpose(Shape axes) {
  Operator op{OpKind::kTranspose, {}};
  op.attributes.axes = std::move(axes);
  return op;
}

class Packer {
 public:
  Packer(Graph graph, const vta::Design& design, PackReport* report)
      : batch_(design.batch()),
        block_(design.block()),
        report_(report),
        rewriter_(std::move(graph)),
        packed_(rewriter_.source().nodes().size(), -1),
        last_(rewriter_.source().size()) {}

  Status SetRegion(const PackOptions& options) {
    if (!options.start.empty()) {
      start_ = Find(options.start, 0);
      if (start_ < 0) return NotFound("start: no value or operator " + options.start);
    }
    if (!options.stop.empty()) {
      last_ = Find(options.stop, start_ + 1);
      if (last_ < 0) return NotFound("stop: no value or operator " + options.stop);
    }
    return Status();
  }

  Result<Graph> Run() {
    for (int id = 0; id < Source().size(); ++id) {
      TW_RETURN_IF_ERROR(Add(id));
      if (id == start_ && CanEnter(id)) TW_RETURN_IF_ERROR(Packed(id));
    }
    for (int id : Source().outputs()) TW_RETURN_IF_ERROR(Plain(id));
    return rewriter_.Finish();
  }

 private:
  const Graph& Source() const { return rewriter_.source(); }
  const Node& Old(int id) const { return Source().node(id); }
  bool IsPacked(int id) const { return packed_[static_cast<std::size_t>(id)] >= 0; }
  std::int64_t Blocks(std::int64_t channels) const { return CeilDiv(channels, block_); }

  int Find(const std::string& name, int from) const {
    for (int id = from; id < Source().size(); ++id) {
      const Node& node = Old(id);
      if (node.kind != NodeKind::kOperator) continue;
      const std::string op(OpName(node.op.kind));
      if (node.name == name || op == name || "nn." + op == name) return id;
    }
    return -1;
  }

  Result<int> Emit(std::string name, Operator op, std::vector<int> inputs) {
    return rewriter_.result().AddOperator(std::move(name), std::move(op), std::move(inputs));
  }
  /// One move after the other; the last one gets `name`, the others parts of it.
  Result<int> EmitMoves(const std::string& name, std::vector<Operator> moves, int value) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const bool last = i + 1 == moves.size();
      auto next = Emit(last ? name : fmt::format("{}#{}", name, i), std::move(moves[i]), {value});
      TW_RETURN_IF_ERROR(next);
      value = *next;
    }
    return value;
  }

  /// Whether a plain value can be packed: images of whole blocks.
  bool CanEnter(int id) const {
    const TensorType& type = Old(id).type;
    return type.shape.size() == 4 && (type.dtype == kInt8 || type.dtype == kInt32) &&
           type.shape[0] % batch_ == 0 && type.shape[1] % block_ == 0;
  }

  /// The packed form of a value.
  Result<int> Packed(int id) {
    int& packed = packed_[static_cast<std::size_t>(id)];
    if (packed >= 0) return packed;
    const Shape& s = Old(id).type.shape;
    auto entered = EmitMoves(Old(id).name + "#packed",
                             {Reshape({s[0] / batch_, batch_, s[1] / block_, block_, s[2], s[3]}),
                              Transpose({0, 2, 4, 5, 1, 3})},
                             rewriter_.At(id));
    TW_RETURN_IF_ERROR(entered);
    ++report_->entering;
    packed = *entered;
    return packed;
  }

  /// The value as the source has it.
  Result<int> Plain(int id) {
    if (rewriter_.At(id) >= 0) return rewriter_.At(id);
    const Shape& s = Old(id).type.shape;
    const std::int64_t channels = Blocks(s[1]) * block_;
    std::vector<Operator> moves = {Transpose({0, 4, 1, 5, 2, 3}),
                                   Reshape({s[0], channels, s[2], s[3]})};
    if (channels != s[1]) {
      Operator slice{OpKind::kSlice, {}};
      slice.attributes.begin = {0, 0, 0, 0};
      slice.attributes.end = s;
      slice.attributes.steps = {1, 1, 1, 1};
      moves.push_back(std::move(slice));
    }
    auto left = EmitMoves(Old(id).name, std::move(moves), packed_[static_cast<std::size_t>(id)]);
    TW_RETURN_IF_ERROR(left);
    ++report_->leaving;
    rewriter_.Map(id, *left);
    return *left;
  }

  Status Add(int id) {
    const Node& node = Old(id);
    if (node.kind != NodeKind::kOperator) return rewriter_.Copy(id);
    if (id > start_ && id < last_) {
      auto packed = AddPacked(id);
      TW_RETURN_IF_ERROR(packed);
      if (*packed >= 0) {
        packed_[static_cast<std::size_t>(id)] = *packed;
        return Status();
      }
    } else if (node.op.kind == OpKind::kConv2d) {
      report_->left.emplace_back(node.name, "outside start and stop");
    }
    for (int input : node.inputs) TW_RETURN_IF_ERROR(Plain(input));
    return rewriter_.Copy(id);
  }

  /// The operator on packed values; -1 if it is to stay as it is.
  Result<int> AddPacked(int id) {
    const Node& node = Old(id);
    if (node.op.kind == OpKind::kConv2d) {
      std::string reason = RefusalOf(node);
      if (reason.empty()) return AddConvolution(id);
      report_->left.emplace_back(node.name, std::move(reason));
      return -1;
    }
    const bool any = std::ranges::any_of(node.inputs, [&](int input) { return IsPacked(input); });
    const bool image =
        node.type.shape.size() == 4 && (node.type.dtype == kInt8 || node.type.dtype == kInt32);
    if (!any || !image) return -1;
    switch (node.op.kind) {
      case OpKind::kMaxPool2d:
      case OpKind::kAvgPool2d:
        return AddPool(id);
      case OpKind::kConcat:
        return AddConcat(id);
      case OpKind::kIdentity:
        return AddUnary(id);
      default:
        break;
    }
    if (!IsElementwise(node.op.kind)) return -1;
    return node.inputs.size() == 1 ? AddUnary(id) : AddBinary(id);
  }

  /// Why a convolution cannot be packed; empty if it can.
  std::string RefusalOf(const Node& node) const {
    const OpAttributes& a = node.op.attributes;
    const TensorType& data = Old(node.inputs[0]).type;
    const TensorType& weight = Old(node.inputs[1]).type;
    if (a.groups != 1) return fmt::format("{} groups, expected 1", a.groups);
    if (a.data_layout != "NCHW" || a.kernel_layout != "OIHW") {
      return fmt::format("layouts {} and {}, expected NCHW and OIHW", a.data_layout,
                         a.kernel_layout);
    }
    if (data.dtype != kInt8 || weight.dtype != kInt8 || node.type.dtype != kInt32) {
      return fmt::format("{} x {} to {}, expected int8 x int8 to int32", DataTypeName(data.dtype),
                         DataTypeName(weight.dtype), DataTypeName(node.type.dtype));
    }
    if (!IsPacked(node.inputs[0]) && !CanEnter(node.inputs[0])) {
      return fmt::format("{} channels, batch {}; expected multiples of {} and {}", data.shape[1],
                         data.shape[0], block_, batch_);
    }
    return {};
  }

  Result<int> AddConvolution(int id) {
    const Node& node = Old(id);
    auto data = Packed(node.inputs[0]);
    TW_RETURN_IF_ERROR(data);
    auto weight = PackWeight(id);
    TW_RETURN_IF_ERROR(weight);
    Operator op = node.op;
    op.attributes.data_layout = fmt::format("NCHW{}n{}c", batch_, block_);
    op.attributes.kernel_layout = fmt::format("OIHW{0}o{0}i", block_);
    ++report_->convolutions;
    return Emit(node.name + "#packed", std::move(op), {*data, *weight});
  }

  /// Zeros behind the channels of both kinds, then whole blocks of them.
  Result<int> PackWeight(int id) {
    const int weight = Old(id).inputs[1];
    auto plain = Plain(weight);
    TW_RETURN_IF_ERROR(plain);
    const Shape s = Old(weight).type.shape;
    const std::int64_t out = Blocks(s[0]), in = Blocks(s[1]);
    std::vector<Operator> moves = {Reshape({out, block_, in, block_, s[2], s[3]}),
                                   Transpose({0, 2, 4, 5, 1, 3})};
    if (out * block_ != s[0] || in * block_ != s[1]) {
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width = {0, out * block_ - s[0], 0, in * block_ - s[1], 0, 0, 0, 0};
      moves.insert(moves.begin(), std::move(pad));
    }
    return EmitMoves(Old(id).name + "#weight", std::move(moves), *plain);
  }

  /// One element per channel as [C/block, 1, 1, 1, block].
  Result<int> PackChannels(int id, int operand) {
    auto plain = Plain(operand);
    TW_RETURN_IF_ERROR(plain);
    const std::int64_t channels = Old(operand).type.elements();
    const std::int64_t blocks = Blocks(channels);
    // The batch stays 1: it broadcasts, and epilogues know such an operand as one per channel.
    std::vector<Operator> moves = {Reshape({blocks, block_, 1, 1, 1}), Transpose({0, 2, 3, 4, 1}),
                                   BroadcastTo({blocks, 1, 1, 1, block_})};
    if (blocks * block_ != channels) {
      Operator pad{OpKind::kPad, {}};
      pad.attributes.pad_width = {0, blocks * block_ - channels};
      moves.insert(moves.begin(), {Reshape({channels}), std::move(pad)});
    }
    return EmitMoves(Old(id).name + "#channels", std::move(moves), *plain);
  }

  Result<int> AddUnary(int id) {
    auto value = Packed(Old(id).inputs[0]);
    TW_RETURN_IF_ERROR(value);
    auto packed = Emit(Old(id).name + "#packed", Old(id).op, {*value});
    if (packed.ok()) rewriter_.result().Annotate(*packed, Old(id).source, Old(id).mark);
    return packed;
  }

  Result<int> AddPool(int id) {
    if (Old(id).op.attributes.data_layout != "NCHW") return -1;
    auto value = Packed(Old(id).inputs[0]);
    TW_RETURN_IF_ERROR(value);
    Operator op = Old(id).op;
    op.attributes.data_layout = fmt::format("NCHW{}n{}c", batch_, block_);
    return Emit(Old(id).name + "#packed", std::move(op), {*value});
  }

  /// Along the channels, of values that have whole blocks.
  Result<int> AddConcat(int id) {
    const Node& node = Old(id);
    const bool whole = std::ranges::all_of(node.inputs, [&](int input) { return CanEnter(input); });
    if (node.op.attributes.axis != 1 || !whole) return -1;
    std::vector<int> inputs;
    for (int input : node.inputs) {
      auto packed = Packed(input);
      TW_RETURN_IF_ERROR(packed);
      inputs.push_back(*packed);
    }
    return Emit(node.name + "#packed", node.op, std::move(inputs));
  }

  /// The second operand is a scalar, has one element per channel, or is a value like the result.
  Result<int> AddBinary(int id) {
    const Node& node = Old(id);
    const std::size_t main = IsPacked(node.inputs[0]) ? 0 : 1;
    const int other = node.inputs[1 - main];
    const TensorType& type = Old(other).type;
    if (Old(node.inputs[main]).type.shape != node.type.shape) return -1;
    const auto kind = OperandKindOf(type, node.type, {false, true, false, false});
    if (!kind) return -1;
    // Behind the last channel the divisor would be zero.
    if (*kind == OperandKind::kChannel && node.op.kind == OpKind::kDiv) return -1;
    if (*kind == OperandKind::kTensor && !IsPacked(other) && !CanEnter(other)) return -1;
    auto operand = *kind == OperandKind::kTensor    ? Packed(other)
                   : *kind == OperandKind::kChannel ? PackChannels(id, other)
                                                    : Plain(other);  // broadcasts as it is
    TW_RETURN_IF_ERROR(operand);
    auto value = Packed(node.inputs[main]);
    TW_RETURN_IF_ERROR(value);
    std::vector<int> inputs = {*value, *operand};
    if (main == 1) std::swap(inputs[0], inputs[1]);
    return Emit(node.name + "#packed", node.op, std::move(inputs));
  }

  const std::int64_t batch_, block_;
  PackReport* report_;
  Rewriter rewriter_;
  std::vector<int> packed_;  // packed form of each old value, in the new graph; -1: there is none
  int start_ = -1;           // operators between these two may be packed
  int last_;
};

}  // namespace

Result<Graph> PackForVta(Graph graph, const vta::Design& design, const PackOptions& options,
                         PackReport* report) {
  Packer packer(std::move(graph), design, report);
  TW_RETURN_IF_ERROR(packer.SetRegion(options));
  return packer.Run();
}

}  // namespace tilewright
