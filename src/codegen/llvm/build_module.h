#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "src/codegen/codegen.h"

namespace tilewright::emit {

/// Optimized IR of programs, and the target machine that generates their code.
struct BuiltModule {
  std::string errors;  ///< LLVM's diagnostics; empty: none
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;  // destroyed before its context
};

/// Errors: those of Generate.
Result<std::unique_ptr<BuiltModule>> BuildModule(const std::vector<Program>& programs,
                                                 const Target& target, BuildTimes& spent);

}  // namespace tilewright::emit
