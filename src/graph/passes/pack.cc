// One walk in topological order. Each value exists plain, packed, or both; the missing
// representation is created once when an operator needs it. An operator works on packed values if
// it can and if one of its inputs is packed. Packing begins at convolutions and matrix products.

#include "src/graph/passes/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/pack_operators.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

bool IsConvolution(OpKind kind) {
  return kind == OpKind::kConv2d || kind == OpKind::kConv2dTranspose;
}

/// Returns true for operators that multiply data with a weight. Packing begins at them.
bool IsProduct(OpKind kind) { return IsConvolution(kind) || kind == OpKind::kDense; }

class Packer {
 public:
  Packer(Graph graph, const vta::Design& design, PackReport* report)
      : tile_{design.batch(), design.block()},
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

  std::string ImageLayout() const { return fmt::format("NCHW{}n{}c", tile_.batch, tile_.block); }
  std::string RowLayout() const { return fmt::format("MK{}m{}k", tile_.batch, tile_.block); }

  int Find(const std::string& name, int from) const {
    for (int id = from; id < Source().size(); ++id) {
      const Node& node = Old(id);
      if (node.kind != NodeKind::kOperator) continue;
      const std::string op(OpName(node.op.kind));
      const auto quantization_params = Source().quantization.find(node.name);
      const bool stands = quantization_params != Source().quantization.end() &&
                          quantization_params->second.value == name;
      if (node.name == name || stands || op == name || "nn." + op == name) return id;
    }
    return -1;
  }

