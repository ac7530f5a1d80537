#include "src/codegen/llvm/passes.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "src/codegen/amdgpu/anchor_sums.h"
#include "src/codegen/llvm/tile_scheduler.h"

namespace tilewright::emit {

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const CpuFeatures& features) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager promotion, passes;
  promotion.addPass(llvm::SimplifyCFGPass());
  promotion.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  promotion.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  const bool x86 = machine.getTargetTriple().isX86(), amd = machine.getTargetTriple().isAMDGPU();
  const TileRegisters registers{features.vector_registers(), features.avx512, features.avx2};
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    promotion.run(function, functions);
    if (amd) {
      amdgpu::AnchorSums(function);
      functions.invalidate(function, llvm::PreservedAnalyses::none());
    }
    passes.run(function, functions);
    if (x86) ScheduleTiles(function, registers);
  }
}

}  // namespace tilewright::emit
