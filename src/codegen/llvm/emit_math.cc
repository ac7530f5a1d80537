// Intrinsic functions. Those of float32 are computed in vectors, within the errors that
// docs/numerics.md states (tests/codegen/functions_test.cc checks all exponents). On CPUs float64
// calls libm once per lane.

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <string_view>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/math_builder.h"

namespace tilewright::emit {
namespace {

struct RoundingCall {
  const char* name;
  llvm::Intrinsic::ID id;
};
constexpr RoundingCall kUnary[] = {
    {"sqrt", llvm::Intrinsic::sqrt}, {"floor", llvm::Intrinsic::floor},
    {"ceil", llvm::Intrinsic::ceil}, {"round", llvm::Intrinsic::round},
    {"rint", llvm::Intrinsic::rint},
};

/// Functions of one argument.
constexpr std::string_view kElementary[] = {
    "exp",  "tanh", "erf",  "log",   "sin",   "cos",   "tan",   "asin",  "acos",
    "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log1p", "softplus"};

/// Uses the exponential of a value that is at most 0, which cannot overflow.
Expr SigmoidByExp(const Expr& x) {
  const DataType dtype = x.dtype();
  const Expr one = MakeConst(dtype, 1), zero = MakeConst(dtype, 0);
  const Expr power = MakeCall(dtype, "exp", {zero - MakeCall(dtype, "abs", {x})});
  return Div(MakeSelect(Lt(x, zero), power, one), one + power);
}

/// Returns true if the value is known to be at most 0, or NaN.
bool NeverPositive(const Expr& expr) {
  if (expr->kind != ExprKind::kMin) return false;
  return std::ranges::any_of(expr->args, [](const Expr& arg) {
    return arg->kind == ExprKind::kFloat && arg->float_value <= 0;
  });
}

}  // namespace

llvm::Value* FunctionEmitter::FloatConstant(Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Value* FunctionEmitter::EmitUnaryIntrinsic(llvm::Intrinsic::ID id, Value* x) {
  return builder_.CreateUnaryIntrinsic(id, x);
}

/// exp(x) = 2^n * p(r) with n = rint(x / ln 2) and r = x - n ln 2 in [-0.347, 0.347]. p is 1 + r +
/// r^2 q(r), with q of degree 4 that minimizes the greatest relative error (3.1e-9; rounding
/// dominates the error of the result). Overflowing and denormal results are correct. A scale that
/// is a power of two costs nothing: it is a factor of the coefficients.
llvm::Value* FunctionEmitter::EmitExp(Value* x, ExpForm form) {
  constexpr double kLog2E = 1.44269504088896341;
  // Upper part of ln 2 with so few bits that n times it is exact, and the remainder.
  constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440054690583e-4;
  constexpr double kRounder = 12582912.0;  // 1.5 * 2^23: adding it rounds to an integer
  auto constant = [&](double value) { return FloatConstant(x, value); };
  Value* low = constant(form.low);
  Value* high = constant(form.high);
  Value* clamped = builder_.CreateSelect(builder_.CreateFCmpOLT(x, low), low, x);
  clamped = builder_.CreateSelect(builder_.CreateFCmpOLT(high, clamped), high, clamped);
  Value* shifted = MulAdd(clamped, constant(kLog2E), constant(kRounder));
  Value* n = builder_.CreateFSub(shifted, constant(kRounder));
  Value* r = MulAdd(n, constant(-kLn2High), clamped);
  r = MulAdd(n, constant(-kLn2Low), r);
  Value* p = constant(form.scale * 1.3814540029619042e-3);
  for (const double coefficient : {8.368745112752388e-3, 4.166839078652523e-2,
                                   1.6666520399001153e-1, 4.999999343211473e-1, 1.0, 1.0}) {
    p = MulAdd(p, r, constant(form.scale * coefficient));
  }
  return EmitTimesPowerOfTwo(p, shifted, n);
}

/// Computes p * 2^n; `shifted` is n + 1.5 * 2^23. Uses one instruction of AVX-512, else two
/// factors, each of which is in range.
llvm::Value* FunctionEmitter::EmitTimesPowerOfTwo(Value* p, Value* shifted, Value* n) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(p->getType());
  if (vector != nullptr && !on_gpu() && kernel_.features.avx512) {
    constexpr std::uint32_t kRoundAsSet = 4;
    switch (vector->getNumElements()) {
      case 4:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_128, {},
                                        {p, n, p, builder_.getInt8(0xff)});
      case 8:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_256, {},
                                        {p, n, p, builder_.getInt8(0xff)});
      case 16:
        return builder_.CreateIntrinsic(
            llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
            {p, n, p, builder_.getInt16(0xffff), builder_.getInt32(kRoundAsSet)});
      default:
        break;
    }
  }
  llvm::Type* integers = builder_.getInt32Ty();
  if (vector != nullptr) integers = llvm::VectorType::get(integers, vector->getElementCount());
  auto integer = [&](std::int64_t v) { return llvm::ConstantInt::getSigned(integers, v); };
  constexpr std::int64_t kRounderBits = 0x4b400000;  // of 1.5 * 2^23
  Value* exponent =
      builder_.CreateSub(builder_.CreateBitCast(shifted, integers), integer(kRounderBits));
  Value* half = builder_.CreateAShr(exponent, integer(1));
  for (Value* power : {half, builder_.CreateSub(exponent, half)}) {
    Value* bits = builder_.CreateShl(builder_.CreateAdd(power, integer(127)), integer(23));
    p = builder_.CreateFMul(p, builder_.CreateBitCast(bits, p->getType()));
  }
  return p;
}