  Result<int> Emit(std::string name, Operator op, std::vector<int> inputs) {
    return rewriter_.result().AddOperator(std::move(name), std::move(op), std::move(inputs));
  }
  /// Adds the operators one after the other. The last one gets `name`, the others get suffixed
  /// names.
  Result<int> EmitOperators(const std::string& name, std::vector<Operator> moves, int value) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const bool last = i + 1 == moves.size();
      TW_ASSIGN_OR_RETURN(
          value, Emit(last ? name : fmt::format("{}#{}", name, i), std::move(moves[i]), {value}));
    }
    return value;
  }

  /// Returns true for images or rows of integers.
  static bool HasForm(const TensorType& type) {
    return (type.shape.size() == 4 || type.shape.size() == 2) &&
           (type.dtype == kInt8 || type.dtype == kInt32);
  }
  /// Returns true if a plain value can be packed: it consists of whole blocks.
  bool CanEnter(int id) const {
    const TensorType& type = Old(id).type;
    return HasForm(type) && type.shape[0] % tile_.batch == 0 && type.shape[1] % tile_.block == 0;
  }

  /// Returns the packed representation of a value.
  Result<int> Packed(int id) {
    int& packed = packed_[static_cast<std::size_t>(id)];
    if (packed >= 0) return packed;
    TW_ASSIGN_OR_RETURN(auto entered,
                        EmitOperators(Old(id).name + "#packed",
                                      PackOperators(tile_, Old(id).type.shape), rewriter_.At(id)));
    ++report_->entering;
    packed = entered;
    return packed;
  }

  /// Returns the value in the layout of the source.
  Result<int> Plain(int id) {
    if (rewriter_.At(id) >= 0) return rewriter_.At(id);
    TW_ASSIGN_OR_RETURN(auto left,
                        EmitOperators(Old(id).name, UnpackOperators(tile_, Old(id).type.shape),
                                      packed_[static_cast<std::size_t>(id)]));
    ++report_->leaving;
    rewriter_.Map(id, left);
    return left;
  }

  Status Add(int id) {
    const Node& node = Old(id);
    if (node.kind != NodeKind::kOperator) return rewriter_.Copy(id);
    if (id > start_ && id < last_) {
      TW_ASSIGN_OR_RETURN(auto packed, AddPacked(id));
      if (packed >= 0) {
        packed_[static_cast<std::size_t>(id)] = packed;
        CarryQuantizationParams(id, packed);
        return Status();
      }
    } else if (IsProduct(node.op.kind)) {
      report_->left.emplace_back(node.name, "outside start and stop");
    }
    for (int input : node.inputs) TW_RETURN_IF_ERROR(Plain(input));
    return rewriter_.Copy(id);
  }

  /// Copies the quantization parameters of a value. Drops scales per channel, because packing
  /// splits the channels into two dimensions. Drops those of flattened values, whose layout is not
  /// visible.
  void CarryQuantizationParams(int id, int packed) {
    const auto known = Source().quantization.find(Old(id).name);
    QuantizationParams quantization_params =
        known == Source().quantization.end() ? QuantizationParams() : known->second;
    if (quantization_params.scales.size() > 1 || Old(id).op.kind == OpKind::kReshape) return;
    quantization_params.value = Source().FloatName(id);
    if (quantization_params == QuantizationParams()) return;
    rewriter_.result().quantization.insert_or_assign(rewriter_.result().node(packed).name,
                                                     std::move(quantization_params));
  }

  /// Adds the operator on packed values. Returns -1 if it stays unpacked.
  Result<int> AddPacked(int id) {
    const Node& node = Old(id);
    if (IsProduct(node.op.kind)) {
      std::string reason = RefusalOf(node);
      if (reason.empty()) return AddProduct(id);
      report_->left.emplace_back(node.name, std::move(reason));
      return -1;
    }
    const bool any = std::ranges::any_of(node.inputs, [&](int input) { return IsPacked(input); });
    if (!any || !HasForm(node.type)) return -1;
    switch (node.op.kind) {
      case OpKind::kMaxPool2d:
      case OpKind::kAvgPool2d:
        return AddPool(id);
      case OpKind::kConcat:
        return AddConcat(id);
      case OpKind::kReshape:
        return AddFlatten(id);
      case OpKind::kIdentity:
        return AddUnary(id);
      default:
        break;
    }
    if (!IsElementwise(node.op.kind)) return -1;
    return node.inputs.size() == 1 ? AddUnary(id) : AddBinary(id);
  }

  /// Returns the reason why a convolution or matrix product cannot be packed; empty if it can.
  std::string RefusalOf(const Node& node) const {
    const OpAttributes& a = node.op.attributes;
    const TensorType& data = Old(node.inputs[0]).type;
    const TensorType& weight = Old(node.inputs[1]).type;
    if (data.dtype != kInt8 || weight.dtype != kInt8 || node.type.dtype != kInt32) {
      return fmt::format("{} x {} to {}, expected int8 x int8 to int32", DataTypeName(data.dtype),
                         DataTypeName(weight.dtype), DataTypeName(node.type.dtype));
    }
    if (IsConvolution(node.op.kind)) {
      const char* kernel = node.op.kind == OpKind::kConv2d ? "OIHW" : "IOHW";
      if (a.data_layout != "NCHW" || a.kernel_layout != kernel) {
        return fmt::format("layouts {} and {}, expected NCHW and {}", a.data_layout,
                           a.kernel_layout, kernel);
      }
      if (node.op.kind == OpKind::kConv2dTranspose && a.groups != 1) {
        return fmt::format("{} groups, expected 1", a.groups);
      }
    }
    if (node.op.kind == OpKind::kDense && data.shape.size() != 2) return "in blocks already";
    if (data.shape.size() != weight.shape.size() ||
        (!IsPacked(node.inputs[0]) && !CanEnter(node.inputs[0]))) {
      return fmt::format("{} channels, batch {}; expected multiples of {} and {}", data.shape[1],
                         data.shape[0], tile_.block, tile_.batch);
    }
    return MergeGroups(tile_, data.shape[1], weight.shape, GroupsOf(node)).status().message();
  }

  static std::int64_t GroupsOf(const Node& node) {
    return node.op.kind == OpKind::kConv2d ? node.op.attributes.groups : 1;
  }

  Result<int> AddProduct(int id) {
    const Node& node = Old(id);
    TW_ASSIGN_OR_RETURN(auto data, Packed(node.inputs[0]));
    Operator op = node.op;
    TW_ASSIGN_OR_RETURN(auto weight, PackWeight(id, op));
    const bool image = IsConvolution(op.kind);
    op.attributes.data_layout = image ? ImageLayout() : RowLayout();
    op.attributes.kernel_layout = fmt::format("{1}{0}{2}{0}{3}", tile_.block, image ? "OIHW" : "NK",
                                              image ? 'o' : 'n', image ? 'i' : 'k');
    ++(image ? report_->convolutions : report_->products);
    return Emit(node.name + "#packed", std::move(op), {data, weight});
  }

  /// Returns the packed weight of a product. op: gets the number of packed groups.
  Result<int> PackWeight(int id, Operator& op) {
    const int weight = Old(id).inputs[1];
    auto value = Plain(weight);
    TW_RETURN_IF_ERROR(value);
    const std::string name = Old(id).name + "#weight";
    Shape shape = Old(weight).type.shape;
    const std::int64_t groups = GroupsOf(Old(id));
    TW_ASSIGN_OR_RETURN(const auto merge,
                        MergeGroups(tile_, Old(Old(id).inputs[0]).type.shape[1], shape, groups));
    if (merge.merged > 1) {
      op.attributes.groups = merge.groups;
      value = EmitOperators(name + "#repeated", MergeGroupOperators(merge, shape), *value);
      TW_RETURN_IF_ERROR(value);
      const int mask =
          rewriter_.result().AddConstant(name + "#mask", GroupMergeMask(merge, shape, groups));
      value = Emit(name + "#merged", {OpKind::kMul, {}}, {*value, mask});
      TW_RETURN_IF_ERROR(value);
      shape = rewriter_.result().node(*value).type.shape;
    }
    return EmitOperators(
        name, PackWeightOperators(tile_, shape, op.kind == OpKind::kConv2dTranspose), *value);
  }

  /// Packs an operand with one element per channel so that it broadcasts over the packed value.
  Result<int> PackChannels(int id, int operand) {
    TW_ASSIGN_OR_RETURN(auto plain, Plain(operand));
    return EmitOperators(
        Old(id).name + "#channels",
        PackChannelOperators(tile_, Old(operand).type.elements(), Old(id).type.shape.size()),
        plain);
  }

  /// Flattens images of one pixel into rows.
  Result<int> AddFlatten(int id) {
    const Shape from = Old(Old(id).inputs[0]).type.shape, to = Old(id).type.shape;
    if (to.size() != 2 || from != Shape{to[0], to[1], 1, 1}) return -1;
    TW_ASSIGN_OR_RETURN(auto value, Packed(Old(id).inputs[0]));
    const Shape& packed = rewriter_.result().node(value).type.shape;
    return Emit(Old(id).name + "#packed", ReshapeTo({packed[0], packed[1], packed[4], packed[5]}),
                {value});
  }

  Result<int> AddUnary(int id) {
    TW_ASSIGN_OR_RETURN(auto value, Packed(Old(id).inputs[0]));
    auto packed = Emit(Old(id).name + "#packed", Old(id).op, {value});
    if (packed.ok()) rewriter_.result().Annotate(*packed, Old(id).source, Old(id).annotation);
    return packed;
  }

  Result<int> AddPool(int id) {
    if (Old(id).op.attributes.data_layout != "NCHW") return -1;
    TW_ASSIGN_OR_RETURN(auto value, Packed(Old(id).inputs[0]));
    Operator op = Old(id).op;
    op.attributes.data_layout = ImageLayout();
    return Emit(Old(id).name + "#packed", std::move(op), {value});
  }

  /// Concatenates values of whole blocks along the channels.
  Result<int> AddConcat(int id) {
    const Node& node = Old(id);
    const bool whole = std::ranges::all_of(node.inputs, [&](int input) { return CanEnter(input); });
    if (node.op.attributes.axis != 1 || !whole) return -1;
    std::vector<int> inputs;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto packed, Packed(input));
      inputs.push_back(packed);
    }
    return Emit(node.name + "#packed", node.op, std::move(inputs));
  }

  /// Adds a binary operator. Its second operand is a scalar, has one element per channel, or has
  /// the shape of the result.
  Result<int> AddBinary(int id) {
    const Node& node = Old(id);
    const std::size_t main = IsPacked(node.inputs[0]) ? 0 : 1;
    const int other = node.inputs[1 - main];
    const TensorType& type = Old(other).type;
    if (Old(node.inputs[main]).type.shape != node.type.shape) return -1;
    std::vector<bool> channels(node.type.shape.size(), false);
    channels[1] = true;
    const auto kind = OperandKindOf(type, node.type, channels);
    if (!kind) return -1;
    // The divisor would be zero in the padding after the last channel.
    if (*kind == OperandKind::kChannel && node.op.kind == OpKind::kDiv) return -1;
    if (*kind == OperandKind::kTensor && !IsPacked(other) && !CanEnter(other)) return -1;
    auto operand = *kind == OperandKind::kTensor    ? Packed(other)
                   : *kind == OperandKind::kChannel ? PackChannels(id, other)
                                                    : Plain(other);  // broadcasts unchanged
    TW_RETURN_IF_ERROR(operand);
    TW_ASSIGN_OR_RETURN(auto value, Packed(node.inputs[main]));
    std::vector<int> inputs = {value, *operand};
    if (main == 1) std::swap(inputs[0], inputs[1]);
    return Emit(node.name + "#packed", node.op, std::move(inputs));
  }

  const TileShape tile_;
  PackReport* report_;
  Rewriter rewriter_;
  std::vector<int> packed_;  // packed representation of each old value, in the new graph; -1: none
  int start_ = -1;           // operators from start_ to last_ may be packed
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
