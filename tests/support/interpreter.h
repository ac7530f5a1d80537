#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Value of an expression: `f` of floats, `i` of all other types.
struct Scalar {
  std::int64_t i = 0;
  double f = 0;
};

/// Interpreter that executes statements, or computes stages by their definitions, one scalar at a
/// time with all checks. It reports indices out of range, reads of unwritten values, and results
/// without a value as errors. It rounds values to their types. It shares no code with code
/// generators, lowering or the reference evaluator.
class Interpreter {
 public:
  /// Sets the initial contents of a buffer, with the buffer's type and shape.
  void SetContents(const Buffer& buffer, const Tensor& contents);
  /// Creates a buffer whose elements are all unwritten.
  void MakeRoom(const Buffer& buffer);
  Tensor Contents(const Buffer& buffer) const;

  void Execute(const Stmt& stmt);
  void Evaluate(const ComputeOp& stage);
  /// Sets a loop variable for later expressions.
  void SetVar(const Expr& var, std::int64_t value) { vars_[var.get()] = value; }
  std::int64_t IndexOf(const Expr& index) { return Value(index).i; }

  /// The first error, or an empty text. Nothing is executed after an error.
  const std::string& error() const { return error_; }

 private:
  struct Memory {
    std::vector<Scalar> values;
    std::vector<bool> written;
  };

  void Loop(const StmtNode& loop);
  void Dot(const StmtNode& node);
  Scalar Value(const Expr& expr);
  Scalar Binary(const Expr& expr);
  Scalar Call(const Expr& expr);
  Scalar Load(const Buffer& buffer, const std::vector<std::int64_t>& indices);
  void Store(const Buffer& buffer, const std::vector<std::int64_t>& indices, Scalar value);
  /// Returns the row-major position; -1 with an error if there is no such element.
  std::int64_t Position(const Buffer& buffer, const std::vector<std::int64_t>& indices);
  std::vector<std::int64_t> Indices(const std::vector<Expr>& indices);
  std::vector<Scalar> Elements(const Region& region,
                               std::vector<std::vector<std::int64_t>>* where = nullptr);
  void Fail(const std::string& reason) {
    if (error_.empty()) error_ = reason;
  }

  std::unordered_map<const ExprNode*, std::int64_t> vars_;
  std::unordered_map<const BufferNode*, Memory> memory_;
  std::string error_;
};

/// Result of interpreting a program or a definition.
struct Interpreted {
  Tensor result;      ///< of the last parameter or stage
  std::string error;  ///< empty if correct; a result with unwritten elements is an error too
};
Interpreted ExecuteProgram(const Program& program, std::span<const Tensor* const> inputs);
Interpreted EvaluateCompute(const Compute& compute, std::span<const Tensor* const> inputs);
/// Returns the result of a definition that must be valid.
Tensor Interpret(const Compute& compute, std::span<const Tensor* const> inputs);

/// Returns small seeded contents: integers in [-limit, limit] (from 0 for unsigned types), floats
/// in [-1, 1).
Tensor RandomTensor(TensorType type, std::uint64_t seed, std::int64_t limit = 127);
/// Returns a pointer to each tensor.
std::vector<const Tensor*> PointersTo(std::span<const Tensor> tensors);
/// Returns the elements as numbers, for comparisons that print both sides.
std::vector<double> NumbersOf(const Tensor& tensor);

}  // namespace tilewright
