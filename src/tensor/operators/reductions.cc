// Operators whose elements depend on several: windows, reductions, normalizations.
#include <algorithm>

#include "src/tensor/compute/internal.h"
#include "src/tensor/operator_table.h"
#include "src/tensor/operator_types.h"
#include "src/tensor/reference/reduction.h"

namespace tilewright {
namespace {

using reference::ValuesOfReduction;

double OnePerInput(const Operator&, std::span<const TensorType> inputs, const TensorType&) {
  return static_cast<double>(inputs[0].elements());
}

double OfWindows(const Operator& op, std::span<const TensorType>, const TensorType& result) {
  return static_cast<double>(op.attributes.pool_size[0]) *
         static_cast<double>(op.attributes.pool_size[1]) * static_cast<double>(result.elements());
}

/// Counts maximum, difference, exponential, sum, quotient.
double OfSoftmax(const Operator&, std::span<const TensorType> inputs, const TensorType&) {
  return 5 * static_cast<double>(inputs[0].elements());
}

/// Counts a square and a sum for each channel of the window, then a power and a quotient.
double OfLrn(const Operator& op, std::span<const TensorType> inputs, const TensorType& result) {
  const std::int64_t window = std::min(op.attributes.size, inputs[0].shape[1]);
  return (2.0 * static_cast<double>(window) + 4) * static_cast<double>(result.elements());
}

double OfBatchNorm(const Operator&, std::span<const TensorType>, const TensorType& result) {
  return 4 * static_cast<double>(result.elements());
}

constexpr OperatorRow kReductionRows[] = {
    {.kind = OpKind::kMaxPool2d,
     .name = "max_pool2d",
     .family = OpFamily::kPool,
     .description =
         "largest of each window: pool_size strides padding dilation ceil_mode data_layout",
     .relay = "nn.max_pool2d",
     .error = ErrorRule::kDataMovement,
     .type = &TypeOfPool,
     .loops = &DefinePool,
     .values = &reference::ValuesOfPool,
     .operations = &OfWindows},
    {.kind = OpKind::kAvgPool2d,
     .name = "avg_pool2d",
     .family = OpFamily::kPool,
     .description = "mean of each window: as max_pool2d, and count_include_pad",
     .relay = "nn.avg_pool2d",
     .error = ErrorRule::kSums,
     .type = &TypeOfPool,
     .loops = &DefinePool,
     .values = &reference::ValuesOfPool,
     .operations = &OfWindows},
    {.kind = OpKind::kGlobalAvgPool2d,
     .name = "global_avg_pool2d",
     .family = OpFamily::kPool,
     .description = "mean of each image; of integers the sum, divided and truncated towards zero",
     .relay = "nn.global_avg_pool2d",
     .error = ErrorRule::kSums,
     .type = &TypeOfPool,
     .loops = &DefinePool,
     .values = &reference::ValuesOfPool,
     .operations = &OnePerInput},
    {.kind = OpKind::kGlobalMaxPool2d,
     .name = "global_max_pool2d",
     .family = OpFamily::kPool,
     .description = "largest of each image",
     .relay = "nn.global_max_pool2d",
     .error = ErrorRule::kDataMovement,
     .type = &TypeOfPool,
     .loops = &DefinePool,
     .values = &reference::ValuesOfPool,
     .operations = &OnePerInput},
    {.kind = OpKind::kReduceMean,
     .name = "reduce_mean",
     .family = OpFamily::kReduction,
     .description = "mean over axes (none: all), with keepdims",
     .relay = "mean",
     .error = ErrorRule::kSums,
     .type = &TypeOfReduction,
     .loops = [](const Operator& op, const TensorType& type,
                 Compute& compute) { return DefineReduction(op, type, compute, {.mean = true}); },
     .values = &ValuesOfReduction<reference::MeanOfAll>,
     .operations = &OnePerInput},
    {.kind = OpKind::kReduceSum,
     .name = "reduce_sum",
     .family = OpFamily::kReduction,
     .description = "sum, likewise",
     .relay = "sum",
     .error = ErrorRule::kSums,
     .type = &TypeOfReduction,
     .loops = [](const Operator& op, const TensorType& type,
                 Compute& compute) { return DefineReduction(op, type, compute, {}); },
     .values = &ValuesOfReduction<reference::SumOfAll>,
     .operations = &OnePerInput},
    {.kind = OpKind::kReduceMax,
     .name = "reduce_max",
     .family = OpFamily::kReduction,
     .description = "largest, likewise",
     .relay = "max",
     .error = ErrorRule::kDataMovement,
     .type = &TypeOfReduction,
     .loops =
         [](const Operator& op, const TensorType& type, Compute& compute) {
           return DefineReduction(op, type, compute, {.combiner = Combiner::kMax});
         },
     .values = &ValuesOfReduction<reference::LargestOfAll>,
     .operations = &OnePerInput},
    {.kind = OpKind::kReduceMin,
     .name = "reduce_min",
     .family = OpFamily::kReduction,
     .description = "smallest, likewise",
     .relay = "min",
     .error = ErrorRule::kDataMovement,
     .type = &TypeOfReduction,
     .loops =
         [](const Operator& op, const TensorType& type, Compute& compute) {
           return DefineReduction(op, type, compute, {.combiner = Combiner::kMin});
         },
     .values = &ValuesOfReduction<reference::SmallestOfAll>,
     .operations = &OnePerInput},
    {.kind = OpKind::kSoftmax,
     .name = "softmax",
     .family = OpFamily::kNormalization,
     .description =
         "exp(x) over its sum along axis; with flatten over every dimension from axis on "
         "(ONNX before 13)",
     .relay = "nn.softmax",
     .error = ErrorRule::kSoftmax,
     .non_negative = true,
     .type = &TypeOfSoftmax,
     .loops = &DefineSoftmax,
     .values = &reference::ValuesOfSoftmax,
     .operations = &OfSoftmax},
    {.kind = OpKind::kLogSoftmax,
     .name = "log_softmax",
     .family = OpFamily::kNormalization,
     .description = "logarithm of softmax",
     .relay = "nn.log_softmax",
     .error = ErrorRule::kSoftmax,
     .type = &TypeOfSoftmax,
     .loops = &DefineSoftmax,
     .values = &reference::ValuesOfSoftmax,
     .operations = &OfSoftmax},
    {.kind = OpKind::kLrn,
     .name = "lrn",
     .family = OpFamily::kNormalization,
     .description = "x by the squares of size channels around it (dimension 1): alpha beta bias",
     .relay = "nn.lrn",
     .error = ErrorRule::kLrn,
     .type = &TypeOfLrn,
     .loops = &DefineLrn,
     .values = &reference::ValuesOfLrn,
     .operations = &OfLrn},
    {.kind = OpKind::kBatchNorm,
     .name = "batch_norm",
     .family = OpFamily::kNormalization,
     .description = "data, gamma, beta, mean, variance: (data - mean) / sqrt(variance + epsilon) * "
                    "gamma + beta, along axis",
     .relay = "nn.batch_norm",
     .error = ErrorRule::kBatchNorm,
     .type = &TypeOfBatchNorm,
     .loops = &DefineBatchNorm,
     .values = &reference::ValuesOfBatchNorm,
     .operations = &OfBatchNorm},
};

}  // namespace

std::span<const OperatorRow> ReductionOperators() { return kReductionRows; }

}  // namespace tilewright
