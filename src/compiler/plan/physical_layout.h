#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Layout of a value of a graph in memory.
struct PhysicalLayout {
  std::string logical_layout;  ///< the graph's layout, such as "NCHW"; empty if unknown
  std::string layout;          ///< layout in memory; empty: as in the graph
  bool is_logical() const { return layout.empty(); }
  friend bool operator==(const PhysicalLayout&, const PhysicalLayout&) = default;
};

/// Returns the shape in memory of a value of this type.
/// Errors: kInvalidArgument if the layouts do not fit the type.
Result<std::vector<std::int64_t>> MemoryShape(const TensorType& type,
                                              const PhysicalLayout& layouts);

/// Reads a value from memory with the given layouts; the result has the graph's layout.
/// Errors: those of MemoryShape.
Result<Tensor> ToLogical(const TensorType& type, const PhysicalLayout& layouts, const void* memory);

/// Returns true if a value has the same bytes in both layouts (of the same dimensions). Example:
/// NCHW and NCHW16c of images with one pixel.
bool SameBytes(const TensorType& type, const std::string& logical_layout, const std::string& a,
               const std::string& b);

/// Returns the dimensions in memory, outermost first, by letter and extent. Dimensions of one
/// element are left out, and neighbors of one letter are joined. An inner part of a dimension that
/// stands before the outer one ("N34cCHW", of shuffled channels) has a small letter. Empty if
/// blocks are rounded up. Equal orders are equal bytes.
std::vector<std::pair<char, std::int64_t>> MemoryOrder(const TensorType& type,
                                                       const std::string& logical_layout,
                                                       const std::string& layout);

/// Returns the same for the result of reshaping a value in its logical layout to `reshaped` and
/// transposing that. Empty if the reshape does more than split dimensions.
std::vector<std::pair<char, std::int64_t>> TransposedOrder(
    const TensorType& type, const std::string& logical_layout,
    const std::vector<std::int64_t>& reshaped, const std::vector<std::int64_t>& axes);

/// Returns the layouts with `layout` emptied if its bytes are those of the logical layout.
PhysicalLayout Canonical(const TensorType& type, PhysicalLayout layouts);

/// Returns true if blocks of channels are padded, so that the memory has more elements than the
/// value.
bool IsRounded(const TensorType& type, const PhysicalLayout& layouts);

/// Returns the layout transformation between two physical layouts of one logical layout.
/// Errors: kUnsupported if it takes two steps (by way of the logical layout).
Result<Operator> TransformBetween(const TensorType& type, const PhysicalLayout& from,
                                  const PhysicalLayout& to);

/// Returns the shape of an elementwise operand or result that matches a value with these layouts:
/// sizes of dimensions of a tensor that broadcasts against it. `type` is padded with ones in front.
/// Errors: kUnsupported if such a tensor cannot be blocked like that, or if the value has one
/// channel in blocks (an operand that broadcasts then cannot be told from a blocked one).
Result<std::vector<std::int64_t>> BroadcastShape(const TensorType& type, const TensorType& value,
                                                 const PhysicalLayout& layouts);

}  // namespace tilewright
