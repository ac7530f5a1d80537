// Det: product of the pivots of a Gaussian elimination. Each step swaps the row with the largest
// element of the first column to the top, which changes the sign unless the row is already there,
// and leaves a matrix that is smaller by one.

#include "src/graph/onnx/operators/determinant.h"

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kLargestMatrix = 64;  // some twenty operators for each row

// Emits rows and columns of matrices [B,m,m] from `row` and `column` on, or one of each.
int Part(OnnxNode& node, int id, std::int64_t row, std::int64_t rows, std::int64_t column,
         std::int64_t columns) {
  if (!node.ok()) return -1;
  Operator slice = WholeSlice(node.TypeOf(id).shape);
  slice.attributes.begin = {0, row, column};
  slice.attributes.end = {node.TypeOf(id).shape[0], row + rows, column + columns};
  return node.Emit(slice, {id});
}

// Emits one step: multiplies `product` [B,1,1] by the pivot and returns the remaining matrices.
int Eliminated(OnnxNode& node, int id, std::int64_t m, int& product) {
  Operator most{OpKind::kReduceMax, {}}, first{OpKind::kReduceMin, {}};
  most.attributes.axes = first.attributes.axes = {1};
  most.attributes.keepdims = first.attributes.keepdims = true;
  const DataType dtype = node.TypeOf(id).dtype;
  const int sizes = node.Emit(OpKind::kAbs, {Part(node, id, 0, m, 0, 1)});
  const int hit = node.Emit(OpKind::kEqual, {sizes, node.Emit(most, {sizes})});
  const int positions = EmitPositions(node, kInt32, m, 1);
  const int last = node.EmitScalar(kInt32, static_cast<double>(m - 1));
  const int place = node.Emit(first, {node.Emit(OpKind::kWhere, {hit, positions, last})});
  const int top = EmitGathered(node, id, place);  // [B,1,m]
  const int taken = node.Emit(OpKind::kEqual, {positions, place});
  const int swapped = node.Emit(OpKind::kWhere, {taken, Part(node, id, 0, 1, 0, m), id});
  const int pivot = Part(node, top, 0, 1, 0, 1);
  const int stays = node.Emit(OpKind::kEqual, place, 0);
  const int turned = node.Emit(OpKind::kNegate, {pivot});
  product = node.Emit(OpKind::kMul, {product, node.Emit(OpKind::kWhere, {stays, pivot, turned})});
  // For a column of zeros the product is 0; the remaining matrix is irrelevant.
  const int none = node.Emit(OpKind::kEqual, pivot, 0);
  const int divisor = node.Emit(OpKind::kWhere, {none, node.EmitScalar(dtype, 1), pivot});
  const int factors = node.Emit(OpKind::kDiv, {Part(node, swapped, 1, m - 1, 0, 1), divisor});
  const int multiples = node.Emit(OpKind::kMul, {factors, Part(node, top, 0, 1, 1, m - 1)});
  return node.Emit(OpKind::kSub, {Part(node, swapped, 1, m - 1, 1, m - 1), multiples});
}

// Emits the determinants [...] of matrices [...,m,m].
void ImportDet(OnnxNode& node) {
  const TensorType type = node.InputType(0);
  if (!node.ok()) return;
  const Shape& shape = type.shape;
  const std::int64_t m = shape.empty() ? 0 : shape.back();
  if (shape.size() < 2 || shape[shape.size() - 2] != m || !type.dtype.is_float()) {
    return node.FailInvalid("input 0 is " + type.ToString() +
                            ", expected floats whose last two dimensions are equal");
  }
  if (m > kLargestMatrix) {
    return node.FailUnsupported("matrices of " + std::to_string(m) + " rows, expected at most " +
                                std::to_string(kLargestMatrix));
  }
  const DataType dtype = type.dtype == kFloat16 ? kFloat32 : type.dtype;
  const std::int64_t count = type.elements() / (m * m);
  int rest = node.EmitReshape(node.EmitCast(node.Input(0), dtype), {count, m, m});
  int product = node.EmitFilled(TensorType{{count, 1, 1}, dtype}, 1);
  for (std::int64_t size = m; size > 1 && node.ok(); --size) {
    rest = Eliminated(node, rest, size, product);
  }
  product = node.Emit(OpKind::kMul, {product, rest});
  const int result = node.EmitReshape(product, Shape(shape.begin(), shape.end() - 2));
  node.SetOutput(node.EmitCast(result, type.dtype));
}

constexpr OnnxHandlerEntry kDeterminantHandlers[] = {{"Det", &ImportDet}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxDeterminantHandlers() { return kDeterminantHandlers; }

}  // namespace tilewright
