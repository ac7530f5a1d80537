#include "src/tensor/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

constexpr std::size_t kMaxParts = 12;
constexpr std::int64_t kMaxBlock = 1 << 20;

/// Returns the offset of the elements for each value of one primal index: the sum of part index *
/// stride.
std::vector<std::int64_t> OffsetTable(const Layout& layout, std::span<const std::int64_t> shape,
                                      char dimension, std::int64_t size) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  std::vector<std::int64_t> table(static_cast<std::size_t>(size), 0);
  for (std::int64_t value = 0; value < size; ++value) {
    std::int64_t rest = value;
    std::int64_t offset = 0;
    std::size_t outer = 0;
    for (std::size_t i = layout.parts().size(); i-- > 0;) {
      const Layout::Part& part = layout.parts()[i];
      if (part.dimension != dimension) continue;
      if (part.block == 0) {
        outer = i;  // the index without its blocks, in any position
        continue;
      }
      offset += rest % part.block * strides[i];
      rest /= part.block;
    }
    offset += rest * strides[outer];
    table[static_cast<std::size_t>(value)] = offset;
  }
  return table;
}

struct DimensionTables {
  std::vector<std::int64_t> from, to;
};

/// Copies the elements below `dimension`, recursively; the innermost dimension is a plain loop.
template <typename T>
void CopyElements(const T* from, T* to, std::span<const DimensionTables> dimensions) {
  const DimensionTables& tables = dimensions.front();
  if (dimensions.size() == 1) {
    for (std::size_t i = 0; i < tables.from.size(); ++i) to[tables.to[i]] = from[tables.from[i]];
    return;
  }
  for (std::size_t i = 0; i < tables.from.size(); ++i) {
    CopyElements(from + tables.from[i], to + tables.to[i], dimensions.subspan(1));
  }
}

std::string Sorted(std::string text) {
  std::sort(text.begin(), text.end());
  return text;
}

}  // namespace

Result<Layout> Layout::Parse(std::string_view text) {
  Layout layout;
  layout.text_ = std::string(text);
  const auto bad = [&](std::string_view why) {
    return InvalidArgument(fmt::format("layout '{}': {}", text, why));
  };
  if (text.empty()) return bad("empty, expected letters such as NCHW16c");
  std::int64_t all_blocks = 1;
  std::size_t i = 0;
  while (i < text.size()) {
    if (layout.parts_.size() == kMaxParts) return bad("more than 12 parts");
    const char c = text[i];
    if (c >= 'A' && c <= 'Z') {
      if (layout.primal().find(c) != std::string::npos) {
        return bad(fmt::format("dimension {} appears twice", c));
      }
      layout.parts_.push_back({c, 0});
      ++i;
      continue;
    }
    if (c < '0' || c > '9') return bad(fmt::format("unexpected character at position {}", i));
    std::int64_t block = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9' && block <= kMaxBlock) {
      block = block * 10 + (text[i++] - '0');
    }
    if (block < 1 || block > kMaxBlock) return bad("block out of range, expected 1 to 1048576");
    if (i == text.size() || text[i] < 'a' || text[i] > 'z') {
      return bad("expected a lower-case letter after a block");
    }
    const char dimension = static_cast<char>(text[i] - 'a' + 'A');
    all_blocks *= block;
    if (all_blocks > kMaxBlock) return bad("blocks of more than 1048576 elements");
    layout.parts_.push_back({dimension, block});
    ++i;
  }
  for (const Part& part : layout.parts_) {
    if (layout.primal().find(part.dimension) == std::string::npos) {
      return bad(fmt::format("block of dimension {}, which it has not", part.dimension));
    }
  }
  return layout;
}

std::string Layout::primal() const {
  std::string letters;
  for (const Part& part : parts_) {
    if (part.block == 0) letters.push_back(part.dimension);
  }
  return letters;
}

std::int64_t Layout::BlockOf(char dimension) const {
  std::int64_t block = 1;
  for (const Part& part : parts_) {
    if (part.dimension == dimension && part.block != 0) block *= part.block;
  }
  return block;
}

