// Random models as a chain of steps. Each step takes an existing value, preferably a late one, and
// adds nodes of one kind: combinations with parts of the value, foldable expressions, products, row
// operators, data movement.

#include "tests/support/random_model.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/base/random.h"
#include "src/graph/onnx/proto.h"
#include "tests/graph/onnx/builder.h"

namespace tilewright {
namespace {

/// A value of the model.
struct Drawn {
  std::string name;
  DataType dtype;
  Ints shape;
};

class ModelDrawer {
 public:
  explicit ModelDrawer(std::uint64_t seed) : random_(seed), builder_(17) {
    batch_ = Chance(70) ? 1 : 1 + Pick(4);
    long_rows_ = Chance(5);
    half_ = Chance(8);
    integers_ = !half_ && Chance(25);
  }

  std::string Draw() {
    AddInput();
    if (Chance(30)) AddInput();
    const std::int64_t steps = long_rows_ ? 1 + Pick(4) : 3 + Pick(10);
    for (std::int64_t i = 0; i < steps; ++i) Step();
    Outputs();
    return builder_.Bytes();
  }

 private:
  std::int64_t Pick(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  bool Chance(std::int64_t percent) { return Pick(100) < percent; }
  template <typename T, std::size_t count>
  const T& OneOf(const T (&list)[count]) {
    return list[Pick(static_cast<std::int64_t>(count))];
  }
  const Drawn& Any() {
    const std::int64_t count = std::ssize(values_);
    return values_[static_cast<std::size_t>(std::max(Pick(count), Pick(count)))];
  }
  static std::size_t Rank(const Drawn& x) { return x.shape.size(); }
  static bool IsReal(const Drawn& x) { return x.dtype.is_float(); }
  std::string Name() { return "v" + std::to_string(names_++); }

  std::int64_t Size() {
    constexpr std::int64_t kRound[] = {16, 32, 48, 64, 16, 32};
    constexpr std::int64_t kOdd[] = {1, 2, 3, 5, 7, 12, 20, 33};
    return Chance(65) ? OneOf(kRound) : OneOf(kOdd);
  }
  DataType Dtype() {
    constexpr DataType kIntegers[] = {kInt32, kInt64, kInt64, kUInt8, kInt8, kUInt32};
    return integers_ ? OneOf(kIntegers) : half_ ? kFloat16 : kFloat32;
  }

  void AddInput() {
    constexpr std::int64_t kLong[] = {10000, 15788, 16384, 18385, 30522, 32128, 40000, 70001};
    Ints shape{batch_};
    if (long_rows_) {
      if (Chance(40)) shape.push_back(1 + Pick(3));
      shape.push_back(OneOf(kLong));
    } else {
      for (std::int64_t more = 1 + Pick(3); more > 0; --more) shape.push_back(Size());
      while (Product(shape) > 40000) shape.pop_back();
    }
    const Drawn made{"x" + std::to_string(inputs_++), Dtype(), shape};
    builder_.Input(made.name, made.shape, OnnxTypeOf(made.dtype));
    values_.push_back(made);
  }

  // --- nodes -----------------------------------------------------------------------------------
  Drawn Node(const std::string& op, const Strings& inputs, DataType dtype, Ints shape) {
    Drawn made{Name(), dtype, std::move(shape)};
    builder_.Node(op, inputs, {made.name});
    return made;
  }
  std::string Constant(const Tensor& contents) {
    std::string name = "c" + std::to_string(names_++);
    builder_.Initializer(name, contents);
    return name;
  }
  std::string Indices(const Ints& numbers) {
    Tensor tensor(TensorType{{std::ssize(numbers)}, kInt64});
    std::ranges::copy(numbers, tensor.As<std::int64_t>().begin());
    return Constant(tensor);
  }
  std::string Scalar(DataType dtype, double value) {
    return Constant(MakeTensor(dtype, {}, {value}));
  }
  /// Returns quarters between -2 and 2, or small integers.
  std::string Random(DataType dtype, const Ints& shape) {
    Tensor tensor(TensorType{shape, dtype});
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const double number = static_cast<double>(Pick(17));
      tensor.Set(i, dtype.is_float()               ? (number - 8) / 4
                    : dtype.code == TypeCode::kInt ? number - 8
                                                   : number);
    }
    return Constant(tensor);
  }
  Drawn Slice(const Drawn& x, std::size_t axis, std::int64_t begin, std::int64_t end) {
    Ints shape = x.shape;
    shape[axis] = end - begin;
    const auto at = static_cast<std::int64_t>(axis);
    return Node("Slice", {x.name, Indices({begin}), Indices({end}), Indices({at})}, x.dtype, shape);
  }
  Drawn Joined(const std::vector<Drawn>& parts, std::size_t axis) {
    Strings names;
    Ints shape = parts[0].shape;
    shape[axis] = 0;
    for (const Drawn& part : parts) {
      names.push_back(part.name);
      shape[axis] += part.shape[axis];
    }
    Drawn made = Node("Concat", names, parts[0].dtype, shape);
    builder_.Int("axis", static_cast<std::int64_t>(axis));
    return made;
  }
  Drawn Cast(const Drawn& x, DataType to) {
    if (x.dtype == to) return x;
    Drawn made = Node("Cast", {x.name}, to, x.shape);
    builder_.Int("to", OnnxTypeOf(to));
    return made;
  }
  static Ints Together(const Ints& a, const Ints& b) {
    Ints shape = a.size() > b.size() ? a : b;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      shape[shape.size() - 1 - i] = std::max(a[a.size() - 1 - i], b[b.size() - 1 - i]);
    }
    return shape;
  }
  static bool Broadcast(const Ints& a, const Ints& b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const std::int64_t left = a[a.size() - 1 - i], right = b[b.size() - 1 - i];
      if (left != right && left != 1 && right != 1) return false;
    }
    return Product(Together(a, b)) <= 500'000;
  }
  /// Returns a sum, difference, product, maximum or minimum of two values.
  Drawn Combined(const Drawn& a, const Drawn& b) {
    constexpr const char* kReal[] = {"Add", "Sub", "Mul", "Max", "Min"};
    constexpr const char* kAll[] = {"Add", "Sub", "Mul"};
    const bool wide = IsReal(a) || a.dtype == kInt32 || a.dtype == kInt64;
    const bool swap = Chance(40);
    return Node(wide ? OneOf(kReal) : OneOf(kAll),
                swap ? Strings{b.name, a.name} : Strings{a.name, b.name}, a.dtype,
                Together(a.shape, b.shape));
  }

