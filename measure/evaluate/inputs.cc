// Synthetic operands. Every element depends on the name of its tensor and its position alone, so
// the process that computes the reference and the one that runs the candidate agree without sending
// tensors.

#include "measure/evaluate/inputs.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/reference/expression.h"
#include "src/tensor/reference/reference.h"

namespace tilewright::measure {
namespace {

constexpr std::string_view kMagic = "tilewright reference 4\n";

/// Calls body with a value of the element type.
template <typename Body>
void WithElementType(DataType dtype, const Body& body) {
  if (dtype == kFloat32) return body(float{});
  if (dtype == kFloat64) return body(double{});
  if (dtype == kInt8) return body(std::int8_t{});
  if (dtype == kUInt8) return body(std::uint8_t{});
  if (dtype == kInt16) return body(std::int16_t{});
  if (dtype == kUInt16) return body(std::uint16_t{});
  if (dtype == kInt32) return body(std::int32_t{});
  if (dtype == kUInt32) return body(std::uint32_t{});
  if (dtype == kInt64) return body(std::int64_t{});
}

/// Largest magnitude of synthetic integers: all of a narrow type, and for wide ones (biases,
/// scales) a range in which sums of a few do not overflow.
constexpr std::int64_t kWideRange = 1 << 15;
constexpr std::int64_t kWideExtreme = 1 << 24;
/// Extreme floats: data this much larger and weights this much smaller than 1, so that their
/// products are ordinary again, but not in a type of fewer exponent bits.
constexpr double kFarScale = 0x1p+40;
constexpr double kFarScaleOfHalf = 0x1p+7;

template <typename T>
T RandomElement(std::uint32_t bits24) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(bits24) * static_cast<T>(0x1p-23) - 1;  // [-1, 1)
  } else if constexpr (sizeof(T) <= 2) {
    return static_cast<T>(bits24 >> 8);
  } else {
    const auto value = static_cast<std::int64_t>(bits24) % (2 * kWideRange);
    return static_cast<T>(std::is_signed_v<T> ? value - kWideRange : value);
  }
}

template <typename T>
T ExtremeElement(std::uint32_t bits24) {
  if constexpr (std::is_floating_point_v<T>) {
    // Both signs, both zeros, a small number and a subnormal. No infinities, whose differences are
    // NaN, and no magnitudes so far apart that float32 sums depend on their order.
    constexpr std::array<T, 8> kValues = {
        static_cast<T>(1), static_cast<T>(-1),   static_cast<T>(0.5),     static_cast<T>(-0.5),
        static_cast<T>(0), static_cast<T>(-0.0), static_cast<T>(0x1p-10), static_cast<T>(-1e-39)};
    return kValues[bits24 % kValues.size()];
  } else {
    using Limits = std::numeric_limits<T>;
    const bool narrow = sizeof(T) <= 2;
    const T lowest = narrow ? Limits::min() : static_cast<T>(Limits::is_signed ? -kWideExtreme : 0);
    const T highest = narrow ? Limits::max() : static_cast<T>(kWideExtreme);
    // Mostly the two ends, so that long sums reach far.
    const std::array<T, 8> values = {lowest, highest,           lowest,           highest, highest,
                                     lowest, static_cast<T>(0), static_cast<T>(1)};
    return values[bits24 % values.size()];
  }
}

/// scale: what extreme floats are multiplied by (a power of two).
Tensor MakeTensor(const TensorType& type, std::string_view name, bool extreme, double scale = 1) {
  Tensor tensor(type);
  const std::uint64_t seed = Fnv1a64(name);
  if (type.dtype.is_half()) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::uint32_t bits = SeededElement(seed, static_cast<std::size_t>(i));
      tensor.Set(i, extreme ? ExtremeElement<float>(bits) * scale : RandomElement<float>(bits));
    }
    return tensor;
  }
  WithElementType(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto elements = tensor.As<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::uint32_t bits = SeededElement(seed, i);
      elements[i] = extreme ? ExtremeElement<T>(bits) : RandomElement<T>(bits);
      if constexpr (std::is_floating_point_v<T>) {
        if (extreme) elements[i] *= static_cast<T>(scale);
      }
    }
  });
  return tensor;
}

