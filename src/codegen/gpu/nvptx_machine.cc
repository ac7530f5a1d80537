#include "src/codegen/gpu/nvptx_machine.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <string>

#include "src/codegen/llvm/target_machine.h"
#include "src/target/gpu.h"

namespace tilewright::nvptx {

Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  constexpr const char* kNvptxTriple = "nvptx64-nvidia-cuda";
  emit::InitializeBackEnds();
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(kNvptxTriple, error);
  if (back_end == nullptr) return Unsupported("LLVM without NVPTX: " + error);
  const std::string device = "sm_" + std::to_string(capability);
  // sm_75's matrix products came with PTX 6.5; LLVM would write 6.3.
  const char* features = capability == 75 ? "+ptx65" : "";
  std::unique_ptr<llvm::TargetMachine> machine(
      back_end->createTargetMachine(kNvptxTriple, device, features, llvm::TargetOptions(),
                                    std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Unsupported("no code generator for NVPTX");
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(device)) {
    return Unsupported("-arch=" + device + ": LLVM does not support this device");
  }
  return machine;
}

void DescribeKernel(const std::array<std::int64_t, 3>& block, llvm::Function& kernel) {
  kernel.setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::LLVMContext& context = kernel.getContext();
  llvm::NamedMDNode* annotations = kernel.getParent()->getOrInsertNamedMetadata("nvvm.annotations");
  constexpr const char* kNames[] = {"reqntidx", "reqntidy", "reqntidz"};
  for (std::size_t i = 0; i < 3; ++i) {
    llvm::Constant* extent = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context),
                                                    static_cast<std::uint64_t>(block[i]));
    annotations->addOperand(llvm::MDNode::get(
        context, {llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context, kNames[i]),
                  llvm::ValueAsMetadata::get(extent)}));
  }
}

}  // namespace tilewright::nvptx
