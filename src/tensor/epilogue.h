#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Kind of an epilogue step's second operand.
enum class OperandKind : std::uint8_t {
  kNone,       ///< one-input operator
  kScalar,     ///< the constant `scalar`
  kChannel,    ///< a vector with one element per output channel
  kBroadcast,  ///< a tensor that broadcasts to the output's shape, such as a computed scale:
               ///< `value`
  kTensor,     ///< a tensor of the output's shape (residual)
  kStep,       ///< the result of an earlier step or of the anchor: `value`
};

/// One elementwise operator applied to the anchor's result so far ("current").
struct EpilogueStep {
  Operator op;  ///< IsElementwise(op.kind)
  OperandKind operand = OperandKind::kNone;
  double scalar =
      0;  ///< kScalar; of a vector or tensor: a whole number that is subtracted from it, cast
  DataType operand_dtype = kFloat32;  ///< of the operand in memory; cast to current's type
  bool operand_first = false;         ///< operand (op) current, for sub and div
  /// kStep: 0 is the anchor's result, n that of the n-th step. kBroadcast: bit i is set if the
  /// operand has dimension i of the result.
  int value = 0;
  /// Returns true if the operand is a parameter of the kernel.
  bool has_parameter() const {
    return operand == OperandKind::kChannel || operand == OperandKind::kBroadcast ||
           operand == OperandKind::kTensor;
  }
  /// kBroadcast: returns the operand's shape for a result of shape `whole`.
  std::vector<std::int64_t> BroadcastShape(std::vector<std::int64_t> whole) const {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if ((value >> i & 1) == 0) whole[i] = 1;
    }
    return whole;
  }
  friend bool operator==(const EpilogueStep&, const EpilogueStep&) = default;
};

/// Elementwise operators fused with an anchor. Belongs to a use in a graph, not to the workload.
/// Text: steps joined by ";", such as
/// "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)"; "" for none. Values
/// have numbers: %0 is the anchor's result, %n that of the n-th step. Each step applies to the
/// value before it, and may take any earlier value as its operand: "sigmoid;mul(%0)".
/// "broadcast[0,1]" is a tensor with dimensions 0 and 1 of the result and one element along all
/// others; "broadcast[]" has one element.
struct Epilogue {
  std::vector<EpilogueStep> steps;

  std::string ToString() const;
  static Result<Epilogue> Parse(std::string_view text);
  /// Returns the element type after all steps if the anchor's result is `dtype`.
  DataType OutputDtype(DataType dtype) const;
  /// Returns the steps of the result as one expression, in which a value with several uses is
  /// repeated; at most kMaxExpandedSteps + 1. Parse accepts at most kMaxExpandedSteps.
  std::int64_t ExpandedSteps() const;
  static constexpr std::int64_t kMaxExpandedSteps = 256;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Checks that a step may take an earlier value of type `value` while its own is `current`.
/// Errors: kInvalidArgument if the types differ, or if an integer is divided or shifted by a value
/// that is unknown in advance.
Status CheckStepOperand(const EpilogueStep& step, DataType value, DataType current);

}  // namespace tilewright
