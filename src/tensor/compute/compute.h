#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/expr.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/operator.h"
#include "src/tensor/workload.h"

namespace tilewright {

struct Expression;

/// A loop variable of a tensor expression.
struct Axis {
  Expr var;
  std::int64_t extent = 0;
  bool reduction = false;
};

enum class Combiner : std::uint8_t { kNone, kSum, kMax, kMin, kProduct };

/// One stage: output[axes] = combine over `reduce_axes` of body (which loads from buffers of
/// earlier stages or of inputs and mentions the axes' variables).
struct ComputeOp {
  std::string name;  ///< unique within a Compute: "pad", "conv", "epilogue", …
  Buffer output;
  std::vector<Axis> axes;         ///< one per dimension of output
  std::vector<Axis> reduce_axes;  ///< empty unless combiner != kNone
  Combiner combiner = Combiner::kNone;
  Expr body;
};

/// What a kernel computes: inputs, stages in topological order; the last stage is the result.
/// A schedule rearranges it and can not change what it means.
struct Compute {
  std::vector<Buffer> inputs;
  std::vector<ComputeOp> stages;
  std::int64_t macs = 0;  ///< multiply-accumulates of the anchor, 0 for the others
};

/// The form in which one kernel sees an anchor's tensors. Empty layout = as the workload says.
/// Blocked activations: "NCHW16c" (C/16 outermost of the two); weights "OIHW16i16o",
/// "OIHW4i16o4i" (VNNI: I/16 blocks of 4 groups of 16 o of 4 i), depthwise "OIHW1i16o" or
/// "OIHW16o4w" (the taps of a row in fours, the last filled up with zeros; not transposed).
/// Channel counts that the block does not divide are padded with zeros in the packed tensor.
/// Of an expression: `weight` is "<input>:<layout>" of a packed constant, dimensions A, B, …
struct KernelLayouts {
  std::string data, weight, output;  ///< layouts
  /// Integer anchors only: the type in which data and packed weight are multiplied. int16 for the
  /// int16 path: the weight is packed as int16, the "pad" stage converts the data.
  std::optional<DataType> multiply_dtype;
  /// int8 data for a uint8 x int8 dot product: the "pad" stage computes data + 128 as uint8, and an
  /// input `compensation` (int32 [K], -128 * sum of the channel's weights) after the weight is
  /// added to the sum.
  bool shift_data = false;
  /// Not 0: the weight is transformed for Winograd tiles of so many rows and columns of the output
  /// (src/tensor/compute/winograd.h). Convolutions in float32, and of 8-bit integers with a
  /// multiply_dtype of int16: one group, a square kernel, no strides.
  std::int64_t winograd_tile = 0;
  friend bool operator==(const KernelLayouts&, const KernelLayouts&) = default;
};

/// The compute definition of an anchor with its epilogue. Inputs in order: data, weight,
/// compensation (if shift_data), then one per epilogue step with a channel or tensor operand
/// (channel: [K], padded to the output's channel block; tensor: output layout).
/// Stages: "pad" (only if there is padding or a conversion), "reduce" (the sum of products in the
/// accumulator type), "output" (compensation and epilogue; absent if there are neither). With
/// winograd_tile the stages of WinogradStages are in the place of "reduce", which is the last of
/// them.
/// Errors: kUnsupported for layouts the operator does not have.
Result<Compute> DefineAnchor(const Workload& workload, const Epilogue& epilogue,
                             const KernelLayouts& layouts = {});

/// The compute definition of one operator that is no anchor (softmax, pooling, concat, …).
Result<Compute> DefineOperator(const Operator& op, std::span<const TensorType> inputs);

/// The stages of an expression, by their names; what finds positions of extremes has stages before
/// it ("<name>.best", "<name>.value").
Compute DefineExpression(const Expression& expression);
/// Makes float sums of more than 256 elements sums of partial sums, of at most 256 each; and the
/// same of maxima and minima, where neighbours in memory are reduced.
void SplitLongReductions(Compute& compute);

/// The value of one elementwise operator; b is null for operators of one input.
Expr ElementwiseExpr(const Operator& op, Expr a, Expr b);

}  // namespace tilewright
