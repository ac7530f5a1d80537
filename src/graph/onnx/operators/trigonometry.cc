// Trigonometric and hyperbolic functions and their inverses, made of other elementwise operators in
// float32: within 2e-7 of the larger of 1 and the result for sine and cosine, and within 4e-7 of
// the result for the others.

#include <cmath>
#include <limits>
#include <numbers>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

constexpr double kLog2 = std::numbers::ln2;

int Less(OnnxNode& node, int id, double bound) { return node.Emit(OpKind::kLess, id, bound); }
int Choose(OnnxNode& node, int condition, int yes, int no) {
  return node.Emit(OpKind::kWhere, {condition, yes, no});
}
int Magnitude(OnnxNode& node, int x) { return node.Emit(OpKind::kAbs, {x}); }
// A value that is not negative, with the sign of x.
int WithSign(OnnxNode& node, int value, int x) {
  return Choose(node, Less(node, x, 0), node.Emit(OpKind::kNegate, {value}), value);
}

// Coefficients of r^3, r^5, … in the sine of r, the last one first: up to pi / 2 the next one adds
// less than float32 shows.
constexpr double kSineCoefficients[] = {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120,
                                        -1.0 / 6};

// x less `multiples` of pi. pi is taken in parts of few bits, whose products are exact in float32
// where there are up to 2^13 multiples.
int LessMultiplesOfPi(OnnxNode& node, int x, int multiples) {
  double rest = std::numbers::pi;
  for (const double unit : {0x1p-8, 0x1p-19, 0x1p-30, 0x1p-60}) {
    const double part = std::trunc(rest / unit) * unit;
    x = node.Emit(OpKind::kSub, {x, node.Emit(OpKind::kMul, multiples, part)});
    rest -= part;
  }
  return x;
}

// The sine of what is left of x without the nearest multiple n of pi, negated where n is odd. The
// cosine is taken from the middle between two multiples, where it is minus that sine.
int Wave(OnnxNode& node, int x, bool cosine) {
  const int turns = node.Emit(OpKind::kMul, x, std::numbers::inv_pi);
  const int n = node.Emit(cosine ? OpKind::kFloor : OpKind::kRoundEven, {turns});
  const int r = LessMultiplesOfPi(node, x, cosine ? node.Emit(OpKind::kAdd, n, 0.5) : n);
  const int square = node.Emit(OpKind::kMul, {r, r});
  int sum = node.EmitScalar(kFloat32, 0);
  for (const double coefficient : kSineCoefficients) {
    sum = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, {sum, square}), coefficient);
  }
  const int sine = node.Emit(
      OpKind::kAdd, {r, node.Emit(OpKind::kMul, {node.Emit(OpKind::kMul, {r, square}), sum})});
  const int half = node.Emit(OpKind::kMul, n, 0.5);
  const int odd = node.Emit(OpKind::kSub, {half, node.Emit(OpKind::kFloor, {half})});  // 0 or 1/2
  const int scaled = node.Emit(OpKind::kMul, odd, cosine ? 4 : -4);
  const int sign = node.Emit(OpKind::kAdd, scaled, cosine ? -1 : 1);
  return node.Emit(OpKind::kMul, {sine, sign});
}


// ((… c1 * x + c2) * x + …) of the coefficients, the first one for the highest power.
int Polynomial(OnnxNode& node, int x, std::span<const double> coefficients) {
  int sum = node.EmitScalar(kFloat32, coefficients[0]);
  for (const double coefficient : coefficients.subspan(1)) {
    sum = node.Emit(OpKind::kAdd, node.Emit(OpKind::kMul, {sum, x}), coefficient);
  }
  return sum;
}

