#include "src/codegen/llvm/target_machine.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

namespace tilewright::cpu {

void InitializeBackEnds() {
  static std::once_flag done;
  std::call_once(done, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  InitializeBackEnds();
  const std::string triple =
      llvm::Triple::normalize(target.Option("mtriple", llvm::sys::getDefaultTargetTriple()));
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(triple, error);
  if (back_end == nullptr) return Unsupported("-mtriple=" + triple + ": " + error);
  const std::string cpu = target.Option("mcpu", "generic");
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(
      back_end->createTargetMachine(triple, cpu, target.Option("mattr"), options, llvm::Reloc::PIC_,
                                    std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Unsupported("no code generator for " + triple);
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    return InvalidArgument("-mcpu=" + cpu + ": not a processor of " + triple);
  }
  return machine;
}

}  // namespace tilewright::cpu