/// Reduced-range weights of any int8 values: the extremes are the ends of the range. Two of them
/// times the largest data give the largest sums of pairs.
void MakeNarrow(Tensor& weight) {
  for (std::int8_t& value : weight.As<std::int8_t>()) {
    value = static_cast<std::int8_t>(value >= 0 ? (value + 1) / 2 : value / 2);  // 127 is 64
  }
}

/// Some operands have a smaller domain: a divisor is not zero, a shift is within the type.
void RestrictOperand(OpKind op, Tensor& tensor) {
  const Domain domain = RowOf(op).domain;
  if (domain != Domain::kDivisor && domain != Domain::kShift) return;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = std::abs(tensor.At(i));
    tensor.Set(i, domain == Domain::kDivisor ? std::max(value, 1.0) : std::fmod(value, 16));
  }
}

/// Sets every element to the zero point: 128 for uint8, else 0.
Tensor MakeZeroPoint(const TensorType& type) {
  Tensor tensor(type);
  if (type.dtype == kUInt8) std::memset(tensor.data(), 128, static_cast<std::size_t>(type.bytes()));
  return tensor;
}

/// Per element of the weight, the element of the data that it is multiplied with in one sum of its
/// output channel; -1 for those in the padding. Empty for blocked layouts.
std::vector<std::int64_t> DataOfOneSum(const Workload& w) {
  std::vector<std::int64_t> places;
  const bool batched = w.op == OpKind::kBatchMatmul;
  if (batched || w.op == OpKind::kDense) {
    if (w.data_layout != (batched ? "BMK" : "MK") || w.kernel_layout != (batched ? "BNK" : "NK")) {
      return places;
    }
    const std::int64_t depth = w.data.shape.back(), rows = w.data.shape.end()[-2];
    const std::int64_t columns = w.weight.shape.end()[-2];
    const std::int64_t matrices = batched ? w.data.shape[0] : 1;
    for (std::int64_t i = 0; i < w.weight.elements(); ++i) {
      const std::int64_t matrix = i / (depth * columns) % matrices;
      places.push_back(matrix * rows * depth + i % depth);
    }
    return places;
  }
  const auto c = ConvShapeOf(w);
  if (w.op != OpKind::kConv2d || !c.ok() || w.data_layout != "NCHW" || w.kernel_layout != "OIHW") {
    return places;
  }
  const std::int64_t inner = c->c / c->groups, outer = c->k / c->groups;
  for (std::int64_t i = 0; i < w.weight.elements(); ++i) {
    const std::int64_t column = i % c->s, row = i / c->s % c->r;
    const std::int64_t k = i / (c->s * c->r * inner);
    const std::int64_t channel = k / outer * inner + i / (c->s * c->r) % inner;
    const std::int64_t y = c->oh / 2 * c->stride_h - c->pad_top + row * c->dilation_h;
    const std::int64_t x = c->ow / 2 * c->stride_w - c->pad_left + column * c->dilation_w;
    const bool inside = y >= 0 && x >= 0 && y < c->h && x < c->w;
    places.push_back(inside ? (channel * c->h + y) * c->w + x : -1);
  }
  return places;
}

/// Gives the 8-bit weights of every second output channel the signs of the data of one sum: all its
/// products are positive then, so that the sum is as large as possible. The values are close to the
/// ends, not at them, so that the low bits matter, too.
void ReachFar(const Workload& workload, const Tensor& data, Tensor& weight) {
  const DataType dtype = workload.data.dtype;
  if (workload.weight.dtype != kInt8 || (dtype != kInt8 && dtype != kUInt8)) return;
  const std::vector<std::int64_t> places = DataOfOneSum(workload);
  const std::size_t fixed = workload.op == OpKind::kBatchMatmul ? 2 : 1;
  std::int64_t depth = 1;  // weights of one output channel
  for (std::size_t i = fixed; i < workload.weight.shape.size(); ++i) {
    depth *= workload.weight.shape[i];
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (places[i] < 0 || element / depth % 2 == 0) continue;
    const auto off = static_cast<double>(SeededElement(Fnv1a64("far"), i) % 3);
    weight.Set(element, data.At(places[i]) >= 0 ? 127 - off : off - 128);
  }
}

