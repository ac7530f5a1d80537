#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// What the second operand of an epilogue step is.
enum class OperandKind : std::uint8_t {
  kNone,     ///< one-input operator
  kScalar,   ///< the constant `scalar`
  kChannel,  ///< a vector with one element per output channel
  kTensor,   ///< a tensor of the output's shape (residual)
  kStep,     ///< what an earlier step made, or the anchor: `value`
};

/// One elementwise operator applied to the anchor's result so far ("current").
struct EpilogueStep {
  Operator op;  ///< IsElementwise(op.kind)
  OperandKind operand = OperandKind::kNone;
  double scalar = 0;  ///< kScalar; of a vector or tensor: a whole number that is taken off it, cast
  DataType operand_dtype = kFloat32;  ///< of the operand in memory; cast to current's type
  bool operand_first = false;         ///< operand (op) current, for sub and div
  int value = 0;                      ///< kStep: 0 is the anchor's result, n that of the n-th step
  /// Whether the operand is a parameter of the kernel.
  bool has_parameter() const {
    return operand == OperandKind::kChannel || operand == OperandKind::kTensor;
  }
  friend bool operator==(const EpilogueStep&, const EpilogueStep&) = default;
};

/// The elementwise followers fused with an anchor; belongs to a use in a graph, not to the
/// workload. Text: steps joined by ";", such as
/// "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)"; "" for none.
/// Values have numbers: %0 is the anchor's result, %n what the n-th step makes. Each step goes on
/// from the value before it, and may take any value so far as its operand: "sigmoid;mul(%0)".
struct Epilogue {
  std::vector<EpilogueStep> steps;

  std::string ToString() const;
  static Result<Epilogue> Parse(std::string_view text);
  /// Element type after all steps when the anchor gives `dtype`.
  DataType OutputDtype(DataType dtype) const;
  /// Steps of the result as one expression, in which what is used again is written out again; no
  /// more than kMaxExpandedSteps + 1. Parse takes none with more than kMaxExpandedSteps.
  std::int64_t ExpandedSteps() const;
  static constexpr std::int64_t kMaxExpandedSteps = 256;
  /// Whether a later step takes value `value` as its operand.
  bool IsUsedAgain(int value) const;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Whether a step may take an earlier value of type `value` while its own is `current`.
/// Errors: kInvalidArgument if the types differ, or if an integer is divided or shifted by what
/// nobody knows beforehand.
Status CheckStepOperand(const EpilogueStep& step, DataType value, DataType current);

}  // namespace tilewright
