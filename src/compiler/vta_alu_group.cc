#include "src/compiler/vta_alu_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/graph/operand.h"

namespace tilewright {
namespace {

class AluGroupReader {
 public:
  AluGroupReader(const vta::Design& design, const Graph& graph, const FusedGroup& group)
      : design_(design), graph_(graph), nodes_(group.nodes) {}

  Result<VtaAluGroup> Read() {
    TW_RETURN_IF_ERROR(CheckResult());
    for (int id : nodes_) {
      if (IsWidening(id)) continue;  // the load does it
      const Node& node = At(id);
      if (!IsElementwise(node.op.kind)) return No("holds " + Name(id));
      if (current_ < 0) {
        TW_RETURN_IF_ERROR(Begin(id));
      } else {
        TW_RETURN_IF_ERROR(Follow(id));
      }
      current_ = id;
    }
    if (current_ < 0) return No("only changes the type");
    return std::move(result_);
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
  /// The value in memory that an operand is loaded from.
  int SourceOf(int id) const { return IsWidening(id) ? At(id).inputs[0] : id; }

  Status CheckResult() {
    const TensorType& type = At(nodes_.back()).type;
    if (type.dtype != kInt8) {
      return No(fmt::format("makes {}, stores narrow to int8", DataTypeName(type.dtype)));
    }
    const auto& shape = type.shape;
    if (shape.size() != 6 || shape[4] != design_.batch() || shape[5] != design_.block()) {
      return No(
          fmt::format("{} is not packed {}x{}", type.ToString(), design_.batch(), design_.block()));
    }
    result_.result = {.batch = shape[0], .co = shape[1], .height = shape[2], .width = shape[3]};
    return Status();
  }

  /// The operator that reads two values from memory.
  Status Begin(int id) {
    const Node& node = At(id);
    if (node.op.kind != OpKind::kAdd && node.op.kind != OpKind::kMul) {
      return No("begins with " + Name(id) + ", expected add or multiply");
    }
    if (node.type.dtype != kInt32) return No("works on " + DataTypeName(node.type.dtype));
    const bool first_constant = At(SourceOf(node.inputs[0])).kind == NodeKind::kConstant;
    const std::size_t main = first_constant ? 1 : 0;
    result_.data = SourceOf(node.inputs[main]);
    const TensorType& data = At(result_.data).type;
    result_.int8_data = data.dtype == kInt8;
    if (data.shape != node.type.shape) return No("broadcasts " + data.ToString());
    return AddBinary(id, main);
  }

  /// An operator on what was computed so far.
  Status Follow(int id) {
    const Node& node = At(id);
    const auto side = std::ranges::find(node.inputs, current_);
    if (side == node.inputs.end()) return No("computes two values");
    if (node.inputs.size() == 2) {
      return AddBinary(id, static_cast<std::size_t>(side - node.inputs.begin()));
    }
    result_.epilogue.steps.push_back(tilewright::EpilogueStep{.op = node.op});
    return Status();
  }

  Status AddBinary(int id, std::size_t main) {
    const Node& node = At(id);
    const int operand = SourceOf(node.inputs[1 - main]);
    const TensorType& type = At(operand).type;
    const std::vector<bool> channel = {false, true, false, false, false, true};
    const auto kind = OperandKindOf(type, node.type, channel);
    if (!kind || Inside(operand)) return No("cannot load " + type.ToString());
    tilewright::EpilogueStep step{.op = node.op, .operand = *kind};
    step.operand_dtype = type.dtype;
    step.operand_first = main == 1 && node.op.kind == OpKind::kSub;
    if (*kind == OperandKind::kScalar) {
      const Tensor* contents = graph_.Contents(operand);
      if (contents == nullptr) return No("computes a scalar operand");
      step.scalar = contents->At(0);
    } else {
      result_.operands.push_back(operand);
    }
    result_.epilogue.steps.push_back(std::move(step));
    return Status();
  }

  const vta::Design& design_;
  const Graph& graph_;
  const std::vector<int>& nodes_;
  VtaAluGroup result_;
  int current_ = -1;
};

}  // namespace

Result<VtaAluGroup> AluGroupOf(const vta::Design& design, const Graph& graph,
                               const FusedGroup& group) {
  return AluGroupReader(design, graph, group).Read();
}

}  // namespace tilewright
