// Elementwise operators. `element` is one element as an expression, for loops; `values` computes it
// again in C++, for the reference: two answers that have nothing in common but the row they are in.
#include <cmath>

#include "src/tensor/compute/elementwise.h"
#include "src/tensor/operators/table.h"
#include "src/tensor/operators/types.h"
#include "src/tensor/reference/elementwise.h"

namespace tilewright {
namespace {

using Attributes = OpAttributes;
using reference::ValuesOfBinary;
using reference::ValuesOfCast;
using reference::ValuesOfUnary;
using std::floating_point;

constexpr OpArgument kBounds[] = {{"a_min", &OpAttributes::a_min}, {"a_max", &OpAttributes::a_max}};
constexpr OpArgument kSlope[] = {{"alpha", &OpAttributes::alpha}};
constexpr OpArgument kLine[] = {{"alpha", &OpAttributes::alpha}, {"beta", &OpAttributes::beta}};
constexpr OpArgument kType[] = {{"dtype", &OpAttributes::dtype}};
constexpr OpArgument kFixedPoint[] = {{"multiplier", &OpAttributes::multiplier},
                                      {"shift", &OpAttributes::shift}};

constexpr OperatorRow kBinary[] = {
    {.kind = OpKind::kAdd,
     .name = "add",
     .family = OpFamily::kBinary,
     .meaning = "a + b",
     .relay = "add",
     .keeps_whole = true,
     .type = &TypeOfBinary,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return a + b; },
     .values = &ValuesOfBinary<[](auto x, auto y) { return reference::WrapAdd(x, y); }>},
    {.kind = OpKind::kSub,
     .name = "sub",
     .family = OpFamily::kBinary,
     .meaning = "a - b",
     .relay = "subtract",
     .keeps_whole = true,
     .type = &TypeOfBinary,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return a - b; },
     .values = &ValuesOfBinary<[](auto x, auto y) { return reference::WrapSub(x, y); }>},
    {.kind = OpKind::kMul,
     .name = "mul",
     .family = OpFamily::kBinary,
     .meaning = "a * b",
     .relay = "multiply",
     .keeps_whole = true,
     .type = &TypeOfBinary,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return a * b; },
     .values = &ValuesOfBinary<[](auto x, auto y) { return reference::WrapMul(x, y); }>},
    {.kind = OpKind::kDiv,
     .name = "div",
     .family = OpFamily::kBinary,
     .meaning = "a / b, of integers truncated towards zero; x / 0 is 0",
     .relay = "divide",
     .domain = Domain::kDivisor,
     .type = &TypeOfBinary,
     .element =
         [](const Attributes&, const Expr& a, const Expr& b) {
           return a.dtype().is_float() ? Div(a, b) : IntegerDiv(a, b);
         },
     .values = &ValuesOfBinary<[](auto x, auto y) { return reference::Divide(x, y); }>},
    {.kind = OpKind::kMax,
     .name = "max",
     .family = OpFamily::kBinary,
     .meaning = "the larger one",
     .relay = "maximum",
     .keeps_whole = true,
     .only_bounds = true,
     .type = &TypeOfBinary,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return Max(a, b); },
     .values = &ValuesOfBinary<[](auto x, auto y) { return std::max(x, y); }>},
    {.kind = OpKind::kMin,
     .name = "min",
     .family = OpFamily::kBinary,
     .meaning = "the smaller one",
     .relay = "minimum",
     .keeps_whole = true,
     .only_bounds = true,
     .type = &TypeOfBinary,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return Min(a, b); },
     .values = &ValuesOfBinary<[](auto x, auto y) { return std::min(x, y); }>},
    {.kind = OpKind::kPow,
     .name = "pow",
     .family = OpFamily::kBinary,
     .meaning = "a to the power of b; floats",
     .relay = "power",
     .domain = Domain::kPositive,
     .type = &TypeOfFloatBinary,
     .element =
         [](const Attributes&, const Expr& a, const Expr& b) {
           return MakeCall(a.dtype(), "pow", {a, b});
         },
     .values = &ValuesOfBinary<[]<floating_point T>(T x, T y) { return std::pow(x, y); }>},
    {.kind = OpKind::kShiftRight,
     .name = "shift_right",
     .family = OpFamily::kBinary,
     .meaning = "a shifted by b bits, arithmetic; integers",
     .relay = "right_shift",
     .domain = Domain::kShift,
     .type = &TypeOfShift,
     .element = [](const Attributes&, const Expr& a, const Expr& b) { return ShiftRight(a, b); },
     .values = &ValuesOfBinary<[]<std::integral T>(T x, T y) { return reference::Shift(x, y); }>},
};

