#pragma once

#include <string_view>
#include <vector>

#include "records/autotvm/space.h"

namespace tilewright::records {

/// Sizes of an AutoTVM convolution task, in elements (VTA: in blocks), from its argument list.
struct AutotvmConv {
  std::int64_t n = 1, c = 1, h = 1, w = 1;  ///< data
  std::int64_t k = 1;                       ///< output channels; depthwise: channels x multiplier
  std::int64_t kh = 1, kw = 1;
  std::int64_t oh = 1, ow = 1;
};

/// Arguments of a template definition.
struct AutotvmTaskArguments {
  std::string_view task;
  const std::vector<AutotvmValue>& args;
  const Target& target;
  AutotvmEdition edition;
};

/// Returns the sizes of tensor `i`.
/// Errors: kInvalidArgument if argument i is not a tensor of `rank` sizes within 1 to 2^31.
Result<std::vector<std::int64_t>> AutotvmTensor(const AutotvmTaskArguments& task, std::size_t i,
                                                std::size_t rank);
/// Reads a convolution: data NCHW, kernel OIHW (or C M KH KW), strides, padding, dilation.
Result<AutotvmConv> AutotvmConvolution(const AutotvmTaskArguments& task, bool depthwise);
/// Reads a transposed convolution: data NCHW (or NCW), kernel IOHW, strides, padding, dtype, output
/// padding.
Result<AutotvmConv> AutotvmTransposed(const AutotvmTaskArguments& task, std::size_t rank);

/// Template: its name and its space.
struct AutotvmTemplate {
  std::string_view name;
  Result<AutotvmSpace> (*define)(const AutotvmTaskArguments&);
};

/// Builder of a space that collects knobs. After the first error it ignores further calls.
class AutotvmSpaceBuilder {
 public:
  using Bounds = AutotvmKnob::Bounds;
  AutotvmSpaceBuilder() { space_.knobs.reserve(kMaxKnobs); }
  AutotvmSpaceBuilder& Split(std::string name, std::int64_t extent, int parts,
                             std::vector<Bounds> bounds = {});
  AutotvmSpaceBuilder& Other(std::string name, const std::vector<std::int64_t>& values);
  AutotvmSpaceBuilder& Add(AutotvmKnob knob);
  AutotvmSpaceBuilder& Filter(AutotvmFilter filter);
  Result<AutotvmSpace> Done() &&;

 private:
  static constexpr std::size_t kMaxKnobs = 8;  // enough for nearly every template
  AutotvmSpace space_;
  Status status_;
};

// templates_gpu.cc: cuda, rocm, opencl, vulkan.
Result<AutotvmSpace> Conv2dNchwCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv2dWinogradCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DepthwiseCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv2dTransposeCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv1dTransposeCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> BatchMatmulCuda(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DenseSmallBatchGpu(const AutotvmTaskArguments& task);
// templates_mobile.cc: mali, adreno, intel_graphics.
Result<AutotvmSpace> SpatialPackMali(const AutotvmTaskArguments& task);
Result<AutotvmSpace> WinogradMali(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DepthwiseMali(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DenseMali(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv2dIntelGraphics(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv2dImage2d(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DepthwiseImage2d(const AutotvmTaskArguments& task);
Result<AutotvmSpace> WinogradImage2d(const AutotvmTaskArguments& task);
// templates_cpu.cc: x86, arm_cpu, vta.
Result<AutotvmSpace> Conv2dNchwcX86Space(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DenseNopackX86Space(const AutotvmTaskArguments& task);
Result<AutotvmSpace> SpatialPackArm(const AutotvmTaskArguments& task);
Result<AutotvmSpace> TransposeArm(const AutotvmTaskArguments& task);
Result<AutotvmSpace> WinogradArm(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DepthwiseArm(const AutotvmTaskArguments& task);
Result<AutotvmSpace> Conv2dPackedVta(const AutotvmTaskArguments& task);
Result<AutotvmSpace> GroupConv2dPackedVta(const AutotvmTaskArguments& task);
Result<AutotvmSpace> TransposePackedVta(const AutotvmTaskArguments& task);
Result<AutotvmSpace> DensePackedVta(const AutotvmTaskArguments& task);
Result<AutotvmSpace> ElementwisePackedVta(const AutotvmTaskArguments& task);

/// Adds the knobs of spatial_pack after its tiles: reorder_0, ann_reduce, ann_spatial.
void AddSpatialPackTail(AutotvmSpaceBuilder& builder);

}  // namespace tilewright::records