/// Computes s / (s + s exp(-x)) with s = 2^-24: the exponential overflows only for results of 0,
/// and is not denormal while it affects the sum.
llvm::Value* FunctionEmitter::EmitSigmoid(Value* x) {
  constexpr double kScale = 0x1p-24;
  Value* power = EmitExp(builder_.CreateFNeg(x), {.scale = kScale, .low = -60, .high = 104.5});
  Value* scale = FloatConstant(x, kScale);
  return builder_.CreateFDiv(scale, builder_.CreateFAdd(scale, power));
}

/// Computes x P(x^2) / Q(x^2), interpolated to minimize the greatest relative error up to `end`;
/// beyond it the function is 1 with the sign of x.
llvm::Value* FunctionEmitter::EmitOddQuotient(Value* x, std::span<const double> numerator,
                                              std::span<const double> denominator, double end) {
  auto constant = [&](double value) { return FloatConstant(x, value); };
  Value* square = builder_.CreateFMul(x, x);
  const auto polynomial = [&](std::span<const double> coefficients) {
    Value* sum = constant(coefficients.back());
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
      sum = MulAdd(sum, square, constant(coefficients[i]));
    }
    return sum;
  };
  Value* top = builder_.CreateFMul(x, polynomial(numerator));
  Value* quotient = builder_.CreateFDiv(top, polynomial(denominator));
  Value* size = EmitUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* one = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(1), x);
  return builder_.CreateSelect(builder_.CreateFCmpOGE(size, constant(end)), one, quotient);
}

/// Relative error of the quotient itself: 2.1e-8.
llvm::Value* FunctionEmitter::EmitTanh(Value* x) {
  constexpr double kNumerator[] = {0.9999999794656385, 0.13381018992469762, 3.4955802153353015e-3,
                                   2.0608952983408803e-5, 1.3354487090647059e-8};
  constexpr double kDenominator[] = {1, 0.46714334588594536, 2.5876952128505253e-2,
                                     3.2856218949008044e-4, 7.776485744528443e-7};
  return EmitOddQuotient(x, kNumerator, kDenominator, 9);
}

/// Relative error of the quotient itself: 1.9e-8.
llvm::Value* FunctionEmitter::EmitErf(Value* x) {
  constexpr double kNumerator[] = {1.1283791461451813,    0.19040616848542521,
                                   5.2748678237474735e-2, 3.7656032788006472e-3,
                                   2.8488229539197865e-4, 2.0500876205007227e-6};
  constexpr double kDenominator[] = {1,
                                     0.5020758142141177,
                                     0.11410898380501125,
                                     1.4969188437948807e-2,
                                     1.1625320135439476e-3,
                                     3.809169683862964e-5};
  return EmitOddQuotient(x, kNumerator, kDenominator, 3.92);
}

