#include "src/codegen/assemble.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <memory>

#include "src/codegen/llvm/target_machine.h"

namespace tilewright {

Result<std::string> AssembleIr(std::string_view ir, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto machine, emit::MakeTargetMachine(target));
  machine->Options.UseInitArray = true;  // used by today's loaders; the default is older
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssembly(llvm::MemoryBufferRef(ir, "tables"), diagnostic, context);
  if (module == nullptr) {
    return Internal("tables, line " + std::to_string(diagnostic.getLineNo()) + ": " +
                    diagnostic.getMessage().str());
  }
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  std::string broken;
  llvm::raw_string_ostream words(broken);
  if (llvm::verifyModule(*module, &words)) return Internal("LLVM rejects the tables: " + broken);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile,
                                   /*DisableVerify=*/true)) {
    return Unsupported("LLVM cannot write objects for the target");
  }
  passes.run(*module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tilewright
