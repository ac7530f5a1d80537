#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// A value of an expression: `f` of floats, `i` of everything else.
struct Scalar {
  std::int64_t i = 0;
  double f = 0;
};

/// Executes statements, or computes stages as they are defined, one scalar after the other: slowly
/// and suspiciously. An index out of range, a value that nobody wrote and a result without a value
/// are errors. Values are rounded to the type they have. Shares no code with code generators,
/// lowering or the reference evaluator.
class Interpreter {
 public:
  /// What a buffer holds from outside; type and shape are the buffer's.
  void SetContents(const Buffer& buffer, const Tensor& contents);
  /// ... that nobody has written yet.
  void MakeRoom(const Buffer& buffer);
  Tensor Contents(const Buffer& buffer) const;

  void Execute(const Stmt& stmt);
  void Evaluate(const ComputeOp& stage);
  /// An expression of loop variables, which are given first.
  void SetVar(const Expr& var, std::int64_t value) { vars_[var.get()] = value; }
  std::int64_t IndexOf(const Expr& index) { return Value(index).i; }

  /// Empty, or the first thing that went wrong; nothing is executed after it.
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
  /// Row-major position; -1 with an error if there is no such element.
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

/// What came of a program or of a definition.
struct Interpreted {
  Tensor result;      ///< of the last parameter or stage
  std::string error;  ///< empty, or what went wrong; an element nobody wrote is wrong too
};
Interpreted ExecuteProgram(const Program& program, std::span<const Tensor* const> inputs);
Interpreted EvaluateCompute(const Compute& compute, std::span<const Tensor* const> inputs);
/// The result of a definition that has to be right.
Tensor Interpret(const Compute& compute, std::span<const Tensor* const> inputs);

/// Small seeded contents: integers in [-limit, limit] (from 0 for unsigned types), floats in
/// [-1, 1).
Tensor RandomTensor(TensorType type, std::uint64_t seed, std::int64_t limit = 127);
/// Pointers to each.
std::vector<const Tensor*> PointersTo(std::span<const Tensor> tensors);
/// The elements as numbers, for comparisons that show both sides.
std::vector<double> NumbersOf(const Tensor& tensor);

}  // namespace tilewright
