// Converts expressions to LLVM values. Inside a vectorized loop a value is a scalar (the same in
// all lanes) or a vector; Unify converts between them. Values of one statement are computed once.

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "src/codegen/llvm/function_emitter.h"

namespace tilewright::emit {
namespace {

/// Converts a vector of bytes to words if its size permits: NVPTX splits byte vectors that merge
/// from two paths and stores them byte by byte.
llvm::Value* BytesAsWords(llvm::IRBuilderBase& builder, llvm::Value* value) {
  constexpr unsigned kBytesOfWord = 4;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr || !vector->getElementType()->isIntegerTy(8)) return value;
  const unsigned bytes = vector->getNumElements();
  if (bytes % kBytesOfWord != 0) return value;
  llvm::Type* words = llvm::FixedVectorType::get(builder.getInt32Ty(), bytes / kBytesOfWord);
  return builder.CreateBitCast(value, words);
}

/// Returns true for expressions whose value is worth caching within their statement.
bool Costs(ExprKind kind) {
  return kind != ExprKind::kInt && kind != ExprKind::kFloat && kind != ExprKind::kVar;
}

/// Returns true if the value of a float expression is known not to be NaN.
bool NeverNan(const Expr& expr) {
  if (expr->kind == ExprKind::kFloat) return !std::isnan(expr->float_value);
  if (expr->kind != ExprKind::kCast) return false;
  const DataType from = expr->args[0]->dtype;
  return !from.is_float() || NeverNan(expr->args[0]);
}

llvm::Constant* BFloat16Constant(llvm::LLVMContext& context, double value) {
  llvm::APFloat number(value);
  bool loses = false;
  number.convert(llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return llvm::ConstantInt::get(context, number.bitcastToAPInt());
}

bool IsConstantMask(const llvm::Value* value, bool wanted) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant == nullptr) return false;
  return wanted ? constant->isAllOnesValue() : constant->isNullValue();
}

}  // namespace

llvm::Value* FunctionEmitter::Undefined(DataType dtype) {
  return llvm::PoisonValue::get(ScalarType(context_, dtype));
}

llvm::Value* FunctionEmitter::ToVector(Value* value) {
  if (lanes_ == 0 || IsVector(value)) return value;
  return builder_.CreateVectorSplat(static_cast<unsigned>(lanes_), value);
}

void FunctionEmitter::Unify(Value*& a, Value*& b) {
  if (IsVector(a) == IsVector(b)) return;
  a = ToVector(a);
  b = ToVector(b);
}

llvm::Value* FunctionEmitter::AndMask(Value* condition) {
  if (mask_ == nullptr) return ToVector(condition);
  return builder_.CreateAnd(mask_, ToVector(condition));
}

llvm::Value* FunctionEmitter::EmitExpr(const Expr& expr) {
  if (!Costs(expr->kind)) return EmitUncached(expr);
  if (const auto found = memo_.find(expr.get()); found != memo_.end()) return found->second.value;
  Value* value = EmitUncached(expr);
  memo_.insert_or_assign(expr.get(), Emitted{expr, value});
  return value;
}

llvm::Value* FunctionEmitter::EmitUncached(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return llvm::ConstantInt::get(ScalarType(context_, expr->dtype),
                                    static_cast<std::uint64_t>(expr->int_value),
                                    expr->dtype.code == TypeCode::kInt);
    case ExprKind::kFloat:
      if (expr->dtype == kBFloat16) return BFloat16Constant(context_, expr->float_value);
      return llvm::ConstantFP::get(ScalarType(context_, expr->dtype), expr->float_value);
    case ExprKind::kVar: {
      const Linear* bound = indexer_.Find(expr.get());
      if (bound != nullptr) return EmitIndexValue(expr, *bound);
      kernel_.Fail(InvalidArgument("variable " + expr->name + " is used outside of its loop"));
      return Undefined(expr->dtype);
    }
    case ExprKind::kCast:
      return EmitCast(expr);
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return EmitComparison(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return EmitLogical(expr);
    case ExprKind::kNot:
      return builder_.CreateNot(EmitExpr(expr->args[0]));
    case ExprKind::kSelect:
      return EmitSelect(expr->args[0], expr->args[1], expr->args[2]);
    case ExprKind::kLoad:
      return EmitLoad(*expr);
    case ExprKind::kCall:
      return EmitCall(expr);
    default:
      break;
  }
  if (IsIndexExpr(expr)) {
    if (const std::optional<Linear> value = indexer_.Eval(expr))
      return EmitIndexValue(expr, *value);
  }
  return EmitArithmetic(expr);
}

