#include "src/codegen/codegen.h"

#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "src/codegen/backend.h"
#include "src/codegen/llvm/build_module.h"
#include "src/codegen/llvm/machine_code.h"

namespace tilewright {

Result<std::string> Generate(const std::vector<Program>& programs, const Target& target, Emit emit,
                             BuildTimes* times) {
  TW_ASSIGN_OR_RETURN(const auto backend, BackendFor(target));
  const Backend& device = *backend;
  if (device.print != nullptr && emit != Emit::kLlvmIr) return device.print(programs);
  BuildTimes unwanted;
  BuildTimes& spent = times != nullptr ? *times : unwanted;
  TW_ASSIGN_OR_RETURN(auto built, emit::BuildModule(programs, target, spent));
  llvm::Module& module = *built->module;
  if (device.finish != nullptr) device.finish(module);
  if (emit == Emit::kLlvmIr) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }
  const auto start = std::chrono::steady_clock::now();
  const bool assembly = device.object_is_assembly || emit == Emit::kAssembly;
  Result<std::string> code = emit::EmitMachineCode(module, *built->machine, assembly);
  spent.codegen_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!built->errors.empty()) return Internal("LLVM: " + built->errors);
  if (!code.ok() || assembly || device.link == nullptr) return code;
  return device.link(*code);
}

}  // namespace tilewright
