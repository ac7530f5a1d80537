#include "src/tensor/operator_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/ir/visit.h"
#include "src/tensor/compute/unsplit.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

std::vector<TensorType> OperandTypes(const OperatorList& list, const std::vector<int>& operands) {
  std::vector<TensorType> types;
  for (int operand : operands) types.push_back(list.TypeOf(operand));
  return types;
}

/// Puts the stages of the operators behind one another.
class ListDefiner {
 public:
  ListDefiner(const OperatorList& list, bool whole) : list_(list), whole_(whole) {}

  Result<Compute> Run(std::vector<Buffer>* buffers) {
    for (const OperatorListValue& value : list_.values()) {
      buffers_.push_back(nullptr);
      if (value.op) {
        TW_RETURN_IF_ERROR(AddOperator(value));
      } else if (!value.scalar) {
        buffers_.back() = MakeBuffer(fmt::format("in{}", compute_.inputs.size()), value.type.dtype,
                                     value.type.shape);
        compute_.inputs.push_back(buffers_.back());
      }
    }
    if (list_.values().empty() || !list_.values().back().op) {
      return InvalidArgument("a list of operators that ends in none");
    }
    if (buffers != nullptr) *buffers = buffers_;
    return std::move(compute_);
  }

 private:
  Status AddOperator(const OperatorListValue& value) {
    const std::vector<TensorType> types = OperandTypes(list_, value.operands);
    TW_ASSIGN_OR_RETURN(auto part, whole_ ? DefineUnsplitOperator(*value.op, types)
                                          : DefineOperator(*value.op, types));
    if (part.inputs.size() != value.operands.size() || part.stages.empty()) {
      return Internal("definition with other inputs than its operator");
    }
    for (std::size_t i = 0; i < value.operands.size(); ++i) Bind(part.inputs[i], value.operands[i]);
    for (ComputeOp& stage : part.stages) {
      stage.body = Replace(stage.body);
      stage.name = fmt::format("{}{}", stage.name, compute_.stages.size());
      const Buffer renamed =
          MakeBuffer(stage.name, stage.output->dtype, stage.output->shape, stage.output->scope);
      replace_[stage.output.get()] = renamed;
      keep_.push_back(std::exchange(stage.output, renamed));
      compute_.stages.push_back(stage);
    }
    compute_.macs += part.macs;
    buffers_.back() = compute_.stages.back().output;
    return {};
  }

  void Bind(const Buffer& own, int operand) {
    const auto number = static_cast<std::size_t>(operand);
    keep_.push_back(own);
    if (const auto& scalar = list_.values()[number].scalar) {
      scalars_[own.get()] = &*scalar;
    } else {
      replace_[own.get()] = buffers_[number];
    }
  }

  Expr Replace(const Expr& body) const {
    return Rewrite(body, [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad) return {};
      if (auto scalar = scalars_.find(node->buffer.get()); scalar != scalars_.end()) {
        return LiteralOf(node->dtype, *scalar->second);
      }
      auto found = replace_.find(node->buffer.get());
      return found == replace_.end() ? Expr() : MakeLoad(found->second, node->args);
    });
  }

  const OperatorList& list_;
  bool whole_;  // long sums as they are
  Compute compute_;
  std::vector<Buffer> buffers_;                  // of the values so far; null: a scalar
  std::map<const BufferNode*, Buffer> replace_;  // a definition's buffers by the list's
  std::map<const BufferNode*, const ScalarConstant*> scalars_;
  std::vector<Buffer> keep_;  // the keys above stay different as long as these live
};

/// By value, the number of the last one that is made of it.
std::vector<std::size_t> LastUses(const OperatorList& list) {
  std::vector<std::size_t> last(list.values().size(), list.values().size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    for (int operand : list.values()[i].operands) last[static_cast<std::size_t>(operand)] = i;
  }
  return last;
}

}  // namespace

Tensor ScalarTensor(const OperatorListValue& value) {
  Tensor tensor(value.type);
  if (value.type.dtype.is_integer() && value.type.dtype.bits == 64) {
    tensor.As<std::int64_t>()[0] = value.scalar->integer;
  } else {
    const bool integer = value.type.dtype.is_integer();
    tensor.Set(0, integer ? static_cast<double>(value.scalar->integer) : value.scalar->number);
  }
  return tensor;
}

