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

/// One value in the body of a stage, made of earlier ones of the same stage. Kinds mean what they
/// mean in src/ir/expr.h, but a kVar is an axis and a kLoad names its tensor by number.
struct ExpressionNode {
  ExprKind kind = ExprKind::kInt;
  DataType dtype = kInt64;
  /// kInt: the value. kVar: number of the axis, the stage's own before the reduced ones. kLoad:
  /// number of the tensor, inputs before stages.
  std::int64_t integer = 0;
  double number = 0;      ///< kFloat, as its type has it
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

/// stage[axes] = reduction over reduce_axes of the last node.
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

/// A computation as a user writes it (docs/expressions.md): inputs, and stages over axes; the last
/// stage is the result. What is one has types that fit and reads its tensors inside of them only.
struct Expression {
  std::vector<ExpressionInput> inputs;
  std::vector<ExpressionStage> stages;

  bool empty() const { return stages.empty(); }
  /// Tensors by number: inputs, then stages.
  TensorType TypeOf(std::int64_t tensor) const;
  const std::string& NameOf(std::int64_t tensor) const;
  TensorType result() const { return stages.back().type(); }
  /// How often bodies are computed.
  double iterations() const;
  /// Arithmetic of one execution: nodes that compute values, not indices; a multiply-add is two.
  double operations() const;
  friend bool operator==(const Expression&, const Expression&) = default;
};

// Limits of what is read: texts beyond them are refused.
inline constexpr std::size_t kMaxExpressionBytes = 64 * 1024;
inline constexpr std::size_t kMaxExpressionNodes = 4096;  ///< of all stages
inline constexpr std::size_t kMaxIndexNodes = 64;         ///< of one index
inline constexpr std::size_t kMaxExpressionStages = 64;
inline constexpr std::size_t kMaxExpressionInputs = 64;
inline constexpr std::size_t kMaxExpressionAxes = 12;  ///< of one stage, and dimensions of a tensor
inline constexpr int kMaxExpressionDepth = 100;        ///< of brackets in one another

/// What may be called, and with how many arguments.
struct ExpressionFunction {
  std::string_view name;
  int arguments;
};
std::span<const ExpressionFunction> FunctionsOfExpressions();

/// Reads the text of an expression. file: named in messages.
/// Errors: kInvalidArgument with file, line, column and what was expected.
Result<Expression> ParseExpression(std::string_view text, std::string_view file = "expression");

/// The text, one statement a line; reads back as the same expression.
std::string PrintExpression(const Expression& expression);

/// An expression in the form that all have that differ in names, in the order of axes that are no
/// dimension of an input or of the result, of inputs, and of operands that commute.
struct CanonicalExpression {
  Expression expression;
  std::vector<int> inputs;  ///< of the given expression, in the order of the canonical one
};
CanonicalExpression Canonical(const Expression& expression);
/// One line, of a canonical expression; reads back as the same.
std::string CanonicalText(const Expression& canonical);

/// Of an input of integers that are positions in some tensor: the extent of the largest dimension
/// that they are positions in; 0 if they are none.
std::int64_t GatheredExtent(const Expression& expression, std::int64_t input);

/// Whether every read is inside of what it reads, whatever is in memory: by the ranges of axes, and
/// by the conditions of selects around it. Errors: kInvalidArgument for one that is not.
Status CheckReadBounds(const Expression& expression);

}  // namespace tilewright