llvm::Value* FunctionEmitter::EmitIndexValue(const Expr& expr, const Linear& value) {
  llvm::Type* type = ScalarType(context_, expr->dtype);
  Value* scalar = builder_.CreateIntCast(indexer_.Materialize(value), type, true);
  if (lanes_ == 0 || value.lane == 0) return scalar;
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes_; ++lane) {
    steps.push_back(llvm::ConstantInt::getSigned(type, value.lane * lane));
  }
  return builder_.CreateAdd(ToVector(scalar), llvm::ConstantVector::get(steps));
}

/// Converts float64 to a float32 that rounds to the same float16: few machines convert it in one
/// step, and LLVM would call the compiler's library. Rounds towards zero and sets the last bit if
/// bits were lost; that bit is below every float16 midpoint (rounding to odd).
llvm::Value* FunctionEmitter::NarrowedForHalf(Value* value) {
  llvm::Type* real = value->getType()->getWithNewType(builder_.getFloatTy());
  llvm::Type* bits = value->getType()->getWithNewType(builder_.getInt32Ty());
  Value* nearest = builder_.CreateFPTrunc(value, real);
  Value* back = builder_.CreateFPExt(nearest, value->getType());
  Value* beyond = builder_.CreateFCmpOGT(EmitUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                         EmitUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  Value* inexact = builder_.CreateFCmpUNE(back, value);
  Value* truncated =
      builder_.CreateSub(builder_.CreateBitCast(nearest, bits), builder_.CreateZExt(beyond, bits));
  return builder_.CreateBitCast(builder_.CreateOr(truncated, builder_.CreateZExt(inexact, bits)),
                                real);
}

/// Converts bfloat16, the upper half of a float32.
llvm::Value* FunctionEmitter::WidenedBFloat16(Value* value) {
  llvm::Type* bits = value->getType()->getWithNewType(builder_.getInt32Ty());
  llvm::Type* real = value->getType()->getWithNewType(builder_.getFloatTy());
  return builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(value, bits), 16), real);
}

/// Rounds float32 to the nearest bfloat16, ties to even. The instruction takes denormal numbers
/// for zeros.
llvm::Value* FunctionEmitter::NarrowedToBFloat16(Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* narrow = value->getType()->getWithNewType(builder_.getInt16Ty());
  const unsigned lanes = vector == nullptr ? 0 : vector->getNumElements();
  if (kernel_.features.avx512_bf16 && (lanes == 16 || lanes == 8)) {
    Value* rounded =
        builder_.CreateIntrinsic(lanes == 16 ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                                             : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256,
                                 {}, {value});
    return builder_.CreateBitCast(rounded, narrow);
  }
  llvm::Type* word = value->getType()->getWithNewType(builder_.getInt32Ty());
  Value* bits = builder_.CreateBitCast(value, word);
  Value* upper = builder_.CreateLShr(bits, 16);
  Value* odd = builder_.CreateAnd(upper, llvm::ConstantInt::get(word, 1));
  Value* half = builder_.CreateAdd(odd, llvm::ConstantInt::get(word, 0x7FFF));
  Value* rounded = builder_.CreateLShr(builder_.CreateAdd(bits, half), 16);
  Value* quiet = builder_.CreateOr(upper, llvm::ConstantInt::get(word, 0x40));
  Value* is_nan = builder_.CreateFCmpUNO(value, value);
  return builder_.CreateTrunc(builder_.CreateSelect(is_nan, quiet, rounded), narrow);
}

llvm::Value* FunctionEmitter::EmitCast(const Expr& expr) {
  return Converted(EmitExpr(expr->args[0]), expr->args[0]->dtype, expr->dtype);
}

