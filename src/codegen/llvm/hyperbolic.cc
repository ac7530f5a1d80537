// Hyperbolic functions and their inverses, and expm1 and log1p, which avoid the cancellation near
// 1.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "src/codegen/llvm/math_builder.h"

namespace tilewright::emit {

using llvm::Value;

/// With x = n ln 2 + r computes (e^r - 1) 2^(n - down) + (2^(n - down) - 2^-down).
Value* MathBuilder::ScaledExpm1(Value* x, int down) {
  // Below `low` the result is -1, above `high` infinity; the powers of two between are normal
  // numbers.
  const double low = wide_ ? -40 : -20, high = wide_ ? 710.5 : 89.5;
  Value* clamped = Choose(at_.CreateFCmpOLT(x, Real(low)), Real(low), x);
  if (down != 0) clamped = Choose(at_.CreateFCmpOGT(clamped, Real(high)), Real(high), clamped);
  // The lowest bits of the shifted number are the exponent field of 2^(n - down); the others are
  // shifted out on the left.
  const double rounder = Rounder() + Bias() - down;
  Value* shifted = Fma(clamped, Real(std::numbers::log2e), Real(rounder));
  Value* n = at_.CreateFSub(shifted, Real(rounder));
  Value* r = Fma(n, Real(-Ln2High()), clamped);
  r = Fma(n, Real(-Ln2Low()), r);
  // Coefficients of (e^r - 1 - r) / r^2; those of float32 as in EmitExp.
  std::vector<double> series = {4.999999343211473e-1, 1.6666520399001153e-1, 4.166839078652523e-2,
                                8.368745112752388e-3, 1.3814540029619042e-3};
  if (wide_) {
    series.clear();
    double term = 1;
    for (int i = 2; i <= 14; ++i) series.push_back(term /= i);
  }
  Value* grown = Fma(at_.CreateFMul(r, r), Polynomial(r, series), r);
  Value* bits = at_.CreateShl(at_.CreateBitCast(shifted, integers_), Integer(Mantissa()));
  Value* power = at_.CreateBitCast(bits, real_);
  return Fma(grown, power, at_.CreateFSub(power, Real(std::ldexp(1.0, -down))));
}

Value* MathBuilder::Expm1(Value* x) { return at_.CreateFMul(ScaledExpm1(x, 2), Real(4)); }

Value* MathBuilder::Expm1OfNegative(Value* x) { return ScaledExpm1(x, 0); }

/// Computes the logarithm of the rounded sum plus a correction for its rounding error.
Value* MathBuilder::Log1p(Value* x) {
  Value* sum = at_.CreateFAdd(x, Real(1));
  Value* log = Log(sum);
  Value* of_large = at_.CreateFSub(Real(1), at_.CreateFSub(sum, x));
  Value* of_small = at_.CreateFSub(x, at_.CreateFSub(sum, Real(1)));
  Value* lost = Choose(at_.CreateFCmpOGT(x, Real(1)), of_large, of_small);
  Value* whole = at_.CreateFAdd(log, at_.CreateFDiv(lost, sum));
  return Choose(at_.CreateFCmpOEQ(Magnitude(log), Real(HUGE_VAL)), log, whole);
}

/// Computes max(x, 0) + log(1 + e) with e = exp(-|x|): log(1 + e) = 2 artanh(e / (2 + e)), of at
/// most 1/3.
Value* MathBuilder::Softplus(Value* x) {
  Value* power = Exp(at_.CreateFNeg(Magnitude(x)));
  Value* s = at_.CreateFDiv(power, at_.CreateFAdd(power, Real(2)));
  Value* square = at_.CreateFMul(s, s);
  std::vector<double> series;
  for (int i = 1; i <= (wide_ ? 16 : 7); ++i) series.push_back(2.0 / (2 * i + 1));
  Value* log = Fma(at_.CreateFMul(s, square), Polynomial(square, series), at_.CreateFAdd(s, s));
  return at_.CreateFAdd(Choose(at_.CreateFCmpOLT(x, Real(0)), Real(0), x), log);
}

/// Computes (e^a - e^-a) / 2 with g = e^a - 1: (g + g / (g + 1)) / 2.
Value* MathBuilder::Sinh(Value* x) {
  Value* quarter = ScaledExpm1(Magnitude(x), 2);
  Value* next = at_.CreateFAdd(at_.CreateFMul(quarter, Real(4)), Real(1));
  Value* half = at_.CreateFAdd(quarter, at_.CreateFDiv(quarter, next));
  return CopySign(at_.CreateFMul(half, Real(2)), x);
}

/// Computes 2 q + 1 / (8 q) with q = e^a / 4.
Value* MathBuilder::Cosh(Value* x) {
  Value* quarter = Exp(Magnitude(x), 2);
  Value* rest = at_.CreateFDiv(Real(1.0 / 16), quarter);
  return at_.CreateFMul(at_.CreateFAdd(quarter, rest), Real(2));
}

namespace {

/// From here on the root of x^2 +- 1 is x; the square is far from overflowing.
constexpr double kSquareOnly = 0x1p+60;

}  // namespace

/// Computes log(1 + a + a^2 / (1 + sqrt(1 + a^2))), and log(2 a) for large a.
Value* MathBuilder::Asinh(Value* x) {
  Value* size = Magnitude(x);
  Value* large = at_.CreateFCmpOGT(size, Real(kSquareOnly));
  Value* square = at_.CreateFMul(size, size);
  Value* root = Root(at_.CreateFAdd(square, Real(1)));
  Value* rest = at_.CreateFDiv(square, at_.CreateFAdd(root, Real(1)));
  Value* log = Log1p(Choose(large, size, at_.CreateFAdd(size, rest)));
  Value* twice = at_.CreateFAdd(log, Real(std::numbers::ln2));
  return CopySign(Choose(large, twice, log), x);
}

/// Computes log(1 + t + sqrt(t (t + 2))) of t = x - 1; NaN below 1.
Value* MathBuilder::Acosh(Value* x) {
  Value* large = at_.CreateFCmpOGT(x, Real(kSquareOnly));
  Value* t = at_.CreateFSub(x, Real(1));
  Value* root = Root(at_.CreateFMul(t, at_.CreateFAdd(t, Real(2))));
  Value* log = Log1p(Choose(large, x, at_.CreateFAdd(t, root)));
  Value* value = Choose(large, at_.CreateFAdd(log, Real(std::numbers::ln2)), log);
  return Choose(at_.CreateFCmpOLT(x, Real(1)), llvm::ConstantFP::getNaN(real_), value);
}

/// Computes log(1 + 2 a / (1 - a)) / 2.
Value* MathBuilder::Atanh(Value* x) {
  Value* size = Magnitude(x);
  Value* ratio = at_.CreateFDiv(at_.CreateFMul(size, Real(2)), at_.CreateFSub(Real(1), size));
  return CopySign(at_.CreateFMul(Log1p(ratio), Real(0.5)), x);
}

}  // namespace tilewright::emit
