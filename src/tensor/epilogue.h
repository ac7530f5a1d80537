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
};

/// One elementwise operator applied to the anchor's result so far ("current").
struct EpilogueStep {
  Operator op;  ///< IsElementwise(op.kind)
  OperandKind operand = OperandKind::kNone;
  double scalar = 0;
  DataType operand_dtype = kFloat32;  ///< of the operand in memory; cast to current's type
  bool operand_first = false;         ///< operand (op) current, for sub and div
  friend bool operator==(const EpilogueStep&, const EpilogueStep&) = default;
};

/// The elementwise followers fused with an anchor; belongs to a use in a graph, not to the
/// workload. Text: steps joined by ";", such as
/// "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)"; "" for none.
struct Epilogue {
  std::vector<EpilogueStep> steps;

  std::string ToString() const;
  static Result<Epilogue> Parse(std::string_view text);
  /// Element type after all steps when the anchor gives `dtype`.
  DataType OutputDtype(DataType dtype) const;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

}  // namespace tilewright