llvm::Value* FunctionEmitter::Converted(Value* value, DataType from, DataType to) {
  if (from == to) return value;
  if (to == kBFloat16 && from == kFloat64) return NarrowedToBFloat16(NarrowedForHalf(value));
  if (to == kBFloat16 && from != kFloat32) value = Converted(value, from, kFloat32);
  if (to == kBFloat16) return NarrowedToBFloat16(value);
  if (from == kBFloat16) {
    value = WidenedBFloat16(value);
    if (to == kFloat32) return value;
    from = kFloat32;
  }
  llvm::Type* type = ScalarType(context_, to);
  if (IsVector(value)) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes_));
  if (to.is_bool()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return from.is_float() ? builder_.CreateFCmpUNE(value, zero)
                           : builder_.CreateICmpNE(value, zero);
  }
  const bool from_signed = from.code == TypeCode::kInt;
  const bool to_signed = to.code == TypeCode::kInt;
  if (from == kFloat64 && to == kFloat16) value = NarrowedForHalf(value);
  if (from.is_float() && to.is_float()) return builder_.CreateFPCast(value, type);
  if (to.is_float()) {
    return from_signed ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  }
  if (!from.is_float()) return builder_.CreateIntCast(value, type, from_signed);
  // Via int32, so that the narrow types wrap as they do from integers.
  if (to.bits >= 32) {
    return to_signed ? builder_.CreateFPToSI(value, type) : builder_.CreateFPToUI(value, type);
  }
  Value* wide = builder_.CreateFPToSI(value, type->getWithNewBitWidth(32));
  return builder_.CreateTrunc(wide, type);
}

llvm::Value* FunctionEmitter::MulAdd(Value* a, Value* b, Value* c) {
  Unify(a, b);
  Unify(a, c);
  Unify(b, c);
  return builder_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

/// Emits a float sum or difference. A product operand is contracted to a fused multiply-add if the
/// target has one. No other transformation changes floating-point results.
llvm::Value* FunctionEmitter::EmitFloatSum(const Expr& expr) {
  const bool subtract = expr->kind == ExprKind::kSub;
  const Expr& left = expr->args[0];
  const Expr& right = expr->args[1];
  if (right->kind == ExprKind::kMul) {
    Value* c = EmitExpr(left);
    Value* a = EmitExpr(right->args[0]);
    Value* b = EmitExpr(right->args[1]);
    return MulAdd(subtract ? builder_.CreateFNeg(a) : a, b, c);
  }
  if (left->kind == ExprKind::kMul) {
    Value* c = EmitExpr(right);
    Value* a = EmitExpr(left->args[0]);
    Value* b = EmitExpr(left->args[1]);
    return MulAdd(a, b, subtract ? builder_.CreateFNeg(c) : c);
  }
  // For -|x| only the sign is set.
  const bool from_zero = left->kind == ExprKind::kFloat && left->float_value == 0;
  if (subtract && from_zero && right->kind == ExprKind::kCall && right->name == "abs") {
    return builder_.CreateFNeg(EmitExpr(right));
  }
  Value* a = EmitExpr(left);
  Value* b = EmitExpr(right);
  Unify(a, b);
  return subtract ? builder_.CreateFSub(a, b) : builder_.CreateFAdd(a, b);
}

/// Emits the minimum or maximum of two floats; NaN if one of them is NaN. A comparison and a select
/// are one x86 instruction, which returns its second operand for NaN; that suffices if the other
/// operand is known not to be NaN. Otherwise LLVM's intrinsic also tests its first operand. For a
/// reduction that is the new value, so each step takes only one more cycle.
llvm::Value* FunctionEmitter::EmitFloatExtreme(const ExprNode& expr, Value* a, Value* b) {
  const bool min = expr.kind == ExprKind::kMin;
  const auto chosen = [&](Value* usual, Value* other) {  // the usual operand for NaN
    Value* beyond =
        min ? builder_.CreateFCmpOLT(other, usual) : builder_.CreateFCmpOLT(usual, other);
    return builder_.CreateSelect(beyond, other, usual);
  };
  if (NeverNan(expr.args[1])) return chosen(a, b);
  if (NeverNan(expr.args[0])) return chosen(b, a);
  const bool has_intrinsic = kernel_.machine == Machine::kX86 || kernel_.machine == Machine::kArm64;
  if (!has_intrinsic || expr.dtype.bits == 16) {
    return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), b, chosen(a, b));
  }
  if (Value* extreme = EmitMaskedExtreme(min, a, b)) return extreme;
  llvm::CallInst* extreme = llvm::cast<llvm::CallInst>(builder_.CreateBinaryIntrinsic(
      min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, b, a));
  extreme->setHasNoSignedZeros(true);
  return extreme;
}

