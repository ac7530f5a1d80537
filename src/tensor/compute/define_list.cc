#include "src/tensor/compute/define_list.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "src/ir/visit.h"

namespace tilewright {
namespace {

/// Builder of the computation of an operator list: appends the stages of each operator.
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
    std::vector<TensorType> types;
    for (int operand : value.operands) types.push_back(list_.TypeOf(operand));
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
  bool whole_;  // true: long sums are not split
  Compute compute_;
  std::vector<Buffer> buffers_;                  // of the values so far; null: a scalar
  std::map<const BufferNode*, Buffer> replace_;  // buffers of definitions, with the list's buffers
  std::map<const BufferNode*, const ScalarConstant*> scalars_;
  std::vector<Buffer> keep_;  // keeps the addresses of the keys above unique
};

}  // namespace

Result<Compute> DefineList(const OperatorList& list, std::vector<Buffer>* buffers) {
  return ListDefiner(list, /*whole=*/false).Run(buffers);
}

Result<Compute> DefineUnsplitList(const OperatorList& list) {
  return ListDefiner(list, /*whole=*/true).Run(nullptr);
}

}  // namespace tilewright
