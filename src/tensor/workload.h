#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/target/target.h"
#include "src/tensor/operator.h"

namespace tilewright {

/// Tunable operator with its shapes, types and attributes: the subject of tasks and records. Fused
/// operators are not part of it (see Epilogue).
///
/// In addition to the anchors, these operators are workloads if an accelerator cannot fuse them, on
/// activations with one block of channels: the sum or product of two integer tensors (kAdd, kMul;
/// `weight` is the second one, and both are widened first), a tensor that is only widened before
/// its epilogue (kIdentity), and kMaxPool2d.
///
/// A kExpression is a workload defined by an expression (src/tensor/expression). It has any number
/// of inputs and no epilogue. Its key is the canonical text, "expression(…)".
struct Workload {
  OpKind op = OpKind::kConv2d;
  TensorType data, weight;  ///< `weight` is empty if there is no second tensor: see has_weight
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 2> output_padding{0, 0};  ///< conv2d_transpose: rows and columns added
  std::array<std::int64_t, 2> pool_size{1, 1};       ///< max_pool2d: rows and columns of a window
  std::int64_t groups = 1;
  std::string data_layout, kernel_layout;  ///< dense: "MK", "NK"; batch_matmul: "BMK", "BNK"
  DataType out_dtype;
  /// conv2d and dense of 8-bit data: the weights are constants within kReducedRangeMagnitude.
  /// Callers that provide the weights must have checked them (PackWeight does).
  bool reduced_range_weights = false;
  /// kExpression: the expression in canonical form. `data` is its first input. Layouts name the
  /// dimensions of a tensor A, B, C, ….
  Expression expression;
  /// Open task (src/tensor/open_workload.h): its key. There are no tensors, and `op` is kExpression
  /// without an expression.
  std::string open;

  /// Returns the name: conv2d, depthwise_conv2d (groups = channels in = channels out),
  /// group_conv2d, dense, batch_matmul, conv2d_transpose (as in reference/task-extraction); add,
  /// mul, identity, max_pool2d.
  std::string op_name() const;
  /// Returns false for the operators of one tensor.
  bool has_weight() const {
    return op != OpKind::kIdentity && op != OpKind::kMaxPool2d && op != OpKind::kExpression;
  }
  /// Returns the canonical key, e.g.
  /// "conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32".
  /// Reduced-range weights add ",w64" after the other attributes. The key parses back to the same
  /// value.
  std::string Key() const;
  /// Errors: kInvalidArgument with the position of the unexpected text.
  static Result<Workload> Parse(std::string_view key);

  /// Returns the workload of an expression, in canonical form. inputs: unless null, gets the
  /// numbers of the expression's inputs in the order of the workload's.
  static Workload FromExpression(const Expression& expression, std::vector<int>* inputs = nullptr);
  Operator ToOperator() const;
  /// Errors: kInvalidArgument unless op is an anchor and the types fit it.
  static Result<Workload> FromOperator(const Operator& op, const TensorType& data,
                                       const TensorType& weight);
  /// Returns the type of the result. A workload is valid if and only if this succeeds.
  /// Errors: kInvalidArgument if types, layouts and attributes do not fit, or if a tensor has more
  /// than 2^40 elements.
  Result<TensorType> OutputType() const;
  /// Returns the layout of the result: the data layout with the kernel's block of output channels;
  /// "MN", "BMN".
  Result<std::string> OutputLayout() const;
  /// Returns the multiply-accumulates of one run, taps on padding included; half of the operations
  /// of an expression; 0 for other operators.
  std::int64_t macs() const;
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// Returns the row-major layout of a tensor of an expression: "ABC" for three dimensions.
std::string PlainLayout(std::size_t rank);

/// Logical sizes of a convolution in any layouts; oh and ow are the output's, also of a transposed
/// one. Blocked dimensions are rounded up, as the tensors have them.
struct ConvShape {
  std::int64_t n, c, h, w, k, r, s, oh, ow, groups;
  std::int64_t stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w;
};
/// Errors: kInvalidArgument if the workload is no convolution or its layouts are unknown.
Result<ConvShape> ConvShapeOf(const Workload& workload);

/// Workload on a target, to be tuned.
struct Task {
  Workload workload;
  Target target;
  friend bool operator==(const Task&, const Task&) = default;
};

}  // namespace tilewright
