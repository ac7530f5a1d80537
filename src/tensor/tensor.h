#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/math.h"
#include "src/ir/dtype.h"

namespace tilewright {

/// Shape and element type of a tensor. An empty shape is a scalar.
struct TensorType {
  std::vector<std::int64_t> shape;
  DataType dtype;

  std::int64_t elements() const { return Product(shape); }
  std::int64_t bytes() const { return elements() * dtype.bytes(); }
  /// "float32[1,3,224,224]"
  std::string ToString() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Dense row-major tensor that owns its memory, aligned to 64 bytes. Move-only, because tensors are
/// large; Clone() copies.
class Tensor {
 public:
  Tensor() = default;
  /// Contents are zero.
  explicit Tensor(TensorType type);
  Tensor Clone() const;

  const TensorType& type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return type_.shape; }
  DataType dtype() const { return type_.dtype; }
  std::int64_t elements() const { return type_.elements(); }
  std::int64_t bytes() const { return type_.bytes(); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  /// Returns the elements as T, which must have the size of the element type.
  template <typename T>
  std::span<T> As() {
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(elements())};
  }
  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(elements())};
  }
  /// Returns element `index` (row-major) of any type. int64 beyond 2^53 loses bits.
  double At(std::int64_t index) const;
  /// Stores a value, rounded to nearest and saturated for integers.
  void Set(std::int64_t index, double value);
  /// Changes the shape to another one of equal element count.
  void Reshape(std::vector<std::int64_t> shape);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  TensorType type_;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace tilewright
