// TopK without a sort. The rank of an element is the number of elements that come before it in the
// sorted order, which takes n * n comparisons. Long rows are therefore first divided into blocks:
// the first k elements of a row are among the first k of their blocks. Candidates stay in the order
// of their positions, so that of equal elements the one with the lowest index always comes first.

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kMinBlock = 128;
constexpr std::int64_t kMaxComparisons = std::int64_t{1} << 26;  // elements of one intermediate

struct Order {
  std::int64_t count = 0;
  bool largest = true;

  // At least twice as long as the number of elements it keeps.
  std::int64_t Block() const { return std::max(kMinBlock, 2 * count); }
};

int ReducedRows(OnnxNode& node, int id) {
  Operator sum{OpKind::kReduceSum, {}};
  sum.attributes.axes = {2};
  return node.Emit(sum, {id});
}

// Emits the positions of the first `count` elements of each row of keys [R,n], in order: int32
// [R,count].
int FirstByComparing(OnnxNode& node, int keys, Order order) {
  if (!node.ok()) return -1;
  const std::int64_t rows = node.TypeOf(keys).shape[0], n = node.TypeOf(keys).shape[1];
  int less = node.EmitReshape(keys, {rows, n, 1}), greater = node.EmitReshape(keys, {rows, 1, n});
  if (!order.largest) std::swap(less, greater);
  // Element j (the last dimension) comes before element i if it is better, or if it is not worse
  // and has the lower index.
  const int better = node.Emit(OpKind::kLess, {less, greater});
  const int worse = node.Emit(OpKind::kLess, {greater, less});
  const int no = node.EmitScalar(kBool, 0), yes = node.EmitScalar(kBool, 1);
  const int not_worse = node.Emit(OpKind::kWhere, {worse, no, yes});
  const int positions = EmitPositions(node, kInt32, n);
  const int lower = node.Emit(OpKind::kLess, {positions, EmitPositions(node, kInt32, n, 1)});
  const int before = node.Emit(OpKind::kWhere, {lower, not_worse, better});
  const int ranks = ReducedRows(node, node.EmitCast(before, kInt32));
  const int wanted = EmitPositions(node, kInt32, order.count, 1);
  const int hit = node.Emit(OpKind::kEqual, {node.EmitReshape(ranks, {rows, 1, n}), wanted});
  return ReducedRows(node, node.Emit(OpKind::kWhere, {hit, positions, node.EmitScalar(kInt32, 0)}));
}

// Emits the elements of [R,n] at positions [R,k].
int Picked(OnnxNode& node, int id, int places) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(id).shape, at = node.TypeOf(places).shape;
  const int picked = EmitGathered(node, node.EmitReshape(id, {shape[0], shape[1], 1}),
                                  node.EmitReshape(places, {at[0], at[1], 1}));
  return node.EmitReshape(picked, at);
}

// Emits the same as FirstByComparing, in several steps if needed.
int First(OnnxNode& node, int keys, Order order) {
  if (!node.ok()) return -1;
  const Shape shape = node.TypeOf(keys).shape;
  const std::int64_t rows = shape[0], n = shape[1], block = order.Block();
  if (n <= block) return FirstByComparing(node, keys, order);
  const std::int64_t blocks = n / block, whole = blocks * block;
  Operator head = WholeSlice(shape), tail = WholeSlice(shape);
  head.attributes.end[1] = tail.attributes.begin[1] = whole;
  const int cut = node.EmitReshape(node.Emit(head, {keys}), {rows * blocks, block});
  int candidates =
      node.EmitReshape(FirstByComparing(node, cut, order), {rows, blocks, order.count});
  const int begins =
      node.Emit(OpKind::kMul, EmitPositions(node, kInt32, blocks, 1), static_cast<double>(block));
  candidates =
      node.EmitReshape(node.Emit(OpKind::kAdd, {candidates, begins}), {rows, blocks * order.count});
  if (whole < n) {
    const Order rest{std::min(order.count, n - whole), order.largest};
    const int last = FirstByComparing(node, node.Emit(tail, {keys}), rest);
    Operator concat{OpKind::kConcat, {}};
    concat.attributes.axis = 1;
    candidates =
        node.Emit(concat, {candidates, node.Emit(OpKind::kAdd, last, static_cast<double>(whole))});
  }
  return Picked(node, candidates, First(node, Picked(node, keys, candidates), order));
}

// Emits keys in the order of `data`; a NaN is the largest.
int KeysOf(OnnxNode& node, int data) {
  const DataType dtype = node.TypeOf(data).dtype;
  if (!dtype.is_float()) return data;
  const int number = node.Emit(OpKind::kEqual, {data, data});
  const int infinite = node.EmitScalar(dtype, std::numeric_limits<double>::infinity());
  return node.Emit(OpKind::kWhere, {number, data, infinite});
}

// Inputs: data, k (an attribute until opset 9); values and indices.
void ImportTopK(OnnxNode& node) {
  node.IgnoreAttributes({"sorted"});  // if false, any order is valid, including the sorted one
  int data = node.Input(0);
  const std::int64_t rank = node.Rank(data);
  const std::int64_t axis = node.Axis(node.Int("axis", -1), rank);
  const Shape given = node.opset() < 10 ? Shape{node.Int("k", 0)} : node.KnownInts(1);
  const Order order{given.size() == 1 ? given[0] : 0, node.Int("largest", 1) != 0};
  if (!node.ok()) return;
  Shape shape = node.TypeOf(data).shape;
  const std::int64_t n = shape[static_cast<std::size_t>(axis)];
  if (order.count < 1 || order.count > n) {
    return node.FailInvalid("k is " + std::to_string(order.count) + ", expected 1 to " +
                            std::to_string(n));
  }
  const double comparisons = static_cast<double>(node.TypeOf(data).elements()) *
                             static_cast<double>(std::min(n, order.Block()));
  if (comparisons > static_cast<double>(kMaxComparisons)) {
    return node.FailUnsupported("the first " + std::to_string(order.count) + " of " +
                                node.TypeOf(data).ToString() + " need more than " +
                                std::to_string(kMaxComparisons) + " comparisons");
  }
  Shape swapped(static_cast<std::size_t>(rank));  // its own inverse
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
  const bool last = axis == rank - 1;
  if (!last) data = node.EmitTranspose(data, swapped);
  const int rows = node.EmitReshape(data, {node.TypeOf(data).elements() / n, n});
  const int places = First(node, KeysOf(node, rows), order);
  std::swap(shape[static_cast<std::size_t>(axis)], shape.back());
  shape.back() = order.count;
  const auto in_place = [&](int id) {
    id = node.EmitReshape(id, shape);
    return last ? id : node.EmitTranspose(id, swapped);
  };
  node.SetOutput(in_place(Picked(node, rows, places)));
  node.SetOutput(in_place(node.EmitCast(places, kInt64)), 1);
}

constexpr OnnxHandlerEntry kTopKHandlers[] = {{"TopK", &ImportTopK}};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxTopKHandlers() { return kTopKHandlers; }

}  // namespace tilewright
