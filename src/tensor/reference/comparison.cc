// Comparisons, and the choice by a condition.
#include <cstring>

#include "src/tensor/reference/internal.h"

namespace tilewright::reference {
namespace {

using Index = std::vector<std::int64_t>;

/// Calls fn(position in the output, positions in the inputs) for every element of the output.
template <typename Fn>
void ForEachOf(TensorPointers inputs, const Tensor& out, const Fn& fn) {
  std::vector<Index> steps;
  for (const Tensor* input : inputs) steps.push_back(BroadcastSteps(*input, out.shape()));
  std::vector<std::size_t> from(inputs.size());
  ForEachIndex(out.shape(), [&](std::int64_t position, const Index& index) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * steps[i][d];
      from[i] = static_cast<std::size_t>(at);
    }
    fn(static_cast<std::size_t>(position), from);
  });
}

template <typename Compare>
void CompareAll(TensorPointers inputs, Tensor& out, const Compare& compare) {
  const auto to = out.As<std::uint8_t>();
  VisitType(inputs[0]->dtype(), [&]<typename T>() {
    const auto a = inputs[0]->As<T>(), b = inputs[1]->As<T>();
    ForEachOf(inputs, out, [&](std::size_t position, const std::vector<std::size_t>& from) {
      to[position] = compare(a[from[0]], b[from[1]]) ? 1 : 0;
    });
  });
}

}  // namespace

void ValuesOfEqual(const Operator&, TensorPointers inputs, Tensor& out) {
  CompareAll(inputs, out, [](auto x, auto y) { return x == y; });
}

void ValuesOfLess(const Operator&, TensorPointers inputs, Tensor& out) {
  CompareAll(inputs, out, [](auto x, auto y) { return x < y; });
}

void ValuesOfWhere(const Operator&, TensorPointers inputs, Tensor& out) {
  const auto condition = inputs[0]->As<std::uint8_t>();
  const auto bytes = static_cast<std::size_t>(out.dtype().bytes());
  ForEachOf(inputs, out, [&](std::size_t position, const std::vector<std::size_t>& from) {
    const std::size_t chosen = condition[from[0]] != 0 ? 1 : 2;
    std::memcpy(out.data() + position * bytes, inputs[chosen]->data() + from[chosen] * bytes,
                bytes);
  });
}

}  // namespace tilewright::reference
