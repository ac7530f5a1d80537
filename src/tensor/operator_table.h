#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "src/tensor/operator.h"

namespace tilewright {

class Expr;
class Tensor;
struct Compute;

/// Groups of operators that most code treats alike.
enum class OpFamily : std::uint8_t {
  kAnchor,              ///< sums of products of two tensors: tunable operators
  kUnary,               ///< elementwise of one input
  kBinary,              ///< elementwise of two inputs of one type, with broadcasting (NumPy's rule)
  kComparisonOrSelect,  ///< comparisons of two inputs of one type, and a choice, with broadcasting
  kPool,                ///< windows over NCHW, NHWC or NCHW<c>c (data_layout)
  kReduction,           ///< over `axes` (empty = all) with keepdims
  kNormalization,       ///< an element by others of its row or its channel
  kDataMovement,        ///< elements keep their values
  kRecurrence,          ///< the same operators repeatedly, each time on their previous results
  kExpression,          ///< the expression in its attribute
};

/// Rule for the error bound of a result: reference/error_bound.cc.
enum class ErrorRule : std::uint8_t {
  kFunction,      ///< the function at the ends of the operands' ranges
  kSums,          ///< units of the same sum of magnitudes
  kDataMovement,  ///< the operands' errors, moved like the elements
  kSoftmax,
  kBatchNorm,
  kLrn,
  kPeriodic,    ///< trigonometric functions, whose operands may be off by more than a period
  kSteps,       ///< the bounds of a step's operators, step after step
  kExpression,  ///< the bound of its evaluator
};

/// Valid operands of an operator; of an operator with two, the second one.
enum class Domain : std::uint8_t {
  kAny,
  kPositive,
  kDivisor,  ///< not 0
  kShift,    ///< from 0 to the bits of the type
};

/// Number that belongs to an operator in texts.
struct OpArgument {
  std::string_view name;
  std::variant<double OpAttributes::*, std::int64_t OpAttributes::*,
               std::optional<DataType> OpAttributes::*>
      field;
};

/// Default layouts of an anchor; their letters name the dimensions of its tensors. Every element of
/// a matrix product is a sum over K; B counts matrices.
struct AnchorLayouts {
  std::string_view data, weight, result;
};

/// All properties of one operator. Its key, the texts of epilogues and of Relay, its type, loops,
/// reference result and bound, and docs/operators.md follow from them.
struct OperatorRow {
  OpKind kind = OpKind::kIdentity;
  std::string_view name;  ///< in keys, epilogues and records: never changed
  OpFamily family = OpFamily::kDataMovement;
  std::string_view description;  ///< computation and used attributes, for docs/operators.md
  std::string_view relay;        ///< name in Relay text; empty if none
  /// Numbers in the texts of epilogues and Relay calls, in this order.
  std::span<const OpArgument> arguments{};
  AnchorLayouts layouts{};  ///< of anchors
  Domain domain = Domain::kAny;
  ErrorRule error = ErrorRule::kFunction;
  bool float_only = false;          ///< the identity on integers, if `type` accepts them
  bool preserves_integers = false;  ///< whole numbers give whole numbers, exactly
  bool is_exact = false;  ///< the result is the operand, a bound of it, or its negative: exactly
  bool rounds = false;    ///< the result is a whole number, with a step at each
  bool non_negative = false;  ///< the result is never negative
  /// Elementary functions: maximum error of float32 code, in units of the last place.
  double ulps = 0;

  /// Returns the type of the result. Errors: as InferType's.
  Result<TensorType> (*type)(const Operator& op, std::span<const TensorType> inputs) = nullptr;
  /// Elementwise operators: returns the value of one element; b is null for one input.
  Expr (*element)(const OpAttributes& attributes, const Expr& a, const Expr& b) = nullptr;
  /// Other operators except anchors: appends stages to `compute`, which has its input buffers.
  Status (*loops)(const Operator& op, const TensorType& type, Compute& compute) = nullptr;
  /// Computes the reference result without the code of `element` and `loops`. `out` has the
  /// result's type and zero contents. Anchors: reference/contraction.cc.
  void (*values)(const Operator& op, std::span<const Tensor* const> inputs, Tensor& out) = nullptr;
  /// Returns the number of operations. If absent: one for each element of an elementwise result,
  /// zero for data movement.
  double (*operations)(const Operator& op, std::span<const TensorType> inputs,
                       const TensorType& result) = nullptr;
};

/// Returns the row of an operator; it lives as long as the program.
const OperatorRow& RowOf(OpKind kind);
/// Returns all rows, in the order of OpKind.
std::span<const OperatorRow* const> AllOperators();

inline OpFamily FamilyOf(OpKind kind) { return RowOf(kind).family; }
/// Returns true if an anchor is a product of matrices, not a convolution.
bool IsMatrixProduct(OpKind kind);

/// Returns the text of docs/operators.md.
std::string DescribeOperators();

// Rows of one file each, for the table.
std::span<const OperatorRow> AnchorOperators();
std::span<const OperatorRow> BinaryOperators();
std::span<const OperatorRow> UnaryOperators();
std::span<const OperatorRow> ReductionOperators();
std::span<const OperatorRow> DataMovementOperators();
std::span<const OperatorRow> RecurrenceOperators();
std::span<const OperatorRow> ExpressionOperators();

}  // namespace tilewright
