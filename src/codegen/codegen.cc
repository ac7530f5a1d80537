#include "src/codegen/codegen.h"

#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "src/codegen/llvm/build_module.h"
#include "src/codegen/llvm/machine_code.h"
#include "src/codegen/nvptx/shared_memory.h"

namespace tilewright {

Result<std::string> Generate(const std::vector<Program>& programs, const Target& target, Emit emit,
                             BuildTimes* times) {
  const bool gpu = target.kind() == TargetKind::kCuda;
  if (!gpu && target.kind() != TargetKind::kLlvm) {
    return Unsupported("no code generator for target kind " + target.kind_name());
  }
  BuildTimes unwanted;
  BuildTimes& spent = times != nullptr ? *times : unwanted;
  auto built = emit::BuildModule(programs, target, spent);
  TW_RETURN_IF_ERROR(built);
  llvm::Module& module = *(*built)->module;
  if (gpu) nvptx::PlaceDynamicShared(module);
  if (emit == Emit::kLlvmIr) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }
  const auto start = std::chrono::steady_clock::now();
  Result<std::string> code =
      emit::EmitMachineCode(module, *(*built)->machine, gpu || emit == Emit::kAssembly);
  spent.codegen_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!(*built)->errors.empty()) return Internal("LLVM: " + (*built)->errors);
  return code;
}

}  // namespace tilewright
