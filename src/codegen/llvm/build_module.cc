#include "src/codegen/llvm/build_module.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>

#include "src/codegen/llvm/kernel.h"
#include "src/codegen/llvm/passes.h"
#include "src/codegen/llvm/target_machine.h"
#include "src/codegen/nvptx/launches.h"
#include "src/ir/visit.h"
#include "src/target/cpu.h"

namespace tilewright::emit {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

Machine MachineOf(const llvm::Triple& triple) {
  if (triple.isX86()) return Machine::kX86;
  if (triple.isAArch64()) return Machine::kArm64;
  return triple.isARM() ? Machine::kArm32 : Machine::kOtherCpu;
}

/// Whether a value of the statement, or of one inside it, is float16.
bool HasHalf(const Stmt& stmt) {
  bool half = false;
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    ForEachNode(expr, [&](const Expr& node) { half = half || node.dtype() == kFloat16; });
  });
  return half || std::ranges::any_of(stmt->body, HasHalf);
}

/// Errors: kUnsupported if the program has float16 and the CPU cannot convert it: the compiler's
/// own library, which kernels are not linked with, would have to.
Status CheckHalf(const Program& program, const llvm::TargetMachine& machine, Machine kind) {
  const bool half =
      HasHalf(program.body) || std::ranges::any_of(program.parameters, [](const Buffer& buffer) {
        return buffer->dtype == kFloat16;
      });
  const char* feature = kind == Machine::kX86 ? "+f16c" : kind == Machine::kArm32 ? "+fp16" : "";
  if (!half || machine.getMCSubtargetInfo()->checkFeatures(feature)) return {};
  return Unsupported(program.name + ": float16 on a CPU without conversions to and from float32 (" +
                     feature + " in -mattr, or a newer -mcpu)");
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

Result<std::unique_ptr<BuiltModule>> BuildModule(const std::vector<Program>& programs,
                                                 const Target& target, BuildTimes& spent) {
  const bool gpu = target.kind() == TargetKind::kCuda;
  auto start = SteadyClock::now();
  // A GPU's vectors are those of its loads and stores: 16 bytes, as without any feature.
  const Result<CpuFeatures> features =
      gpu ? Result<CpuFeatures>(CpuFeatures()) : FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  auto built = std::make_unique<BuiltModule>();
  auto machine = gpu ? nvptx::MakeTargetMachine(target) : MakeTargetMachine(target);
  TW_RETURN_IF_ERROR(machine);
  built->machine = *std::move(machine);
  built->context.setDiagnosticHandler(std::make_unique<Diagnostics>(built->errors));
  built->module = std::make_unique<llvm::Module>("tilewright", built->context);
  llvm::Module& module = *built->module;
  module.setTargetTriple(built->machine->getTargetTriple().str());
  module.setDataLayout(built->machine->createDataLayout());
  if (!gpu) module.setPICLevel(llvm::PICLevel::BigPIC);
  const Machine kind = MachineOf(built->machine->getTargetTriple());
  for (const Program& program : programs) {
    if (!gpu) TW_RETURN_IF_ERROR(CheckHalf(program, *built->machine, kind));
    TW_RETURN_IF_ERROR(gpu ? nvptx::EmitLaunches(program, target, module)
                           : EmitKernel(program, *features, kind, module));
  }
  llvm::raw_string_ostream broken(built->errors);
  if (llvm::verifyModule(module, &broken)) {
    return Internal("LLVM refuses the code: " + built->errors);
  }
  spent.ir_seconds += SecondsSince(start);

  start = SteadyClock::now();
  Optimize(module, *built->machine, *features);
  spent.optimize_seconds += SecondsSince(start);
  return built;
}

}  // namespace tilewright::emit