Result<std::int64_t> OutputChannels(const Workload& workload) {
  if (!IsAnchor(workload.op)) {
    TW_ASSIGN_OR_RETURN(const auto layout, Layout::Parse(workload.data_layout));
    return layout.Unpack(workload.data.shape)[layout.primal().find('C')];
  }
  if (IsMatrixProduct(workload.op)) {
    TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(workload.kernel_layout));
    return layout.Unpack(workload.weight.shape).at(layout.primal().find('N'));
  }
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(workload));
  return shape.k;
}

}  // namespace

std::string_view InputSetName(InputSet set) {
  switch (set) {
    case InputSet::kRandom:
      return "random";
    case InputSet::kExtreme:
      return "extreme";
    case InputSet::kZeroPoint:
      return "zero-point";
    case InputSet::kFresh:
      return "fresh";
  }
  return "unknown";
}

namespace {

/// Returns input `number` of an expression, in its own layout.
Tensor ExpressionInputOf(const Workload& workload, std::size_t number, InputSet set) {
  const ExpressionInput& input = workload.expression.inputs[number];
  const bool extreme = set == InputSet::kExtreme;
  if (number == 0 && set == InputSet::kZeroPoint) return MakeZeroPoint(input.type);
  const std::string name = "input" + std::to_string(number);
  const std::int64_t extent =
      GatheredExtent(workload.expression, static_cast<std::int64_t>(number));
  if (extent == 0) return MakeTensor(input.type, name, extreme);
  // Indices: most are within the indexed tensor, some beyond either end.
  Tensor tensor(input.type);
  const std::uint64_t seed = Fnv1a64(name + (extreme ? "/extreme" : ""));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto bits = static_cast<std::int64_t>(SeededElement(seed, static_cast<std::size_t>(i)));
    tensor.Set(i, static_cast<double>(bits % (extent + 2) - 1));
  }
  return tensor;
}

Status CheckExpressionMemory(const Workload& workload, std::int64_t available) {
  // Values, their bounds, and both in double while they are made.
  constexpr std::int64_t kCopies = 2 * static_cast<std::int64_t>(kInputSets.size());
  std::int64_t bytes = kCopies * (workload.expression.result().bytes() +
                                  8 * workload.expression.result().elements());
  for (const ExpressionInput& input : workload.expression.inputs) {
    bytes += kCopies * input.type.bytes() + 8 * input.type.elements();
  }
  for (const ExpressionStage& stage : workload.expression.stages) {
    bytes += 16 * stage.type().elements();
  }
  return CheckMemory("out of memory: measuring an expression", bytes, available);
}

}  // namespace

Status CheckInputMemory(const Workload& workload, const Epilogue& epilogue,
                        std::int64_t available) {
  if (workload.op == OpKind::kExpression) return CheckExpressionMemory(workload, available);
  TW_ASSIGN_OR_RETURN(auto output, workload.OutputType());
  TW_ASSIGN_OR_RETURN(auto result, ResultType(workload, epilogue));
  constexpr auto kSets = static_cast<std::int64_t>(kInputSets.size());
  std::int64_t bytes = 2 * kSets * workload.data.bytes() + (kSets + 1) * result.bytes();
  if (workload.has_weight()) bytes += (2 * kSets - 1) * workload.weight.bytes();
  for (const EpilogueStep& step : epilogue.steps) {
    const bool whole = step.operand == OperandKind::kTensor;
    if (!whole && step.operand != OperandKind::kBroadcast) continue;  // few values per channel
    auto shape = whole ? output.shape : step.BroadcastShape(output.shape);
    bytes += 2 * kSets * TensorType{std::move(shape), step.operand_dtype}.bytes();
  }
  return CheckMemory("out of memory: measuring " + workload.Key(), bytes, available);
}

