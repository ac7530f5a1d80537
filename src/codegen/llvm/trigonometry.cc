// Sine, cosine and tangent, and their inverses.
//
// An angle is reduced to whole steps of pi (for the tangent: of pi / 2) and a rest, which is the
// argument of a polynomial. Up to a limit the steps are subtracted as products with parts of pi;
// their rounding affects no result. Beyond the limit (rare, so a vector branches if any lane is) an
// angle is m * 2^e with an integer m. Then m times the digits of 1 / (2 pi) from 2^-e on gives the
// fraction of a turn, in integers of twice the word (Payne and Hanek): correct for every number.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "src/codegen/llvm/math_builder.h"

namespace tilewright::emit {
namespace {

using llvm::Value;

constexpr double kPi = std::numbers::pi;

/// Digits of 1 / (2 pi), the first one worth 1/2, after a word of zeros for angles with digits
/// after the binary point.
constexpr std::uint64_t kTurns[] = {0,
                                    0x28be60db9391054a,
                                    0x7f09d5f47d4d3770,
                                    0x36d8a5664f10e410,
                                    0x7f9458eaf7aef158,
                                    0x6dc91b8e909374b8,
                                    0x01924bba82746487,
                                    0x3f877ac72c4a69cf,
                                    0xba208d7d4baed121,
                                    0x3a671c09ad17df90,
                                    0x4e64758e60d4ce7d,
                                    0x272117e2ef7e4a0e,
                                    0xc7fe25fff7816603,
                                    0xfbcbc462d6829b47,
                                    0xdb4d9fb3c9f2c26d,
                                    0xd3d18fd9a797fa8b,
                                    0x5d49eeb1faf97c5e,
                                    0xcf41ce7de294a4ba,
                                    0x9afed7ec47e35742,
                                    0x1580cc11bf1edaea,
                                    0xfc33ef0826bd0d87};

/// pi in parts whose sum has 72 and 159 bits; in parts of 33 bits, whose product with an integer of
/// 20 bits is exact in float64.
constexpr double kPartsOfFloat32[] = {0x1.921fb6p+1, -0x1.777a5cp-24, -0x1.ee59dap-49};
constexpr double kPartsOfFloat64[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53,
                                      -0x1.f1976b7ed8fbcp-109};
constexpr double kShortParts[] = {0x1.921fb544p+1, 0x1.0b4611a6p-33, 0x1.3198a2ep-68};

/// Angles from here on are reduced by integers.
constexpr double kFarOfFloat32 = 0x1p+17, kFarOfFloat64 = 0x1p+30;

/// Series of sin(r) / r - 1 in powers of r^2 from the first one on, and of cos(r): `terms` of them.
std::vector<double> SeriesOfSine(int terms) {
  std::vector<double> series;
  double term = 1;
  for (int i = 1; i <= terms; ++i) series.push_back(term /= -2.0 * i * (2 * i + 1));
  return series;
}
std::vector<double> SeriesOfCosine(int terms) {
  std::vector<double> series = {1};
  for (int i = 1; i <= terms; ++i) series.push_back(series.back() / (-2.0 * i * (2 * i - 1)));
  return series;
}

/// Minimax coefficients for |x| up to tan(pi / 8) and 1 / 2 (Cephes).
constexpr double kAtanOfFloat32[] = {-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1,
                                     8.05374449538e-2};
constexpr double kAsinOfFloat32[] = {1.6666752422e-1, 7.4953002686e-2, 4.5470025998e-2,
                                     2.4181311049e-2, 4.2163199048e-2};

}  // namespace

/// Computes sin(r), |r| <= pi / 2.
Value* MathBuilder::Sine(Value* rest) {
  Value* square = at_.CreateFMul(rest, rest);
  Value* series = Polynomial(square, SeriesOfSine(wide_ ? 11 : 6));
  return Fma(at_.CreateFMul(rest, square), series, rest);
}

/// Computes cos(r), |r| <= pi / 4.
Value* MathBuilder::Cosine(Value* rest) {
  return Polynomial(at_.CreateFMul(rest, rest), SeriesOfCosine(wide_ ? 9 : 5));
}

/// Negates the value if the lowest bit of `bit` is set.
Value* MathBuilder::WithSignOf(Value* value, Value* bit) {
  Value* sign = at_.CreateShl(bit, Integer(Bits() - 1));
  return at_.CreateBitCast(at_.CreateXor(at_.CreateBitCast(value, integers_), sign), real_);
}

Value* MathBuilder::Sin(Value* x) {
  const Angle angle = Reduce(x, {});
  return WithSignOf(Sine(angle.rest), angle.steps);
}

/// Measures from the middle between two multiples of pi, where the cosine is minus a sine.
Value* MathBuilder::Cos(Value* x) {
  const Angle angle = Reduce(x, {.between = true});
  return WithSignOf(Sine(angle.rest), at_.CreateXor(angle.steps, Integer(1)));
}

/// Computes sin / cos, and after an odd number of quarter turns -cos / sin.
Value* MathBuilder::Tan(Value* x) {
  const Angle angle = Reduce(x, {.half = true});
  Value* sine = Sine(angle.rest);
  Value* cosine = Cosine(angle.rest);
  Value* odd = at_.CreateTrunc(angle.steps, integers_->getWithNewBitWidth(1));
  Value* top = Choose(odd, at_.CreateFNeg(cosine), sine);
  return at_.CreateFDiv(top, Choose(odd, sine, cosine));
}

MathBuilder::Angle MathBuilder::Reduce(Value* x, Steps steps) {
  const Angle near = wide_ || fused_ ? ReduceNear(x, steps) : ReduceNearInDouble(x, steps);
  Value* is_near = at_.CreateFCmpOLT(Magnitude(x), Real(wide_ ? kFarOfFloat64 : kFarOfFloat32));
  llvm::BasicBlock* const begin = at_.GetInsertBlock();
  llvm::Function* const function = begin->getParent();
  llvm::LLVMContext& context = begin->getContext();
  llvm::BasicBlock* const far_block = llvm::BasicBlock::Create(context, "far", function);
  llvm::BasicBlock* const end = llvm::BasicBlock::Create(context, "reduced", function);
  Value* all = real_->isVectorTy() ? at_.CreateAndReduce(is_near) : is_near;
  constexpr std::uint32_t kOften = 1U << 20;
  at_.CreateCondBr(all, end, far_block, llvm::MDBuilder(context).createBranchWeights(kOften, 1));
  at_.SetInsertPoint(far_block);
  const Angle far = ReduceFar(x, steps);
  Value* far_rest = Choose(is_near, near.rest, far.rest);
  Value* far_steps = Choose(is_near, near.steps, far.steps);
  llvm::BasicBlock* const far_end = at_.GetInsertBlock();
  at_.CreateBr(end);
  at_.SetInsertPoint(end);
  const auto join = [&](Value* usual, Value* rare) {
    llvm::PHINode* value = at_.CreatePHI(usual->getType(), 2);
    value->addIncoming(usual, begin);
    value->addIncoming(rare, far_end);
    return value;
  };
  return {join(near.rest, far_rest), join(near.steps, far_steps)};
}

/// The product with the first part of pi has fewer digits than a fused multiply-add keeps, and the
/// difference is less than twice that part. So the first difference is exact, and each later one
/// rounds the last digit.
MathBuilder::Angle MathBuilder::ReduceNear(Value* x, Steps steps) {
  const double part = steps.half ? 0.5 : 1;
  Value* turns = at_.CreateFMul(x, Real(1 / (part * kPi)));
  if (steps.between) turns = at_.CreateFSub(turns, Real(0.5));
  Value* shifted = at_.CreateFAdd(turns, Real(Rounder()));
  Value* count = at_.CreateFSub(shifted, Real(Rounder()));
  if (steps.between) count = at_.CreateFAdd(count, Real(0.5));
  Value* rest = x;
  for (const double pi : wide_ ? kPartsOfFloat64 : kPartsOfFloat32) {
    rest = ExactFma(count, Real(-part * pi), rest);
  }
  return {rest, at_.CreateBitCast(shifted, integers_)};
}

/// Reduction of float32 in float64, for targets without fused multiply-add.
MathBuilder::Angle MathBuilder::ReduceNearInDouble(Value* x, Steps steps) {
  MathBuilder wide(at_, real_->getWithNewType(at_.getDoubleTy()), false);
  const double part = steps.half ? 0.5 : 1;
  Value* value = at_.CreateFPExt(x, wide.real_);
  Value* turns = at_.CreateFMul(value, wide.Real(1 / (part * kPi)));
  if (steps.between) turns = at_.CreateFSub(turns, wide.Real(0.5));
  Value* shifted = at_.CreateFAdd(turns, wide.Real(wide.Rounder()));
  Value* count = at_.CreateFSub(shifted, wide.Real(wide.Rounder()));
  if (steps.between) count = at_.CreateFAdd(count, wide.Real(0.5));
  for (const double pi : kShortParts) {
    value = at_.CreateFSub(value, at_.CreateFMul(count, wide.Real(part * pi)));
  }
  Value* bits = at_.CreateBitCast(shifted, wide.integers_);
  return {at_.CreateFPTrunc(value, real_), at_.CreateTrunc(bits, integers_)};
}

/// Loads word `index` of kTurns (32 bits for float32), separately in every lane.
Value* MathBuilder::Word(Value* index) {
  llvm::Module& module = *at_.GetInsertBlock()->getModule();
  llvm::Type* const word = integers_->getScalarType();
  const char* const name = wide_ ? "tw_turns64" : "tw_turns32";
  llvm::GlobalVariable* table = module.getNamedGlobal(name);
  if (table == nullptr) {
    std::vector<llvm::Constant*> words;
    for (const std::uint64_t& digits : kTurns) {
      if (wide_) {
        words.push_back(llvm::ConstantInt::get(word, digits));
        continue;
      }
      if (&digits != std::begin(kTurns)) {
        words.push_back(llvm::ConstantInt::get(word, digits >> 32));
      }
      words.push_back(llvm::ConstantInt::get(word, digits & 0xffffffff));
    }
    auto* type = llvm::ArrayType::get(word, words.size());
    table = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                     llvm::ConstantArray::get(type, words), name);
    table->setAlignment(llvm::Align(8));
  }
  Value* places = at_.CreateInBoundsGEP(word, table, index);
  const llvm::Align align(static_cast<std::uint64_t>(Bits()) / 8);
  if (!real_->isVectorTy()) return at_.CreateAlignedLoad(word, places, align);
  return at_.CreateMaskedGather(integers_, places, align);
}

