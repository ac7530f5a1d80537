#include "src/templates/cuda/matmul_mma.h"

#include "src/templates/cuda/mma.h"

namespace tilewright {
namespace {

MmaSizes MatmulSizesOf(const Workload& w) {
  const auto& data = w.data.shape;
  return {.m = data[data.size() - 2], .n = w.weight.shape[data.size() - 2], .k = data.back()};
}

Result<const MmaIntrinsic*> MatmulMma(const Workload& w, const Target& target) {
  return ChooseMma(w, target, MatmulSizesOf(w));
}

}  // namespace

template <OpKind kOp>
std::string MatmulMmaCuda<kOp>::Refuses(const Workload& w, const Target& target) {
  constexpr bool kBatched = kOp == OpKind::kBatchMatmul;
  if (w.op != kOp) return kBatched ? "only batch_matmul" : "only dense";
  if (w.data_layout != (kBatched ? "BMK" : "MK") || w.kernel_layout != (kBatched ? "BNK" : "NK")) {
    return kBatched ? "only BMK data and BNK weights" : "only MK data and NK weights";
  }
  return MatmulMma(w, target).status().message();
}

template <OpKind kOp>
Result<ConfigSpace> MatmulMmaCuda<kOp>::DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  return MmaSpace(*mma, MatmulSizesOf(w), target);
}

template <OpKind kOp>
Result<Config> MatmulMmaCuda<kOp>::DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  return MmaDefault(*mma, MatmulSizesOf(w), target);
}

template <OpKind kOp>
Result<Kernel> MatmulMmaCuda<kOp>::Apply(const Workload& w, const Epilogue& epilogue,
                                         const Target& target, const Config& config) {
  TW_ASSIGN_OR_RETURN(auto mma, MatmulMma(w, target));
  TW_RETURN_IF_ERROR(CheckMmaBlock(*mma, MatmulSizesOf(w), target, config));
  TW_ASSIGN_OR_RETURN(auto compute, DefineAnchor(w, epilogue));
  Schedule s(std::move(compute));
  ScheduleMma(s, *mma, config);
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), KernelLayouts()};
}

template struct MatmulMmaCuda<OpKind::kDense>;
template struct MatmulMmaCuda<OpKind::kBatchMatmul>;

}  // namespace tilewright
