#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// How a value of a graph lies in memory.
struct PhysicalLayout {
  std::string
      logical_layout;  ///< layout the graph gives it, such as "NCHW"; empty where nobody knows
  std::string layout;  ///< the one in memory; empty: as the graph has it
  bool is_logical() const { return layout.empty(); }
  friend bool operator==(const PhysicalLayout&, const PhysicalLayout&) = default;
};

/// Shape in memory of a value of this type.
/// Errors: kInvalidArgument if the layouts do not fit the type.
Result<std::vector<std::int64_t>> MemoryShape(const TensorType& type,
                                              const PhysicalLayout& layouts);

/// The value in the layout the graph gives it, from its memory in `form`.
/// Errors: those of MemoryShape.
Result<Tensor> ToLogical(const TensorType& type, const PhysicalLayout& layouts, const void* memory);

/// True if a value has the same bytes in both layouts (of the same dimensions), as NCHW and NCHW16c
/// have for images of one pixel.
bool SameBytes(const TensorType& type, const std::string& logical_layout, const std::string& a,
               const std::string& b);

/// Dimensions in memory, outermost first: letter and extent, those of one element left out and
/// neighbours of one letter joined; an inner part of a dimension that stands before the outer one
/// ("N34cCHW", of shuffled channels) has a small letter. Empty if blocks are rounded up. Equal
/// orders are equal bytes.
std::vector<std::pair<char, std::int64_t>> MemoryOrder(const TensorType& type,
                                                       const std::string& logical_layout,
                                                       const std::string& layout);

/// The same of the result of reshaping a native value to `reshaped` and transposing that. Empty if
/// the reshape does not just split dimensions.
std::vector<std::pair<char, std::int64_t>> TransposedOrder(
    const TensorType& type, const std::string& logical_layout,
    const std::vector<std::int64_t>& reshaped, const std::vector<std::int64_t>& axes);

/// The form, with `layout` emptied if its bytes are those of the native layout.
PhysicalLayout Canonical(const TensorType& type, PhysicalLayout layouts);

/// True if blocks of channels reach beyond the value's channels, so that its memory has elements
/// that are no part of it.
bool IsRounded(const TensorType& type, const PhysicalLayout& layouts);

/// A layout transformation from one form of a value to another of the same native layout.
/// Errors: kUnsupported if it takes two steps (by way of the native form).
Result<Operator> TransformBetween(const TensorType& type, const PhysicalLayout& from,
                                  const PhysicalLayout& to);

/// The form in which an elementwise operand or result follows a value in `form`: sizes of
/// dimensions of a tensor that broadcasts against it. `type` is padded with ones in front. Errors:
/// kUnsupported if such a tensor cannot be blocked like that, or if the value has one channel in
/// blocks: nothing then tells an operand that broadcasts from one that lies in blocks as well.
Result<std::vector<std::int64_t>> BroadcastShape(const TensorType& type, const TensorType& value,
                                                 const PhysicalLayout& layouts);

}  // namespace tilewright