/// Uses the mask of the AVX-512 instruction: lanes where b is NaN keep b. The comparison does not
/// depend on a, so a reduction takes no longer. Returns null for other vectors.
llvm::Value* FunctionEmitter::EmitMaskedExtreme(bool min, Value* a, Value* b) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (!kernel_.features.avx512 || vector == nullptr || !vector->getElementType()->isFloatTy()) {
    return nullptr;
  }
  Value* extreme = nullptr;
  switch (vector->getNumElements()) {
    case 8:
      extreme = builder_.CreateIntrinsic(
          min ? llvm::Intrinsic::x86_avx_min_ps_256 : llvm::Intrinsic::x86_avx_max_ps_256, {},
          {b, a});
      break;
    case 16: {
      constexpr std::uint32_t kRoundAsSet = 4;
      extreme = builder_.CreateIntrinsic(
          min ? llvm::Intrinsic::x86_avx512_min_ps_512 : llvm::Intrinsic::x86_avx512_max_ps_512, {},
          {b, a, builder_.getInt32(kRoundAsSet)});
      break;
    }
    default:
      return nullptr;
  }
  return builder_.CreateSelect(builder_.CreateFCmpORD(b, b), extreme, b);
}

llvm::Value* FunctionEmitter::EmitArithmetic(const Expr& expr) {
  const DataType dtype = expr->dtype;
  // A bfloat16 is an integer of 16 bits in LLVM's code: schedules compute with it in float32.
  if (dtype == kBFloat16) kernel_.Fail(Unsupported("arithmetic of bfloat16"));
  const bool real = dtype.is_float() && dtype != kBFloat16;
  const bool is_signed = dtype.code == TypeCode::kInt;
  if (real && (expr->kind == ExprKind::kAdd || expr->kind == ExprKind::kSub)) {
    return EmitFloatSum(expr);
  }
  Value* a = EmitExpr(expr->args[0]);
  Value* b = EmitExpr(expr->args[1]);
  Unify(a, b);
  switch (expr->kind) {
    case ExprKind::kAdd:
      return builder_.CreateAdd(a, b);
    case ExprKind::kSub:
      return builder_.CreateSub(a, b);
    case ExprKind::kMul:
      return real ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      if (real) return builder_.CreateFDiv(a, b);
      return EmitIntegerDivision(expr->kind, dtype, a, b);
    case ExprKind::kMin:
      if (real) return EmitFloatExtreme(*expr, a, b);
      return builder_.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case ExprKind::kMax:
      if (real) return EmitFloatExtreme(*expr, a, b);
      return builder_.CreateBinaryIntrinsic(
          is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case ExprKind::kShiftLeft:
      return builder_.CreateShl(a, b);
    case ExprKind::kShiftRight:
      return is_signed ? builder_.CreateAShr(a, b) : builder_.CreateLShr(a, b);
    default:
      kernel_.Fail(Internal("expression without code: " + ToString(expr)));
      return Undefined(dtype);
  }
}

llvm::Value* FunctionEmitter::EmitIntegerDivision(ExprKind kind, DataType dtype, Value* a,
                                                  Value* b) {
  const bool remainder = kind == ExprKind::kFloorMod;
  if (dtype.code != TypeCode::kInt) {
    return remainder ? builder_.CreateURem(a, b) : builder_.CreateUDiv(a, b);
  }
  if (kind == ExprKind::kDiv) return builder_.CreateSDiv(a, b);
  // Correct the truncated result by one if the remainder and the divisor differ in sign.
  llvm::Constant* zero = llvm::Constant::getNullValue(a->getType());
  Value* rest = builder_.CreateSRem(a, b);
  Value* wrong = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero),
                                    builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero));
  if (remainder) return builder_.CreateAdd(rest, builder_.CreateSelect(wrong, b, zero));
  return builder_.CreateAdd(builder_.CreateSDiv(a, b), builder_.CreateSExt(wrong, a->getType()));
}