// The angle of 0 to pi / 2 whose tangent is t, which is not negative: folded to at most
// tan(pi / 8), where ten more terms of the series are enough.
int ArcTangent(OnnxNode& node, int t) {
  static constexpr double kSeries[] = {1.0 / 21,  -1.0 / 19, 1.0 / 17, -1.0 / 15, 1.0 / 13,
                                       -1.0 / 11, 1.0 / 9,   -1.0 / 7, 1.0 / 5,   -1.0 / 3};
  const int one = node.EmitScalar(kFloat32, 1);
  const int small = Less(node, t, 1);
  const int folded = Choose(node, small, t, node.Emit(OpKind::kDiv, {one, t}));
  const int low = Less(node, folded, std::numbers::sqrt2 - 1);
  const int turned = node.Emit(OpKind::kDiv, {node.Emit(OpKind::kSub, folded, 1),
                                              node.Emit(OpKind::kAdd, folded, 1)});
  const int u = Choose(node, low, folded, turned);
  const int square = node.Emit(OpKind::kMul, {u, u});
  const int rest = node.Emit(OpKind::kMul, {square, Polynomial(node, square, kSeries)});
  const int angle = node.Emit(OpKind::kAdd, {u, node.Emit(OpKind::kMul, {u, rest})});
  const int half = node.EmitScalar(kFloat32, std::numbers::pi / 4);
  const int whole = Choose(node, low, angle, node.Emit(OpKind::kAdd, {angle, half}));
  const int right = node.EmitScalar(kFloat32, std::numbers::pi / 2);
  return Choose(node, small, whole, node.Emit(OpKind::kSub, {right, whole}));
}

// log(1 + z), also for a z whose sum with 1 drops most of its digits: what the sum lost is put back
// as a factor.
int LogOfOnePlus(OnnxNode& node, int z) {
  const int sum = node.Emit(OpKind::kAdd, z, 1), log = node.Emit(OpKind::kLog, {sum});
  const int kept = node.Emit(OpKind::kSub, sum, 1);
  const int exact = node.Emit(OpKind::kMul, {log, node.Emit(OpKind::kDiv, {z, kept})});
  const int none = node.Emit(OpKind::kEqual, kept, 0);
  return Choose(node, none, z, Choose(node, Less(node, z, 0x1p40), exact, log));
}

int Sine(OnnxNode& node, int x) { return Wave(node, x, false); }
int Cosine(OnnxNode& node, int x) { return Wave(node, x, true); }
int Tangent(OnnxNode& node, int x) {
  return node.Emit(OpKind::kDiv, {Sine(node, x), Cosine(node, x)});
}
int ArcTan(OnnxNode& node, int x) {
  return WithSign(node, ArcTangent(node, Magnitude(node, x)), x);
}

// 1 - x^2 as a product, which keeps its digits near 1.
int OneLessSquare(OnnxNode& node, int x) {
  const int one = node.EmitScalar(kFloat32, 1);
  return node.Emit(OpKind::kMul,
                   {node.Emit(OpKind::kSub, {one, x}), node.Emit(OpKind::kAdd, {one, x})});
}

// Twice the angle of x / (1 + sqrt(1 - x^2)); no number outside of -1 … 1.
int ArcSin(OnnxNode& node, int x) {
  const int m = Magnitude(node, x);
  const int root = node.Emit(OpKind::kSqrt, {OneLessSquare(node, m)});
  const int half = node.Emit(OpKind::kDiv, {m, node.Emit(OpKind::kAdd, root, 1)});
  return WithSign(node, node.Emit(OpKind::kMul, ArcTangent(node, half), 2), x);
}

// Twice the angle of sqrt((1 - x) / (1 + x)).
int ArcCos(OnnxNode& node, int x) {
  const int one = node.EmitScalar(kFloat32, 1);
  const int ratio = node.Emit(
      OpKind::kDiv, {node.Emit(OpKind::kSub, {one, x}), node.Emit(OpKind::kAdd, {one, x})});
  const int angle = ArcTangent(node, node.Emit(OpKind::kSqrt, {ratio}));
  return node.Emit(OpKind::kMul, angle, 2);
}

// exp(x) / 2, for an x whose exponential alone would overflow, too.
int HalfExponential(OnnxNode& node, int x) {
  const int root = node.Emit(OpKind::kExp, {node.Emit(OpKind::kMul, x, 0.5)});
  return node.Emit(OpKind::kMul, {node.Emit(OpKind::kMul, root, 0.5), root});
}

int HyperbolicCosine(OnnxNode& node, int x) {
  const int down = node.Emit(OpKind::kNegate, {x});
  return node.Emit(OpKind::kAdd, {HalfExponential(node, x), HalfExponential(node, down)});
}

