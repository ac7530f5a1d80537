#include "src/base/math.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/winograd.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// The tensor with its elements converted (and saturated) to another type.
Tensor Converted(const Tensor& source, DataType dtype) {
  Tensor result(TensorType{source.shape(), dtype});
  for (std::int64_t i = 0; i < source.elements(); ++i) result.Set(i, source.At(i));
  return result;
}

}  // namespace

Result<Tensor> PackWeight(const Workload& workload, const AnchorForm& form, const Tensor& weight) {
  if (weight.type() != workload.weight) {
    return InvalidArgument("weight is " + weight.type().ToString() + ", expected " +
                           workload.weight.ToString());
  }
  TW_RETURN_IF_ERROR(CheckWinograd(workload, form));
  if (form.winograd_tile > 0) return WinogradWeight(weight, form.winograd_tile);
  const std::string& layout = form.weight.empty() ? workload.kernel_layout : form.weight;
  auto packed = TransformLayout(weight, workload.kernel_layout, layout);
  TW_RETURN_IF_ERROR(packed);
  if (form.multiply_dtype && *form.multiply_dtype != weight.dtype()) {
    return Converted(*packed, *form.multiply_dtype);
  }
  return packed;
}

Result<Tensor> MakeCompensation(const Workload& workload, const AnchorForm& form,
                                const Tensor& weight) {
  if (!form.shift_data) return InvalidArgument("compensation: the form does not shift the data");
  // Output channels outermost, then each channel's weights are consecutive.
  auto layout = Layout::Parse(workload.kernel_layout);
  TW_RETURN_IF_ERROR(layout);
  const bool dense = workload.op == OpKind::kDense;
  auto plain = TransformLayout(weight, workload.kernel_layout, dense ? "NK" : "OIHW");
  TW_RETURN_IF_ERROR(plain);
  const std::int64_t channels = plain->shape()[0];
  const std::int64_t each = plain->elements() / channels;
  constexpr std::int64_t kShift = 128;  // what the "pad" stage adds to the data
  Tensor result(TensorType{{channels}, kInt32});
  auto sums = result.As<std::int32_t>();
  for (std::int64_t k = 0; k < channels; ++k) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < each; ++i) {
      sum += static_cast<std::int64_t>(plain->At(k * each + i));
    }
    sums[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(-kShift * sum);
  }
  return result;
}

}  // namespace tilewright