Result<TensorType> ResultType(const Workload& workload, const Epilogue& epilogue) {
  TW_ASSIGN_OR_RETURN(auto type, workload.OutputType());
  type.dtype = epilogue.OutputDtype(type.dtype);
  return type;
}

Result<AnchorInputs> MakeAnchorInputs(const Workload& workload, const Epilogue& epilogue,
                                      InputSet set) {
  TW_RETURN_IF_ERROR(CheckInputMemory(workload, epilogue));
  if (workload.op == OpKind::kExpression) {
    AnchorInputs inputs;
    for (std::size_t i = 0; i < workload.expression.inputs.size(); ++i) {
      Tensor tensor = ExpressionInputOf(workload, i, set);
      if (i == 0) {
        inputs.data = std::move(tensor);
      } else {
        inputs.operands.push_back(std::move(tensor));
      }
    }
    return inputs;
  }
  const bool extreme = set == InputSet::kExtreme;
  const double far = workload.data.dtype == kFloat16 ? kFarScaleOfHalf : kFarScale;
  AnchorInputs inputs;
  inputs.data = set == InputSet::kZeroPoint ? MakeZeroPoint(workload.data)
                                            : MakeTensor(workload.data, "data", extreme, far);
  if (workload.has_weight()) {
    inputs.weight = MakeTensor(workload.weight, "weight", extreme, 1 / far);
    if (extreme) ReachFar(workload, inputs.data, inputs.weight);
    if (workload.reduced_range_weights) MakeNarrow(inputs.weight);
  }
  TW_ASSIGN_OR_RETURN(auto output, workload.OutputType());
  TW_ASSIGN_OR_RETURN(auto channels, OutputChannels(workload));
  for (std::size_t i = 0; i < epilogue.steps.size(); ++i) {
    const EpilogueStep& step = epilogue.steps[i];
    if (!step.has_parameter()) continue;
    TensorType type{{channels}, step.operand_dtype};
    if (step.operand == OperandKind::kTensor) type.shape = output.shape;
    if (step.operand == OperandKind::kBroadcast) type.shape = step.BroadcastShape(output.shape);
    inputs.operands.push_back(MakeTensor(type, "operand" + std::to_string(i), extreme));
    RestrictOperand(step.op.kind, inputs.operands.back());
  }
  return inputs;
}

namespace {

Result<BoundedTensor> EvaluateWith(const Workload& workload, const Epilogue& epilogue,
                                   const AnchorInputs& inputs, int threads) {
  std::vector<const Tensor*> operands;
  for (const Tensor& operand : inputs.operands) operands.push_back(&operand);
  if (workload.op == OpKind::kExpression) {
    operands.insert(operands.begin(), &inputs.data);
    TW_ASSIGN_OR_RETURN(auto bounded, EvaluateExpression(workload.expression, operands, threads));
    if (bounded.exact()) bounded.error = Tensor(TensorType{bounded.value.shape(), kFloat64});
    return bounded;
  }
  TW_ASSIGN_OR_RETURN(auto result, EvaluateAnchor(workload, epilogue, inputs.data, inputs.weight,
                                                  operands, threads));
  BoundedTensor bounded;
  bounded.value = std::move(result);
  return bounded;
}

/// Returns 64 bits that no other process can predict.
Result<std::uint64_t> SecretSeed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof(seed), 0) != static_cast<ssize_t>(sizeof(seed))) {
    return Unavailable("no random numbers of the system: " + ErrnoReason());
  }
  return seed;
}

const TensorType& FreshTypeOf(const Workload& workload) {
  return workload.op == OpKind::kExpression
             ? workload.expression.inputs[FreshInputOf(workload)].type
             : workload.data;
}

}  // namespace

std::size_t FreshInputOf(const Workload& workload) {
  if (workload.op != OpKind::kExpression) return 0;
  const auto& inputs = workload.expression.inputs;
  const auto found = std::ranges::find(inputs, false, &ExpressionInput::constant);
  return found == inputs.end() ? 0 : static_cast<std::size_t>(found - inputs.begin());
}