/// Returns |x| modulo whole turns, in units of 2^-(2 * Bits()) turns.
Value* MathBuilder::Turn(Value* x) {
  llvm::Type* const twice = integers_->getWithNewBitWidth(static_cast<unsigned>(2 * Bits()));
  const auto wide = [&](Value* value) { return at_.CreateZExt(value, twice); };
  const std::int64_t first = std::int64_t{1} << Mantissa();
  Value* size = at_.CreateBitCast(Magnitude(x), integers_);
  Value* digits = at_.CreateOr(at_.CreateAnd(size, Integer(first - 1)), Integer(first));
  // Position of the first relevant digits, counted from the word of zeros; lanes with small angles
  // read arbitrary digits.
  Value* begin = at_.CreateSub(at_.CreateLShr(size, Integer(Mantissa())),
                               Integer(Bias() + Mantissa() - Bits()));
  begin = at_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, Integer(0));
  Value* index = at_.CreateLShr(begin, Integer(wide_ ? 6 : 5));
  Value* shift = at_.CreateAnd(begin, Integer(Bits() - 1));
  Value* back = at_.CreateSub(Integer(Bits() - 1), shift);
  std::vector<Value*> words;
  for (int i = 0; i < 4; ++i) words.push_back(Word(at_.CreateAdd(index, Integer(i))));
  std::vector<Value*> products;
  for (std::size_t i = 0; i < 3; ++i) {
    Value* low = at_.CreateLShr(at_.CreateLShr(words[i + 1], Integer(1)), back);
    products.push_back(
        at_.CreateMul(wide(digits), wide(at_.CreateOr(at_.CreateShl(words[i], shift), low))));
  }
  llvm::Constant* const bits = llvm::ConstantInt::get(twice, static_cast<std::uint64_t>(Bits()));
  return at_.CreateAdd(at_.CreateAdd(at_.CreateShl(products[0], bits), products[1]),
                       at_.CreateLShr(products[2], bits));
}

