// Operators that only move elements: mapping of each element of the result to its source.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/tensor/layout.h"
#include "src/tensor/reference/internal.h"

namespace tilewright::reference {
namespace {

using Index = std::vector<std::int64_t>;

void CopyElement(const Tensor& from, std::int64_t source, Tensor& to, std::int64_t target) {
  const std::int64_t size = from.dtype().bytes();
  std::memcpy(to.data() + target * size, from.data() + source * size,
              static_cast<std::size_t>(size));
}

/// out[index] = input[sum of index * steps + begin].
void CopyStrided(const Tensor& input, const Index& steps, std::int64_t begin, Tensor& out) {
  ForEachIndex(out.shape(), [&](std::int64_t position, const Index& index) {
    std::int64_t source = begin;
    for (std::size_t i = 0; i < index.size(); ++i) source += index[i] * steps[i];
    CopyElement(input, source, out, position);
  });
}

void Transpose(const Operator& op, const Tensor& input, Tensor& out) {
  const Index strides = StridesOf(input.shape());
  Index steps;
  for (std::int64_t axis : op.attributes.axes)
    steps.push_back(strides[Position(axis, strides.size())]);
  CopyStrided(input, steps, 0, out);
}

void BroadcastTo(const Tensor& input, Tensor& out) {
  CopyStrided(input, BroadcastSteps(input, out.shape()), 0, out);
}

void Slice(const Operator& op, const Tensor& input, Tensor& out) {
  Index steps = StridesOf(input.shape());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    begin += op.attributes.begin[i] * steps[i];
    steps[i] *= op.attributes.steps[i];
  }
  CopyStrided(input, steps, begin, out);
}

void Concat(const Operator& op, TensorPointers inputs, Tensor& out) {
  const std::size_t axis = Position(op.attributes.axis, out.shape().size());
  const std::int64_t inner = StridesOf(out.shape())[axis] * out.dtype().bytes();
  const std::int64_t row = out.shape()[axis] * inner;
  std::int64_t begin = 0;
  for (const Tensor* input : inputs) {
    const std::int64_t part = input->shape()[axis] * inner;
    if (part == 0) continue;
    for (std::int64_t i = 0; i < input->bytes() / part; ++i) {
      std::memcpy(out.data() + i * row + begin, input->data() + i * part,
                  static_cast<std::size_t>(part));
    }
    begin += part;
  }
}

void Pad(const Operator& op, const Tensor& input, Tensor& out) {
  Tensor filler(TensorType{{}, out.dtype()});
  const double value = op.attributes.pad_value;
  filler.Set(0, out.dtype().is_integer() ? std::trunc(value) : value);
  const Index strides = StridesOf(input.shape());
  ForEachIndex(out.shape(), [&](std::int64_t position, const Index& index) {
    std::int64_t source = 0;
    bool inside = true;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t at = index[i] - op.attributes.pad_width[2 * i];
      inside = inside && at >= 0 && at < input.shape()[i];
      source += at * strides[i];
    }
    CopyElement(inside ? input : filler, inside ? source : 0, out, position);
  });
}

void Gather(const Operator& op, const Tensor& data, const Tensor& indices, Tensor& out) {
  const std::size_t axis = Position(op.attributes.axis, data.shape().size());
  const std::int64_t inner = StridesOf(data.shape())[axis], size = data.shape()[axis];
  const std::int64_t outer = data.elements() / (inner * size), count = indices.elements();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t chosen = indices.dtype() == kInt64
                                ? indices.As<std::int64_t>()[static_cast<std::size_t>(j)]
                                : indices.As<std::int32_t>()[static_cast<std::size_t>(j)];
      if (chosen < 0) chosen += size;
      chosen = std::clamp<std::int64_t>(chosen, 0, size - 1);
      for (std::int64_t i = 0; i < inner; ++i) {
        CopyElement(data, (o * size + chosen) * inner + i, out, (o * count + j) * inner + i);
      }
    }
  }
}

void TransformLayouts(const Operator& op, const Tensor& input, Tensor& out) {
  const OpAttributes& a = op.attributes;
  const Layout source = *Layout::Parse(a.src_layout);
  const std::string from = source.primal(), to = Layout::Parse(a.dst_layout)->primal();
  std::vector<std::int64_t> logical;
  if (!a.new_shape.empty()) {
    for (char c : from) logical.push_back(a.new_shape[to.find(c)]);
  }
  out = *TransformLayout(input, a.src_layout, a.dst_layout, logical);
}

}  // namespace

void ValuesOfReshape(const Operator&, TensorPointers inputs, Tensor& out) {
  std::memcpy(out.data(), inputs[0]->data(), static_cast<std::size_t>(out.bytes()));
}
void ValuesOfTranspose(const Operator& op, TensorPointers inputs, Tensor& out) {
  Transpose(op, *inputs[0], out);
}
void ValuesOfBroadcastTo(const Operator&, TensorPointers inputs, Tensor& out) {
  BroadcastTo(*inputs[0], out);
}
void ValuesOfConcat(const Operator& op, TensorPointers inputs, Tensor& out) {
  Concat(op, inputs, out);
}
void ValuesOfSlice(const Operator& op, TensorPointers inputs, Tensor& out) {
  Slice(op, *inputs[0], out);
}
void ValuesOfPad(const Operator& op, TensorPointers inputs, Tensor& out) {
  Pad(op, *inputs[0], out);
}
void ValuesOfLayoutTransform(const Operator& op, TensorPointers inputs, Tensor& out) {
  TransformLayouts(op, *inputs[0], out);
}
void ValuesOfGather(const Operator& op, TensorPointers inputs, Tensor& out) {
  Gather(op, *inputs[0], *inputs[1], out);
}

}  // namespace tilewright::reference
