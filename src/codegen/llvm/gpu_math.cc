// Functions by name, and exp, tanh, log, erf and pow, as arithmetic in the kernel: reduction of the
// argument and a polynomial or a quotient. GPUs have no library for them; CPUs use this form for
// float32 too, a vector at a time (exp, tanh and erf have faster forms in emit_math.cc).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <limits>
#include <span>

#include "src/codegen/llvm/math_builder.h"

namespace tilewright::emit {
namespace {

using llvm::Value;

// erf(x) / x in powers of x^2, for |x| < 1, and log(1 - erf(t)) + t^2 in powers of u, which goes
// from -1 to 1 as t goes from 1 to 6: interpolated at Chebyshev nodes.
constexpr double kErfNear[] = {
    1.1283791670955126,     -0.3761263890318005,     0.1128379167080471,    -0.02686617061790976,
    0.005223977365959462,   -0.0008548312651227978,  0.0001205485247844746, -1.4916378381548186e-05,
    1.6392037116329313e-06, -1.7488167066792885e-07, 5.317108147432769e-08, -5.1521614046285115e-08,
    3.65041005215208e-08,   -1.4327512495570027e-08, 2.4005303436346205e-09};
constexpr double kErfFar[] = {
    -1.862437402148175,      -0.6652489709130165,    0.20779340786112746,
    -0.0816509097142776,     0.03412841107692827,    -0.014384548421099205,
    0.00595370453061876,     -0.002373996202983615,  0.0008935760282387048,
    -0.00030782668299484783, 9.090425294265286e-05,  -1.8445716282728836e-05,
    -1.4901774121167342e-06, 4.491147721514999e-06,  -3.3908756610426508e-06,
    2.0450890579968685e-06,  -9.644008292423016e-07, 2.438813749934919e-07,
    -7.901039981306307e-08,  1.2278010501257688e-07, -3.652898075735833e-08,
    -3.689267462449996e-08,  1.7813280493102707e-08};

/// Returns true if every lane is this number.
bool IsAlways(const Value* value, double number) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy()) {
    constant = constant->getSplatValue();
  }
  const auto* real = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return real != nullptr && real->isExactlyValue(number);
}

/// Function of one argument and its name in the IR.
struct NamedFunction {
  const char* name;
  Value* (MathBuilder::*emit)(Value* x);
};
constexpr NamedFunction kFunctionsOfOne[] = {
    {"log", &MathBuilder::Log},          {"tanh", &MathBuilder::Tanh},
    {"erf", &MathBuilder::Erf},          {"sin", &MathBuilder::Sin},
    {"cos", &MathBuilder::Cos},          {"tan", &MathBuilder::Tan},
    {"asin", &MathBuilder::Asin},        {"acos", &MathBuilder::Acos},
    {"atan", &MathBuilder::Atan},        {"sinh", &MathBuilder::Sinh},
    {"cosh", &MathBuilder::Cosh},        {"asinh", &MathBuilder::Asinh},
    {"acosh", &MathBuilder::Acosh},      {"atanh", &MathBuilder::Atanh},
    {"expm1", &MathBuilder::Expm1},      {"log1p", &MathBuilder::Log1p},
    {"softplus", &MathBuilder::Softplus}};

}  // namespace

MathBuilder::MathBuilder(llvm::IRBuilder<>& builder, llvm::Type* real, bool fused)
    : at_(builder),
      real_(real),
      integers_(real->getWithNewType(real->getScalarType()->isDoubleTy() ? at_.getInt64Ty()
                                                                         : at_.getInt32Ty())),
      wide_(real->getScalarType()->isDoubleTy()),
      fused_(fused) {}

