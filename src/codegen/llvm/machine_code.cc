#include "src/codegen/llvm/machine_code.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

namespace tilewright::emit {

/// TargetMachine::addPassesToEmitFile, for x86 and NVIDIA's GPUs without two passes: the machine
/// scheduler, and the scheduler after register allocation, which some CPUs request. Both would undo
/// the order of register tiles (tile_scheduler.h) that instruction selection keeps. On Arm, whose
/// in-order cores run instructions in the given order, and on AMD's GPUs, the machine scheduler
/// creates that order.
Result<std::string> EmitMachineCode(llvm::Module& module, llvm::TargetMachine& machine,
                                    bool assembly) {
  const auto type =
      assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  auto& generator = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  // The pass manager owns added passes.
  llvm::TargetPassConfig* config = generator.createPassConfig(passes);
  config->setDisableVerify(true);
  const llvm::Triple& triple = machine.getTargetTriple();
  if (!triple.isAArch64() && !triple.isARM() && !triple.isAMDGPU()) {
    config->disablePass(&llvm::MachineSchedulerID);
    config->disablePass(&llvm::PostRASchedulerID);
  }
  passes.add(config);
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(&generator);
  passes.add(module_info);
  const bool failed = config->addISelPasses();
  if (!failed) {
    config->addMachinePasses();
    config->setInitialized();
  }
  if (failed ||
      generator.addAsmPrinter(passes, out, nullptr, type, module_info->getMMI().getContext())) {
    return Unsupported("LLVM cannot write this kind of file for the target");
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tilewright::emit