MathBuilder::Angle MathBuilder::ReduceFar(Value* x, Steps steps) {
  Value* turn = Turn(x);
  llvm::Type* const twice = turn->getType();
  const unsigned all = static_cast<unsigned>(2 * Bits());
  const unsigned step = all - (steps.half ? 2 : 1);  // logarithm of one step
  const auto power = [&](unsigned exponent) {
    return llvm::ConstantInt::get(twice, llvm::APInt::getOneBitSet(all, exponent));
  };
  turn = Choose(at_.CreateFCmpOLT(x, Real(0)), at_.CreateNeg(turn), turn);
  if (steps.between) turn = at_.CreateSub(turn, power(step - 1));
  Value* count = at_.CreateLShr(at_.CreateAdd(turn, power(step - 1)), step);
  Value* left = at_.CreateSub(turn, at_.CreateShl(count, step));
  // In halves: not every machine converts integers of twice its word.
  llvm::Type* const doubles = real_->getWithNewType(at_.getDoubleTy());
  const auto constant = [&](double value) { return llvm::ConstantFP::get(doubles, value); };
  const double unit = std::ldexp(1.0, -Bits());
  Value* high =
      at_.CreateTrunc(at_.CreateAShr(left, static_cast<std::uint64_t>(Bits())), integers_);
  Value* low = at_.CreateUIToFP(at_.CreateTrunc(left, integers_), doubles);
  Value* sum = at_.CreateFAdd(at_.CreateSIToFP(high, doubles), at_.CreateFMul(low, constant(unit)));
  Value* rest = at_.CreateFMul(sum, constant(2 * kPi * unit));
  if (!wide_) rest = at_.CreateFPTrunc(rest, real_);
  // The result for infinity is NaN.
  Value* is_number = at_.CreateFCmpONE(Magnitude(x), Real(HUGE_VAL));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {Choose(is_number, rest, Real(nan)), at_.CreateTrunc(count, integers_)};
}

