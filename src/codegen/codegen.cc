#include "src/codegen/codegen.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "src/codegen/llvm/kernel.h"
#include "src/codegen/llvm/machine_code.h"
#include "src/codegen/llvm/passes.h"
#include "src/codegen/llvm/target_machine.h"
#include "src/target/cpu.h"

namespace tilewright {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Collects what LLVM reports instead of letting it print and exit.
class Diagnostics final : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream out(errors_);
      llvm::DiagnosticPrinterRawOStream printer(out);
      if (!errors_.empty()) out << "; ";
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& errors_;
};

}  // namespace

Result<std::string> Generate(const std::vector<Program>& programs, const Target& target, Emit emit,
                             BuildTimes* times) {
  if (target.kind() != TargetKind::kLlvm) {
    return Unsupported("no code generator for target kind " + target.kind_name());
  }
  BuildTimes unwanted;
  BuildTimes& spent = times != nullptr ? *times : unwanted;
  auto start = SteadyClock::now();
  const Result<CpuFeatures> features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  Result<std::unique_ptr<llvm::TargetMachine>> machine = cpu::MakeTargetMachine(target);
  TW_RETURN_IF_ERROR(machine);

  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  llvm::Module module("tilewright", context);
  module.setTargetTriple((*machine)->getTargetTriple().str());
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  const bool x86 = (*machine)->getTargetTriple().isX86();
  for (const Program& program : programs) {
    TW_RETURN_IF_ERROR(cpu::EmitKernel(program, *features, x86, module));
  }
  llvm::raw_string_ostream broken(errors);
  if (llvm::verifyModule(module, &broken)) return Internal("LLVM refuses the code: " + errors);
  spent.ir_seconds += SecondsSince(start);

  start = SteadyClock::now();
  cpu::Optimize(module, **machine, *features);
  spent.optimize_seconds += SecondsSince(start);
  if (emit == Emit::kLlvmIr) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  start = SteadyClock::now();
  Result<std::string> code = cpu::EmitMachineCode(module, **machine, emit == Emit::kAssembly);
  spent.codegen_seconds += SecondsSince(start);
  if (!errors.empty()) return Internal("LLVM: " + errors);
  return code;
}

}  // namespace tilewright
