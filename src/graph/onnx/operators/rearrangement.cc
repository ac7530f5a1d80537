// Operators that rearrange elements, and constants with a regular pattern.

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/declared_size.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Returns the side of the blocks that channels are converted to or from.
std::int64_t BlockSize(OnnxNode& node) {
  node.ExpectRank(0, 4);
  const std::int64_t size = node.Int("blocksize", 0);
  if (node.ok() && (size < 1 || size > 65535)) {
    node.FailInvalid("attribute blocksize is " + std::to_string(size) + ", expected 1 to 65535");
  }
  return size;
}

void ImportDepthToSpace(OnnxNode& node) {
  const std::int64_t size = BlockSize(node);
  const std::string mode = node.String("mode", "DCR");
  if (!node.ok()) return;
  const Shape s = node.InputType(0).shape;
  if (s[1] % (size * size) != 0) {
    return node.FailInvalid(std::to_string(s[1]) + " channels do not divide by blocksize " +
                            std::to_string(size) + " squared");
  }
  if (mode != "DCR" && mode != "CRD") {
    return node.FailInvalid("attribute mode is " + mode + ", expected DCR or CRD");
  }
  const std::int64_t depth = s[1] / (size * size);
  const bool blocks_first = mode == "DCR";
  const Shape parts = blocks_first ? Shape{s[0], size, size, depth, s[2], s[3]}
                                   : Shape{s[0], depth, size, size, s[2], s[3]};
  const int split = node.EmitReshape(node.Input(0), parts);
  const int moved =
      node.EmitTranspose(split, blocks_first ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3});
  node.SetOutput(node.EmitReshape(moved, {s[0], depth, s[2] * size, s[3] * size}));
}

void ImportSpaceToDepth(OnnxNode& node) {
  const std::int64_t size = BlockSize(node);
  const std::string mode = node.opset() < 28 ? "DCR" : node.String("mode", "DCR");
  if (!node.ok()) return;
  if (mode != "DCR" && mode != "CRD") {
    return node.FailInvalid("attribute mode is " + mode + ", expected DCR or CRD");
  }
  const Shape s = node.InputType(0).shape;
  if (s[2] % size != 0 || s[3] % size != 0) {
    return node.FailInvalid("an image of " + std::to_string(s[2]) + "x" + std::to_string(s[3]) +
                            " does not divide by blocksize " + std::to_string(size));
  }
  const int split =
      node.EmitReshape(node.Input(0), {s[0], s[1], s[2] / size, size, s[3] / size, size});
  const bool blocks_first = mode == "DCR";
  const int moved =
      node.EmitTranspose(split, blocks_first ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4});
  node.SetOutput(node.EmitReshape(moved, {s[0], s[1] * size * size, s[2] / size, s[3] / size}));
}

// Each dimension gets a new broadcast dimension before it.
void ImportTile(OnnxNode& node) {
  const int data = node.Input(0);
  const Shape repeats = node.KnownInts(1);
  if (!node.ok()) return;
  const Shape shape = node.TypeOf(data).shape;
  if (repeats.size() != shape.size()) {
    return node.FailInvalid("has " + std::to_string(repeats.size()) + " repeats, expected " +
                            std::to_string(shape.size()));
  }
  Shape split, result;
  Operator op{OpKind::kBroadcastTo, {}};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > kMaxDimension / std::max<std::int64_t>(shape[i], 1)) {
      return node.FailInvalid("repeats dimension " + std::to_string(i) + " " +
                              std::to_string(repeats[i]) + " times, expected 0 to 2^31 elements");
    }
    split.insert(split.end(), {1, shape[i]});
    op.attributes.new_shape.insert(op.attributes.new_shape.end(), {repeats[i], shape[i]});
    result.push_back(repeats[i] * shape[i]);
  }
  node.SetOutput(node.EmitReshape(node.Emit(op, {node.EmitReshape(data, split)}), result));
}

void ImportSize(OnnxNode& node) {
  const std::int64_t elements = node.InputType(0).elements();
  if (!node.ok()) return;
  Tensor contents(TensorType{{}, kInt64});
  contents.As<std::int64_t>()[0] = elements;
  node.ReturnConstant(std::move(contents));
}

// Returns start, start + delta, … below the limit, for types that doubles represent exactly.
std::optional<Tensor> FloatRange(OnnxNode& node, DataType dtype) {
  const double start = node.KnownScalar(0), limit = node.KnownScalar(1);
  const double delta = node.KnownScalar(2);
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!node.ok() || !(count <= static_cast<double>(kMaxPicked))) return std::nullopt;
  Tensor contents(TensorType{{static_cast<std::int64_t>(count)}, dtype});
  for (std::int64_t i = 0; i < contents.elements(); ++i) {
    contents.Set(i, start + static_cast<double>(i) * delta);
  }
  return contents;
}

