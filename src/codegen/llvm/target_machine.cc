#include "src/codegen/llvm/target_machine.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>

#include "src/base/strings.h"
#include "src/codegen/cpu_target.h"

namespace tilewright::emit {
namespace {

std::string TripleOf(const Target& target) {
  return llvm::Triple::normalize(target.Option("mtriple", llvm::sys::getDefaultTargetTriple()));
}

Result<const llvm::Target*> BackEndOf(const std::string& triple) {
  InitializeBackEnds();
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(triple, error);
  if (back_end == nullptr) return Unsupported("-mtriple=" + triple + ": " + error);
  return back_end;
}

/// Errors: kInvalidArgument for a processor or a feature that the back end lacks.
Status CheckNames(const llvm::Target& back_end, const std::string& triple, const Target& target) {
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      back_end.createMCSubtargetInfo(triple, "", ""));
  if (known == nullptr) return Unsupported("no code generator for " + triple);
  const std::string cpu = target.Option("mcpu", "generic");
  if (!known->isCPUStringValid(cpu)) {
    return InvalidArgument("-mcpu=" + cpu + ": not a processor of " + triple);
  }
  for (const std::string& feature : Split(target.Option("mattr"), ',')) {
    if (feature.empty()) continue;
    const bool found =
        (feature[0] == '+' || feature[0] == '-') &&
        std::ranges::any_of(known->getAllProcessorFeatures(),
                            [&](const llvm::SubtargetFeatureKV& entry) {
                              return feature.compare(1, std::string::npos, entry.Key) == 0;
                            });
    if (!found) {
      return InvalidArgument("-mattr=" + feature + ": expected + or - and a feature of " + triple);
    }
  }
  return {};
}

}  // namespace

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
  const std::string triple = TripleOf(target);
  TW_ASSIGN_OR_RETURN(const auto back_end, BackEndOf(triple));
  TW_RETURN_IF_ERROR(CheckNames(*back_end, triple, target));
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> machine(back_end->createTargetMachine(
      triple, target.Option("mcpu", "generic"), target.Option("mattr"), options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Unsupported("no code generator for " + triple);
  return machine;
}

}  // namespace tilewright::emit

namespace tilewright {

Status CheckCpuTarget(const Target& target) {
  const std::string triple = emit::TripleOf(target);
  TW_ASSIGN_OR_RETURN(const auto back_end, emit::BackEndOf(triple));
  return emit::CheckNames(*back_end, triple, target);
}

}  // namespace tilewright
