#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/ir/expr.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Value in the body of a stage, computed from earlier ones of the same stage. Kinds are those of
/// src/ir/expr.h, but a kVar is an axis and a kLoad names its tensor by number.
struct ExpressionNode {
  ExprKind kind = ExprKind::kInt;
  DataType dtype = kInt64;
  /// kInt: the value. kVar: number of the axis; the stage's own axes come before the reduced ones.
  /// kLoad: number of the tensor; inputs come before stages.
  std::int64_t integer = 0;
  double number = 0;      ///< kFloat, rounded to its type
  std::string function;   ///< kCall: see FunctionsOfExpressions
  std::vector<int> args;  ///< numbers of earlier nodes; of a load, one index per dimension
  friend bool operator==(const ExpressionNode&, const ExpressionNode&) = default;
};

/// How the values of a body are combined over the reduced axes.
enum class ExpressionReduction : std::uint8_t {
  kNone,
  kSum,
  kMax,
  kMin,
  kProduct,
  kArgMax,  ///< int64: the first position, in row-major order of the reduced axes
  kArgMin,
};

struct ExpressionAxis {
  std::string name;
  std::int64_t extent = 1;
  friend bool operator==(const ExpressionAxis&, const ExpressionAxis&) = default;
};

struct ExpressionInput {
  std::string name;
  TensorType type;
  bool constant = false;  ///< of the model: known when code is made for it, and then packed
  friend bool operator==(const ExpressionInput&, const ExpressionInput&) = default;
};

/// Stage of an expression: stage[axes] = reduction over reduce_axes of the last node.
struct ExpressionStage {
  std::string name;
  std::vector<ExpressionAxis> axes, reduce_axes;
  ExpressionReduction reduction = ExpressionReduction::kNone;
  std::vector<ExpressionNode> nodes;

  const ExpressionNode& body() const { return nodes.back(); }
  const ExpressionAxis& axis(std::int64_t number) const {
    const auto i = static_cast<std::size_t>(number);
    return i < axes.size() ? axes[i] : reduce_axes[i - axes.size()];
  }
  TensorType type() const;
  friend bool operator==(const ExpressionStage&, const ExpressionStage&) = default;
};

/// Computation that a user writes (docs/expressions.md): inputs, and stages over axes; the last
/// stage is the result. Types fit, and all reads are in bounds.
struct Expression {
  std::vector<ExpressionInput> inputs;
  std::vector<ExpressionStage> stages;

  bool empty() const { return stages.empty(); }
  /// Returns the type of a tensor by number: inputs, then stages.
  TensorType TypeOf(std::int64_t tensor) const;
  const std::string& NameOf(std::int64_t tensor) const;
  TensorType result() const { return stages.back().type(); }
  /// Returns the number of executions of bodies.
  double iterations() const;
  /// Returns the arithmetic of one execution: nodes that compute values, not indices; a
  /// multiply-add counts as two.
  double operations() const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

// Limits of the parser; it rejects texts beyond them.
inline constexpr std::size_t kMaxExpressionBytes = 64 * 1024;
inline constexpr std::size_t kMaxExpressionNodes = 4096;  ///< of all stages
inline constexpr std::size_t kMaxIndexNodes = 64;         ///< of one index
inline constexpr std::size_t kMaxExpressionStages = 64;
inline constexpr std::size_t kMaxExpressionInputs = 64;
inline constexpr std::size_t kMaxExpressionAxes = 12;  ///< of one stage, and dimensions of a tensor
inline constexpr int kMaxExpressionDepth = 100;        ///< of nested brackets

/// Function that bodies can call, with its number of arguments.
struct ExpressionFunction {
  std::string_view name;
  int arguments;
};
std::span<const ExpressionFunction> FunctionsOfExpressions();

/// Parses the text of an expression. file: name for messages.
/// Errors: kInvalidArgument with file, line, column and the expectation.
Result<Expression> ParseExpression(std::string_view text, std::string_view file = "expression");

/// Returns the text, one statement per line; it parses back to the same expression.
std::string PrintExpression(const Expression& expression);

/// Canonical form of an expression. Expressions have the same form if they differ only in names, or
/// in the order of axes that are no dimension of an input or of the result, of inputs, or of
/// operands that commute.
struct CanonicalExpression {
  Expression expression;
  std::vector<int> inputs;  ///< of the given expression, in the order of the canonical one
};
CanonicalExpression Canonical(const Expression& expression);
/// Returns the text of a canonical expression in one line; it parses back to the same.
std::string CanonicalText(const Expression& canonical);

/// Returns, for an input of integers that are positions in tensors, the extent of the largest
/// dimension that they index; 0 if they are no positions.
std::int64_t GatheredExtent(const Expression& expression, std::int64_t input);

/// Checks that every read is in bounds for any contents of memory, by the ranges of axes and the
/// conditions of enclosing selects. Errors: kInvalidArgument for a read that may be out of bounds.
Status CheckReadBounds(const Expression& expression);

}  // namespace tilewright