// The series up to 1, where the difference of exponentials loses its digits.
int HyperbolicSine(OnnxNode& node, int x) {
  static constexpr double kSeries[] = {1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120,
                                       1.0 / 6};
  const int down = node.Emit(OpKind::kNegate, {x});
  const int far =
      node.Emit(OpKind::kSub, {HalfExponential(node, x), HalfExponential(node, down)});
  const int square = node.Emit(OpKind::kMul, {x, x});
  const int rest = node.Emit(OpKind::kMul, {square, Polynomial(node, square, kSeries)});
  const int near = node.Emit(OpKind::kAdd, {x, node.Emit(OpKind::kMul, {x, rest})});
  return Choose(node, Less(node, Magnitude(node, x), 1), near, far);
}

// What is beyond 1e9 is as good as log(2 x), and its square would overflow.
constexpr double kLargest = 1e9;

int AreaBeyond(OnnxNode& node, int m, int near) {
  const int far = node.Emit(OpKind::kAdd, node.Emit(OpKind::kLog, {m}), kLog2);
  return Choose(node, Less(node, m, kLargest), near, far);
}

// log(1 + m + m^2 / (1 + sqrt(1 + m^2)))
int AreaSine(OnnxNode& node, int x) {
  const int magnitude = Magnitude(node, x);
  const int m = node.Emit(OpKind::kMin, magnitude, kLargest);
  const int square = node.Emit(OpKind::kMul, {m, m});
  const int root = node.Emit(OpKind::kSqrt, {node.Emit(OpKind::kAdd, square, 1)});
  const int rest = node.Emit(OpKind::kDiv, {square, node.Emit(OpKind::kAdd, root, 1)});
  const int near = LogOfOnePlus(node, node.Emit(OpKind::kAdd, {m, rest}));
  return WithSign(node, AreaBeyond(node, magnitude, near), x);
}

// log(1 + t + sqrt(t (t + 2))) of t = x - 1; no number below 1.
int AreaCosine(OnnxNode& node, int x) {
  const int t = node.Emit(OpKind::kSub, node.Emit(OpKind::kMin, x, kLargest), 1);
  const int product = node.Emit(OpKind::kMul, {t, node.Emit(OpKind::kAdd, t, 2)});
  const int root = node.Emit(OpKind::kSqrt, {product});
  return AreaBeyond(node, x, LogOfOnePlus(node, node.Emit(OpKind::kAdd, {t, root})));
}

// log(1 + 2 m / (1 - m)) / 2
int AreaTangent(OnnxNode& node, int x) {
  const int m = Magnitude(node, x), one = node.EmitScalar(kFloat32, 1);
  const int ratio = node.Emit(OpKind::kDiv, {m, node.Emit(OpKind::kSub, {one, m})});
  const int log = LogOfOnePlus(node, node.Emit(OpKind::kMul, ratio, 2));
  return WithSign(node, node.Emit(OpKind::kMul, log, 0.5), x);
}

template <int (*function)(OnnxNode&, int)>
void ImportFunction(OnnxNode& node) {
  const int data = node.Input(0);
  const DataType dtype = node.TypeOf(data).dtype;
  if (node.ok() && dtype != kFloat32 && dtype != kFloat16) {
    return node.FailUnsupported("input 0 is " + node.TypeOf(data).ToString() +
                                ", expected float32 or float16");
  }
  node.SetOutput(node.EmitCast(function(node, node.EmitCast(data, kFloat32)), dtype));
}

constexpr OnnxHandlerEntry kTrigonometryHandlers[] = {
    {"Acos", &ImportFunction<ArcCos>},      {"Acosh", &ImportFunction<AreaCosine>},
    {"Asin", &ImportFunction<ArcSin>},      {"Asinh", &ImportFunction<AreaSine>},
    {"Atan", &ImportFunction<ArcTan>},      {"Atanh", &ImportFunction<AreaTangent>},
    {"Cos", &ImportFunction<Cosine>},       {"Cosh", &ImportFunction<HyperbolicCosine>},
    {"Sin", &ImportFunction<Sine>},         {"Sinh", &ImportFunction<HyperbolicSine>},
    {"Tan", &ImportFunction<Tangent>},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxTrigonometryHandlers() { return kTrigonometryHandlers; }

}  // namespace tilewright