/// Computes 2^n * e^r, n = rint(x / ln 2); 2^(n - down) in two factors, so that overflowing and
/// denormal results are correct.
Value* MathBuilder::Exp(Value* x, int down) {
  const double low = wide_ ? -746 : -104, high = wide_ ? 712 : 91;
  Value* clamped = at_.CreateSelect(at_.CreateFCmpOLT(x, Real(low)), Real(low), x);
  clamped = at_.CreateSelect(at_.CreateFCmpOGT(clamped, Real(high)), Real(high), clamped);
  Value* n = Unary(llvm::Intrinsic::rint, at_.CreateFMul(clamped, Real(1.44269504088896341)));
  n = at_.CreateSelect(IsNan(x), Real(0), n);
  Value* r = Fma(n, Real(-Ln2High()), clamped);
  r = Fma(n, Real(-Ln2Low()), r);
  const int degree = wide_ ? 13 : 7;
  std::vector<double> taylor = {1};
  for (int i = 1; i <= degree; ++i) taylor.push_back(taylor.back() / i);
  Value* p = Polynomial(r, taylor);
  Value* exponent = at_.CreateFPToSI(n, integers_);
  if (down != 0) exponent = at_.CreateSub(exponent, Integer(down));
  Value* half = at_.CreateAShr(exponent, Integer(1));
  for (Value* power : {half, at_.CreateSub(exponent, half)}) {
    p = at_.CreateFMul(p, PowerOfTwo(power));
  }
  return p;
}

/// Computes e * ln 2 + log(m) with m from sqrt(1/2) to sqrt(2); log(m) = 2 artanh((m - 1) / (m +
/// 1)).
Value* MathBuilder::Log(Value* x) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double least = wide_ ? 0x1p-1022 : 0x1p-126;  // below, numbers are denormal
  Value* tiny = at_.CreateFCmpOLT(x, Real(least));
  Value* scaled = at_.CreateSelect(tiny, at_.CreateFMul(x, Real(0x1p54)), x);
  Value* bits = at_.CreateBitCast(scaled, integers_);
  Value* begin = at_.CreateBitCast(Real(0.70710678118654752), integers_);
  Value* e = at_.CreateAShr(at_.CreateSub(bits, begin), Integer(Mantissa()));
  Value* m = at_.CreateBitCast(at_.CreateSub(bits, at_.CreateShl(e, Integer(Mantissa()))), real_);
  e = at_.CreateSelect(tiny, at_.CreateSub(e, Integer(54)), e);
  Value* power = at_.CreateSIToFP(e, real_);
  Value* s = at_.CreateFDiv(at_.CreateFSub(m, Real(1)), at_.CreateFAdd(m, Real(1)));
  Value* square = at_.CreateFMul(s, s);
  std::vector<double> series;
  for (int i = 1; i <= (wide_ ? 11 : 5); ++i) series.push_back(2.0 / (2 * i + 1));
  Value* rest = at_.CreateFMul(at_.CreateFMul(s, square), Polynomial(square, series));
  rest = Fma(power, Real(Ln2Low()), rest);
  Value* sum = Fma(power, Real(Ln2High()), Fma(s, Real(2), rest));
  sum = at_.CreateSelect(at_.CreateFCmpOEQ(x, Real(infinity)), x, sum);
  sum = at_.CreateSelect(at_.CreateFCmpOEQ(x, Real(0)), Real(-infinity), sum);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return at_.CreateSelect(at_.CreateFCmpULT(x, Real(0)), Real(nan), sum);
}

/// Uses a continued fraction near zero, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x.
Value* MathBuilder::Tanh(Value* x) {
  Value* size = Unary(llvm::Intrinsic::fabs, x);
  Value* square = at_.CreateFMul(x, x);
  Value* fraction = Real(19);
  for (int odd = 17; odd > 0; odd -= 2) {
    fraction = at_.CreateFAdd(Real(odd), at_.CreateFDiv(square, fraction));
  }
  Value* e = at_.CreateFAdd(Exp(at_.CreateFAdd(size, size)), Real(1));
  Value* large = at_.CreateFSub(Real(1), at_.CreateFDiv(Real(2), e));
  large = at_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x);
  Value* is_small = at_.CreateFCmpOLT(size, Real(0.625));
  return at_.CreateSelect(is_small, at_.CreateFDiv(x, fraction), large);
}

