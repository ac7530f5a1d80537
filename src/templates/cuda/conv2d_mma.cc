// Convolutions on tensor cores, as an implicit matrix product
// (src/tensor/compute/implicit_gemm.h). Activations are NHWC, so that the channels of a pixel are
// contiguous: they are read 16 bytes at a time, need no shuffle for the tensor cores, and any
// number of them can be copied to shared memory at once. (In NCHW4c, the layout of
// conv2d_NCHWc_int8.cuda, only the 4 bytes of one dp4a are contiguous.) Channels of the data are
// rounded up to the instruction's; those of the result are a multiple of 8.

#include "src/templates/cuda/templates.h"

#include "src/templates/cuda/mma.h"
#include "src/tensor/compute/implicit_gemm.h"

namespace tilewright {
namespace conv2d_mma_cuda {
namespace {

/// Convolution as a matrix product, with its instruction.
struct ConvProduct {
  ImplicitGemm gemm;
  MmaSizes sizes;
  const MmaIntrinsic* mma = nullptr;
};

Result<ConvProduct> ConvProductOf(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto gemm, ImplicitGemmOf(w, 1));
  ConvProduct product;
  product.sizes = {gemm.rows, gemm.columns, gemm.channels, /*partial_rows=*/true,
                   gemm.shape.r * gemm.shape.s};
  TW_ASSIGN_OR_RETURN(product.mma, ChooseMma(w, target, product.sizes));
  TW_ASSIGN_OR_RETURN(product.gemm, ImplicitGemmOf(w, product.mma->k));
  return product;
}

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d || w.groups != 1) return "only convolutions of one group";
  // Blocks of 16 rows are the smallest whose last one may be partial.
  constexpr std::int64_t kFewestPixels = 16;
  const auto product = ConvProductOf(w, target);
  if (!product.ok()) return product.status().message();
  if (product->sizes.m < kFewestPixels) return "fewer than 16 pixels of the result";
  return "";
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto product, ConvProductOf(w, target));
  return MmaSpace(*product.mma, product.sizes, target);
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto product, ConvProductOf(w, target));
  return MmaDefault(*product.mma, product.sizes, target);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto product, ConvProductOf(w, target));
  const MmaIntrinsic& mma = *product.mma;
  TW_RETURN_IF_ERROR(CheckMmaBlock(mma, product.sizes, target, config));
  TW_ASSIGN_OR_RETURN(auto compute,
                      DefineImplicitGemm(w, epilogue, product.gemm, MmaBlockRows(mma, config)));
  Schedule s(std::move(compute));
  ScheduleMma(s, mma, config);
  return FinishKernel(std::move(s), product.gemm.layouts);
}

}  // namespace
}  // namespace conv2d_mma_cuda

TemplateEntry Conv2dMmaCudaEntry() {
  using namespace conv2d_mma_cuda;
  return LoopTemplate("conv2d_mma.cuda", 2, "cuda", MmaKnobs(), &Refuses, &DefineSpace,
                      &DefaultConfig, &Apply);
}

}  // namespace tilewright
