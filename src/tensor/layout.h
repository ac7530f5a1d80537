#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Memory layout of a tensor. Upper-case letters are dimensions, outermost first. A number and a
/// lower-case letter is a block of that dimension: "NCHW16c", "OIHW4i16o4i", "NCHW1n16c".
class Layout {
 public:
  struct Part {
    char dimension;      ///< upper case
    std::int64_t block;  ///< 0 for the outer part
  };
  /// Errors: kInvalidArgument for text that is no layout.
  static Result<Layout> Parse(std::string_view text);
  const std::vector<Part>& parts() const { return parts_; }
  const std::string& text() const { return text_; }
  /// Returns the dimensions without blocks, in order: "NCHW" for "NCHW16c".
  std::string primal() const;
  /// Returns the product of the blocks of a dimension; 1 if it has none.
  std::int64_t BlockOf(char dimension) const;
  /// Returns for each part the elements of its dimension from one index to the next: an element has
  /// the index of its dimension that is the sum of index * step over the dimension's parts.
  std::vector<std::int64_t> Steps() const;
  /// Returns the shape in memory of a tensor whose primal dimensions have these sizes, with blocks
  /// rounded up.
  std::vector<std::int64_t> Pack(std::span<const std::int64_t> primal_shape) const;
  /// Returns the sizes of the primal dimensions of a tensor of this shape (rounded-up ones stay
  /// so).
  std::vector<std::int64_t> Unpack(std::span<const std::int64_t> shape) const;

 private:
  std::string text_;
  std::vector<Part> parts_;
};

/// Copies between layouts of the same dimensions (in any order); padding is zero. `logical` gives
/// the primal sizes in the source's primal order if blocks were rounded up.
Result<Tensor> TransformLayout(const Tensor& source, std::string_view from, std::string_view to,
                               std::span<const std::int64_t> logical = {});

}  // namespace tilewright
