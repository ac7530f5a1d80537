#include "src/compiler/plan/physical_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/math.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Sizes of the primal dimensions of a value, by the letters of its logical layout.
struct Sizes {
  std::string letters;
  Shape sizes;
  std::int64_t operator[](char letter) const { return sizes[letters.find(letter)]; }
};

Result<Sizes> SizesOf(const TensorType& type, const std::string& logical_layout) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(logical_layout));
  if (layout.parts().size() != type.shape.size()) {
    return InvalidArgument(fmt::format("{} in layout {}", type.ToString(), logical_layout));
  }
  return Sizes{layout.primal(), layout.Unpack(type.shape)};
}

Result<Shape> PackedShape(const Sizes& sizes, const std::string& layout_text) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layout_text));
  const std::string letters = layout.primal();
  if (letters.size() != sizes.letters.size() ||
      !std::ranges::is_permutation(letters, sizes.letters)) {
    return InvalidArgument(
        fmt::format("layouts {} and {} differ in dimensions", sizes.letters, layout_text));
  }
  Shape ordered;
  for (char letter : letters) ordered.push_back(sizes[letter]);
  return layout.Pack(ordered);
}

using Order = std::vector<std::pair<char, std::int64_t>>;

/// Returns the letter of an inner part of a dimension that stands before the outer one.
char Early(char letter) { return static_cast<char>(letter - 'A' + 'a'); }

/// Appends a dimension in memory, joined with the one before it if both are parts of one.
void Append(Order& order, char letter, std::int64_t extent) {
  if (extent == 1) return;
  if (!order.empty() && order.back().first == letter) {
    order.back().second *= extent;
  } else {
    order.emplace_back(letter, extent);
  }
}

}  // namespace

Result<Shape> MemoryShape(const TensorType& type, const PhysicalLayout& layouts) {
  if (layouts.is_logical()) return type.shape;
  TW_ASSIGN_OR_RETURN(auto sizes, SizesOf(type, layouts.logical_layout));
  return PackedShape(sizes, layouts.layout);
}

std::vector<std::pair<char, std::int64_t>> MemoryOrder(const TensorType& type,
                                                       const std::string& logical_layout,
                                                       const std::string& layout_text) {
  Order order;
  auto sizes = SizesOf(type, logical_layout);
  auto layout = Layout::Parse(layout_text);
  if (!sizes.ok() || !layout.ok()) return order;
  auto shape = PackedShape(*sizes, layout_text);
  if (!shape.ok() || Product(*shape) != Product(sizes->sizes)) return order;
  std::string seen;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const char letter = layout->parts()[i].dimension;
    if (layout->parts()[i].block == 0) seen += letter;
    Append(order, seen.find(letter) == std::string::npos ? Early(letter) : letter, (*shape)[i]);
  }
  return order;
}

std::vector<std::pair<char, std::int64_t>> TransposedOrder(const TensorType& type,
                                                           const std::string& logical_layout,
                                                           const Shape& reshaped,
                                                           const Shape& axes) {
  if (logical_layout.size() != type.shape.size() || axes.size() != reshaped.size()) return {};
  // Logical dimension that each reshaped one is a part of, in order from the outermost part.
  std::vector<std::size_t> part_of(reshaped.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < type.shape.size(); ++i) {
    std::int64_t product = 1;
    while (next < reshaped.size() && (product < type.shape[i] || reshaped[next] == 1)) {
      part_of[next] = i;
      product *= reshaped[next++];
    }
    if (product != type.shape[i]) return {};
  }
  if (next != reshaped.size()) return {};
  std::vector<int> parts(type.shape.size(), 0);  // of each dimension, without parts of one element
  for (std::size_t i = 0; i < reshaped.size(); ++i) parts[part_of[i]] += reshaped[i] > 1 ? 1 : 0;
  Order order;
  std::vector<std::int64_t> innermost(type.shape.size(), -1);  // part of each dimension so far
  for (std::int64_t axis : axes) {
    const auto a = static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(axes.size()) : axis);
    if (reshaped[a] == 1) continue;
    const std::size_t dimension = part_of[a];
    const auto part = static_cast<std::int64_t>(a);
    // An inner part may be outside of an outer one only if there are just these two.
    const bool outer_lies_inside = part < innermost[dimension];
    if (outer_lies_inside && parts[dimension] != 2) return {};
    const bool early = parts[dimension] == 2 && innermost[dimension] < 0 && [&] {
      for (std::size_t other = 0; other < a; ++other) {
        if (part_of[other] == dimension && reshaped[other] > 1) return true;
      }
      return false;
    }();
    innermost[dimension] = std::max(innermost[dimension], part);
    Append(order, early ? Early(logical_layout[dimension]) : logical_layout[dimension],
           reshaped[a]);
  }
  return order;
}