Result<ExpectedResults> EvaluateExpected(const Workload& workload, const Epilogue& epilogue,
                                         int threads) {
  ExpectedResults expected;
  for (InputSet set : kInputSets) {
    TW_ASSIGN_OR_RETURN(auto inputs, MakeAnchorInputs(workload, epilogue, set));
    TW_ASSIGN_OR_RETURN(auto of_set, EvaluateWith(workload, epilogue, inputs, threads));
    expected[static_cast<std::size_t>(set)] = std::move(of_set);
  }
  return expected;
}

Result<FreshCheck> MakeFreshCheck(const Workload& workload, const Epilogue& epilogue, int threads) {
  TW_ASSIGN_OR_RETURN(auto inputs, MakeAnchorInputs(workload, epilogue, InputSet::kRandom));
  TW_ASSIGN_OR_RETURN(const auto seed, SecretSeed());
  // Few enough that a check of some elements does not distinguish them from the random set, and
  // enough that results differ where a maximum or a clip hides most of them.
  constexpr std::int64_t kOneOf = 64, kMin = 64;
  const std::size_t changed = FreshInputOf(workload);
  Tensor& data = changed == 0 ? inputs.data : inputs.operands[changed - 1];
  const std::int64_t elements = data.elements();
  const std::int64_t one_of = std::clamp<std::int64_t>(elements / kMin, 1, kOneOf);
  const std::size_t bytes = static_cast<std::size_t>(data.dtype().bytes());
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (SeededElement(seed, 2 * place) % static_cast<std::uint32_t>(one_of) != 0) continue;
    // A value of another element: of the same type and range, for any operator.
    const std::uint64_t other =
        std::uint64_t{SeededElement(seed, 2 * place + 1)} * static_cast<std::uint64_t>(elements) >>
        24;
    std::memcpy(data.data() + place * bytes, data.data() + other * bytes, bytes);
  }
  FreshCheck fresh;
  TW_ASSIGN_OR_RETURN(auto expected, EvaluateWith(workload, epilogue, inputs, threads));
  fresh.data = std::move(data);
  fresh.expected = std::move(expected);
  return fresh;
}

namespace {

void AppendNumber(std::int64_t number, std::string& contents) {
  contents.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// Reads the value that AppendNumber wrote at `place`, and advances `place`. Returns false if the
/// file ends before.
bool TakeNumber(std::string_view contents, std::size_t& place, std::int64_t& number) {
  if (contents.size() - place < sizeof(number)) return false;
  std::memcpy(&number, contents.data() + place, sizeof(number));
  place += sizeof(number);
  return true;
}

/// Returns false unless the list contains other positions within `elements` elements, ascending.
bool TakeOtherPositions(std::string_view contents, std::size_t& place, std::int64_t elements,
                        BoundedTensor& bounded) {
  std::int64_t count = 0, element = 0, position = 0;
  if (!TakeNumber(contents, place, count)) return false;
  const auto most = static_cast<std::int64_t>((contents.size() - place) / (2 * sizeof(count)));
  if (count < 0 || count > most) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!TakeNumber(contents, place, element) || !TakeNumber(contents, place, position)) {
      return false;
    }
    const std::pair one(element, position);
    const bool ascends = i == 0 || bounded.other_positions.back() < one;
    if (element < 0 || element >= elements || !ascends) return false;
    bounded.other_positions.push_back(one);
  }
  return true;
}

void AppendBounded(const BoundedTensor& bounded, bool of_expression, std::string& contents) {
  for (const Tensor* tensor : {&bounded.value, &bounded.error}) {
    if (tensor->data() == nullptr) continue;
    contents.append(reinterpret_cast<const char*>(tensor->data()),
                    static_cast<std::size_t>(tensor->bytes()));
  }
  if (!of_expression) return;
  AppendNumber(std::ssize(bounded.other_positions), contents);
  for (const auto& [element, position] : bounded.other_positions) {
    AppendNumber(element, contents);
    AppendNumber(position, contents);
  }
}

