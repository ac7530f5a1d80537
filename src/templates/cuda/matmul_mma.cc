#include "src/templates/cuda/templates.h"

#include "src/templates/cuda/mma.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace matmul_mma_cuda {
namespace {

MmaSizes MmaSizesOf(const Workload& w) {
  const MatmulSizes sizes = MatmulSizesOf(w);
  return {.m = sizes.m, .n = sizes.n, .k = sizes.k};
}

Result<const MmaIntrinsic*> MatmulMma(const Workload& w, const Target& target) {
  return ChooseMma(w, target, MmaSizesOf(w));
}

template <OpKind kOp>
std::string Refuses(const Workload& w, const Target& target) {
  constexpr bool kBatched = kOp == OpKind::kBatchMatmul;
  if (w.op != kOp) return kBatched ? "only batch_matmul" : "only dense";
  if (w.data_layout != (kBatched ? "BMK" : "MK") || w.kernel_layout != (kBatched ? "BNK" : "NK")) {
    return kBatched ? "only BMK data and BNK weights" : "only MK data and NK weights";
  }
  return MatmulMma(w, target).status().message();
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  return MmaSpace(*mma, MmaSizesOf(w), target);
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  return MmaDefault(*mma, MmaSizesOf(w), target);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  TW_RETURN_IF_ERROR(CheckMmaBlock(*mma, MmaSizesOf(w), target, config));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  ScheduleMma(s, *mma, config);
  return FinishKernel(std::move(s));
}

template <OpKind kOp>
TemplateEntry EntryFor(std::string_view key, int version) {
  return LoopTemplate(key, version, "cuda", MmaKnobs(), &Refuses<kOp>, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace
}  // namespace matmul_mma_cuda

TemplateEntry DenseMmaCudaEntry() {
  using namespace matmul_mma_cuda;
  return EntryFor<OpKind::kDense>("dense_mma.cuda", 3);
}
TemplateEntry BatchMatmulMmaCudaEntry() {
  using namespace matmul_mma_cuda;
  return EntryFor<OpKind::kBatchMatmul>("batch_matmul_mma.cuda", 2);
}

}  // namespace tilewright