Result<Tensor> ToLogical(const TensorType& type, const PhysicalLayout& layouts,
                         const void* memory) {
  TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(type, layouts));
  Tensor stored(TensorType{std::move(shape), type.dtype});
  std::memcpy(stored.data(), memory, static_cast<std::size_t>(stored.bytes()));
  if (layouts.is_logical()) return stored;
  TW_ASSIGN_OR_RETURN(auto logical_layout, Layout::Parse(layouts.logical_layout));
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  const auto sizes = logical_layout.Unpack(type.shape);
  std::vector<std::int64_t> logical;
  for (char letter : layout.primal())
    logical.push_back(sizes[logical_layout.primal().find(letter)]);
  return TransformLayout(stored, layouts.layout, layouts.logical_layout, logical);
}

bool SameBytes(const TensorType& type, const std::string& logical_layout, const std::string& a,
               const std::string& b) {
  if (a == b) return true;
  const auto sizes = SizesOf(type, logical_layout);
  if (!sizes.ok()) return false;
  const auto shape_a = PackedShape(*sizes, a), shape_b = PackedShape(*sizes, b);
  if (!shape_a.ok() || !shape_b.ok()) return false;
  // A padded block has elements that are no part of the value, even if the value has a single
  // element.
  if (Product(*shape_a) != type.elements() || Product(*shape_b) != type.elements()) return false;
  return MemoryOrder(type, logical_layout, a) == MemoryOrder(type, logical_layout, b);
}

PhysicalLayout Canonical(const TensorType& type, PhysicalLayout layouts) {
  if (!layouts.is_logical() &&
      SameBytes(type, layouts.logical_layout, layouts.logical_layout, layouts.layout)) {
    layouts.layout.clear();
  }
  return layouts;
}

bool IsRounded(const TensorType& type, const PhysicalLayout& layouts) {
  auto shape = MemoryShape(type, layouts);
  return shape.ok() && Product(*shape) != type.elements();
}

Result<Operator> TransformBetween(const TensorType& type, const PhysicalLayout& from,
                                  const PhysicalLayout& to) {
  Operator op{OpKind::kLayoutTransform, {}};
  op.attributes.src_layout = from.is_logical() ? from.logical_layout : from.layout;
  op.attributes.dst_layout = to.is_logical() ? to.logical_layout : to.layout;
  if (from.logical_layout.empty() || from.logical_layout != to.logical_layout) {
    return Unsupported("no direct change of layout");
  }
  if (!IsRounded(type, from)) return op;
  TW_ASSIGN_OR_RETURN(auto target, Layout::Parse(op.attributes.dst_layout));
  if (!to.is_logical() || target.primal() != target.text()) {
    return Unsupported("no direct change of layout");
  }
  op.attributes.new_shape = type.shape;
  return op;
}

Result<Shape> BroadcastShape(const TensorType& type, const TensorType& value,
                             const PhysicalLayout& layouts) {
  if (layouts.is_logical()) return type.shape;
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  const std::size_t rank = value.shape.size();
  if (type.shape.size() > rank || layouts.logical_layout.size() != rank) {
    return Unsupported("operand of another number of dimensions");
  }
  Shape padded(rank - type.shape.size(), 1);
  padded.insert(padded.end(), type.shape.begin(), type.shape.end());
  Shape shape;
  for (const Layout::Part& part : layout.parts()) {
    const std::int64_t size = padded[layouts.logical_layout.find(part.dimension)];
    const std::int64_t block = layout.BlockOf(part.dimension);
    // A value with one channel is not repeated along it, and is in a whole block.
    if (block > 1 && value.shape[layouts.logical_layout.find(part.dimension)] == 1) {
      return Unsupported("a value of one channel in blocks of channels");
    }
    if (size == 1) {
      shape.push_back(1);
    } else {
      shape.push_back(part.block != 0 ? part.block : CeilDiv(size, block));
    }
  }
  return shape;
}

}  // namespace tilewright
