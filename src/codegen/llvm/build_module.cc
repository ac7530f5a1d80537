#include "src/codegen/llvm/build_module.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "src/codegen/backend.h"
#include "src/codegen/llvm/passes.h"

namespace tilewright::emit {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Collector of LLVM's diagnostics, which LLVM would otherwise print before it exits.
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

Result<std::unique_ptr<BuiltModule>> BuildModule(const std::vector<Program>& programs,
                                                 const Target& target, BuildTimes& spent) {
  auto start = SteadyClock::now();
  TW_ASSIGN_OR_RETURN(const auto backend, BackendFor(target));
  const Backend& device = *backend;
  TW_ASSIGN_OR_RETURN(const auto features, device.features(target));
  auto built = std::make_unique<BuiltModule>();
  TW_ASSIGN_OR_RETURN(built->machine, device.make_machine(target));
  built->context.setDiagnosticHandler(std::make_unique<Diagnostics>(built->errors));
  built->module = std::make_unique<llvm::Module>("tilewright", built->context);
  llvm::Module& module = *built->module;
  module.setTargetTriple(built->machine->getTargetTriple().str());
  module.setDataLayout(built->machine->createDataLayout());
  if (device.position_independent) module.setPICLevel(llvm::PICLevel::BigPIC);
  for (const Program& program : programs) {
    TW_RETURN_IF_ERROR(device.emit(program, target, features, *built->machine, module));
  }
  llvm::raw_string_ostream broken(built->errors);
  if (llvm::verifyModule(module, &broken)) {
    return Internal("LLVM refuses the code: " + built->errors);
  }
  spent.ir_seconds += SecondsSince(start);

  start = SteadyClock::now();
  Optimize(module, *built->machine, features);
  spent.optimize_seconds += SecondsSince(start);
  return built;
}

}  // namespace tilewright::emit
