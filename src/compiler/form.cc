#include "src/compiler/form.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/math.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Sizes of the primal dimensions of a value, by the letters of its native layout.
struct Sizes {
  std::string letters;
  Shape sizes;
  std::int64_t operator[](char letter) const { return sizes[letters.find(letter)]; }
};

Result<Sizes> SizesOf(const TensorType& type, const std::string& native) {
  auto layout = Layout::Parse(native);
  TW_RETURN_IF_ERROR(layout);
  if (layout->parts().size() != type.shape.size()) {
    return InvalidArgument(fmt::format("{} in layout {}", type.ToString(), native));
  }
  return Sizes{layout->primal(), layout->Unpack(type.shape)};
}

Result<Shape> PackedShape(const Sizes& sizes, const std::string& layout_text) {
  auto layout = Layout::Parse(layout_text);
  TW_RETURN_IF_ERROR(layout);
  const std::string letters = layout->primal();
  if (letters.size() != sizes.letters.size() ||
      !std::ranges::is_permutation(letters, sizes.letters)) {
    return InvalidArgument(
        fmt::format("layouts {} and {} differ in dimensions", sizes.letters, layout_text));
  }
  Shape ordered;
  for (char letter : letters) ordered.push_back(sizes[letter]);
  return layout->Pack(ordered);
}

/// Dimensions in memory, outermost first, those of one element left out and neighbours of one
/// letter joined. Empty if blocks are rounded up.
std::vector<std::pair<char, std::int64_t>> Order(const Sizes& sizes, const std::string& text) {
  auto layout = Layout::Parse(text);
  auto shape = PackedShape(sizes, text);
  std::vector<std::pair<char, std::int64_t>> order;
  if (!layout.ok() || !shape.ok()) return order;
  if (Product(*shape) != Product(sizes.sizes)) return order;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const char letter = layout->parts()[i].dimension;
    if ((*shape)[i] == 1) continue;
    if (!order.empty() && order.back().first == letter) {
      order.back().second *= (*shape)[i];
    } else {
      order.emplace_back(letter, (*shape)[i]);
    }
  }
  return order;
}

}  // namespace

Result<Shape> MemoryShape(const TensorType& type, const Form& form) {
  if (form.is_native()) return type.shape;
  auto sizes = SizesOf(type, form.native);
  TW_RETURN_IF_ERROR(sizes);
  return PackedShape(*sizes, form.layout);
}

bool SameBytes(const TensorType& type, const std::string& native, const std::string& a,
               const std::string& b) {
  if (a == b) return true;
  auto sizes = SizesOf(type, native);
  if (!sizes.ok() || type.elements() == 1) return sizes.ok();
  const auto order_a = Order(*sizes, a);
  return !order_a.empty() && order_a == Order(*sizes, b);
}

Form Canonical(const TensorType& type, Form form) {
  if (!form.is_native() && SameBytes(type, form.native, form.native, form.layout)) {
    form.layout.clear();
  }
  return form;
}

bool IsRounded(const TensorType& type, const Form& form) {
  auto shape = MemoryShape(type, form);
  return shape.ok() && Product(*shape) != type.elements();
}

Result<Operator> TransformBetween(const TensorType& type, const Form& from, const Form& to) {
  Operator op{OpKind::kLayoutTransform, {}};
  op.attributes.src_layout = from.is_native() ? from.native : from.layout;
  op.attributes.dst_layout = to.is_native() ? to.native : to.layout;
  if (from.native.empty() || from.native != to.native) {
    return Unsupported("no direct change of layout");
  }
  if (!IsRounded(type, from)) return op;
  auto target = Layout::Parse(op.attributes.dst_layout);
  TW_RETURN_IF_ERROR(target);
  if (!to.is_native() || target->primal() != target->text()) {
    return Unsupported("no direct change of layout");
  }
  op.attributes.new_shape = type.shape;
  return op;
}

Result<Shape> BroadcastShape(const TensorType& type, const TensorType& value, const Form& form) {
  if (form.is_native()) return type.shape;
  auto layout = Layout::Parse(form.layout);
  TW_RETURN_IF_ERROR(layout);
  const std::size_t rank = value.shape.size();
  if (type.shape.size() > rank || form.native.size() != rank) {
    return Unsupported("operand of another number of dimensions");
  }
  Shape padded(rank - type.shape.size(), 1);
  padded.insert(padded.end(), type.shape.begin(), type.shape.end());
  Shape shape;
  for (const Layout::Part& part : layout->parts()) {
    const std::int64_t size = padded[form.native.find(part.dimension)];
    const std::int64_t block = layout->BlockOf(part.dimension);
    if (size == 1) {
      shape.push_back(1);
    } else {
      shape.push_back(part.block != 0 ? part.block : CeilDiv(size, block));
    }
  }
  return shape;
}

}  // namespace tilewright
