// Index arithmetic of one function.
//
// Loop bounds are constants, so every loop variable has a known range, and unrolled variables are
// constants. That folds most divisions and guards during emission: (16*k + lane) floordiv 16 is k.
// An expression that stays non-linear (a division with a remainder, a minimum) becomes a separate
// atom, computed once in the prelude of the innermost loop that it depends on.
//
// An address is built from the outermost loop inwards: pointer(terms of depth <= d) is computed in
// the prelude of depth d and adds only the terms of depth d to the pointer of depth d - 1. The
// constant part comes last, so that instruction selection folds it into the memory operand.

#include "src/codegen/llvm/indexer.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright::emit {
namespace {

Range RangeOfDivision(ExprKind kind, const Range& value, std::int64_t divisor) {
  if (kind == ExprKind::kFloorDiv) {
    return {FloorDiv(value.min, divisor), FloorDiv(value.max, divisor)};
  }
  return {0, divisor - 1};
}

llvm::Value* EmitFloorDivision(llvm::IRBuilder<>& builder, ExprKind kind, llvm::Value* a,
                               std::int64_t divisor, bool non_negative) {
  llvm::Type* type = a->getType();
  llvm::Value* d = llvm::ConstantInt::getSigned(type, divisor);
  if (non_negative) {
    return kind == ExprKind::kFloorDiv ? builder.CreateUDiv(a, d) : builder.CreateURem(a, d);
  }
  llvm::Value* zero = llvm::ConstantInt::get(type, 0);
  llvm::Value* remainder = builder.CreateSRem(a, d);
  llvm::Value* negative = builder.CreateICmpSLT(remainder, zero);
  if (kind == ExprKind::kFloorMod) {
    return builder.CreateAdd(remainder, builder.CreateSelect(negative, d, zero));
  }
  return builder.CreateSub(builder.CreateSDiv(a, d), builder.CreateZExt(negative, type));
}

void AppendKey(std::vector<std::int64_t>& key, const Linear& value) {
  key.push_back(value.constant);
  for (const auto& [atom, coefficient] : value.terms) {
    key.push_back(atom);
    key.push_back(coefficient);
  }
  key.push_back(-1);
}

}  // namespace

bool IsIndexExpr(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
    case ExprKind::kVar:
      return expr->dtype.is_integer();
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kMax:
      if (expr->dtype.code != TypeCode::kInt || expr->dtype.bits < 32) return false;
      return IsIndexExpr(expr->args[0]) && IsIndexExpr(expr->args[1]);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: {
      std::int64_t divisor = 0;
      if (expr->dtype.code != TypeCode::kInt || expr->dtype.bits < 32) return false;
      return expr->args[1].IsInt(&divisor) && divisor > 0 && IsIndexExpr(expr->args[0]);
    }
    default:
      return false;
  }
}

int Indexer::AddAtom(llvm::Value* value, Range range) {
  atoms_.push_back({value, static_cast<int>(scopes_.size()) - 1, range});
  return static_cast<int>(atoms_.size()) - 1;
}

const Linear* Indexer::Find(const ExprNode* var) const {
  const auto found = bindings_.find(var);
  return found == bindings_.end() ? nullptr : &found->second;
}

Range Indexer::RangeOf(const Linear& value) const {
  Range range{value.constant, value.constant};
  bool wraps = false;
  auto add = [&range, &wraps](std::int64_t coefficient, const Range& of) {
    std::int64_t low = 0, high = 0;
    wraps |= __builtin_mul_overflow(coefficient, coefficient > 0 ? of.min : of.max, &low);
    wraps |= __builtin_mul_overflow(coefficient, coefficient > 0 ? of.max : of.min, &high);
    wraps |= __builtin_add_overflow(range.min, low, &range.min);
    wraps |= __builtin_add_overflow(range.max, high, &range.max);
  };
  for (const auto& [atom, coefficient] : value.terms) {
    add(coefficient, atoms_[static_cast<std::size_t>(atom)].range);
  }
  if (lanes_ > 0) add(value.lane, {0, lanes_ - 1});
  constexpr std::int64_t kAnything = std::int64_t{1} << 62;
  return wraps ? Range{-kAnything, kAnything} : range;
}

std::optional<Linear> Indexer::Eval(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return Linear::Constant(expr->int_value);
    case ExprKind::kVar: {
      const Linear* bound = Find(expr.get());
      if (bound == nullptr) return EvalOpaque(expr);
      return *bound;
    }
    case ExprKind::kCast:
      if (expr->dtype.is_integer() && expr->dtype.bits == 64 && IsIndexExpr(expr->args[0])) {
        return Eval(expr->args[0]);
      }
      return EvalOpaque(expr);
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
      break;
    default:
      return EvalOpaque(expr);
  }
  if (expr->dtype.code != TypeCode::kInt || expr->dtype.bits < 32) return EvalOpaque(expr);
  std::optional<Linear> a = Eval(expr->args[0]);
  if (!a) return std::nullopt;
  std::optional<Linear> b = Eval(expr->args[1]);
  if (!b) return std::nullopt;
  switch (expr->kind) {
    case ExprKind::kAdd:
      return AddScaled(*a, *b, 1);
    case ExprKind::kSub:
      return AddScaled(*a, *b, -1);
    case ExprKind::kMul:
      if (b->is_constant()) return AddScaled(Linear{}, *a, b->constant);
      if (a->is_constant()) return AddScaled(Linear{}, *b, a->constant);
      return EvalProduct(*a, *b);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return EvalExtremum(expr->kind, *a, *b);
    default:
      if (!b->is_constant() || b->constant <= 0) return EvalOpaque(expr);
      return EvalDivision(expr->kind, *a, b->constant);
  }
}