constexpr OperatorRow kUnary[] = {
    {.kind = OpKind::kRelu,
     .name = "relu",
     .family = OpFamily::kUnary,
     .meaning = "max(x, 0)",
     .relay = "nn.relu",
     .keeps_whole = true,
     .only_bounds = true,
     .never_negative = true,
     .type = &TypeOfUnary,
     .element = [](const Attributes&, const Expr& a,
                   const Expr&) { return Max(a, Const(a.dtype(), 0)); },
     .values = &ValuesOfUnary<[]<typename T>(const Attributes&, T x) { return std::max(x, T{0}); }>},
    {.kind = OpKind::kClip,
     .name = "clip",
     .family = OpFamily::kUnary,
     .meaning = "x cut to a_min … a_max",
     .relay = "clip",
     .arguments = kBounds,
     .keeps_whole = true,
     .only_bounds = true,
     .type = &TypeOfClip,
     .element = [](const Attributes& attributes, const Expr& a,
                   const Expr&) { return ClipExpr(a, attributes.a_min, attributes.a_max); },
     .values = &ValuesOfUnary<[](const Attributes& attributes, auto x) {
       return reference::Clip(x, attributes.a_min, attributes.a_max);
     }>},
    {.kind = OpKind::kLeakyRelu,
     .name = "leaky_relu",
     .family = OpFamily::kUnary,
     .meaning = "x, and alpha * x below 0; floats",
     .relay = "nn.leaky_relu",
     .arguments = kSlope,
     .of_floats = true,
     .type = &TypeOfFloatFunction,
     .element =
         [](const Attributes& attributes, const Expr& a, const Expr&) {
           const DataType dtype = a.dtype();
           return MakeSelect(Lt(a, Const(dtype, 0)), a * Const(dtype, attributes.alpha), a);
         },
     .values = &ValuesOfUnary<[]<floating_point T>(const Attributes& attributes, T x) {
       return x < 0 ? x * static_cast<T>(attributes.alpha) : x;
     }>},
    {.kind = OpKind::kSigmoid,
     .name = "sigmoid",
     .family = OpFamily::kUnary,
     .meaning = "1 / (1 + exp(-x)); floats",
     .relay = "sigmoid",
     .of_floats = true,
     .never_negative = true,
     .type = &TypeOfFloatFunction,
     .element =
         [](const Attributes&, const Expr& a, const Expr&) {
           const Expr one = Const(a.dtype(), 1), zero = Const(a.dtype(), 0);
           return Div(one, one + Call("exp", zero - a));
         },
     .values = &ValuesOfUnary<[]<floating_point T>(const Attributes&, T x) {
       return T{1} / (T{1} + std::exp(-x));
     }>},
    {.kind = OpKind::kHardSigmoid,
     .name = "hard_sigmoid",
     .family = OpFamily::kUnary,
     .meaning = "alpha * x + beta cut to 0 … 1; floats",
     .relay = "tilewright.hard_sigmoid",
     .arguments = kLine,
     .of_floats = true,
     .never_negative = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes& attributes, const Expr& a,
                   const Expr&) { return HardSigmoid(a, attributes.alpha, attributes.beta); },
     .values = &ValuesOfUnary<[](const Attributes& attributes, floating_point auto x) {
       return reference::HardSigmoid(x, attributes.alpha, attributes.beta);
     }>},
    {.kind = OpKind::kHardSwish,
     .name = "hard_swish",
     .family = OpFamily::kUnary,
     .meaning = "x * (x / 6 + 1 / 2 cut to 0 … 1); floats",
     .relay = "tilewright.hard_swish",
     .of_floats = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a,
                   const Expr&) { return a * HardSigmoid(a, 1.0 / 6.0, 0.5); },
     .values = &ValuesOfUnary<[](const Attributes&, floating_point auto x) {
       return x * reference::HardSigmoid(x, 1.0 / 6.0, 0.5);
     }>},
    {.kind = OpKind::kTanh,
     .name = "tanh",
     .family = OpFamily::kUnary,
     .meaning = "hyperbolic tangent; floats",
     .relay = "tanh",
     .of_floats = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("tanh", a); },
     .values =
         &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::tanh(x); }>},
    {.kind = OpKind::kExp,
     .name = "exp",
     .family = OpFamily::kUnary,
     .meaning = "e to the power of x; floats",
     .relay = "exp",
     .of_floats = true,
     .never_negative = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("exp", a); },
     .values = &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::exp(x); }>},
    {.kind = OpKind::kLog,
     .name = "log",
     .family = OpFamily::kUnary,
     .meaning = "natural logarithm; floats",
     .relay = "log",
     .domain = Domain::kPositive,
     .of_floats = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("log", a); },
     .values = &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::log(x); }>},
    {.kind = OpKind::kSqrt,
     .name = "sqrt",
     .family = OpFamily::kUnary,
     .meaning = "square root; floats",
     .relay = "sqrt",
     .domain = Domain::kPositive,
     .of_floats = true,
     .never_negative = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("sqrt", a); },
     .values =
         &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::sqrt(x); }>},
    {.kind = OpKind::kErf,
     .name = "erf",
     .family = OpFamily::kUnary,
     .meaning = "error function; floats",
     .relay = "erf",
     .of_floats = true,
     .type = &TypeOfFloatFunction,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("erf", a); },
     .values = &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::erf(x); }>},
    {.kind = OpKind::kNegate,
     .name = "negate",
     .family = OpFamily::kUnary,
     .meaning = "-x",
     .relay = "negative",
     .keeps_whole = true,
     .only_bounds = true,
     .type = &TypeOfUnary,
     .element =
         [](const Attributes&, const Expr& a, const Expr&) {
           const DataType dtype = a.dtype();
           return dtype.is_float() ? a * Const(dtype, -1) : MakeInt(dtype, 0) - a;
         },
     .values = &ValuesOfUnary<[]<typename T>(const Attributes&, T x) {
       return std::is_floating_point_v<T> ? static_cast<T>(-x) : reference::WrapSub<T>(0, x);
     }>},
    {.kind = OpKind::kAbs,
     .name = "abs",
     .family = OpFamily::kUnary,
     .meaning = "magnitude; that of the lowest integer wraps to itself",
     .relay = "abs",
     .keeps_whole = true,
     .never_negative = true,
     .type = &TypeOfUnary,
     .element =
         [](const Attributes&, const Expr& a, const Expr&) {
           const DataType dtype = a.dtype();
           if (dtype.is_float()) return Call("abs", a);
           return dtype.code == TypeCode::kInt ? Max(a, MakeInt(dtype, 0) - a) : a;
         },
     .values = &ValuesOfUnary<[]<typename T>(const Attributes&, T x) {
       if constexpr (std::is_floating_point_v<T>) {
         return std::fabs(x);
       } else {
         return std::cmp_less(x, 0) ? reference::WrapSub<T>(0, x) : x;
       }
     }>},
    {.kind = OpKind::kRound,
     .name = "round",
     .family = OpFamily::kUnary,
     .meaning = "nearest whole number, half away from zero",
     .relay = "round",
     .of_floats = true,
     .rounds = true,
     .type = &TypeOfUnary,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("round", a); },
     .values =
         &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::round(x); }>},
    {.kind = OpKind::kRoundEven,
     .name = "round_even",
     .family = OpFamily::kUnary,
     .meaning = "nearest whole number, half to even (ONNX)",
     .relay = "tilewright.round_even",
     .of_floats = true,
     .rounds = true,
     .type = &TypeOfUnary,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("rint", a); },
     .values = &ValuesOfUnary<[](const Attributes&, floating_point auto x) {
       return std::nearbyint(x);
     }>},
    {.kind = OpKind::kFloor,
     .name = "floor",
     .family = OpFamily::kUnary,
     .meaning = "nearest whole number below",
     .relay = "floor",
     .of_floats = true,
     .rounds = true,
     .type = &TypeOfUnary,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("floor", a); },
     .values =
         &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::floor(x); }>},
    {.kind = OpKind::kCeil,
     .name = "ceil",
     .family = OpFamily::kUnary,
     .meaning = "nearest whole number above",
     .relay = "ceil",
     .of_floats = true,
     .rounds = true,
     .type = &TypeOfUnary,
     .element = [](const Attributes&, const Expr& a, const Expr&) { return Call("ceil", a); },
     .values =
         &ValuesOfUnary<[](const Attributes&, floating_point auto x) { return std::ceil(x); }>},
    {.kind = OpKind::kCast,
     .name = "cast",
     .family = OpFamily::kUnary,
     .meaning = "x as dtype: float to integer truncates, integer to integer wraps",
     .relay = "cast",
     .arguments = kType,
     .keeps_whole = true,
     .type = &TypeOfCast,
     .element = [](const Attributes& attributes, const Expr& a,
                   const Expr&) { return CastExpr(attributes.dtype.value_or(a.dtype()), a); },
     .values = &ValuesOfCast},
    {.kind = OpKind::kSaturateCast,
     .name = "saturate_cast",
     .family = OpFamily::kUnary,
     .meaning = "x as dtype: rounded half to even, then cut to the type (ONNX quantization)",
     .relay = "tilewright.saturate_cast",
     .arguments = kType,
     .keeps_whole = true,
     .type = &TypeOfCast,
     .element =
         [](const Attributes& attributes, const Expr& a, const Expr&) {
           return SaturateCastExpr(attributes.dtype.value_or(a.dtype()), a);
         },
     .values = &ValuesOfCast},
    {.kind = OpKind::kFixedPointMultiply,
     .name = "fixed_point_multiply",
     .family = OpFamily::kUnary,
     .meaning = "x * multiplier * 2^(shift - 31), rounded half upwards; int32",
     .relay = "fixed_point_multiply",
     .arguments = kFixedPoint,
     .type = &TypeOfFixedPointMultiply,
     .element =
         [](const Attributes& attributes, const Expr& a, const Expr&) {
           return FixedPointMultiply(a, attributes.multiplier, attributes.shift);
         },
     .values =
         &ValuesOfUnary<[](const Attributes& attributes, std::same_as<std::int32_t> auto x) {
           return reference::FixedPoint(x, attributes.multiplier, attributes.shift);
         }>},
};

}  // namespace

std::span<const OperatorRow> BinaryOperators() { return kBinary; }
std::span<const OperatorRow> UnaryOperators() { return kUnary; }

}  // namespace tilewright
