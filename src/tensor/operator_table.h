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

/// Operators that are treated alike wherever the one of them does not matter.
enum class OpFamily : std::uint8_t {
  kAnchor,              ///< sums of products of two tensors: what is tuned
  kUnary,               ///< elementwise of one input
  kBinary,              ///< elementwise of two inputs of one type, with broadcasting (NumPy's rule)
  kComparisonOrSelect,  ///< comparisons of two inputs of one type, and a choice, with broadcasting
  kPool,                ///< windows over NCHW, NHWC or NCHW<c>c (data_layout)
  kReduction,           ///< over `axes` (empty = all) with keepdims
  kNormalization,       ///< an element by others of its row, or of its channel
  kDataMovement,        ///< elements stay what they are
  kRecurrence,          ///< the same operators again and again, each time on what they made before
  kExpression,          ///< what its attribute says
};

/// How far a result may be from the reference's: reference/error_bound.cc.
enum class ErrorRule : std::uint8_t {
  kFunction,      ///< what the ends of the operands' ranges make of it
  kSums,          ///< units of what the same sum of magnitudes is
  kDataMovement,  ///< the errors of the operands, moved as the elements are
  kSoftmax,
  kBatchNorm,
  kLrn,
  kPeriodic,    ///< of trigonometric functions, whose operands may be off by more than a turn
  kSteps,       ///< those of the operators of a step, step after step
  kExpression,  ///< what its evaluator counts
};

/// What operands an operator is defined for; of one with two, the second.
enum class Domain : std::uint8_t {
  kAny,
  kPositive,
  kDivisor,  ///< not 0
  kShift,    ///< from 0 to the bits of the type
};

/// A number that belongs to an operator, as texts write it.
struct OpArgument {
  std::string_view name;
  std::variant<double OpAttributes::*, std::int64_t OpAttributes::*,
               std::optional<DataType> OpAttributes::*>
      field;
};

/// Default layouts of an anchor; their letters name the dimensions of its tensors. Of a matrix
/// product every element is the sum over K, B counts matrices.
struct AnchorLayouts {
  std::string_view data, weight, result;
};

/// All that is known of one operator. Its key, the texts of epilogues and of Relay, its type,
/// loops, reference result and bound, and docs/operators.md follow from it.
struct OperatorRow {
  OpKind kind = OpKind::kIdentity;
  std::string_view name;  ///< in keys, epilogues and records: never changed
  OpFamily family = OpFamily::kDataMovement;
  std::string_view
      description;         ///< what it computes and the attributes it reads, for docs/operators.md
  std::string_view relay;  ///< its name in Relay text; empty if it has none
  /// Numbers that epilogues and Relay calls write, in this order.
  std::span<const OpArgument> arguments{};
  AnchorLayouts layouts{};  ///< of anchors
  Domain domain = Domain::kAny;
  ErrorRule error = ErrorRule::kFunction;
  bool float_only = false;          ///< does nothing to integers, if `type` lets them in
  bool preserves_integers = false;  ///< gives whole numbers of whole numbers, exactly
  bool is_exact = false;            ///< gives its operand, a bound of it, or its negative: exactly
  bool rounds = false;              ///< gives whole numbers, by a step at each
  bool non_negative = false;        ///< whatever its operands are
  /// Of elementary functions: what code of float32 is off by at most, in units of the last place.
  double ulps = 0;

  /// Type of the result. Errors: as InferType's.
  Result<TensorType> (*type)(const Operator& op, std::span<const TensorType> inputs) = nullptr;
  /// Elementwise: the value of one element; b is null for one input.
  Expr (*element)(const OpAttributes& attributes, const Expr& a, const Expr& b) = nullptr;
  /// The others but for anchors: appends stages to `compute`, which has its input buffers.
  Status (*loops)(const Operator& op, const TensorType& type, Compute& compute) = nullptr;
  /// The reference's result, without the code of `element` and `loops`: `out` has the result's type
  /// and zero contents. Anchors: reference/contraction.cc.
  void (*values)(const Operator& op, std::span<const Tensor* const> inputs, Tensor& out) = nullptr;
  /// Operations; absent: one for each element of an elementwise result, none of a move.
  double (*operations)(const Operator& op, std::span<const TensorType> inputs,
                       const TensorType& result) = nullptr;
};

/// The row of an operator; lives as long as the program.
const OperatorRow& RowOf(OpKind kind);
/// All rows, in the order of OpKind.
std::span<const OperatorRow* const> AllOperators();

inline OpFamily FamilyOf(OpKind kind) { return RowOf(kind).family; }
/// Whether an anchor is a product of matrices, not a convolution.
bool IsMatrixProduct(OpKind kind);

/// docs/operators.md: what the table says, for people.
std::string DescribeOperators();

// The rows of one file each, for the table.
std::span<const OperatorRow> AnchorOperators();
std::span<const OperatorRow> BinaryOperators();
std::span<const OperatorRow> UnaryOperators();
std::span<const OperatorRow> ReductionOperators();
std::span<const OperatorRow> DataMovementOperators();
std::span<const OperatorRow> RecurrenceOperators();
std::span<const OperatorRow> ExpressionOperators();

}  // namespace tilewright