ScalarConstant ScalarOf(const Tensor& tensor) {
  const double number = tensor.At(0);
  if (tensor.dtype().is_integer() && tensor.dtype().bits == 64) {
    return {number, tensor.As<std::int64_t>()[0]};  // the bits, also of unsigned ones
  }
  return {number, tensor.dtype().is_integer() ? static_cast<std::int64_t>(number) : 0};
}

Expr LiteralOf(DataType dtype, const ScalarConstant& scalar) {
  return dtype.is_integer() ? MakeInt(dtype, scalar.integer) : MakeConst(dtype, scalar.number);
}

int OperatorList::AddParameter(TensorType type) {
  values_.push_back({std::move(type), {}, {}, {}});
  return static_cast<int>(values_.size()) - 1;
}

int OperatorList::AddScalar(TensorType type, ScalarConstant value) {
  TW_CHECK(type.elements() == 1, type.ToString());
  values_.push_back({std::move(type), {}, {}, value});
  return static_cast<int>(values_.size()) - 1;
}

Result<int> OperatorList::AddOperator(Operator op, std::vector<int> operands) {
  for (int operand : operands) {
    if (operand >= 0 && std::cmp_less(operand, values_.size())) continue;
    return InvalidArgument(fmt::format("{} of %{}, expected one of {} values", OpName(op.kind),
                                       operand, values_.size()));
  }
  TW_ASSIGN_OR_RETURN(auto type, InferType(op, OperandTypes(*this, operands)));
  values_.push_back({std::move(type), std::move(op), std::move(operands), {}});
  return static_cast<int>(values_.size()) - 1;
}

std::vector<int> OperatorList::parameters() const {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].is_parameter()) numbers.push_back(static_cast<int>(i));
  }
  return numbers;
}

Result<Compute> DefineList(const OperatorList& list, std::vector<Buffer>* buffers) {
  return ListDefiner(list, /*whole=*/false).Run(buffers);
}

Result<Compute> DefineUnsplitList(const OperatorList& list) {
  return ListDefiner(list, /*whole=*/true).Run(nullptr);
}

Result<std::vector<Tensor>> EvaluateValues(const OperatorList& list,
                                           std::span<const Tensor* const> inputs,
                                           std::span<const int> wanted, int threads) {
  std::vector<std::size_t> last_use = LastUses(list);
  for (int value : wanted) last_use[static_cast<std::size_t>(value)] = list.values().size();
  std::vector<Tensor> made(list.values().size());  // by operators, and of scalars
  std::vector<const Tensor*> values;
  std::size_t next = 0;
  for (const OperatorListValue& value : list.values()) {
    Tensor& own = made[values.size()];
    values.push_back(&own);
    if (value.scalar) {
      own = ScalarTensor(value);
    } else if (value.op) {
      std::vector<const Tensor*> operands;
      for (int operand : value.operands) {
        operands.push_back(values[static_cast<std::size_t>(operand)]);
      }
      TW_ASSIGN_OR_RETURN(own, Evaluate(*value.op, operands, threads));
      for (int operand : value.operands) {
        const auto number = static_cast<std::size_t>(operand);
        if (last_use[number] + 1 == values.size()) made[number] = Tensor();
      }
    } else {
      if (next == inputs.size() || inputs[next]->type() != value.type) {
        return InvalidArgument(fmt::format("input {}: expected {}", next, value.type.ToString()));
      }
      values.back() = inputs[next++];
    }
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto number = static_cast<std::size_t>(wanted[i]);
    const bool again = std::ranges::find(wanted.subspan(i + 1), wanted[i]) != wanted.end();
    const bool own = values[number] == &made[number] && !again;
    results.push_back(own ? std::move(made[number]) : values[number]->Clone());
  }
  return results;
}

Result<Tensor> EvaluateList(const OperatorList& list, std::span<const Tensor* const> inputs,
                            int threads) {
  if (list.values().empty() || !list.values().back().op) {
    return InvalidArgument("a list of operators that ends in none");
  }
  const int last = static_cast<int>(list.values().size()) - 1;
  TW_ASSIGN_OR_RETURN(auto result, EvaluateValues(list, inputs, {&last, 1}, threads));
  return std::move(result.front());
}

Work WorkOf(const OperatorList& list) {
  Work work;
  for (const OperatorListValue& value : list.values()) {
    if (value.is_parameter()) work.bytes += value.type.bytes();
    if (!value.op) continue;
    work.operations += WorkOf(*value.op, OperandTypes(list, value.operands), value.type).operations;
  }
  if (!list.values().empty()) work.bytes += list.result().bytes();
  return work;
}

}  // namespace tilewright
