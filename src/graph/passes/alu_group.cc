#include "src/graph/passes/alu_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/ir/operand.h"

namespace tilewright {
namespace {

class AluGroupReader {
 public:
  AluGroupReader(const Graph& graph, const FusedGroup& group)
      : graph_(graph), nodes_(group.nodes) {}

  Result<AluGroup> Read() {
    TW_RETURN_IF_ERROR(CheckResult());
    if (At(nodes_[0]).op.kind == OpKind::kMaxPool2d) return ReadPool();
    for (int id : nodes_) {
      if (IsWidening(id)) continue;  // the load widens
      TW_RETURN_IF_ERROR(CheckOperator(id));
      TW_RETURN_IF_ERROR(current_ < 0 ? Begin(id) : Follow(id));
      current_ = id;
    }
    if (current_ < 0) return No("only changes the type");
    if (At(current_).op.kind != OpKind::kCast && At(current_).op.kind != OpKind::kSaturateCast) {
      EpilogueStep narrow{.op = {OpKind::kCast, {}}};
      narrow.op.attributes.dtype = kInt8;
      result_.epilogue.steps.push_back(std::move(narrow));
    }
    return Done();
  }

 private:
  const Node& At(int id) const { return graph_.node(id); }
  std::string Name(int id) const { return std::string(OpName(At(id).op.kind)); }
  bool Inside(int id) const { return std::ranges::binary_search(nodes_, id); }
  static Status No(std::string why) { return Unsupported(std::move(why)); }

  bool IsWidening(int id) const {
    const Node& node = At(id);
    return Inside(id) && node.op.kind == OpKind::kCast && node.type.dtype == kInt32 &&
           !Inside(node.inputs[0]) && At(node.inputs[0]).type.dtype == kInt8;
  }
  /// Returns the value in memory that an operand is loaded from.
  int SourceOf(int id) const { return IsWidening(id) ? At(id).inputs[0] : id; }

  Status CheckResult() {
    const TensorType& type = At(nodes_.back()).type;
    if (type.dtype != kInt8) {
      return No(fmt::format("makes {}, stores narrow to int8", DataTypeName(type.dtype)));
    }
    if (type.shape.size() != 6) return No(type.ToString() + " is not packed");
    Workload& w = result_.workload;
    w.data_layout = fmt::format("NCHW{}n{}c", type.shape[4], type.shape[5]);
    w.out_dtype = kInt32;
    return {};
  }

  Status CheckOperator(int id) const {
    if (!IsElementwise(At(id).op.kind)) return No("holds " + Name(id));
    const DataType dtype = At(id).type.dtype;
    const bool narrow = dtype == kInt8 && (id == nodes_.back() || At(id).op.kind == OpKind::kCast);
    if (dtype != kInt32 && !narrow) return No("works on " + DataTypeName(dtype));
    return {};
  }

  Result<AluGroup> ReadPool() {
    const Node& node = At(nodes_[0]);
    if (nodes_.size() > 1) return No("holds more than max_pool2d");
    const OpAttributes& a = node.op.attributes;
    Workload& w = result_.workload;
    if (a.data_layout != w.data_layout || a.dilation != w.dilation) {
      return No("max_pool2d over another layout, or dilated");
    }
    w.op = OpKind::kMaxPool2d;
    w.pool_size = a.pool_size;
    w.strides = a.strides;
    w.padding = a.padding;
    w.out_dtype = kInt8;
    result_.inputs = {node.inputs[0]};
    w.data = At(node.inputs[0]).type;
    const auto type = w.OutputType();
    if (!type.ok() || *type != node.type) return No("max_pool2d rounds up");
    return Done();
  }

  /// Adds the first operator, which reads from memory.
  Status Begin(int id) {
    const Node& node = At(id);
    // The main operand is the first non-constant tensor with the shape of the result.
    const auto is_main = [&](int input) {
      return At(SourceOf(input)).type.shape == node.type.shape &&
             At(SourceOf(input)).kind != NodeKind::kConstant;
    };
    const auto main = std::ranges::find_if(node.inputs, is_main);
    if (main == node.inputs.end()) return No("broadcasts, or computes a constant");
    const int data = SourceOf(*main);
    result_.inputs.push_back(data);
    Workload& w = result_.workload;
    w.data = At(data).type;
    w.op = OpKind::kIdentity;
    if (node.inputs.size() < 2) return AddUnary(id);
    const auto side = static_cast<std::size_t>(main - node.inputs.begin());
    const int other = SourceOf(node.inputs[1 - side]);
    const bool has_workload = node.op.kind == OpKind::kAdd || node.op.kind == OpKind::kMul;
    if (!has_workload || At(other).type.shape != node.type.shape || other == data) {
      return AddBinary(id, side);
    }
    w.op = node.op.kind;
    w.weight = At(other).type;
    w.kernel_layout = w.data_layout;
    result_.inputs.push_back(other);
    return {};
  }

  /// Adds an operator on the value computed so far.
  Status Follow(int id) {
    const Node& node = At(id);
    const auto side = std::ranges::find(node.inputs, current_);
    if (side == node.inputs.end()) return No("computes two values");
    if (node.inputs.size() < 2) return AddUnary(id);
    return AddBinary(id, static_cast<std::size_t>(side - node.inputs.begin()));
  }

  Status AddUnary(int id) {
    result_.epilogue.steps.push_back(EpilogueStep{.op = At(id).op});
    return {};
  }

  Status AddBinary(int id, std::size_t main) {
    const Node& node = At(id);
    const int operand = SourceOf(node.inputs[1 - main]);
    const TensorType& type = At(operand).type;
    const std::vector<bool> channel = {false, true, false, false, false, true};
    const auto kind = OperandKindOf(type, node.type, channel);
    if (!kind || Inside(operand)) return No("cannot load " + type.ToString());
    EpilogueStep step{.op = node.op, .operand = *kind};
    step.operand_first = main == 1 && !Commutes(node.op.kind);
    if (*kind == OperandKind::kScalar) {
      const Tensor* contents = graph_.Contents(operand);
      if (contents == nullptr) return No("computes a scalar operand");
      step.scalar = contents->At(0);
    } else {
      step.operand_dtype = type.dtype;
      result_.inputs.push_back(operand);
    }
    result_.epilogue.steps.push_back(std::move(step));
    return {};
  }

  Result<AluGroup> Done() {
    if (const auto type = result_.workload.OutputType(); !type.ok()) {
      return No(type.status().message());
    }
    return std::move(result_);
  }

  const Graph& graph_;
  const std::vector<int>& nodes_;
  AluGroup result_;
  int current_ = -1;
};

}  // namespace

Result<AluGroup> AluGroupOf(const Graph& graph, const FusedGroup& group) {
  return AluGroupReader(graph, group).Read();
}

}  // namespace tilewright
