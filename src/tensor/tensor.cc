#include "src/tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "src/base/status.h"
#include "src/tensor/half.h"

namespace tilewright {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

template <typename T>
T Load(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void Store(std::byte* data, std::int64_t index, T value) {
  std::memcpy(data + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <typename T>
T SaturateTo(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  // The upper bound of 64-bit types is no double; the next higher number is.
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(rounded);
}

}  // namespace

std::string TensorType::ToString() const {
  return fmt::format("{}[{}]", DataTypeName(dtype), fmt::join(shape, ","));
}

void Tensor::Free::operator()(std::byte* p) const { ::operator delete(p, kAlignment); }

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  const auto bytes = std::max<std::int64_t>(type_.bytes(), 1);
  const auto rounded =
      static_cast<std::size_t>(RoundUp(bytes, static_cast<std::int64_t>(kAlignment)));
  // Allocated with operator new, like containers, so that a limit on that memory includes tensors.
  void* memory = ::operator new(rounded, kAlignment);
  std::memset(memory, 0, rounded);
  data_.reset(static_cast<std::byte*>(memory));
}

Tensor Tensor::Clone() const {
  if (data_ == nullptr) return Tensor();
  Tensor copy(type_);
  std::memcpy(copy.data(), data(), static_cast<std::size_t>(bytes()));
  return copy;
}

double Tensor::At(std::int64_t index) const {
  const std::byte* data = data_.get();
  const int bits = type_.dtype.bits;
  switch (type_.dtype.code) {
    case TypeCode::kFloat:
      if (bits == 64) return Load<double>(data, index);
      if (bits == 16) return HalfToFloat(Load<std::uint16_t>(data, index));
      return static_cast<double>(Load<float>(data, index));
    case TypeCode::kBFloat:
      return BFloat16ToFloat(Load<std::uint16_t>(data, index));
    case TypeCode::kInt:
      if (bits == 8) return Load<std::int8_t>(data, index);
      if (bits == 16) return Load<std::int16_t>(data, index);
      if (bits == 32) return Load<std::int32_t>(data, index);
      return static_cast<double>(Load<std::int64_t>(data, index));
    case TypeCode::kUInt:
      if (bits == 8) return Load<std::uint8_t>(data, index);
      if (bits == 16) return Load<std::uint16_t>(data, index);
      if (bits == 32) return Load<std::uint32_t>(data, index);
      return static_cast<double>(Load<std::uint64_t>(data, index));
    case TypeCode::kBool:
      return Load<std::uint8_t>(data, index) != 0 ? 1 : 0;
  }
  return 0;
}

void Tensor::Set(std::int64_t index, double value) {
  std::byte* data = data_.get();
  const int bits = type_.dtype.bits;
  switch (type_.dtype.code) {
    case TypeCode::kFloat:
      if (bits == 64) return Store(data, index, value);
      if (bits == 16) return Store(data, index, FloatToHalf(static_cast<float>(value)));
      return Store(data, index, static_cast<float>(value));
    case TypeCode::kBFloat:
      return Store(data, index, FloatToBFloat16(static_cast<float>(value)));
    case TypeCode::kInt:
      if (bits == 8) return Store(data, index, SaturateTo<std::int8_t>(value));
      if (bits == 16) return Store(data, index, SaturateTo<std::int16_t>(value));
      if (bits == 32) return Store(data, index, SaturateTo<std::int32_t>(value));
      return Store(data, index, SaturateTo<std::int64_t>(value));
    case TypeCode::kUInt:
      if (bits == 8) return Store(data, index, SaturateTo<std::uint8_t>(value));
      if (bits == 16) return Store(data, index, SaturateTo<std::uint16_t>(value));
      if (bits == 32) return Store(data, index, SaturateTo<std::uint32_t>(value));
      return Store(data, index, SaturateTo<std::uint64_t>(value));
    case TypeCode::kBool:
      return Store(data, index, static_cast<std::uint8_t>(value != 0));
  }
}

void Tensor::Reshape(std::vector<std::int64_t> shape) {
  TW_CHECK(Product(shape) == type_.elements(), "reshape changes the element count");
  type_.shape = std::move(shape);
}

}  // namespace tilewright
