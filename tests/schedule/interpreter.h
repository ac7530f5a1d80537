#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {

/// Contents of a buffer for the interpreter: values as doubles, and which of them were written.
struct Memory {
  std::vector<double> values;
  std::vector<bool> written;
};

/// Executes the statements of a Program one by one, slowly and suspiciously: an index out of range
/// or a value that nobody wrote is an error. Integers must stay below 2^53.
class Interpreter {
 public:
  /// inputs: one per input parameter. The result is in output().
  void Run(const Program& program, const std::vector<std::vector<double>>& inputs);
  /// The value of each stage of a Compute, straight from its definition.
  void Evaluate(const Compute& compute, const std::vector<std::vector<double>>& inputs);

  const std::vector<double>& output() const { return output_; }
  /// Empty, or the first thing that went wrong.
  const std::string& error() const { return error_; }
  /// Stores executed, to see that guards leave out what they should.
  std::int64_t stores() const { return stores_; }

 private:
  void Execute(const Stmt& stmt);
  void ExecuteDot(const StmtNode& node);
  void EvaluateStage(const ComputeOp& op);
  double Value(const Expr& expr);
  double Binary(const Expr& expr);
  double Load(const Buffer& buffer, const std::vector<double>& indices);
  void Store(const Buffer& buffer, const std::vector<double>& indices, double value);
  std::int64_t Position(const Buffer& buffer, const std::vector<double>& indices);
  std::vector<double> RegionElements(const Region& region, std::vector<std::vector<double>>* where);
  void Fail(const std::string& reason) {
    if (error_.empty()) error_ = reason;
  }

  std::unordered_map<const ExprNode*, double> vars_;
  std::unordered_map<const BufferNode*, Memory> memory_;
  std::vector<double> output_;
  std::string error_;
  std::int64_t stores_ = 0;
};

}  // namespace tilewright