/// Reduced to at most tan(pi / 8): x itself, or (x - 1) / (x + 1) from pi / 4 on, or -1 / x from pi
/// / 2 on.
Value* MathBuilder::Atan(Value* x) {
  constexpr double kLow = std::numbers::sqrt2 - 1, kHigh = std::numbers::sqrt2 + 1;
  Value* size = Magnitude(x);
  Value* steep = at_.CreateFCmpOGT(size, Real(kHigh));
  Value* turned = at_.CreateFCmpOGT(size, Real(kLow));
  Value* top = Choose(steep, Real(-1), Choose(turned, at_.CreateFSub(size, Real(1)), size));
  Value* below = Choose(steep, size, Choose(turned, at_.CreateFAdd(size, Real(1)), Real(1)));
  Value* u = at_.CreateFDiv(top, below);
  Value* square = at_.CreateFMul(u, u);
  std::vector<double> series(std::begin(kAtanOfFloat32), std::end(kAtanOfFloat32));
  if (wide_) {
    series.clear();
    for (int i = 1; i <= 22; ++i) series.push_back((i % 2 == 0 ? 1.0 : -1.0) / (2 * i + 1));
  }
  Value* angle = Fma(at_.CreateFMul(u, square), Polynomial(square, series), u);
  Value* base = Choose(steep, Real(kPi / 2), Choose(turned, Real(kPi / 4), Real(0)));
  return CopySign(at_.CreateFAdd(base, angle), x);
}

/// Computes the arc sine of x, |x| <= 1/2.
Value* MathBuilder::AsinSeries(Value* x, Value* square) {
  std::vector<double> series(std::begin(kAsinOfFloat32), std::end(kAsinOfFloat32));
  if (wide_) {
    series.clear();
    double term = 1;
    for (int i = 1; i <= 26; ++i) {
      term *= (2.0 * i - 1) / (2.0 * i);
      series.push_back(term / (2 * i + 1));
    }
  }
  return Fma(at_.CreateFMul(x, square), Polynomial(square, series), x);
}

/// Beyond 1/2: pi / 2 - 2 asin(sqrt((1 - x) / 2)).
Value* MathBuilder::Asin(Value* x) {
  Value* size = Magnitude(x);
  Value* outer = at_.CreateFCmpOGT(size, Real(0.5));
  Value* half = at_.CreateFMul(at_.CreateFSub(Real(1), size), Real(0.5));
  Value* square = Choose(outer, half, at_.CreateFMul(x, x));
  Value* angle = AsinSeries(Choose(outer, Root(half), size), square);
  Value* other = at_.CreateFSub(Real(kPi / 2), at_.CreateFMul(angle, Real(2)));
  return CopySign(Choose(outer, other, angle), x);
}

Value* MathBuilder::Acos(Value* x) {
  Value* size = Magnitude(x);
  Value* outer = at_.CreateFCmpOGT(size, Real(0.5));
  Value* half = at_.CreateFMul(at_.CreateFSub(Real(1), size), Real(0.5));
  Value* square = Choose(outer, half, at_.CreateFMul(x, x));
  Value* angle = AsinSeries(Choose(outer, Root(half), x), square);
  Value* twice = at_.CreateFMul(angle, Real(2));
  Value* below = at_.CreateFCmpOLT(x, Real(0));
  Value* far = Choose(below, at_.CreateFSub(Real(kPi), twice), twice);
  return Choose(outer, far, at_.CreateFSub(Real(kPi / 2), angle));
}

}  // namespace tilewright::emit
