#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/layout.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Mapping between elements in memory and indices by the letters of a layout.
class LayoutIndex {
 public:
  /// shape: in memory. Errors: kUnsupported if the layout has another number of parts.
  static Result<LayoutIndex> Of(std::vector<std::int64_t> shape, std::string_view text) {
    TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(text));
    if (layout.parts().size() != shape.size()) {
      return Unsupported("a tensor of " + std::to_string(shape.size()) + " dimensions in layout " +
                         std::string(text));
    }
    LayoutIndex layout_index;
    const auto& parts = layout.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::int64_t inner = 1;
      for (std::size_t j = 0; j < parts.size(); ++j) {
        const bool further_in = parts[j].block != 0 && (parts[i].block == 0 || j > i);
        if (j != i && further_in && parts[j].dimension == parts[i].dimension) {
          inner *= parts[j].block;
        }
      }
      layout_index.parts_.push_back({parts[i].dimension, parts[i].block, inner});
    }
    layout_index.shape_ = std::move(shape);
    return layout_index;
  }

  /// Returns the index of a letter at an index in memory.
  std::int64_t IndexOf(char letter, const std::vector<std::int64_t>& index) const {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].letter == letter) value += index[i] * parts_[i].inner;
    }
    return value;
  }

  /// Returns the row-major position in memory of an index by letters: by_letter('C').
  template <typename ByLetter>
  std::int64_t Place(const ByLetter& by_letter) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::int64_t index = by_letter(parts_[i].letter) / parts_[i].inner;
      if (parts_[i].block != 0) index %= parts_[i].block;
      place = place * shape_[i] + index;
    }
    return place;
  }

 private:
  struct Part {
    char letter;
    std::int64_t block;  // 0: the outer part
    std::int64_t inner;  // product of the inner blocks of the letter
  };
  std::vector<Part> parts_;
  std::vector<std::int64_t> shape_;
};

}  // namespace tilewright
