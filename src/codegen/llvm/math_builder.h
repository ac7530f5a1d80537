#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::emit {

/// Emits a function of float32 or float64 values (or vectors of them) by arithmetic alone, for
/// machines without a library and for vectors: exp, tanh, log, erf (of float64), pow and the
/// functions of MathBuilder. Returns the value at the builder's position, which may be in another
/// block then, or null for another name. fused: the target multiplies and adds in one instruction.
llvm::Value* EmitByArithmetic(llvm::IRBuilder<>& builder, const std::string& name,
                              const std::vector<llvm::Value*>& args, bool fused);

/// Elementary functions of float32 or float64 values, or vectors of them, as arithmetic at the
/// builder's position. Results for infinities, zeros and NaNs equal those of the C library.
/// docs/numerics.md states the error of each. Sin, Cos and Tan end the builder's block and continue
/// in a new one.
class MathBuilder {
 public:
  using Value = llvm::Value;

  /// real: the type of the values. fused: the target multiplies and adds in one instruction.
  MathBuilder(llvm::IRBuilder<>& builder, llvm::Type* real, bool fused);

  // gpu_math.cc
  /// Returns 2^-down e^x, without overflow for results that the type can represent; down is 0 to 2.
  Value* Exp(Value* x, int down = 0);
  Value* Log(Value* x);
  Value* Tanh(Value* x);
  Value* Erf(Value* x);            ///< float64 only
  Value* Pow(Value* x, Value* y);  ///< float64 only

  // trigonometry.cc
  Value* Sin(Value* x);
  Value* Cos(Value* x);
  Value* Tan(Value* x);
  Value* Asin(Value* x);
  Value* Acos(Value* x);
  Value* Atan(Value* x);

  // hyperbolic.cc
  Value* Expm1(Value* x);
  Value* Expm1OfNegative(Value* x);  ///< of numbers that are at most 0
  Value* Log1p(Value* x);
  Value* Softplus(Value* x);  ///< log(1 + e^x)
  Value* Sinh(Value* x);
  Value* Cosh(Value* x);
  Value* Asinh(Value* x);
  Value* Acosh(Value* x);
  Value* Atanh(Value* x);

 private:
  /// Angle as a whole number of steps, of which only the lowest bits are kept, and the rest.
  struct Angle {
    Value* rest = nullptr;
    Value* steps = nullptr;
  };
  /// Size of the steps of an angle: pi, or half of it; `between` counts from the middle of a step.
  struct Steps {
    bool half = false;
    bool between = false;
  };
  Angle Reduce(Value* x, Steps steps);
  Angle ReduceNear(Value* x, Steps steps);
  Angle ReduceNearInDouble(Value* x, Steps steps);
  Angle ReduceFar(Value* x, Steps steps);
  Value* Turn(Value* x);
  Value* Word(Value* index);
  Value* Sine(Value* rest);
  Value* Cosine(Value* rest);
  Value* WithSignOf(Value* value, Value* bit);
  Value* AsinSeries(Value* x, Value* square);
  /// Returns 2^-down (e^x - 1); `down` is 0 or 2, 0 only if no result overflows.
  Value* ScaledExpm1(Value* x, int down);

  int Mantissa() const { return wide_ ? 52 : 23; }
  int Bias() const { return wide_ ? 1023 : 127; }
  int Bits() const { return wide_ ? 64 : 32; }
  /// 1.5 * 2^(bits of the mantissa): adding it rounds to an integer, which the lowest bits then
  /// contain.
  double Rounder() const { return wide_ ? 0x1.8p+52 : 0x1.8p+23; }
  // The upper part of ln 2 has so few bits that n times it is exact.
  double Ln2High() const { return wide_ ? 6.93147180369123816490e-01 : 0.693359375; }
  double Ln2Low() const { return wide_ ? 1.90821492927058770002e-10 : -2.12194440054690583e-4; }
  Value* Real(double value) { return llvm::ConstantFP::get(real_, value); }
  Value* Integer(std::int64_t value) { return llvm::ConstantInt::getSigned(integers_, value); }
  Value* Unary(llvm::Intrinsic::ID id, Value* x) { return at_.CreateUnaryIntrinsic(id, x); }
  Value* Magnitude(Value* x) { return Unary(llvm::Intrinsic::fabs, x); }
  Value* Root(Value* x) { return Unary(llvm::Intrinsic::sqrt, x); }
  Value* IsNan(Value* x) { return at_.CreateFCmpUNO(x, x); }
  Value* CopySign(Value* size, Value* sign) {
    return at_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, size, sign);
  }
  Value* Choose(Value* condition, Value* yes, Value* no) {
    return at_.CreateSelect(condition, yes, no);
  }
  /// Fused if the target supports it; results differ only by rounding.
  Value* Fma(Value* a, Value* b, Value* c) {
    return at_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {real_}, {a, b, c});
  }
  /// Rounded once.
  Value* ExactFma(Value* a, Value* b, Value* c) {
    return at_.CreateIntrinsic(llvm::Intrinsic::fma, {real_}, {a, b, c});
  }
  /// Evaluates a polynomial with coefficients from the lowest power up.
  Value* Polynomial(Value* x, std::span<const double> coefficients);
  /// Returns 2^power, for powers of normal numbers.
  Value* PowerOfTwo(Value* power);

  llvm::IRBuilder<>& at_;
  llvm::Type* real_;
  llvm::Type* integers_;
  bool wide_;
  bool fused_;
};

}  // namespace tilewright::emit