std::optional<Linear> Indexer::EvalDivision(ExprKind kind, const Linear& value,
                                            std::int64_t divisor) {
  if (divisor == 1) return kind == ExprKind::kFloorDiv ? value : Linear{};
  // value = divisor * quotient + rest, with as many terms as possible in the quotient.
  Linear quotient;
  Linear rest;
  quotient.constant = FloorDiv(value.constant, divisor);
  rest.constant = FloorMod(value.constant, divisor);
  (value.lane % divisor == 0 ? quotient.lane : rest.lane) =
      value.lane % divisor == 0 ? value.lane / divisor : value.lane;
  for (const auto& [atom, coefficient] : value.terms) {
    if (coefficient % divisor == 0) {
      quotient.terms.emplace_back(atom, coefficient / divisor);
    } else {
      rest.terms.emplace_back(atom, coefficient);
    }
  }
  const Range range = RangeOf(rest);
  const std::int64_t first = FloorDiv(range.min, divisor);
  if (first == FloorDiv(range.max, divisor)) {
    if (kind == ExprKind::kFloorMod) {
      rest.constant -= first * divisor;
      return rest;
    }
    quotient.constant += first;
    return quotient;
  }
  if (rest.lane != 0) return std::nullopt;
  const int atom =
      NonLinear(kind, rest, Linear::Constant(divisor), RangeOfDivision(kind, range, divisor));
  if (kind == ExprKind::kFloorMod) return Linear::Atom(atom);
  return AddScaled(quotient, Linear::Atom(atom), 1);
}

std::optional<Linear> Indexer::EvalExtremum(ExprKind kind, const Linear& a, const Linear& b) {
  const Range difference = RangeOf(AddScaled(a, b, -1));
  const bool minimum = kind == ExprKind::kMin;
  if (difference.max <= 0) return minimum ? a : b;
  if (difference.min >= 0) return minimum ? b : a;
  if (a.lane != 0 || b.lane != 0) return std::nullopt;
  const Range ra = RangeOf(a);
  const Range rb = RangeOf(b);
  const Range range = minimum ? Range{std::min(ra.min, rb.min), std::min(ra.max, rb.max)}
                              : Range{std::max(ra.min, rb.min), std::max(ra.max, rb.max)};
  return Linear::Atom(NonLinear(kind, a, b, range));
}

/// Multiplies two values that both change at run time, such as the sides of a window clipped at the
/// border.
std::optional<Linear> Indexer::EvalProduct(const Linear& a, const Linear& b) {
  if (a.lane != 0 || b.lane != 0) return std::nullopt;
  const Range ra = RangeOf(a);
  const Range rb = RangeOf(b);
  // As for EvalOpaque: index ranges beyond this are not used.
  constexpr std::int64_t kLimit = std::int64_t{1} << 20;
  Range range{-kLimit * kLimit, kLimit * kLimit};
  if (std::min(ra.min, rb.min) >= -kLimit && std::max(ra.max, rb.max) <= kLimit) {
    const auto [min, max] =
        std::minmax({ra.min * rb.min, ra.min * rb.max, ra.max * rb.min, ra.max * rb.max});
    range = {min, max};
  }
  atoms_.push_back({builder_.CreateMul(Materialize(a), Materialize(b)), kHere, range});
  return Linear::Atom(static_cast<int>(atoms_.size()) - 1);
}

std::optional<Linear> Indexer::EvalOpaque(const Expr& expr) {
  llvm::Value* value = emit_scalar_(expr);
  if (value == nullptr) return std::nullopt;
  value = expr->dtype.code == TypeCode::kInt ? builder_.CreateSExtOrTrunc(value, type_)
                                             : builder_.CreateZExtOrTrunc(value, type_);
  // 2^40: far beyond any index, and far from overflow when multiplied by a stride.
  constexpr std::int64_t kAnything = std::int64_t{1} << 40;
  atoms_.push_back({value, kHere, {-kAnything, kAnything}});
  return Linear::Atom(static_cast<int>(atoms_.size()) - 1);
}

int Indexer::DepthOf(const Linear& value) const {
  int depth = 0;
  for (const auto& term : value.terms) {
    depth = std::max(depth, atoms_[static_cast<std::size_t>(term.first)].depth);
  }
  return depth;
}

