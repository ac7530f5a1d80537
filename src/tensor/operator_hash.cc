#include "src/tensor/operator_hash.h"

#include <bit>

#include "src/base/hash.h"
#include "src/tensor/recurrence.h"

namespace tilewright {
namespace {

class Hasher {
 public:
  void Add(std::uint64_t value) { state_ = Mix64(31 * state_ + value); }
  void Add(std::int64_t value) { Add(static_cast<std::uint64_t>(value)); }
  void Add(int value) { Add(static_cast<std::uint64_t>(value)); }
  void Add(bool value) { Add(static_cast<std::uint64_t>(value)); }
  // Both zeros are equal: their sum with zero is the positive one.
  void Add(double value) { Add(std::bit_cast<std::uint64_t>(value + 0.0)); }
  void Add(const std::string& text) { Add(Fnv1a64(text)); }
  void Add(const std::optional<DataType>& dtype) {
    Add(dtype.has_value());
    if (!dtype) return;
    Add(static_cast<int>(dtype->code));
    Add(dtype->bits);
  }
  template <typename T>
  void Add(std::span<const T> values) {
    Add(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) Add(value);
  }
  template <typename... Fields>
  void AddLists(const Fields&... fields) {
    (Add(std::span<const std::int64_t>(fields)), ...);
  }
  template <typename... Fields>
  void AddAll(const Fields&... fields) {
    (Add(fields), ...);
  }
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

/// Types follow from operators and inputs, so the hash leaves them out.
std::uint64_t HashOf(const Recurrence& recurrence) {
  Hasher hash;
  hash.AddAll(recurrence.sliced, recurrence.backwards, static_cast<int>(recurrence.results));
  for (int next : recurrence.next) hash.Add(next);
  for (const OperatorListValue& value : recurrence.step.values()) {
    hash.Add(value.op ? tilewright::HashOf(*value.op, value.operands) : std::uint64_t{0});
    if (value.scalar) hash.AddAll(value.scalar->number, value.scalar->integer);
  }
  return hash.state();
}

}  // namespace

std::uint64_t HashOf(const Operator& op, std::span<const int> inputs) {
  const OpAttributes& a = op.attributes;
  Hasher hash;
  hash.Add(static_cast<int>(op.kind));
  hash.AddLists(a.strides, a.padding, a.dilation, a.pool_size, a.output_padding, a.axes,
                a.new_shape, a.begin, a.end, a.steps, a.pad_width);
  hash.AddAll(a.groups, a.reduced_range_weights, a.data_layout, a.kernel_layout, a.src_layout,
              a.dst_layout, a.dtype, a.axis, a.keepdims, a.ceil_mode, a.count_include_pad,
              a.flatten, a.pad_value, a.a_min, a.a_max, a.alpha, a.beta, a.epsilon, a.bias, a.size,
              a.multiplier, a.shift);
  if (a.recurrence) hash.Add(HashOf(*a.recurrence));
  if (!a.expression.empty()) hash.Add(Fnv1a64(PrintExpression(a.expression)));
  hash.Add(inputs);
  return hash.state();
}

}  // namespace tilewright