/// Computes by arithmetic on a GPU, for float32 (except exp, tanh and erf, which have other forms),
/// and for functions that the C library lacks; otherwise calls the libm function of that name, lane
/// by lane.
llvm::Value* FunctionEmitter::EmitLibm(const std::string& name, DataType dtype,
                                       const std::vector<Value*>& args, bool never_positive) {
  if (on_gpu() || dtype == kFloat32 || name == "softplus") {
    const bool fused = on_gpu() || kernel_.features.avx2 || kernel_.machine == Machine::kArm64;
    if (name == "expm1" && never_positive) {
      return MathBuilder(builder_, args[0]->getType(), fused).Expm1OfNegative(args[0]);
    }
    if (Value* value = EmitByArithmetic(builder_, name, args, fused)) return value;
    kernel_.Fail(Unsupported("no code for " + name + " of " + DataTypeName(dtype)));
    return args[0];
  }
  llvm::Type* type = ScalarType(context_, dtype);
  const std::vector<llvm::Type*> types(args.size(), type);
  llvm::FunctionCallee callee =
      kernel_.module.getOrInsertFunction(name, llvm::FunctionType::get(type, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();  // errno is not used
  if (!IsVector(args[0])) return builder_.CreateCall(callee, args);
  Value* result = llvm::PoisonValue::get(args[0]->getType());
  for (int lane = 0; lane < lanes_; ++lane) {
    std::vector<Value*> scalars;
    for (Value* arg : args) scalars.push_back(builder_.CreateExtractElement(arg, lane));
    result = builder_.CreateInsertElement(result, builder_.CreateCall(callee, scalars), lane);
  }
  return result;
}

llvm::Value* FunctionEmitter::EmitCall(const Expr& expr) {
  const DataType dtype = expr->dtype;
  const std::string& name = expr->name;
  const bool is_sigmoid = name == "sigmoid" && expr->args.size() == 1;
  if (is_sigmoid && dtype == kFloat64) return EmitExpr(SigmoidByExp(expr->args[0]));
  std::vector<Value*> args;
  bool vector = false;
  for (const Expr& arg : expr->args) {
    args.push_back(EmitExpr(arg));
    vector = vector || IsVector(args.back());
  }
  if (vector) {
    for (Value*& arg : args) arg = ToVector(arg);
  }
  auto takes = [&](std::size_t count) { return args.size() == count; };
  if (name == "abs" && takes(1)) {
    if (dtype.is_float()) return EmitUnaryIntrinsic(llvm::Intrinsic::fabs, args[0]);
    if (dtype.code == TypeCode::kUInt) return args[0];
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], builder_.getFalse());
  }
  if (name == "mulhi_s64" && takes(2)) {
    llvm::Type* wide = args[0]->getType()->getWithNewBitWidth(128);
    Value* product =
        builder_.CreateMul(builder_.CreateSExt(args[0], wide), builder_.CreateSExt(args[1], wide));
    return builder_.CreateTrunc(builder_.CreateAShr(product, 64), args[0]->getType());
  }
  if (dtype.is_float() && dtype.bits == 16) {  // via float32
    std::vector<Expr> wide;
    for (const Expr& arg : expr->args) wide.push_back(MakeCast(kFloat32, arg));
    return EmitExpr(MakeCast(dtype, MakeCall(kFloat32, name, std::move(wide))));
  }
  if (dtype.is_float() && takes(1)) {
    if (name == "exp" && dtype == kFloat32) return EmitExp(args[0]);
    if (name == "sigmoid" && dtype == kFloat32) return EmitSigmoid(args[0]);
    if (name == "tanh" && dtype == kFloat32) return EmitTanh(args[0]);
    if (name == "erf" && dtype == kFloat32) return EmitErf(args[0]);
    for (const RoundingCall& call : kUnary) {
      if (name == call.name) return EmitUnaryIntrinsic(call.id, args[0]);
    }
    if (std::ranges::find(kElementary, name) != std::end(kElementary)) {
      return EmitLibm(name, dtype, args, NeverPositive(expr->args[0]));
    }
  }
  if (dtype.is_float() && name == "pow" && takes(2)) return EmitLibm(name, dtype, args, false);
  if (dtype.is_float() && name == "fma" && takes(3)) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, args);
  }
  kernel_.Fail(Unsupported("no code for the call " + ToString(expr)));
  return Undefined(dtype);
}

}  // namespace tilewright::emit