llvm::Value* FunctionEmitter::EmitComparison(const Expr& expr) {
  const Expr& left = expr->args[0];
  const Expr& right = expr->args[1];
  if (IsIndexExpr(left) && IsIndexExpr(right)) {
    const std::optional<Linear> a = indexer_.Eval(left);
    const std::optional<Linear> b = indexer_.Eval(right);
    if (a && b) return EmitLinearComparison(expr->kind, AddScaled(*a, *b, -1));
  }
  Value* a = EmitExpr(left);
  Value* b = EmitExpr(right);
  Unify(a, b);
  if (left->dtype == kBFloat16) kernel_.Fail(Unsupported("comparisons of bfloat16"));
  const bool real = left->dtype.is_float() && left->dtype != kBFloat16;
  const bool is_signed = left->dtype.code == TypeCode::kInt;
  switch (expr->kind) {
    case ExprKind::kEq:
      return real ? builder_.CreateFCmpOEQ(a, b) : builder_.CreateICmpEQ(a, b);
    case ExprKind::kNe:
      return real ? builder_.CreateFCmpUNE(a, b) : builder_.CreateICmpNE(a, b);
    case ExprKind::kLt:
      if (real) return builder_.CreateFCmpOLT(a, b);
      return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    default:
      if (real) return builder_.CreateFCmpOLE(a, b);
      return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
  }
}

