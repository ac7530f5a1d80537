// Backend for machine code of processors; see src/codegen/backend.h.

#include "src/codegen/backend.h"

#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>

#include "src/codegen/llvm/kernel.h"
#include "src/codegen/llvm/target_machine.h"
#include "src/ir/visit.h"

namespace tilewright::emit {
namespace {

Machine MachineOf(const llvm::Triple& triple) {
  if (triple.isX86()) return Machine::kX86;
  if (triple.isAArch64()) return Machine::kArm64;
  return triple.isARM() ? Machine::kArm32 : Machine::kOtherCpu;
}

/// Returns true if a value in the statement or a nested one is float16.
bool HasHalf(const Stmt& stmt) {
  bool half = false;
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    half = half || AnyNode(expr, [](const Expr& node) { return node.dtype() == kFloat16; });
  });
  return half || std::ranges::any_of(stmt->body, HasHalf);
}

/// Errors: kUnsupported if the program has float16 and the CPU cannot convert it: LLVM would call
/// the compiler's library, which kernels are not linked with.
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

Status EmitForCpu(const Program& program, const Target& /*target*/, const CpuFeatures& features,
                  const llvm::TargetMachine& machine, llvm::Module& module) {
  const Machine kind = MachineOf(machine.getTargetTriple());
  TW_RETURN_IF_ERROR(CheckHalf(program, machine, kind));
  return EmitKernel(program, features, kind, module);
}

}  // namespace

const Backend kBackend = {.features = &FeaturesOf,
                          .make_machine = &MakeTargetMachine,
                          .emit = &EmitForCpu,
                          .finish = nullptr,
                          .position_independent = true};

}  // namespace tilewright::emit