Value* MathBuilder::Erf(Value* x) {
  constexpr double kEnd = 6;  // beyond it the result is 1
  Value* size = Unary(llvm::Intrinsic::fabs, x);
  Value* square = at_.CreateFMul(x, x);
  Value* small = at_.CreateFMul(x, Polynomial(square, kErfNear));
  Value* t = at_.CreateSelect(at_.CreateFCmpOGT(size, Real(kEnd)), Real(kEnd), size);
  Value* u = Fma(t, Real(2 / (kEnd - 1)), Real(-(kEnd + 1) / (kEnd - 1)));
  Value* power = Fma(at_.CreateFNeg(t), t, Polynomial(u, kErfFar));
  Value* large = at_.CreateFSub(Real(1), Exp(power));
  large = at_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x);
  return at_.CreateSelect(at_.CreateFCmpULT(size, Real(1)), small, large);
}

/// Computes exp(y log |x|), with the sign of x for odd y.
Value* MathBuilder::Pow(Value* x, Value* y) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Value* size = Unary(llvm::Intrinsic::fabs, x);
  Value* power = Exp(at_.CreateFMul(y, Log(size)));
  power = at_.CreateSelect(at_.CreateFCmpOEQ(size, Real(1)), Real(1), power);
  Value* whole = at_.CreateFCmpOEQ(Unary(llvm::Intrinsic::floor, y), y);
  Value* half = at_.CreateFMul(y, Real(0.5));
  Value* odd = at_.CreateAnd(whole, at_.CreateFCmpUNE(Unary(llvm::Intrinsic::floor, half), half));
  Value* with_sign = at_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, power, x);
  Value* result = at_.CreateSelect(odd, with_sign, power);
  Value* undefined = at_.CreateAnd(at_.CreateFCmpOLT(x, Real(0)), at_.CreateNot(whole));
  const double infinity = std::numeric_limits<double>::infinity();
  undefined = at_.CreateAnd(undefined, at_.CreateFCmpONE(size, Real(infinity)));
  result = at_.CreateSelect(undefined, Real(nan), result);
  result = at_.CreateSelect(at_.CreateOr(IsNan(x), IsNan(y)), Real(nan), result);
  Value* one = at_.CreateOr(at_.CreateFCmpOEQ(y, Real(0)), at_.CreateFCmpOEQ(x, Real(1)));
  return at_.CreateSelect(one, Real(1), result);
}

Value* MathBuilder::Polynomial(Value* x, std::span<const double> coefficients) {
  Value* sum = Real(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = Fma(sum, x, Real(coefficients[i]));
  }
  return sum;
}

Value* MathBuilder::PowerOfTwo(Value* power) {
  Value* bits = at_.CreateShl(at_.CreateAdd(power, Integer(Bias())), Integer(Mantissa()));
  return at_.CreateBitCast(bits, real_);
}

Value* EmitByArithmetic(llvm::IRBuilder<>& builder, const std::string& name,
                        const std::vector<Value*>& args, bool fused) {
  llvm::Type* type = args[0]->getType();
  MathBuilder math(builder, type, fused);
  if (name == "exp") return math.Exp(args[0]);
  for (const NamedFunction& function : kFunctionsOfOne) {
    if (name == function.name) return (math.*function.emit)(args[0]);
  }
  if (name != "pow" || args.size() != 2) return nullptr;
  if (IsAlways(args[1], 2)) return builder.CreateFMul(args[0], args[0]);
  if (type->getScalarType()->isDoubleTy()) return math.Pow(args[0], args[1]);
  llvm::Type* wide = type->getWithNewType(builder.getDoubleTy());
  Value* power = MathBuilder(builder, wide, fused)
                     .Pow(builder.CreateFPExt(args[0], wide), builder.CreateFPExt(args[1], wide));
  return builder.CreateFPTrunc(power, type);
}

}  // namespace tilewright::emit