std::vector<std::int64_t> Layout::Steps() const {
  std::vector<std::int64_t> steps(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    // Blocks further inside come first in the element's number; the outer part comes last.
    steps[i] = 1;
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      const bool is_inside = parts_[i].block == 0 ? j != i : j > i;
      if (is_inside && parts_[j].dimension == parts_[i].dimension && parts_[j].block != 0) {
        steps[i] *= parts_[j].block;
      }
    }
  }
  return steps;
}

std::vector<std::int64_t> Layout::Pack(std::span<const std::int64_t> primal_shape) const {
  const std::string letters = primal();
  TW_CHECK(letters.size() == primal_shape.size(), "layout and shape differ in dimensions");
  std::vector<std::int64_t> shape;
  shape.reserve(parts_.size());
  for (const Part& part : parts_) {
    if (part.block != 0) {
      shape.push_back(part.block);
    } else {
      shape.push_back(CeilDiv(primal_shape[letters.find(part.dimension)], BlockOf(part.dimension)));
    }
  }
  return shape;
}

std::vector<std::int64_t> Layout::Unpack(std::span<const std::int64_t> shape) const {
  TW_CHECK(parts_.size() == shape.size(), "layout and shape differ in dimensions");
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].block == 0) sizes.push_back(shape[i] * BlockOf(parts_[i].dimension));
  }
  return sizes;
}

Result<Tensor> TransformLayout(const Tensor& source, std::string_view from, std::string_view to,
                               std::span<const std::int64_t> logical) {
  TW_ASSIGN_OR_RETURN(auto source_layout, Layout::Parse(from));
  TW_ASSIGN_OR_RETURN(auto target_layout, Layout::Parse(to));
  const std::string source_letters = source_layout.primal();
  const std::string target_letters = target_layout.primal();
  if (Sorted(source_letters) != Sorted(target_letters)) {
    return InvalidArgument(fmt::format("layouts {} and {} differ in dimensions", from, to));
  }
  if (source.shape().size() != source_layout.parts().size()) {
    return InvalidArgument(fmt::format("layout {}: tensor {} has another number of dimensions",
                                       from, source.type().ToString()));
  }
  std::vector<std::int64_t> sizes = source_layout.Unpack(source.shape());
  if (source_layout.Pack(sizes) != source.shape()) {
    return InvalidArgument(
        fmt::format("layout {}: tensor {} has other block sizes", from, source.type().ToString()));
  }
  if (!logical.empty()) {
    if (logical.size() != sizes.size() || source_layout.Pack(logical) != source.shape()) {
      return InvalidArgument(fmt::format("layout {}: logical shape [{}] does not fit {}", from,
                                         fmt::join(logical, ","), source.type().ToString()));
    }
    sizes.assign(logical.begin(), logical.end());
  }
  std::vector<std::int64_t> target_sizes;
  for (char c : target_letters) target_sizes.push_back(sizes[source_letters.find(c)]);
  Tensor result(TensorType{target_layout.Pack(target_sizes), source.dtype()});
  std::vector<DimensionTables> tables;
  for (std::size_t i = 0; i < target_letters.size(); ++i) {
    tables.push_back(
        {OffsetTable(source_layout, source.shape(), target_letters[i], target_sizes[i]),
         OffsetTable(target_layout, result.shape(), target_letters[i], target_sizes[i])});
  }
  const auto copy = [&]<typename T>(T) {
    CopyElements(reinterpret_cast<const T*>(source.data()), reinterpret_cast<T*>(result.data()),
                 tables);
  };
  switch (source.dtype().bytes()) {
    case 1:
      copy(std::uint8_t{});
      break;
    case 2:
      copy(std::uint16_t{});
      break;
    case 4:
      copy(std::uint32_t{});
      break;
    default:
      copy(std::uint64_t{});
      break;
  }
  return result;
}

}  // namespace tilewright