  // --- steps -----------------------------------------------------------------------------------
  void Step() {
    const Drawn x = Any();
    switch (Pick(long_rows_ ? 6 : 17)) {
      case 0:
        return Keep(Rows(x));
      case 1:
        return Keep(Unary(x));
      case 2:
        return Keep(Binary(x));
      case 3:
        return Keep(IsReal(x) ? Rows(x) : Known(x));
      case 4:
        return Keep(WithFloatConstants(x));
      case 5:
      case 6:
      case 7:
      case 8:
        return Keep(WithPart(x));
      case 9:
      case 10:
        return Keep(Known(x));
      case 11:
        return Keep(ProductOf(x));
      case 12:
        return Keep(Chosen(x));
      case 13:
        return Keep(OfBranches(x));
      case 14:
        return Keep(Resized(x));
      case 15:
        return Keep(Chance(50) ? Suppressed() : Moved(x));
      default:
        return Keep(Moved(x));
    }
  }
  void Keep(Drawn made) {
    if (made.dtype != kBool) values_.push_back(std::move(made));
  }

  Drawn Unary(const Drawn& x) {
    constexpr const char* kReal[] = {"Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "HardSwish"};
    constexpr const char* kWhole[] = {"Abs", "Neg"};
    if (IsReal(x)) return Node(OneOf(kReal), {x.name}, x.dtype, x.shape);
    if (x.dtype.code == TypeCode::kUInt) return Known(x);
    return Node(OneOf(kWhole), {x.name}, x.dtype, x.shape);
  }

  Drawn Binary(const Drawn& x) {
    std::vector<const Drawn*> fitting;
    for (const Drawn& other : values_) {
      if (other.dtype == x.dtype && Broadcast(x.shape, other.shape)) fitting.push_back(&other);
    }
    if (!fitting.empty() && Chance(60)) {
      const Drawn other = *fitting[static_cast<std::size_t>(Pick(std::ssize(fitting)))];
      return Combined(x, other);
    }
    Ints shape = x.shape;
    for (std::int64_t& size : shape) size = Chance(50) ? size : 1;
    shape.erase(shape.begin(), shape.begin() + Pick(std::ssize(shape) + 1));
    return Combined(x, {Random(x.dtype, shape), x.dtype, shape});
  }

  std::size_t Axis(const Drawn& x) {
    if (Chance(60)) {
      for (std::size_t i = 0; i < Rank(x); ++i) {
        if (x.shape[i] > 1) return i;
      }
    }
    return static_cast<std::size_t>(Pick(std::ssize(x.shape)));
  }

  /// Combines a value with a part of itself, or with a permutation of itself.
  Drawn WithPart(const Drawn& x) {
    if (Rank(x) == 0) return Unary(x);
    const std::size_t axis = Axis(x);
    const std::int64_t size = x.shape[axis];
    if (size < 2) return Binary(x);
    const Drawn base = Chance(40) ? Unary(x) : x;
    const std::int64_t cut = size % 2 == 0 && Chance(60) ? size / 2 : 1 + Pick(size - 1);
    switch (Pick(10)) {
      case 8: {
        if (2 * cut != size) return Binary(base);
        Drawn left{Name(), base.dtype, base.shape}, right{Name(), base.dtype, base.shape};
        left.shape[axis] = right.shape[axis] = cut;
        builder_.Node("Split", {base.name}, {left.name, right.name});
        builder_.Int("axis", static_cast<std::int64_t>(axis));
        return Chance(50) ? Combined(base, Joined({right, left}, axis)) : Combined(left, right);
      }
      case 9: {
        if (2 * cut != size) return Binary(base);
        const Drawn part = Slice(base, axis, 0, cut);
        Ints repeats(Rank(x), 1);
        repeats[axis] = 2;
        return Combined(base, Node("Tile", {part.name, Indices(repeats)}, base.dtype, base.shape));
      }
      case 0: {
        const std::int64_t row = Chance(60) ? 0 : Pick(size);
        return Combined(base, Slice(base, axis, row, row + 1));
      }
      case 1:
        if (2 * cut != size) return Combined(base, Slice(base, axis, 0, 1));
        return InHalves(base, axis, cut);
      case 2: {
        const Drawn right = Slice(base, axis, cut, size);
        return Combined(base, Joined({right, Slice(base, axis, 0, cut)}, axis));
      }
      case 3: {
        Ints shape = base.shape;
        shape[axis] = cut;
        const Drawn zeros{Random(base.dtype, shape), base.dtype, shape};
        return Combined(base, Joined({zeros, Slice(base, axis, 0, size - cut)}, axis));
      }
      case 4: {
        const Drawn part = Slice(base, axis, 0, size - cut);
        Ints pads(2 * Rank(x), 0);
        pads[axis] = cut;
        const Drawn moved = Node("Pad", {part.name, Indices(pads)}, base.dtype, base.shape);
        return Combined(base, moved);
      }
      case 5: {
        if (!IsReal(base) && base.dtype != kInt32 && base.dtype != kInt64) return Known(base);
        if (half_ || size > 2000) return Binary(base);
        const auto at = Scalar(kInt64, static_cast<double>(axis));
        const Drawn sums = Node("CumSum", {base.name, at}, base.dtype, base.shape);
        return Chance(50) ? Combined(base, sums) : sums;
      }
      case 6: {
        const auto at = static_cast<std::int64_t>(axis);
        const Drawn turned = Node(
            "Slice", {base.name, Indices({-1}), Indices({-size - 1}), Indices({at}), Indices({-1})},
            base.dtype, base.shape);
        return Combined(base, turned);
      }
      default: {
        const Drawn a = Slice(base, axis, 0, cut), b = Slice(base, axis, cut, size);
        const Drawn changed = Chance(50) ? Unary(a) : Combined(a, Slice(base, axis, 0, 1));
        if (changed.shape != a.shape || changed.dtype != a.dtype) return changed;
        return Joined(Chance(50) ? std::vector<Drawn>{changed, b} : std::vector<Drawn>{b, changed},
                      axis);
      }
    }
  }

  Drawn InHalves(const Drawn& x, std::size_t axis, std::int64_t half) {
    const Drawn left = Slice(x, axis, 0, half);
    return Combined(left, Slice(x, axis, half, 2 * half));
  }

  /// Returns integers that do not depend on the inputs.
  Drawn Known(const Drawn& x) {
    Drawn whole = x;
    if (IsReal(x)) whole = Cast(Node("Floor", {x.name}, x.dtype, x.shape), kInt64);
    const DataType dtype = whole.dtype;
    if (Chance(15)) return Scattered(whole);
    const bool wide = dtype == kInt32 || dtype == kInt64;
    Drawn known = whole;
    switch (Pick(wide ? 5 : 2)) {
      case 0:
        known = Node("Mul", {whole.name, Scalar(dtype, 0)}, dtype, whole.shape);
        break;
      case 1:
        known = Node("Sub", {whole.name, whole.name}, dtype, whole.shape);
        break;
      case 2:
        known = Node("Pow", {whole.name, Scalar(dtype, 0)}, dtype, whole.shape);
        break;
      case 3:
        known = Cast(Node("Equal", {whole.name, whole.name}, kBool, whole.shape), dtype);
        break;
      default: {
        const Drawn zero = Node("Mul", {whole.name, Scalar(dtype, 0)}, dtype, whole.shape);
        const Drawn least = Node("Less", {whole.name, whole.name}, kBool, whole.shape);
        known = Node("Where", {least.name, whole.name, zero.name}, dtype, whole.shape);
        break;
      }
    }
    switch (Pick(4)) {
      case 0: {  // a row of a table, as for token types
        if (!wide || Product(known.shape) > 4000) break;
        const Drawn table{Random(kFloat32, {4, 16}), kFloat32, {4, 16}};
        Ints shape = known.shape;
        shape.push_back(16);
        if (shape.size() > 5 || Product(shape) > 100000) break;
        return Node("Gather", {table.name, known.name}, kFloat32, shape);
      }
      case 1:
        return Combined(whole, known);
      case 2:
        return IsReal(x) ? Combined(x, Cast(known, x.dtype)) : known;
      default:
        break;
    }
    return known;
  }

  /// Scatters constants into constants, or into a value.
  Drawn Scattered(const Drawn& x) {
    if (Rank(x) == 0) return Unary(x);
    const std::size_t axis = Axis(x);
    const std::int64_t rows = x.shape[axis];
    Ints shape = x.shape;
    shape[axis] = std::min<std::int64_t>(rows, 1 + Pick(3));
    Tensor places(TensorType{shape, kInt64});
    for (std::int64_t i = 0, inner = InnerSize(shape, axis); i < places.elements(); ++i) {
      places.Set(i, static_cast<double>(i / inner % shape[axis]));  // no position twice
    }
    const std::string from = Random(x.dtype, shape), at = Constant(places);
    const std::string into = Chance(60) ? Random(x.dtype, x.shape) : x.name;
    const Drawn made = Node("ScatterElements", {into, at, from}, x.dtype, x.shape);
    builder_.Int("axis", static_cast<std::int64_t>(axis));
    return Chance(50) ? Combined(x, made) : made;
  }
  static std::int64_t InnerSize(const Ints& shape, std::size_t axis) {
    return Product({shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()});
  }

  /// Returns a factor or an addend computed from several constants, or from the shape of a value.
  Drawn WithFloatConstants(const Drawn& x) {
    if (!IsReal(x)) return Binary(x);
    Drawn factor{Scalar(x.dtype, 1 + static_cast<double>(Pick(16)) / 4), x.dtype, {}};
    if (Chance(30) && Rank(x) > 0) {
      const Drawn shape = Node("Shape", {x.name}, kInt64, {std::ssize(x.shape)});
      const Drawn last = Node("Gather", {shape.name, Scalar(kInt64, -1)}, kInt64, {});
      factor = Cast(last, x.dtype);
    }
    constexpr const char* kBinary[] = {"Add", "Mul", "Div"};
    for (std::int64_t more = 1 + Pick(3); more > 0; --more) {
      const std::string other = Scalar(x.dtype, 1 + static_cast<double>(Pick(8)) / 2);
      factor = Node(OneOf(kBinary), {factor.name, other}, x.dtype, {});
      if (Chance(40)) factor = Node("Sqrt", {factor.name}, x.dtype, {});
    }
    return Node(Chance(50) ? "Div" : "Add", {x.name, factor.name}, x.dtype, x.shape);
  }

  /// Applies an operator that works row by row.
  Drawn Rows(const Drawn& x) {
    if (Rank(x) == 0) return Unary(x);
    const bool last = long_rows_ || Chance(70);
    const auto axis = last ? std::ssize(x.shape) - 1 : Pick(std::ssize(x.shape));
    const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
    if (IsReal(x) && last && Chance(25)) {
      const Ints row{size};
      Drawn made = Node("LayerNormalization", {x.name, Random(x.dtype, row), Random(x.dtype, row)},
                        x.dtype, x.shape);
      builder_.Int("axis", -1);
      return made;
    }
    if (IsReal(x) && Chance(50)) {
      Drawn made = Node(Chance(70) ? "Softmax" : "LogSoftmax", {x.name}, x.dtype, x.shape);
      builder_.Int("axis", axis);
      return made;
    }
    Ints shape = x.shape;
    shape[static_cast<std::size_t>(axis)] = 1;
    constexpr const char* kReal[] = {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceL2"};
    constexpr const char* kWhole[] = {"ReduceMax", "ReduceMin"};
    Drawn made = Node(IsReal(x) ? OneOf(kReal) : OneOf(kWhole), {x.name}, x.dtype, shape);
    builder_.IntList("axes", {axis});
    builder_.Int("keepdims", 1);
    return Chance(70) ? Combined(x, made) : made;
  }

  /// Returns a product with a constant matrix, or a convolution.
  Drawn ProductOf(const Drawn& x) {
    const bool whole = x.dtype == kInt32 || x.dtype == kUInt32;
    if ((!IsReal(x) && !whole) || Rank(x) < 2) return Binary(x);
    const std::int64_t columns = Size();
    if (IsReal(x) && Rank(x) == 4 && Chance(70)) {
      const std::int64_t kernel = x.shape[2] > 2 && x.shape[3] > 2 && Chance(40) ? 3 : 1;
      const Ints weight{columns, x.shape[1], kernel, kernel};
      if (Product(weight) > 40000) return Binary(x);
      Ints shape{x.shape[0], columns, x.shape[2] - kernel + 1, x.shape[3] - kernel + 1};
      return Node("Conv", {x.name, Random(x.dtype, weight)}, x.dtype, shape);
    }
    const Ints weight{x.shape.back(), columns};
    if (Product(weight) > 40000) return Binary(x);
    Ints shape = x.shape;
    shape.back() = columns;
    const Drawn made = Node("MatMul", {x.name, Random(x.dtype, weight)}, x.dtype, shape);
    if (Chance(50)) return made;
    const std::string factor = Scalar(x.dtype, Chance(30) ? 0 : whole ? 3 : 0.125);
    return Node("Mul", {made.name, factor}, x.dtype, shape);
  }

  /// Selects one of two values by a computed or constant condition.
  Drawn Chosen(const Drawn& x) {
    const Drawn other = Unary(x);
    if (other.shape != x.shape || other.dtype != x.dtype) return other;
    Drawn condition{Name(), kBool, x.shape};
    if (Chance(50)) {
      Ints shape = x.shape;
      for (std::int64_t& size : shape) size = Chance(50) ? size : 1;
      Tensor truth(TensorType{shape, kBool});
      for (std::int64_t i = 0; i < truth.elements(); ++i) truth.Set(i, Chance(50) ? 1 : 0);
      condition.name = Constant(truth);
    } else {
      builder_.Node("Less", {x.name, Scalar(x.dtype, 1)}, {condition.name});
    }
    return Node("Where", {condition.name, x.name, other.name}, x.dtype, x.shape);
  }

  /// Returns a condition that follows from constants or from the shape of a value.
  std::string KnownCondition(const Drawn& x) {
    std::string number = Scalar(kFloat32, static_cast<double>(Pick(9)) / 2);
    if (Rank(x) > 0 && Chance(40)) {
      const Drawn shape = Node("Shape", {x.name}, kInt64, {std::ssize(x.shape)});
      const Drawn size = Node("Gather", {shape.name, Scalar(kInt64, 0)}, kInt64, {});
      number = Cast(size, kFloat32).name;
    }
    for (std::int64_t more = Pick(3); more > 0; --more) {
      const std::string other = Scalar(kFloat32, static_cast<double>(1 + Pick(8)) / 4);
      constexpr const char* kBinary[] = {"Add", "Mul", "Div", "Max"};
      number = Node(OneOf(kBinary), {number, other}, kFloat32, {}).name;
    }
    const std::string limit = Scalar(kFloat32, static_cast<double>(Pick(9)) / 2);
    const Drawn less = Node(Chance(50) ? "Less" : "Greater", {number, limit}, kBool, {});
    return Chance(30) ? Node("Not", {less.name}, kBool, {}).name : less.name;
  }

  /// Applies one of two branches by a condition that the import can evaluate.
  Drawn OfBranches(const Drawn& x) {
    const std::string condition = KnownCondition(x);
    Drawn made = Node("If", {condition}, x.dtype, x.shape);
    auto& graph = *builder_.proto().mutable_graph();
    auto& node = *graph.mutable_node(graph.node_size() - 1);
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto* attribute = node.add_attribute();
      attribute->set_name(branch);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      onnx::GraphProto& body = *attribute->mutable_g();
      std::string last = x.name;
      for (std::int64_t more = Pick(3); more > 0; --more) {
        constexpr const char* kBinary[] = {"Add", "Mul", "Sub"};
        const std::string next = Name();
        AddTo(body, OneOf(kBinary), {last, x.name}, next);
        last = next;
      }
      body.add_output()->set_name(last);
    }
    return made;
  }

  /// Resizes the last dimensions by a constant scale.
  Drawn Resized(const Drawn& x) {
    if (Rank(x) < 3 || (!IsReal(x) && x.dtype.bits != 8)) return Moved(x);
    constexpr double kScales[] = {0.5, 0.75, 1, 1.5, 2, 3};
    Tensor left(TensorType{{std::ssize(x.shape)}, kFloat32}), right = left.Clone();
    Ints shape = x.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      double scale = i + 2 < shape.size() ? 1 : OneOf(kScales);
      if (static_cast<double>(shape[i]) * scale < 1) scale = 1;
      const double part = Chance(50) ? 2 : 0.25;  // exact
      left.Set(static_cast<std::int64_t>(i), scale * part);
      right.Set(static_cast<std::int64_t>(i), part);
      shape[i] = static_cast<std::int64_t>(static_cast<double>(shape[i]) * scale);
    }
    if (Product(shape) > 100'000) return Moved(x);
    const Drawn scales =
        Node("Div", {Constant(left), Constant(right)}, kFloat32, {left.elements()});
    Drawn made = Node("Resize", {x.name, "", scales.name}, x.dtype, shape);
    const bool smooth = IsReal(x) && Chance(50);
    builder_.Text("mode", smooth ? "linear" : "nearest");
    constexpr const char* kCoordinates[] = {"half_pixel", "asymmetric", "align_corners"};
    builder_.Text("coordinate_transformation_mode", OneOf(kCoordinates));
    return made;
  }

  /// Applies non-maximum suppression to boxes of an input. For computed boxes, the last digit would
  /// decide.
  Drawn Suppressed() {
    const Drawn x = values_[static_cast<std::size_t>(Pick(inputs_))];
    const std::int64_t classes = 1 + Pick(3), all = Product(x.shape);
    const std::int64_t boxes = std::min<std::int64_t>(all / (4 + classes), 1 + Pick(40));
    if (boxes < 1 || x.dtype != kFloat32) return Moved(x);
    const Drawn flat = Node("Reshape", {x.name, Indices({all})}, x.dtype, {all});
    const auto part = [&](std::int64_t begin, const Ints& shape) {
      const Drawn row = Slice(flat, 0, begin, begin + Product(shape));
      return Node("Reshape", {row.name, Indices(shape)}, x.dtype, shape);
    };
    const Drawn corners = part(0, {1, boxes, 4});
    const Drawn scores = part(4 * boxes, {1, classes, boxes});
    const std::int64_t most = 1 + Pick(boxes);
    const Ints shape{classes * std::min(most, boxes), 3};
    Drawn made =
        Node("NonMaxSuppression",
             {corners.name, scores.name, Scalar(kInt64, static_cast<double>(most)),
              Scalar(kFloat32, 0.25 * static_cast<double>(Pick(4))), Scalar(kFloat32, 0.1)},
             kInt64, shape);
    builder_.Int("center_point_box", Pick(2));
    return made;
  }

  Drawn Moved(const Drawn& x) {
    if (Rank(x) == 0) return Unary(x);
    const std::size_t axis = Axis(x);
    const std::int64_t size = x.shape[axis];
    switch (Pick(5)) {
      case 0: {
        Ints axes(Rank(x)), shape(Rank(x));
        for (std::size_t i = 0; i < Rank(x); ++i) axes[i] = static_cast<std::int64_t>(i);
        std::swap(axes[axis], axes.back());
        for (std::size_t i = 0; i < Rank(x); ++i)
          shape[i] = x.shape[static_cast<std::size_t>(axes[i])];
        Drawn made = Node("Transpose", {x.name}, x.dtype, shape);
        builder_.IntList("perm", axes);
        return made;
      }
      case 1: {
        Ints shape = x.shape;
        if (size % 4 == 0 && Rank(x) < 5) {
          shape[axis] = size / 4;
          shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 4);
        } else {
          shape = {1, Product(shape)};
        }
        return Node("Reshape", {x.name, Indices(shape)}, x.dtype, shape);
      }
      case 2: {
        Ints rows;
        for (std::int64_t i = 1 + Pick(20); i > 0; --i) rows.push_back(Pick(size));
        Ints shape = x.shape;
        shape[axis] = std::ssize(rows);
        Drawn made = Node("Gather", {x.name, Indices(rows)}, x.dtype, shape);
        builder_.Int("axis", static_cast<std::int64_t>(axis));
        return made;
      }
      case 3: {
        std::vector<Drawn> parts{x};
        for (const Drawn& other : values_) {
          Ints shape = other.shape;
          if (other.dtype != x.dtype || shape.size() != Rank(x) || parts.size() == 4) continue;
          shape[axis] = size;
          if (shape == x.shape && Product(other.shape) < 50000 && Chance(50))
            parts.push_back(other);
        }
        return Joined(parts, axis);
      }
      default: {
        const std::int64_t begin = Pick(size);
        return Slice(x, axis, begin, begin + 1 + Pick(size - begin));
      }
    }
  }

  void Outputs() {
    std::vector<std::string> names{values_.back().name};
    for (int i = 0; i < 2; ++i) {
      const Drawn& other = Any();
      const bool given = other.name.starts_with("x");
      if (!given && std::ranges::find(names, other.name) == names.end())
        names.push_back(other.name);
    }
    if (names[0].starts_with("x")) names[0] = Unary(values_.back()).name;
    for (const std::string& name : names) builder_.Output(name);
  }

  tilewright::Random random_;
  OnnxBuilder builder_;
  std::int64_t batch_ = 1;
  bool long_rows_ = false, half_ = false, integers_ = false;
  int names_ = 0, inputs_ = 0;
  std::vector<Drawn> values_;
};

}  // namespace

std::string RandomModel(std::uint64_t seed) { return ModelDrawer(seed).Draw(); }

}  // namespace tilewright
