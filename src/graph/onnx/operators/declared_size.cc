// Operators whose number of result elements depends on run-time values. The user gives an upper
// bound: the declared shape of the result, through --dim.

#include "src/graph/onnx/operators/declared_size.h"

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxLooked = std::int64_t{1} << 26;  // elements times results

// Emits inclusive prefix sums of integers [1,E] in logarithmic steps: adds the element 1, 2, 4, …
// positions before.
int RunningSums(OnnxNode& node, int numbers) {
  if (!node.ok()) return -1;
  const std::vector<std::int64_t> shape = node.TypeOf(numbers).shape;
  for (std::int64_t distance = 1; distance < shape[1]; distance *= 2) {
    Operator slice = WholeSlice(shape);
    slice.attributes.end[1] = shape[1] - distance;
    Operator pad{OpKind::kPad, {}};
    pad.attributes.pad_width = {0, 0, distance, 0};
    numbers = node.Emit(OpKind::kAdd, {numbers, node.Emit(pad, {node.Emit(slice, {numbers})})});
  }
  return numbers;
}

// Returns dimension `at` of the declared shape of output 0, which must have rank `rank`. Fails and
// returns nothing otherwise.
std::optional<std::int64_t> BoundOfResults(OnnxNode& node, std::size_t rank, std::size_t at,
                                           int unknown) {
  const auto declared = node.DeclaredShape();
  if (declared && declared->size() == rank && (*declared)[at] > 0) return (*declared)[at];
  const std::string name = node.OpenDimension();
  node.FailUnknown(
      unknown,
      "determines the number of elements of the result, expected a value that is constant at "
      "import or an upper bound of this number" +
          (name.empty() ? std::string(" (a name in the declared shape of the result)")
                        : " (--dim " + name + "=SIZE)"),
      KnownValues::kMaxElements);
  return std::nullopt;
}

}  // namespace

void ReturnNonZeroOfDeclaredSize(OnnxNode& node) {
  const int data = node.Input(0);
  if (!node.ok()) return;
  const TensorType type = node.TypeOf(data);
  const std::int64_t elements = type.elements(), rank = std::ssize(type.shape);
  if (rank == 0) return node.FailUnsupported("of a scalar: the result is zero-size");
  const auto count = BoundOfResults(node, 2, 1, 0);
  if (!count) return;
  if (elements > kMaxPicked || *count > kMaxLooked / elements) {
    return node.FailUnsupported("selects " + std::to_string(*count) + " of " +
                                std::to_string(elements) +
                                " elements, expected a product of at "
                                "most 2^26");
  }
  const int none = node.EmitScalar(kInt32, -1), zero = node.EmitScalar(kInt32, 0);
  const int one = node.EmitScalar(kInt32, 1);
  const int flat = node.EmitReshape(data, {1, elements});
  const int off = node.Emit(OpKind::kEqual, flat, 0);
  const int valid = node.Emit(OpKind::kWhere, {off, zero, one});
  const int positions = node.EmitReshape(EmitPositions(node, kInt32, elements), {1, elements});
  // The output position of a nonzero element is the number of nonzero elements before it.
  const int place = node.Emit(OpKind::kSub, {RunningSums(node, valid), valid});
  const int hit = node.Emit(OpKind::kWhere, {off, none, positions});
  const int column = EmitPositions(node, kInt32, *count, 1);
  const int own = node.Emit(OpKind::kEqual, {place, column});
  Operator most{OpKind::kReduceMax, {}};
  most.attributes.axes = {1};
  const int source = node.Emit(most, {node.Emit(OpKind::kWhere, {own, hit, none})});
  const int missing = node.Emit(OpKind::kLess, source, 0);
  std::vector<int> rows;
  std::int64_t inner = elements;
  for (std::int64_t extent : type.shape) {
    inner /= extent;
    const auto divided = [&](int id, std::int64_t by) {
      return by == 1 ? id : node.Emit(OpKind::kDiv, id, static_cast<double>(by));
    };
    const int outer = divided(source, inner);
    const int whole = node.Emit(OpKind::kMul, divided(outer, extent), static_cast<double>(extent));
    const int index = node.Emit(OpKind::kSub, {outer, whole});
    rows.push_back(
        node.EmitReshape(node.Emit(OpKind::kWhere, {missing, none, index}), {1, *count}));
  }
  Operator concat{OpKind::kConcat, {}};
  const int all = rows.size() == 1 ? rows[0] : node.Emit(concat, rows);
  node.SetOutput(node.EmitCast(all, kInt64));
  node.Note("'" + node.OutputName() + "' has " + std::to_string(*count) +
            " columns: what is found, then columns of -1");
}

void ReturnRangeOfDeclaredSize(OnnxNode& node, int unknown) {
  const int start = node.Input(0), delta = node.Input(2);
  const TensorType type = node.TypeOf(start);
  node.Input(1);
  if (!node.ok()) return;
  const auto count = BoundOfResults(node, 1, 0, unknown);
  if (!count) return;
  if (*count > kMaxPicked || type.elements() != 1 || node.TypeOf(delta).elements() != 1) {
    return node.FailUnsupported("returns " + std::to_string(*count) + " elements from " +
                                type.ToString() + ", expected at most " +
                                std::to_string(kMaxPicked) + ", and scalars");
  }
  const int steps = node.Emit(
      OpKind::kMul, {EmitPositions(node, type.dtype, *count), node.EmitReshape(delta, {})});
  node.Return(Operator{OpKind::kAdd, {}}, {steps, node.EmitReshape(start, {})});
  node.Note("'" + node.OutputName() + "' has " + std::to_string(*count) +
            " elements, whatever its limit is");
}

}  // namespace tilewright
