// A workload with its epilogue as a list of operators on whole tensors. float16 is computed in
// single precision and rounded at explicit casts, or at the end: the list contains the casts.
#include <algorithm>
#include <utility>

#include "src/tensor/layout.h"
#include "src/tensor/operator_list.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/workload.h"

namespace tilewright {
namespace {

class WorkloadLister {
 public:
  explicit WorkloadLister(const Workload& workload) : workload_(workload) {}

  Result<OperatorList> Run(const Epilogue& epilogue) {
    TW_ASSIGN_OR_RETURN(auto layout_text, workload_.OutputLayout());
    TW_ASSIGN_OR_RETURN(output_, Layout::Parse(layout_text));
    TW_RETURN_IF_ERROR(AddMain());
    Note(workload_.out_dtype);
    for (const EpilogueStep& step : epilogue.steps) TW_RETURN_IF_ERROR(AddStep(step));
    TW_RETURN_IF_ERROR(CastTo(made_.back().second));
    return std::move(list_);
  }

 private:
  DataType dtype() const { return list_.TypeOf(current_).dtype; }

  Status Apply(const Operator& op, std::vector<int> operands) {
    TW_ASSIGN_OR_RETURN(current_, list_.AddOperator(op, std::move(operands)));
    return {};
  }

  /// Returns the value in an element type; the value itself if it has that type.
  Result<int> Cast(int value, DataType to) {
    if (list_.TypeOf(value).dtype == to) return value;
    Operator cast{OpKind::kCast, {}};
    cast.attributes.dtype = to;
    return list_.AddOperator(std::move(cast), {value});
  }

  Status CastTo(DataType to) {
    TW_ASSIGN_OR_RETURN(current_, Cast(current_, to));
    return {};
  }

  /// Numbers the newest value; `type` is its type for readers.
  void Note(DataType type) { made_.emplace_back(current_, type); }

  /// Adds the workload's own operator.
  Status AddMain() {
    Operator op = workload_.ToOperator();
    const int data = list_.AddParameter(workload_.data);
    std::vector<int> operands{data};
    if (workload_.has_weight()) operands.push_back(list_.AddParameter(workload_.weight));
    if (IsAnchor(workload_.op)) {
      if (workload_.out_dtype.is_half()) op.attributes.dtype = kFloat32;
      return Apply(op, operands);
    }
    if (workload_.op == OpKind::kMaxPool2d) return Apply(op, operands);
    for (int& operand : operands) {
      TW_ASSIGN_OR_RETURN(operand, Cast(operand, workload_.out_dtype));
    }
    return Apply({workload_.op, {}}, operands);
  }

  Status AddStep(const EpilogueStep& step) {
    DataType type = made_.back().second;
    const bool casts = step.op.kind == OpKind::kCast || step.op.kind == OpKind::kSaturateCast;
    if (casts && step.op.attributes.dtype) {
      TW_RETURN_IF_ERROR(CastTo(std::exchange(type, *step.op.attributes.dtype)));
    } else if (dtype().is_half()) {
      TW_RETURN_IF_ERROR(CastTo(kFloat32));
    }
    std::vector<int> operands{current_};
    if (step.operand != OperandKind::kNone) {
      TW_ASSIGN_OR_RETURN(auto operand, AddOperand(step));
      operands.insert(step.operand_first ? operands.begin() : operands.end(), operand);
    }
    TW_RETURN_IF_ERROR(Apply(step.op, std::move(operands)));
    Note(type);
    return {};
  }

  /// Adds the operand in the type of the current value.
  Result<int> AddOperand(const EpilogueStep& step) {
    switch (step.operand) {
      case OperandKind::kStep: {
        const auto& [value, type] = made_[static_cast<std::size_t>(step.value)];
        TW_RETURN_IF_ERROR(CheckStepOperand(step, type, made_.back().second));
        return Cast(value, dtype());
      }
      case OperandKind::kScalar: {
        Tensor scalar(TensorType{{}, dtype()});
        scalar.Set(0, step.scalar);
        return list_.AddScalar(scalar.type(), ScalarOf(scalar));
      }
      case OperandKind::kTensor:
        return CastLess(list_.AddParameter({list_.TypeOf(current_).shape, step.operand_dtype}),
                        step.scalar);
      case OperandKind::kBroadcast:
        return CastLess(list_.AddParameter({step.BroadcastShape(list_.TypeOf(current_).shape),
                                            step.operand_dtype}),
                        step.scalar);
      default:
        return AddChannels(step);
    }
  }

  /// Adds an operand of one element per channel, in a shape that broadcasts. In the layout, the
  /// channel's block follows the outer part, so a vector of channels is in order.
  Result<int> AddChannels(const EpilogueStep& step) {
    const char channel = IsMatrixProduct(workload_.op) ? 'N' : 'C';
    Operator reshape{OpKind::kReshape, {}};
    const std::vector<std::int64_t>& shape = list_.TypeOf(current_).shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool of_channel = output_.parts()[i].dimension == channel;
      reshape.attributes.new_shape.push_back(of_channel ? shape[i] : 1);
    }
    const std::int64_t channels = Product(reshape.attributes.new_shape);
    const int vector = list_.AddParameter({{channels}, step.operand_dtype});
    TW_ASSIGN_OR_RETURN(auto placed, list_.AddOperator(std::move(reshape), {vector}));
    return CastLess(placed, step.scalar);
  }

  /// Adds an operand in the type of the current value, less its zero point.
  Result<int> CastLess(int value, double zero_point) {
    auto cast = Cast(value, dtype());
    if (!cast.ok() || zero_point == 0) return cast;
    Tensor scalar(TensorType{{}, dtype()});
    scalar.Set(0, zero_point);
    return list_.AddOperator({OpKind::kSub, {}},
                             {*cast, list_.AddScalar(scalar.type(), ScalarOf(scalar))});
  }

  const Workload& workload_;
  Layout output_;
  OperatorList list_;
  int current_ = -1;
  std::vector<std::pair<int, DataType>>
      made_;  // the epilogue's values, and their types for readers
};

}  // namespace

Result<OperatorList> OperatorListOf(const Workload& workload, const Epilogue& epilogue) {
  if (workload.op == OpKind::kExpression) {
    if (!epilogue.steps.empty()) return InvalidArgument("an expression has no epilogue");
    OperatorList list;
    std::vector<int> operands;
    for (const ExpressionInput& input : workload.expression.inputs) {
      operands.push_back(list.AddParameter(input.type));
    }
    TW_RETURN_IF_ERROR(list.AddOperator(workload.ToOperator(), std::move(operands)));
    return list;
  }
  return WorkloadLister(workload).Run(epilogue);
}

}  // namespace tilewright
