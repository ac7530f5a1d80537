#include "src/tensor/reference/evaluate_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

/// Returns, for each value, the number of the last one that reads it.
std::vector<std::size_t> LastUses(const OperatorList& list) {
  std::vector<std::size_t> last(list.values().size(), list.values().size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    for (int operand : list.values()[i].operands) last[static_cast<std::size_t>(operand)] = i;
  }
  return last;
}

}  // namespace

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

}  // namespace tilewright
