#include "src/codegen/gpu/amdgpu_machine.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <string>

#include "src/codegen/llvm/target_machine.h"
#include "src/target/gpu.h"

namespace tilewright::amdgpu {
namespace {

constexpr const char* kAmdgpuTriple = "amdgcn-amd-amdhsa";

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto processor, AmdProcessorOf(target));
  emit::InitializeBackEnds();
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(kAmdgpuTriple, error);
  if (back_end == nullptr) return Unsupported("LLVM without AMDGPU: " + error);
  const std::string name(processor.name);
  std::unique_ptr<llvm::TargetMachine> machine(back_end->createTargetMachine(
      kAmdgpuTriple, name, "", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Unsupported("no code generator for AMDGPU");
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(name)) {
    return Unsupported(name + ": LLVM does not support this processor");
  }
  return machine;
}

void DescribeKernel(const std::array<std::int64_t, 3>& block, llvm::Function& kernel) {
  llvm::LLVMContext& context = kernel.getContext();
  kernel.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  kernel.setVisibility(llvm::GlobalValue::ProtectedVisibility);
  const std::string threads = std::to_string(block[0] * block[1] * block[2]);
  kernel.addFnAttr("amdgpu-flat-work-group-size", threads + "," + threads);
  kernel.addFnAttr("uniform-work-group-size", "true");
  // The code reads nothing but its parameters and the indices.
  for (const char* unused :
       {"implicitarg-ptr", "dispatch-ptr", "dispatch-id", "queue-ptr", "lds-kernel-id"}) {
    kernel.addFnAttr(std::string("amdgpu-no-") + unused);
  }
  llvm::SmallVector<llvm::Metadata*, 3> extents;
  for (const std::int64_t extent : block) {
    extents.push_back(llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
        llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(extent))));
  }
  kernel.setMetadata("reqd_work_group_size", llvm::MDNode::get(context, extents));
}

void SetCodeObjectVersion(llvm::Module& module) {
  constexpr std::uint32_t kVersion = 500;
  if (module.getModuleFlag("amdhsa_code_object_version") != nullptr) return;
  module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kVersion);
}

}  // namespace tilewright::amdgpu
