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

/// Loop variable of a tensor expression.
struct Axis {
  Expr var;
  std::int64_t extent = 0;
  bool reduction = false;
};

enum class Combiner : std::uint8_t { kNone, kSum, kMax, kMin, kProduct };

/// Stage of a definition: output[axes] = combine over `reduce_axes` of body. The body loads from
/// inputs and from buffers of earlier stages, and uses the axes' variables.
struct ComputeOp {
  std::string name;  ///< unique within a Compute: "pad", "conv", "epilogue", …
  Buffer output;
  std::vector<Axis> axes;         ///< one per dimension of output
  std::vector<Axis> reduce_axes;  ///< empty unless combiner != kNone
  Combiner combiner = Combiner::kNone;
  Expr body;
};

/// Computation of a kernel: inputs, and stages in topological order; the last stage is the result.
/// Schedules rearrange it but cannot change its result.
struct Compute {
  std::vector<Buffer> inputs;
  std::vector<ComputeOp> stages;
  std::int64_t macs = 0;  ///< multiply-accumulates of the anchor, 0 without one
};

/// Blocks of a convolution's result that are computed one after the other, each from its own copy
/// of the data (AutoTVM's spatial packing, src/tensor/compute/spatial_pack.h). They divide the
/// result, but the last block of Winograd tiles may be padded with zeros. All 0: no packing.
struct SpatialPack {
  std::int64_t channels = 0;
  /// Rows and columns; 0 for depthwise convolutions, whose blocks are channels. With Winograd, rows
  /// are 0 and columns count tiles.
  std::int64_t rows = 0, columns = 0;
  friend bool operator==(const SpatialPack&, const SpatialPack&) = default;
};

/// Physical layouts of an anchor's tensors in one kernel. An empty layout is the workload's.
/// Blocked activations: "NCHW16c" (C/16 is the outer part). Weights: "OIHW16i16o", "OIHW4i16o4i"
/// (VNNI: I/16 blocks of 4 groups of 16 o of 4 i), depthwise "OIHW1i16o" or "OIHW16o4w" (the taps
/// of a row in fours, the last padded with zeros; not transposed). If the block does not divide the
/// channels, the packed tensor is padded with zeros. Of an expression: `weight` is
/// "<input>:<layout>" of a packed constant, with dimensions A, B, …
struct KernelLayouts {
  std::string data, weight, output;  ///< layouts
  /// Integer anchors only: the type in which data and packed weight are multiplied. With int16, the
  /// weight is packed as int16 and the "pad" stage converts the data.
  std::optional<DataType> multiply_dtype;
  /// int8 data for a uint8 x int8 dot product: the "pad" stage computes data + 128 as uint8. The
  /// input `compensation` (int32 [K], -128 * sum of the channel's weights), which follows the
  /// weight, is added to the sum.
  bool shift_data = false;
  /// If not 0, the weight is transformed for Winograd tiles of this many rows and columns of the
  /// output (src/tensor/compute/winograd.h). For convolutions in float32, and of 8-bit integers
  /// with a multiply_dtype of int16: one group, a square kernel, no strides.
  std::int64_t winograd_tile = 0;
  /// Blocks of the result of convolutions in NCHW. The weight's layout has blocks of as many output
  /// channels.
  SpatialPack spatial_pack = {};
  friend bool operator==(const KernelLayouts&, const KernelLayouts&) = default;
};

/// Returns the definition of an anchor with its epilogue. Inputs in order: data, weight,
/// compensation (if shift_data), then one per epilogue step with a channel or tensor operand
/// (channel: [K], padded to the output's channel block; tensor: output layout). Stages: "pad" (only
/// if there is padding or a conversion), "reduce" (the sum of products in the accumulator type),
/// "output" (compensation and epilogue; absent without both). With winograd_tile, the stages of
/// WinogradStages, and with spatial_pack those of SpatialPackStages, replace "reduce", which is the
/// last of them.
/// Errors: kUnsupported for layouts the operator does not have.
Result<Compute> DefineAnchor(const Workload& workload, const Epilogue& epilogue,
                             const KernelLayouts& layouts = {});

/// Returns the definition of one operator that is no anchor (softmax, pooling, concat, …).
Result<Compute> DefineOperator(const Operator& op, std::span<const TensorType> inputs);

/// Returns the stages of an expression, by their names. An argmin or argmax has stages before it
/// ("<name>.best", "<name>.value").
Compute DefineExpression(const Expression& expression);
/// Splits float sums of more than 256 elements into sums of partial sums of at most 256 each.
/// Splits maxima and minima likewise if they reduce neighbors in memory.
void SplitLongReductions(Compute& compute);

/// Returns the value of one elementwise operator; b is null for operators of one input.
Expr ElementwiseExpr(const Operator& op, Expr a, Expr b);

}  // namespace tilewright