// Returns the same for int64, which may exceed the exact range of doubles.
std::optional<Tensor> IntegerRange(OnnxNode& node) {
  const std::int64_t start = node.Known(0)->As<std::int64_t>()[0];
  const std::int64_t limit = node.Known(1)->As<std::int64_t>()[0];
  const std::int64_t delta = node.Known(2)->As<std::int64_t>()[0];
  if (delta == 0) return std::nullopt;
  const bool up = delta > 0;
  std::uint64_t count = 0;
  if (up ? start < limit : start > limit) {
    const auto distance =
        up ? static_cast<std::uint64_t>(limit) - static_cast<std::uint64_t>(start)
           : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(limit);
    const auto step = up ? static_cast<std::uint64_t>(delta) : -static_cast<std::uint64_t>(delta);
    count = (distance - 1) / step + 1;
  }
  if (count > static_cast<std::uint64_t>(kMaxPicked)) return std::nullopt;
  Tensor contents(TensorType{{static_cast<std::int64_t>(count)}, kInt64});
  for (std::uint64_t i = 0; i < count; ++i) {
    contents.As<std::int64_t>()[i] = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(delta));
  }
  return contents;
}

void ImportRange(OnnxNode& node) {
  node.IgnoreAttributes({"stash_type"});  // positions are computed in double
  bool integers = true;
  for (int i = 0; i < 3; ++i) {
    const Tensor* known = node.Known(i);
    if (!node.ok()) return;
    if (known == nullptr) return ReturnRangeOfDeclaredSize(node, i);
    integers &= known->dtype() == kInt64 && known->elements() == 1;
  }
  auto contents = integers ? IntegerRange(node) : FloatRange(node, node.InputType(0).dtype);
  if (node.ok() && !contents) {
    return node.FailInvalid("has more than " + std::to_string(kMaxPicked) + " elements");
  }
  if (node.ok()) node.SetOutput(node.EmitConstant(*std::move(contents)));
}

// Keeps the triangle above (or below) a diagonal of the last two dimensions.
void ImportTrilu(OnnxNode& node) {
  const int data = node.Input(0);
  const bool upper = node.Int("upper", 1) != 0;
  const Tensor* given = node.HasInput(1) ? node.Known(1) : nullptr;
  const bool computed = node.HasInput(1) && given == nullptr;
  const double diagonal = given != nullptr ? node.KnownScalar(1) : 0;
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  if (type.shape.size() < 2) return node.FailInvalid("has no matrix: " + type.ToString());
  const TensorType mask_type{{type.shape.end() - 2, type.shape.end()}, kBool};
  if (mask_type.elements() > kMaxPicked) {
    return node.FailUnsupported("a matrix of " + std::to_string(mask_type.elements()) +
                                " elements, expected at most " + std::to_string(kMaxPicked));
  }
  const std::int64_t columns = type.shape.back();
  if (computed) {
    // Diagonal of each element.
    Tensor offsets(TensorType{mask_type.shape, kInt64});
    for (std::int64_t i = 0; i < offsets.elements(); ++i) {
      offsets.As<std::int64_t>()[static_cast<std::size_t>(i)] = i % columns - i / columns;
    }
    const int own = node.EmitConstant(std::move(offsets));
    const int asked = node.EmitReshape(node.EmitCast(node.Input(1), kInt64), {});
    const int beyond =
        node.Emit(OpKind::kLess, upper ? std::vector{own, asked} : std::vector{asked, own});
    const int zero = node.EmitScalar(type.dtype, 0);
    return node.Return(Operator{OpKind::kWhere, {}}, {beyond, zero, data});
  }
  Tensor mask(mask_type);
  for (std::int64_t i = 0; i < mask.elements(); ++i) {
    const auto offset = static_cast<double>(i % columns - i / columns);
    mask.Set(i, (upper ? offset >= diagonal : offset <= diagonal) ? 1 : 0);
  }
  const int kept = node.EmitConstant(std::move(mask));
  node.Return(Operator{OpKind::kWhere, {}}, {kept, data, node.EmitScalar(type.dtype, 0)});
}

constexpr OnnxHandlerEntry kRearrangementHandlers[] = {
    {"DepthToSpace", &ImportDepthToSpace}, {"Range", &ImportRange}, {"Size", &ImportSize},
    {"SpaceToDepth", &ImportSpaceToDepth}, {"Tile", &ImportTile},   {"Trilu", &ImportTrilu},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxRearrangementHandlers() { return kRearrangementHandlers; }

}  // namespace tilewright
