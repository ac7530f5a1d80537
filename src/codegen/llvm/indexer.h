#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/codegen/llvm/linear.h"
#include "src/ir/expr.h"

namespace tilewright::emit {

/// Returns true for integer expressions that contain only constants, variables, + - * floordiv
/// floormod min max. An Indexer can keep these linear, at any nesting depth, without emitting code
/// that could trap.
bool IsIndexExpr(const Expr& expr);

/// Converts index expressions of one function to linear forms, and those to values and addresses.
///
/// There is one scope per loop being emitted. Values that depend only on the variables of the loops
/// down to a scope are computed once, in that scope's prelude block (which runs at the start of
/// each iteration and dominates its body), so inner loops only need constant offsets.
class Indexer {
 public:
  /// Callback that emits an integer expression that is not an index expression as a scalar at the
  /// builder's position; returns null if its value differs between lanes.
  using EmitScalar = std::function<llvm::Value*(const Expr&)>;
  /// type: of the integers computed with; it must be able to count all bytes of a buffer.
  Indexer(llvm::IRBuilder<>& builder, llvm::IntegerType* type, EmitScalar emit_scalar)
      : builder_(builder), type_(type), emit_scalar_(std::move(emit_scalar)) {}

  llvm::IntegerType* type() const { return type_; }
  llvm::ConstantInt* Constant(std::int64_t value) const {
    return llvm::ConstantInt::getSigned(type_, value);
  }

  void PushScope(llvm::BasicBlock* prelude) { scopes_.push_back({prelude, {}, {}}); }
  void PopScope() { scopes_.pop_back(); }

  /// Adds a run-time value (of the indexer's type), available from the current scope's prelude on.
  int AddAtom(llvm::Value* value, Range range);
  void Bind(const Expr& var, Linear value) { BindNode(var.get(), std::move(value)); }
  void BindNode(const ExprNode* var, Linear value) { bindings_[var] = std::move(value); }
  const Linear* Find(const ExprNode* var) const;
  /// Returns the linear forms of variables that are not bound to a constant.
  const std::unordered_map<const ExprNode*, Linear>& bindings() const { return bindings_; }
  /// Sets the lanes of the current vector loop; 0 outside of one.
  void set_lanes(int lanes) { lanes_ = lanes; }

  /// Returns the linear form of an integer expression; none if it is not linear in the lane number.
  std::optional<Linear> Eval(const Expr& expr);
  Range RangeOf(const Linear& value) const;
  /// Emits the value without the lane part.
  llvm::Value* Materialize(const Linear& value);
  /// Emits base + element_bytes * value, without the lane part.
  llvm::Value* Address(llvm::Value* base, std::int64_t element_bytes, const Linear& value);

 private:
  struct AtomInfo {
    llvm::Value* value;
    int depth;  // scope whose prelude computes it; kHere: only at the position where it was emitted
    Range range;
  };
  struct Scope {
    llvm::BasicBlock* prelude;
    std::map<std::vector<std::int64_t>, llvm::Value*> values;
    std::map<std::vector<std::int64_t>, int> atoms;
  };
  static constexpr int kHere = 1 << 20;

  std::optional<Linear> EvalDivision(ExprKind kind, const Linear& value, std::int64_t divisor);
  std::optional<Linear> EvalExtremum(ExprKind kind, const Linear& a, const Linear& b);
  std::optional<Linear> EvalProduct(const Linear& a, const Linear& b);
  std::optional<Linear> EvalOpaque(const Expr& expr);
  /// Returns the atom of `kind` applied to two linear values, computed in the outermost possible
  /// scope.
  int NonLinear(ExprKind kind, const Linear& a, const Linear& b, Range range);
  int DepthOf(const Linear& value) const;
  llvm::Value* SumAt(llvm::IRBuilder<>& builder, const Linear& value);
  /// Emits base + sum of the terms (coefficients in bytes), which are sorted by depth.
  llvm::Value* PointerPrefix(llvm::Value* base,
                             const std::vector<std::pair<int, std::int64_t>>& terms,
                             std::size_t count);

  llvm::IRBuilder<>& builder_;
  llvm::IntegerType* type_;
  EmitScalar emit_scalar_;
  std::vector<Scope> scopes_;
  std::vector<AtomInfo> atoms_;
  std::unordered_map<const ExprNode*, Linear> bindings_;
  int lanes_ = 0;
};

}  // namespace tilewright::emit
