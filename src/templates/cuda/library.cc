#include "src/templates/cuda/library.h"

#include "src/templates/workload_kind.h"

#include "src/target/device.h"

namespace tilewright {
namespace {

constexpr const char* kOnlyCuda = "only targets of CUDA";

}  // namespace

std::string Cublas::Refuses(const Workload& w, const Target& target) {
  if (!DeviceTraitsOf(target).launches_grids) return kOnlyCuda;
  if (IsFloat32(w)) return "";
  if (w.data.dtype != kInt8 || !IsInt8(w)) return "only float32, or int8 summed in int32";
  // What the library's documentation asks of integer products.
  const std::size_t rows = w.data.shape.size() - 2;
  const bool fours = w.data.shape[rows] % 4 == 0 && w.data.shape[rows + 1] % 4 == 0 &&
                     w.weight.shape[rows] % 4 == 0;
  return fours ? "" : "only sizes that are multiples of four, for int8";
}

std::string Conv2dCudnn::Refuses(const Workload& w, const Target& target) {
  if (!DeviceTraitsOf(target).launches_grids) return kOnlyCuda;
  if (w.op != OpKind::kConv2d) return "only convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (!IsFloat32(w)) return "only float32: the library gives no sums in int32";
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  const bool even = shape->pad_top == shape->pad_bottom && shape->pad_left == shape->pad_right;
  return even ? "" : "only the same padding on both sides";
}

Result<ConfigSpace> Conv2dCudnn::DefineSpace(const Workload&, const Target&) {
  return ConfigSpace();
}

Result<Config> Conv2dCudnn::DefaultConfig(const Workload&, const Target&) {
  return ConfigSpace().At(0);
}

Result<Kernel> Conv2dCudnn::Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                                  const Config&) {
  return LibraryCallWithEpilogue(w, epilogue, target, KernelLayouts(), "cudnn", ConvolutionCall(w));
}

}  // namespace tilewright
