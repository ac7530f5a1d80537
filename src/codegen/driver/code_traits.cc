#include "src/codegen/code_traits.h"

#include <llvm/MC/MCSubtargetInfo.h>

#include "src/codegen/llvm/storage_plan.h"
#include "src/codegen/llvm/target_machine.h"

namespace tilewright {

Result<CodeTraits> TraitsOf(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto machine, emit::MakeTargetMachine(target));
  CodeTraits traits;
  traits.pointer_bits = static_cast<int>(machine->getPointerSizeInBits(0));
  for (const llvm::SubtargetFeatureKV& feature :
       machine->getMCSubtargetInfo()->getEnabledProcessorFeatures()) {
    traits.features += (traits.features.empty() ? "" : ",") + std::string(feature.Key);
  }
  return traits;
}

Result<Workspace> WorkspaceOf(const Program& program) {
  const auto plan = emit::PlanStorage(program, {});  // registers do not affect the workspace
  TW_RETURN_IF_ERROR(plan);
  return Workspace{plan->workspace_bytes, plan->workspace_bytes_per_thread};
}

}  // namespace tilewright
