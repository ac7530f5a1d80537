#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/ir/dtype.h"

namespace tilewright {

enum class ExprKind : std::uint8_t {
  kInt,    ///< int_value (for bool 0 or 1)
  kFloat,  ///< float_value
  kVar,    ///< name; identity is the node
  kCast,   ///< args[0] to dtype; float to int truncates, int to int wraps
  kAdd,
  kSub,
  kMul,
  kDiv,       ///< float division; for integers truncated towards zero
  kFloorDiv,  ///< integers only, towards minus infinity; index arithmetic uses it and kFloorMod
  kFloorMod,
  kMin,  ///< NaN if an operand is NaN
  kMax,
  kEq,  ///< comparisons return bool
  kNe,
  kLt,
  kLe,
  kAnd,
  kOr,
  kNot,
  kShiftLeft,
  kShiftRight,  ///< arithmetic for signed, logical for unsigned
  kSelect,      ///< args = condition, if true, if false; loads in the other arm are not executed
  kLoad,        ///< buffer, args = one index per dimension
  kCall,  ///< name = intrinsic: exp, log, expm1, log1p, sqrt, erf, pow, sin, cos, tan, sinh, cosh,
          ///< tanh and their inverses asin, …, softplus, sigmoid, floor, ceil, round (half away
          ///< from zero), rint (half to even), abs, fma, mulhi_s64 (high half of a product)
};

enum class Scope : std::uint8_t {
  kGlobal,  ///< parameter, or memory visible to all threads
  kLocal,   ///< private to one iteration of the innermost parallel loop; in registers if possible
  kShared,  ///< GPU shared memory
};

struct BufferNode;
/// Dense row-major array of constant shape. Identity is the node.
using Buffer = std::shared_ptr<const BufferNode>;
struct BufferNode {
  std::string name;
  DataType dtype;
  std::vector<std::int64_t> shape;  ///< elements per dimension, outermost first; empty = scalar
  Scope scope = Scope::kGlobal;
  bool narrow =
      false;  ///< int8 parameters: all elements are in the reduced range (kReducedRangeMagnitude)

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * dtype.bytes(); }
};
Buffer MakeBuffer(std::string name, DataType dtype, std::vector<std::int64_t> shape,
                  Scope scope = Scope::kGlobal);

struct ExprNode;
/// Immutable, shared scalar expression. A default-constructed one is null ("no expression").
class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  /// Index constants: kInt64.
  Expr(std::int64_t value);                                    // NOLINT: implicit by design
  Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}  // NOLINT

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  DataType dtype() const;
  /// Returns true for an integer constant and stores its value in *value if value is not null.
  bool IsInt(std::int64_t* value = nullptr) const;
  bool Same(const Expr& other) const { return node_ == other.node_; }

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ExprKind kind;
  DataType dtype;
  std::int64_t int_value = 0;
  double float_value = 0;
  std::string name;  // kVar, kCall
  Buffer buffer;     // kLoad
  std::vector<Expr> args;
};

/// Creates a loop variable (kInt64), distinct from every other variable, even of the same name.
Expr MakeVar(std::string name, DataType dtype = kInt64);
Expr MakeInt(DataType dtype, std::int64_t value);
Expr MakeFloat(DataType dtype, double value);
/// Creates a constant of any type.
Expr MakeConst(DataType dtype, double value);
Expr MakeCast(DataType dtype, Expr value);
/// Creates a binary expression; folds constants and drops neutral elements. Operands must have the
/// same type, except that an index constant (kInt64) gets the other operand's type.
Expr MakeBinary(ExprKind kind, Expr a, Expr b);
Expr MakeSelect(Expr condition, Expr if_true, Expr if_false);
Expr MakeNot(Expr a);
Expr MakeLoad(Buffer buffer, std::vector<Expr> indices);
Expr MakeCall(DataType dtype, std::string name, std::vector<Expr> args);

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr Div(Expr a, Expr b);
Expr FloorDiv(Expr a, Expr b);
Expr FloorMod(Expr a, Expr b);
Expr Min(Expr a, Expr b);
Expr Max(Expr a, Expr b);
Expr Lt(Expr a, Expr b);
Expr Le(Expr a, Expr b);
Expr Eq(Expr a, Expr b);
Expr And(Expr a, Expr b);
Expr Or(Expr a, Expr b);

/// Formats C-like text: "A[i0*4 + i1, k] * 2.0f".
std::string ToString(const Expr& expr);

}  // namespace tilewright