int Indexer::NonLinear(ExprKind kind, const Linear& a, const Linear& b, Range range) {
  const int depth = std::max(DepthOf(a), DepthOf(b));
  std::vector<std::int64_t> key{static_cast<std::int64_t>(kind)};
  AppendKey(key, a);
  AppendKey(key, b);
  if (depth != kHere) {
    auto& known = scopes_[static_cast<std::size_t>(depth)].atoms;
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  auto emit = [&](llvm::IRBuilder<>& builder) -> llvm::Value* {
    llvm::Value* left = SumAt(builder, a);
    if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) {
      return EmitFloorDivision(builder, kind, left, b.constant, RangeOf(a).min >= 0);
    }
    return builder.CreateBinaryIntrinsic(
        kind == ExprKind::kMin ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, left,
        SumAt(builder, b));
  };
  const int atom = static_cast<int>(atoms_.size());
  if (depth == kHere) {
    atoms_.push_back({emit(builder_), kHere, range});
    return atom;
  }
  Scope& scope = scopes_[static_cast<std::size_t>(depth)];
  llvm::IRBuilder<> prelude(scope.prelude->getTerminator());
  atoms_.push_back({emit(prelude), depth, range});
  scope.atoms.emplace(std::move(key), atom);
  return atom;
}

llvm::Value* Indexer::SumAt(llvm::IRBuilder<>& builder, const Linear& value) {
  llvm::Value* sum = nullptr;
  for (const auto& [atom, coefficient] : value.terms) {
    llvm::Value* term = atoms_[static_cast<std::size_t>(atom)].value;
    if (coefficient != 1) {
      term = builder.CreateMul(term, llvm::ConstantInt::getSigned(type_, coefficient));
    }
    sum = sum == nullptr ? term : builder.CreateAdd(sum, term);
  }
  llvm::Value* constant = llvm::ConstantInt::getSigned(type_, value.constant);
  if (sum == nullptr) return constant;
  return value.constant == 0 ? sum : builder.CreateAdd(sum, constant);
}

llvm::Value* Indexer::Materialize(const Linear& value) {
  const int depth = DepthOf(value);
  if (depth == kHere || value.terms.empty()) return SumAt(builder_, value);
  Scope& scope = scopes_[static_cast<std::size_t>(depth)];
  std::vector<std::int64_t> key{-1};
  AppendKey(key, value);
  llvm::Value*& known = scope.values[std::move(key)];
  if (known == nullptr) {
    llvm::IRBuilder<> prelude(scope.prelude->getTerminator());
    known = SumAt(prelude, value);
  }
  return known;
}

llvm::Value* Indexer::PointerPrefix(llvm::Value* base,
                                    const std::vector<std::pair<int, std::int64_t>>& terms,
                                    std::size_t count) {
  if (count == 0) return base;
  const int depth = atoms_[static_cast<std::size_t>(terms[count - 1].first)].depth;
  std::size_t outer = count;
  while (outer > 0 && atoms_[static_cast<std::size_t>(terms[outer - 1].first)].depth == depth) {
    --outer;
  }
  Linear added;
  added.terms.assign(terms.begin() + static_cast<std::ptrdiff_t>(outer),
                     terms.begin() + static_cast<std::ptrdiff_t>(count));
  if (depth == kHere) {
    llvm::Value* prefix = PointerPrefix(base, terms, outer);
    return builder_.CreateGEP(builder_.getInt8Ty(), prefix, SumAt(builder_, added));
  }
  std::vector<std::int64_t> key{reinterpret_cast<std::intptr_t>(base)};
  for (std::size_t i = 0; i < count; ++i) {
    key.push_back(terms[i].first);
    key.push_back(terms[i].second);
  }
  Scope& scope = scopes_[static_cast<std::size_t>(depth)];
  if (const auto found = scope.values.find(key); found != scope.values.end()) return found->second;
  llvm::Value* prefix = PointerPrefix(base, terms, outer);
  llvm::IRBuilder<> prelude(scope.prelude->getTerminator());
  llvm::Value* pointer = prelude.CreateGEP(prelude.getInt8Ty(), prefix, SumAt(prelude, added));
  scope.values.emplace(std::move(key), pointer);
  return pointer;
}

llvm::Value* Indexer::Address(llvm::Value* base, std::int64_t element_bytes, const Linear& value) {
  std::vector<std::pair<int, std::int64_t>> terms = value.terms;
  for (auto& term : terms) term.second *= element_bytes;
  std::stable_sort(terms.begin(), terms.end(), [this](const auto& a, const auto& b) {
    return atoms_[static_cast<std::size_t>(a.first)].depth <
           atoms_[static_cast<std::size_t>(b.first)].depth;
  });
  llvm::Value* pointer = PointerPrefix(base, terms, terms.size());
  const std::int64_t offset = value.constant * element_bytes;
  if (offset == 0) return pointer;
  return builder_.CreateGEP(builder_.getInt8Ty(), pointer,
                            llvm::ConstantInt::getSigned(builder_.getInt64Ty(), offset));
}

}  // namespace tilewright::emit
