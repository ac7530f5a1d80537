// Elementwise operators. Like ONNX's (except Pow), the graph's operators have operands of one
// element type.

#include <cmath>
#include <limits>

#include "src/graph/onnx/handlers.h"
#include "src/graph/onnx/operators/exact_fmod.h"

namespace tilewright {
namespace {

template <OpKind kind>
void ImportUnary(OnnxNode& node) {
  node.Return(Operator{kind, {}}, {node.Input(0)});
}

template <OpKind kind>
void ImportBinary(OnnxNode& node) {
  node.Return(Operator{kind, {}}, {node.Input(0), node.Input(1)});
}

// Sum, Max, Min: folds any number of operands from left to right.
template <OpKind kind>
void ImportVariadic(OnnxNode& node) {
  int result = node.Input(0);
  for (int i = 1; i < node.input_count(); ++i) result = node.Emit(kind, {result, node.Input(i)});
  node.SetOutput(result);
}

void ImportMean(OnnxNode& node) {
  int result = node.Input(0);
  for (int i = 1; i < node.input_count(); ++i) {
    result = node.Emit(OpKind::kAdd, {result, node.Input(i)});
  }
  if (node.ok()) node.SetOutput(node.Emit(OpKind::kDiv, result, node.input_count()));
}

void ImportLeakyRelu(OnnxNode& node) {
  Operator op{OpKind::kLeakyRelu, {}};
  op.attributes.alpha = node.Float("alpha", 0.01F);
  node.Return(op, {node.Input(0)});
}

void ImportHardSigmoid(OnnxNode& node) {
  Operator op{OpKind::kHardSigmoid, {}};
  op.attributes.alpha = node.Float("alpha", 0.2F);
  op.attributes.beta = node.Float("beta", 0.5F);
  node.Return(op, {node.Input(0)});
}

// Integer power of an integer: the product of base^(2^i) over the bits i of the exponent, wrapping
// around. Exponents above 126 are treated as 126 or 127, with the same parity, because only 0, 1
// and -1 have such powers. A negative exponent gives 0 unless the base is 1 or -1.
void ReturnIntegerPower(OnnxNode& node, int base, int exponent) {
  const DataType dtype = node.TypeOf(base).dtype;
  const bool has_sign = node.TypeOf(exponent).dtype.code != TypeCode::kUInt;
  const auto choose = [&](int condition, int yes, int no) {
    return node.Emit(OpKind::kWhere, {condition, yes, no});
  };
  const auto odd = [&](int id) {  // 0 or 1
    const int half = node.Emit(OpKind::kShiftRight, id, 1);
    return node.Emit(OpKind::kSub, {id, node.Emit(OpKind::kMul, half, 2)});
  };
  const int one = node.EmitScalar(dtype, 1);
  int bits = has_sign ? node.Emit(OpKind::kAbs, {exponent}) : exponent;
  const int large = node.Emit(OpKind::kAdd, odd(bits), 126);
  bits = choose(node.Emit(OpKind::kLess, bits, 127), bits, large);
  int result = one, square = base;
  for (int i = 0; i < 7; ++i) {
    const int set = node.Emit(OpKind::kEqual, odd(bits), 1);
    result = node.Emit(OpKind::kMul, {result, choose(set, square, one)});
    bits = node.Emit(OpKind::kShiftRight, bits, 1);
    if (i < 6) square = node.Emit(OpKind::kMul, {square, square});
  }
  if (has_sign) {
    const int magnitude = dtype.code == TypeCode::kUInt ? base : node.Emit(OpKind::kAbs, {base});
    const int unit = node.Emit(OpKind::kEqual, magnitude, 1);
    const int inverse = choose(unit, result, node.EmitScalar(dtype, 0));
    result = choose(node.Emit(OpKind::kLess, exponent, 0), inverse, result);
  }
  node.SetOutput(result);
}

// An integer to a float power is computed in float64 and truncated.
void ImportPow(OnnxNode& node) {
  const int base = node.Input(0);
  if (node.ok() && node.TypeOf(base).dtype.is_integer()) {
    const int given = node.Input(1);
    const DataType dtype = node.TypeOf(base).dtype;
    if (node.TypeOf(given).dtype.is_integer()) return ReturnIntegerPower(node, base, given);
    const int wide = node.EmitCast(base, kFloat64), power = node.EmitCast(given, kFloat64);
    return node.SetOutput(node.EmitCast(node.Emit(OpKind::kPow, {wide, power}), dtype));
  }
  const int exponent = node.EmitCast(node.Input(1), node.TypeOf(base).dtype);
  node.Return(Operator{OpKind::kPow, {}}, {base, exponent});
}

void ImportReciprocal(OnnxNode& node) {
  const int data = node.Input(0);
  const int one = node.EmitScalar(node.TypeOf(data).dtype, 1);
  node.Return(Operator{OpKind::kDiv, {}}, {one, data});
}

// max(x, 0) + slope * min(x, 0)
void ImportPRelu(OnnxNode& node) {
  const int data = node.Input(0);
  const int zero = node.EmitScalar(node.TypeOf(data).dtype, 0);
  const int negative = node.Emit(OpKind::kMin, {data, zero});
  const int scaled = node.Emit(OpKind::kMul, {negative, node.Input(1)});
  node.Return(Operator{OpKind::kAdd, {}}, {node.Emit(OpKind::kRelu, {data}), scaled});
}

// Bound of a Clip: an attribute until opset 10, an optional input since opset 11. `known` is false
// for a bound computed at run time.
struct Bound {
  bool present = false;
  bool known = true;
  double value = 0;
  bool exact = true;  // whether value is exactly the bound, not the nearest double
};

Bound BoundOf(OnnxNode& node, const char* attribute, int input) {
  Bound bound;
  if (node.opset() < 11) {
    bound.present = node.HasAttribute(attribute);
    bound.value = node.Float(attribute, 0);
    // Some exporters write these for "no bound".
    const double limit = static_cast<double>(std::numeric_limits<float>::max());
    if (bound.value >= limit || bound.value <= -limit) bound.present = false;
  } else if (node.HasInput(input)) {
    bound.present = true;
    bound.known = node.Known(input) != nullptr;
    if (bound.known) bound.value = node.KnownScalar(input);
    bound.exact = bound.known && node.FitsDouble(input);
  }
  return bound;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void ImportClip(OnnxNode& node) {
  const int data = node.Input(0);
  Bound low = BoundOf(node, "min", 1), high = BoundOf(node, "max", 2);
  if (!node.ok()) return;
  low.present &= low.value != -kInfinity;
  high.present &= high.value != kInfinity;
  // A lower bound above the upper bound is valid: every element becomes the upper bound.
  const bool both = low.present && high.present && low.exact && high.exact;
  if (both && low.value <= high.value) {
    Operator op{OpKind::kClip, {}};
    op.attributes.a_min = low.value;
    op.attributes.a_max = high.value;
    return node.Return(op, {data});
  }
  if (low.present && low.known && low.value == 0 && !high.present) {
    return node.Return(Operator{OpKind::kRelu, {}}, {data});
  }
  const DataType dtype = node.TypeOf(data).dtype;
  const auto operand = [&](const Bound& bound, int input) {
    if (node.opset() < 11) return node.EmitScalar(dtype, bound.value);
    return bound.known ? node.EmitKnown(input, dtype) : node.EmitReshape(node.Input(input), {});
  };
  int result = data;
  if (low.present) result = node.Emit(OpKind::kMax, {result, operand(low, 1)});
  if (high.present) result = node.Emit(OpKind::kMin, {result, operand(high, 2)});
  node.SetOutput(result);
}

void ReturnCast(OnnxNode& node, DataType dtype) {
  node.IgnoreAttributes({"saturate", "round_mode"});  // attributes of float8, which is rejected
  const int data = node.Input(0);
  if (node.TypeOf(data).dtype == dtype) {
    return node.Return(Operator{OpKind::kIdentity, {}}, {data});
  }
  Operator op{OpKind::kCast, {}};
  op.attributes.dtype = dtype;
  node.Return(op, {data});
}

// Rounds to bfloat16, half to even; the result has the wider type.
void ReturnRounded(OnnxNode& node, const StorageType& stored) {
  node.IgnoreAttributes({"saturate", "round_mode"});  // attributes of float8
  const int data = node.Input(0);
  if (node.StorageTypeOfInput(0) == &stored)
    return node.Return(Operator{OpKind::kIdentity, {}}, {data});
  const int rounded = node.EmitCast(node.EmitCast(data, kFloat32), kBFloat16);
  node.SetStorageTypedOutput(node.EmitCast(rounded, kFloat32), stored);
}

void ImportCast(OnnxNode& node) {
  const StorageType* stored = StorageTypeOf(static_cast<std::int32_t>(node.Int("to", 0)));
  if (stored != nullptr && IsBFloat16(*stored)) return ReturnRounded(node, *stored);
  auto dtype = DataTypeOfOnnx(static_cast<std::int32_t>(node.Int("to", 0)));
  if (!dtype.ok()) return node.Fail(dtype.status());
  ReturnCast(node, *dtype);
}
void ImportCastLike(OnnxNode& node) {
  const StorageType* stored = node.StorageTypeOfInput(1);
  if (stored != nullptr && IsBFloat16(*stored)) return ReturnRounded(node, *stored);
  if (stored != nullptr) {
    return node.FailUnsupported("input 1 has element type " + std::string(stored->name) +
                                ", which is supported in constants only");
  }
  ReturnCast(node, node.InputType(1).dtype);
}

// Drops nothing, because dropout applies only to training. Output 1 is the mask of kept elements.
void ImportDropout(OnnxNode& node) {
  node.IgnoreAttributes({"ratio", "seed"});
  node.IgnoreInput(1);
  const auto zero = [&](int index) {
    const Tensor* value = node.HasInput(index) ? node.Known(index) : nullptr;
    return value != nullptr && value->elements() == 1 && value->At(0) == 0;
  };
  if (node.HasInput(2) && !zero(2) && !zero(1)) {
    return node.FailUnsupported(
        "expected inference (training_mode, input 2, constant false); export the model for "
        "inference");
  }
  const TensorType type = node.InputType(0);
  node.Return(Operator{}, {node.Input(0)});
  node.ReturnFilled({type.shape, node.opset() < 10 ? type.dtype : kBool}, 1, 1);
}

// Emits |a| modulo |b| exactly, by long division in float64. A digit of the quotient has kDigit
// bits, so its product with the 24 bits of a divisor is exact, and so is the remainder. Quotients
// of float32 have up to 2^277.
int FloatRest(OnnxNode& node, int a, int b) {
  constexpr int kDigit = 28, kDigits = 10;
  int rest = node.Emit(OpKind::kAbs, {node.EmitCast(a, kFloat64)});
  const int divisor = node.Emit(OpKind::kAbs, {node.EmitCast(b, kFloat64)});
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    const int unit = node.Emit(OpKind::kMul, divisor, std::exp2(kDigit * digit));
    const int count = node.Emit(OpKind::kFloor, {node.Emit(OpKind::kDiv, {rest, unit})});
    rest = node.Emit(OpKind::kSub, {rest, node.Emit(OpKind::kMul, {count, unit})});
  }
  return rest;
}

// a - b * trunc(a / b)
int SignedRest(OnnxNode& node, int a, int b) {
  const DataType dtype = node.TypeOf(a).dtype;
  if (!dtype.is_float()) {
    const int whole = node.Emit(OpKind::kMul, {node.Emit(OpKind::kDiv, {a, b}), b});
    return node.Emit(OpKind::kSub, {a, whole});
  }
  const int rest =
      dtype == kFloat64 ? EmitExactFmod(node, a, b) : node.EmitCast(FloatRest(node, a, b), dtype);
  const int below = node.Emit(OpKind::kLess, a, 0);
  const int signed_rest =
      node.Emit(OpKind::kWhere, {below, node.Emit(OpKind::kNegate, {rest}), rest});
  // An infinite divisor leaves any number unchanged; its product with a quotient of 0 would be NaN.
  const double infinity = std::numeric_limits<double>::infinity();
  const auto is_infinite = [&](int id) {
    return node.Emit(OpKind::kEqual, node.Emit(OpKind::kAbs, {id}), infinity);
  };
  const int all = node.Emit(OpKind::kWhere, {is_infinite(a), signed_rest, a});
  return node.Emit(OpKind::kWhere, {is_infinite(b), all, signed_rest});
}

// The remainder has the sign of the divisor, or with fmod that of the dividend.
void ImportMod(OnnxNode& node) {
  const int a = node.Input(0), b = node.Input(1);
  if (!node.ok()) return;
  const DataType dtype = node.TypeOf(a).dtype;
  const int rest = SignedRest(node, a, b);
  if (node.Int("fmod", 0) != 0 || dtype.code == TypeCode::kUInt) return node.SetOutput(rest);
  const int same_sign = node.Emit(
      OpKind::kEqual, {node.Emit(OpKind::kLess, rest, 0), node.Emit(OpKind::kLess, b, 0)});
  const int moved = node.Emit(OpKind::kAdd, {rest, b});
  const int signed_rest = node.Emit(OpKind::kWhere, {same_sign, rest, moved});
  const int none = node.Emit(OpKind::kEqual, rest, 0);
  node.Return(Operator{OpKind::kWhere, {}}, {none, rest, signed_rest});
}

// Moves elements towards 0 by `bias`; elements within `lambd` become 0.
void ImportShrink(OnnxNode& node) {
  const int data = node.Input(0);
  const double lambda = node.Float("lambd", 0.5), bias = node.Float("bias", 0);
  if (!node.ok()) return;
  // Compares integers as floats, because their type may not represent the bounds.
  const DataType dtype = node.TypeOf(data).dtype;
  const int x = node.EmitCast(data, dtype.is_float() ? dtype : kFloat64);
  const int bound = node.EmitScalar(node.TypeOf(x).dtype, lambda);
  const int above = node.Emit(OpKind::kLess, {bound, x});
  const int below = node.Emit(OpKind::kLess, x, -lambda);
  const int lower = node.Emit(OpKind::kSub, x, bias), higher = node.Emit(OpKind::kAdd, x, bias);
  const int zero = node.EmitScalar(node.TypeOf(x).dtype, 0);
  const int rest = node.Emit(OpKind::kWhere, {above, lower, zero});
  node.SetOutput(node.EmitCast(node.Emit(OpKind::kWhere, {below, higher, rest}), dtype));
}

constexpr OnnxHandlerEntry kElementwiseHandlers[] = {
    {"Abs", &ImportUnary<OpKind::kAbs>},
    {"Add", &ImportBinary<OpKind::kAdd>},
    {"Cast", &ImportCast},
    {"CastLike", &ImportCastLike},
    {"Ceil", &ImportUnary<OpKind::kCeil>},
    {"Clip", &ImportClip},
    {"Div", &ImportBinary<OpKind::kDiv>},
    {"Dropout", &ImportDropout},
    {"Erf", &ImportUnary<OpKind::kErf>},
    {"Exp", &ImportUnary<OpKind::kExp>},
    {"Floor", &ImportUnary<OpKind::kFloor>},
    {"HardSigmoid", &ImportHardSigmoid},
    {"HardSwish", &ImportUnary<OpKind::kHardSwish>},
    {"Identity", &ImportUnary<OpKind::kIdentity>},
    {"LeakyRelu", &ImportLeakyRelu},
    {"Log", &ImportUnary<OpKind::kLog>},
    {"Max", &ImportVariadic<OpKind::kMax>},
    {"Mean", &ImportMean},
    {"Min", &ImportVariadic<OpKind::kMin>},
    {"Mod", &ImportMod},
    {"Mul", &ImportBinary<OpKind::kMul>},
    {"Neg", &ImportUnary<OpKind::kNegate>},
    {"PRelu", &ImportPRelu},
    {"Pow", &ImportPow},
    {"Reciprocal", &ImportReciprocal},
    {"Relu", &ImportUnary<OpKind::kRelu>},
    {"Round", &ImportUnary<OpKind::kRoundEven>},
    {"Shrink", &ImportShrink},
    {"Sigmoid", &ImportUnary<OpKind::kSigmoid>},
    {"Sqrt", &ImportUnary<OpKind::kSqrt>},
    {"Sub", &ImportBinary<OpKind::kSub>},
    {"Sum", &ImportVariadic<OpKind::kAdd>},
    {"Tanh", &ImportUnary<OpKind::kTanh>},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxElementwiseHandlers() { return kElementwiseHandlers; }

}  // namespace tilewright
