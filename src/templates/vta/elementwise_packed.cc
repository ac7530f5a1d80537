// Elementwise operators on packed tensors of a VTA. A block is loaded, computed in place and
// stored; the stream of add.vta and multiply.vta is the original compiler's, instruction by
// instruction. Buffers: data, output, the second tensor (if there is one), operands. Layout
// NCHW<batch>n<block>c.

#include "src/templates/vta/templates.h"

#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/kernels/packed_alu.h"

namespace tilewright {
namespace elementwise_packed_vta {
namespace {

/// Largest steps of an operator of a quantized network: its own tensors, or one of the epilogue,
/// and a bias.
std::vector<vta::EpilogueStep> LargestSteps(const Workload& workload) {
  using Operand = vta::EpilogueStep::Operand;
  const bool int8 = workload.has_weight() && workload.weight.dtype == kInt8;
  return {{vta::AluOp::kAdd, int8 ? Operand::kTensorInt8 : Operand::kTensor, 0},
          {vta::AluOp::kAdd, Operand::kPerChannel, 0}};
}

template <OpKind kOp>
std::string Refuses(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  if (!vta.ok()) return vta.status().message();
  return AluResultOf(vta->design, workload, kOp).status().message();
}

template <OpKind kOp>
Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(const auto result, AluResultOf(vta.design, workload, kOp));
  return AluSpace(result);
}

template <OpKind kOp>
Result<Config> DefaultConfig(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto space, DefineSpace<kOp>(workload, target));
  const vta::Design design = VtaTargetOf(target)->design;
  const std::vector<vta::EpilogueStep> steps = LargestSteps(workload);
  const bool int8_data = workload.data.dtype == kInt8;
  return LargestBlocks(space, *AluResultOf(design, workload, kOp), [&](const auto& blocks) {
    return vta::BuildPackedAlu(design, blocks, int8_data, steps).ok();
  });
}

template <OpKind kOp>
Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                const Target& target, const Config& config) {
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  TW_ASSIGN_OR_RETURN(const auto result, AluResultOf(vta->design, workload, kOp));
  TW_ASSIGN_OR_RETURN(const auto steps, VtaStepsOf(vta->design, workload, epilogue));
  return vta::BuildPackedAlu(vta->design, WithBlocks(result, config), workload.data.dtype == kInt8,
                             steps.steps);
}

template <OpKind kOp>
TemplateEntry EntryFor(std::string_view key) {
  return {key,
          1,
          "vta",
          kAluKnobs,
          &Refuses<kOp>,
          &DefineSpace<kOp>,
          &DefaultConfig<kOp>,
          nullptr,
          &BuildStream<kOp>};
}

}  // namespace
}  // namespace elementwise_packed_vta

TemplateEntry AddVtaEntry() {
  using namespace elementwise_packed_vta;
  return EntryFor<OpKind::kAdd>("add.vta");
}
TemplateEntry MultiplyVtaEntry() {
  using namespace elementwise_packed_vta;
  return EntryFor<OpKind::kMul>("multiply.vta");
}
TemplateEntry ElementwisePackedVtaEntry() {
  using namespace elementwise_packed_vta;
  return EntryFor<OpKind::kIdentity>("elementwise_packed.vta");
}

}  // namespace tilewright
