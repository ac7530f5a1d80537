// Templates that have cuDNN or cuBLAS compute the anchor, in float32 without tf32 (cuBLAS also in
// int8, exactly), and generate a kernel for the epilogue.

#include "src/target/device.h"
#include "src/templates/cuda/templates.h"
#include "src/templates/library_stage.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace library_cuda {
namespace {

constexpr const char* kOnlyCuda = "only targets of CUDA";

struct Cublas {
  static constexpr std::string_view kName = "cublas";
  static std::string Refuses(const Workload& w, const Target& target) {
    if (!DeviceTraitsOf(target).launches_grids) return kOnlyCuda;
    if (w.kernel_layout == "BKN") return "only rows of both operands";
    if (IsFloat32(w)) return "";
    if (w.data.dtype != kInt8 || !IsInt8(w)) return "only float32, or int8 summed in int32";
    // The library's documentation requires this of integer products.
    const std::size_t rows = w.data.shape.size() - 2;
    const bool fours = w.data.shape[rows] % 4 == 0 && w.data.shape[rows + 1] % 4 == 0 &&
                       w.weight.shape[rows] % 4 == 0;
    return fours ? "" : "only sizes that are multiples of four, for int8";
  }
};

std::string RefusesConvolution(const Workload& w, const Target& target) {
  if (!DeviceTraitsOf(target).launches_grids) return kOnlyCuda;
  if (w.op != OpKind::kConv2d) return "only convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w)) return "only float32: the library gives no sums in int32";
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  const bool even = shape->pad_top == shape->pad_bottom && shape->pad_left == shape->pad_right;
  return even ? "" : "only the same padding on both sides";
}

Result<Kernel> CallCudnn(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const Config&) {
  return LibraryCallWithEpilogue(w, epilogue, target, KernelLayouts(), "cudnn", ConvolutionCall(w));
}

}  // namespace
}  // namespace library_cuda

TemplateEntry Conv2dCudnnEntry() {
  using namespace library_cuda;
  TemplateEntry entry = LoopTemplate("conv2d.cudnn", 1, "cuda", {}, &RefusesConvolution, &NoKnobs,
                                     &OnlyConfig, &CallCudnn);
  entry.only_reorders_sums = false;  // the library measures its algorithms and chooses one
  return entry;
}

TemplateEntry DenseCublasEntry() {
  using namespace library_cuda;
  return LibraryProducts<OpKind::kDense, Cublas>("dense.cublas", "cuda");
}

TemplateEntry BatchMatmulCublasEntry() {
  using namespace library_cuda;
  return LibraryProducts<OpKind::kBatchMatmul, Cublas>("batch_matmul.cublas", "cuda");
}

}  // namespace tilewright