/// Returns false if the contents are shorter than the tensor.
bool TakeTensor(std::string_view contents, std::size_t& place, Tensor& tensor) {
  const auto bytes = static_cast<std::size_t>(tensor.bytes());
  if (contents.size() - place < bytes) return false;
  if (bytes > 0) std::memcpy(tensor.data(), contents.data() + place, bytes);
  place += bytes;
  return true;
}

/// Exact results of expressions have bounds in the file, too, and their other positions.
bool TakeBounded(std::string_view contents, std::size_t& place, const TensorType& type,
                 bool of_expression, BoundedTensor& bounded) {
  bounded.value = Tensor(type);
  if (!TakeTensor(contents, place, bounded.value)) return false;
  if (!of_expression) return true;
  bounded.error = Tensor(TensorType{type.shape, kFloat64});
  return TakeTensor(contents, place, bounded.error) &&
         TakeOtherPositions(contents, place, type.elements(), bounded);
}

}  // namespace

Status WriteExpected(const std::string& path, const Workload& workload, const Epilogue& epilogue,
                     const ExpectedResults& expected, const FreshCheck* fresh) {
  const bool of_expression = workload.op == OpKind::kExpression;
  std::string contents(kMagic);
  contents += workload.Key() + "\n" + epilogue.ToString() + "\n";
  for (const BoundedTensor& bounded : expected) AppendBounded(bounded, of_expression, contents);
  AppendNumber(fresh != nullptr ? 1 : 0, contents);
  if (fresh != nullptr) {
    contents.append(reinterpret_cast<const char*>(fresh->data.data()),
                    static_cast<std::size_t>(fresh->data.bytes()));
    AppendBounded(fresh->expected, of_expression, contents);
  }
  return WriteFile(path, contents);
}

Result<ExpectedResults> ReadExpected(const std::string& path, const Workload& workload,
                                     const Epilogue& epilogue, FreshCheck* fresh) {
  TW_ASSIGN_OR_RETURN(auto type, ResultType(workload, epilogue));
  const std::string header =
      std::string(kMagic) + workload.Key() + "\n" + epilogue.ToString() + "\n";
  const bool of_expression = workload.op == OpKind::kExpression;
  const TensorType of_bounds{type.shape, kFloat64};
  const auto each =
      static_cast<std::size_t>(type.bytes() + (of_expression ? of_bounds.bytes() : 0));
  // Checked before reading: a device or a pipe may never end.
  struct stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  const std::size_t least = header.size() + each * kInputSets.size() + sizeof(std::int64_t);
  const std::size_t with_fresh =
      least + static_cast<std::size_t>(FreshTypeOf(workload).bytes()) + each;
  const auto is_size = [&](std::size_t size) {
    return of_expression ? size >= least : size == least || size == with_fresh;
  };
  const Status no_reference = Corrupt(path + ": is not a reference result of " + workload.Key());
  if (there && (!S_ISREG(info.st_mode) || !is_size(static_cast<std::size_t>(info.st_size)))) {
    return no_reference;
  }
  TW_ASSIGN_OR_RETURN(auto contents, ReadFile(path, std::int64_t{1} << 34));
  if (!contents.starts_with(header) || !is_size(contents.size())) return no_reference;
  ExpectedResults expected;
  std::size_t place = header.size();
  for (BoundedTensor& bounded : expected) {
    if (!TakeBounded(contents, place, type, of_expression, bounded)) return no_reference;
  }
  std::int64_t has_fresh = 0;
  if (!TakeNumber(contents, place, has_fresh)) return no_reference;
  if (has_fresh == 1) {
    FreshCheck read;
    read.data = Tensor(FreshTypeOf(workload));
    if (!TakeTensor(contents, place, read.data) ||
        !TakeBounded(contents, place, type, of_expression, read.expected)) {
      return no_reference;
    }
    if (fresh != nullptr) *fresh = std::move(read);
  }
  if (place != contents.size()) return no_reference;
  return expected;
}

std::string ExpectedFileName(const std::string& workload_key, const std::string& epilogue) {
  return "reference." + HexOf(Fnv1a64(workload_key + "\n" + epilogue));
}

}  // namespace tilewright::measure