/// Compares `difference` with zero; folds the comparison if its range permits.
llvm::Value* FunctionEmitter::EmitLinearComparison(ExprKind kind, const Linear& difference) {
  const Range range = indexer_.RangeOf(difference);
  const bool less = kind == ExprKind::kLt;
  if (less || kind == ExprKind::kLe) {
    if (range.max < (less ? 0 : 1)) return builder_.getTrue();
    if (range.min > (less ? -1 : 0)) return builder_.getFalse();
  } else {
    const bool never = range.min > 0 || range.max < 0;
    const bool always = range.min == 0 && range.max == 0;
    if (never || always) return builder_.getInt1(always == (kind == ExprKind::kEq));
  }
  Value* scalar = indexer_.Materialize(difference);
  Value* value = scalar;
  if (lanes_ > 0 && difference.lane != 0) {
    // Use 32-bit lanes if they suffice: half the registers.
    constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max() / 2;
    const bool narrow = range.min > -kLimit && range.max < kLimit;
    llvm::Type* type = narrow ? builder_.getInt32Ty() : builder_.getInt64Ty();
    std::vector<llvm::Constant*> steps;
    for (int lane = 0; lane < lanes_; ++lane) {
      steps.push_back(llvm::ConstantInt::getSigned(type, difference.lane * lane));
    }
    value = builder_.CreateAdd(ToVector(builder_.CreateSExtOrTrunc(scalar, type)),
                               llvm::ConstantVector::get(steps));
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
  switch (kind) {
    case ExprKind::kLt:
      return builder_.CreateICmpSLT(value, zero);
    case ExprKind::kLe:
      return builder_.CreateICmpSLE(value, zero);
    case ExprKind::kEq:
      return builder_.CreateICmpEQ(value, zero);
    default:
      return builder_.CreateICmpNE(value, zero);
  }
}

llvm::Value* FunctionEmitter::EmitLogical(const Expr& expr) {
  const bool conjunction = expr->kind == ExprKind::kAnd;
  Value* a = EmitExpr(expr->args[0]);
  if (IsConstantMask(a, !conjunction)) return a;
  if (NeedsGuard(expr->args[1])) {
    const Expr known = MakeInt(kBool, conjunction ? 0 : 1);
    return conjunction ? EmitSelect(expr->args[0], expr->args[1], known)
                       : EmitSelect(expr->args[0], known, expr->args[1]);
  }
  Value* b = EmitExpr(expr->args[1]);
  if (IsConstantMask(a, conjunction) || IsConstantMask(b, !conjunction)) return b;
  if (IsConstantMask(b, conjunction)) return a;
  Unify(a, b);
  return conjunction ? builder_.CreateAnd(a, b) : builder_.CreateOr(a, b);
}

bool FunctionEmitter::NeedsGuard(const Expr& expr) {
  if (!Costs(expr->kind)) return false;
  if (const auto found = needs_guard_.find(expr.get()); found != needs_guard_.end()) {
    return found->second.needs;
  }
  const bool divides = expr->kind == ExprKind::kDiv || expr->kind == ExprKind::kFloorDiv ||
                       expr->kind == ExprKind::kFloorMod;
  bool needs = expr->kind == ExprKind::kLoad ||
               (divides && expr->dtype.is_integer() && !expr->args[1].IsInt());
  for (const Expr& arg : expr->args) needs = needs || NeedsGuard(arg);
  needs_guard_.insert_or_assign(expr.get(), Guarded{expr, needs});
  return needs;
}

/// Emits one arm of a select with the lanes of `mask` active; values computed there are not cached.
llvm::Value* FunctionEmitter::EmitArm(const Expr& arm, Value* mask) {
  const auto memo = memo_;
  Value* outer = mask_;
  mask_ = mask;
  Value* value = EmitExpr(arm);
  mask_ = outer;
  memo_ = memo;
  return value;
}

llvm::Value* FunctionEmitter::EmitSelect(const Expr& condition, const Expr& if_true,
                                         const Expr& if_false) {
  Value* chosen = EmitExpr(condition);
  if (IsConstantMask(chosen, true)) return EmitExpr(if_true);
  if (IsConstantMask(chosen, false)) return EmitExpr(if_false);
  const bool guard_true = NeedsGuard(if_true);
  const bool guard_false = NeedsGuard(if_false);
  if (IsVector(chosen) || (!guard_true && !guard_false)) {
    Value* a =
        IsVector(chosen) && guard_true ? EmitArm(if_true, AndMask(chosen)) : EmitExpr(if_true);
    Value* b = IsVector(chosen) && guard_false
                   ? EmitArm(if_false, AndMask(builder_.CreateNot(chosen)))
                   : EmitExpr(if_false);
    Unify(a, b);
    if (IsVector(chosen)) {
      a = ToVector(a);
      b = ToVector(b);
    }
    return builder_.CreateSelect(chosen, a, b);
  }
  const bool widens = if_true->kind == ExprKind::kCast && if_true->args[0]->dtype.is_half() &&
                      if_true->args[0]->kind == ExprKind::kLoad;
  if (widens && if_false->kind == ExprKind::kFloat && if_false->float_value == 0) {
    const ExprNode& load = *if_true->args[0];
    llvm::Type* type = MemoryType(context_, load.buffer->dtype);
    Value* loaded = LoadOrConstant(load, chosen, llvm::Constant::getNullValue(type));
    if (loaded != nullptr) return Converted(loaded, load.dtype, if_true->dtype);
  }
  if (if_true->kind == ExprKind::kLoad && !guard_false) {
    Value* otherwise = EmitExpr(if_false);
    if (Value* loaded = LoadOrConstant(*if_true, chosen, otherwise)) return loaded;
  }
  llvm::BasicBlock* then_block = NewBlock("if_true");
  llvm::BasicBlock* else_block = NewBlock("if_false");
  llvm::BasicBlock* after = NewBlock("chosen");
  builder_.CreateCondBr(chosen, then_block, else_block);
  // Columns created in one arm do not exist in another iteration of the unrolled loop.
  auto transposition = std::exchange(transposition_, std::nullopt);
  builder_.SetInsertPoint(then_block);
  Value* a = EmitArm(if_true, mask_);
  if (lanes_ > 0) a = ToVector(a);
  llvm::Type* type = a->getType();
  if (on_gpu()) a = BytesAsWords(builder_, a);
  then_block = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(else_block);
  Value* b = EmitArm(if_false, mask_);
  if (lanes_ > 0) b = ToVector(b);
  if (on_gpu()) b = BytesAsWords(builder_, b);
  else_block = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  transposition_ = std::move(transposition);
  builder_.SetInsertPoint(after);
  llvm::PHINode* value = builder_.CreatePHI(a->getType(), 2);
  value->addIncoming(a, then_block);
  value->addIncoming(b, else_block);
  return builder_.CreateBitCast(value, type);
}

}  // namespace tilewright::emit
