// Maximum pooling of packed int8 tensors on the ALU of a VTA (vta::BuildPackedPool). Buffers: data,
// output. Layout NCHW<batch>n<block>c.

#include "src/templates/vta/templates.h"

#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/kernels/packed_pool.h"

namespace tilewright {
namespace max_pool2d_packed_vta {
namespace {

vta::PackedPool PoolOf(const Workload& workload) {
  return {.height = workload.data.shape[2],
          .width = workload.data.shape[3],
          .window_h = workload.pool_size[0],
          .window_w = workload.pool_size[1],
          .stride_h = workload.strides[0],
          .stride_w = workload.strides[1],
          .pad_top = workload.padding[0],
          .pad_left = workload.padding[1]};
}

Result<vta::ResultBlocks> ResultOf(const vta::Design& design, const Workload& workload) {
  auto result = AluResultOf(design, workload, OpKind::kMaxPool2d);
  if (result.ok() && workload.data.dtype != kInt8) return Unsupported("expected int8 data");
  return result;
}

std::string Refuses(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  if (!vta.ok()) return vta.status().message();
  return ResultOf(vta->design, workload).status().message();
}

Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(const auto result, ResultOf(vta.design, workload));
  return AluSpace(result);
}

Result<Config> DefaultConfig(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto space, DefineSpace(workload, target));
  const vta::Design design = VtaTargetOf(target)->design;
  const vta::PackedPool pool = PoolOf(workload);
  return LargestBlocks(space, *ResultOf(design, workload), [&](const auto& blocks) {
    return vta::BuildPackedPool(design, pool, blocks).ok();
  });
}

Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                const Target& target, const Config& config) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  TW_ASSIGN_OR_RETURN(const auto result, ResultOf(vta->design, workload));
  if (!epilogue.steps.empty()) return Unsupported("expected no epilogue");
  return vta::BuildPackedPool(vta->design, PoolOf(workload), WithBlocks(result, config));
}

}  // namespace
}  // namespace max_pool2d_packed_vta

TemplateEntry MaxPool2dPackedVtaEntry() {
  using namespace max_pool2d_packed_vta;
  return {"max_pool2d_packed.vta", 1,       "vta",       kAluKnobs, &Refuses, &DefineSpace,
          &DefaultConfig,          nullptr, &BuildStream};
}

}  // namespace tilewright
