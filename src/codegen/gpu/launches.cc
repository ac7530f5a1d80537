#include "src/codegen/gpu/launches.h"

#include <llvm/IR/DerivedTypes.h>

#include <algorithm>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/kernel.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/launch.h"
#include "src/schedule/workspace_images.h"
#include "src/target/gpu.h"

namespace tilewright::gpu {
namespace {

/// Rejects unsupported instructions: LLVM would abort the process.
Status CheckCapability(const Stmt& stmt, int capability) {
  int needed = IsAsyncCopy(*stmt) ? kAsyncCopyCapability : 0;
  if (stmt->kind == StmtKind::kIntrinsic) {
    const MmaIntrinsic* mma = FindMmaIntrinsic(stmt->name);
    if (mma != nullptr) needed = mma->capability;
  }
  if (needed > capability) {
    return Unsupported((stmt->name.empty() ? "asynchronous copies" : stmt->name) +
                       std::string(" on sm_") + std::to_string(capability) +
                       ", expected at least sm_" + std::to_string(needed));
  }
  for (const Stmt& part : stmt->body) TW_RETURN_IF_ERROR(CheckCapability(part, capability));
  return {};
}

bool Writes(const Stmt& stmt, const BufferNode& buffer) {
  if (stmt->kind == StmtKind::kStore && stmt->buffer.get() == &buffer) return true;
  const bool first = !stmt->regions.empty() && stmt->regions[0].buffer.get() == &buffer;
  return first ||
         std::ranges::any_of(stmt->body, [&](const Stmt& part) { return Writes(part, buffer); });
}

Status EmitLaunch(const Launch& launch, const Program& part, const KernelForm& form,
                  llvm::Module& module) {
  const CpuFeatures features;
  const LaunchLimits limits;
  TW_ASSIGN_OR_RETURN(
      const auto plan,
      emit::PlanStorage(part, {.register_bytes = limits.registers_per_thread * 4, .gpu = true}));
  emit::KernelContext kernel{module, part, features, plan, form.machine};
  kernel.byte_dot = form.byte_dot;
  llvm::LLVMContext& context = module.getContext();
  const std::vector<llvm::Type*> types(part.parameters.size(),
                                       llvm::PointerType::get(context, form.parameter_space));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, part.name, module);
  function->setDoesNotThrow();
  form.describe(launch.block, *function);
  emit::FunctionEmitter emitter(kernel, function);
  for (std::size_t i = 0; i < part.parameters.size(); ++i) {
    llvm::Argument* argument = function->getArg(static_cast<unsigned>(i));
    emit::DescribeBufferArgument(kernel, *part.parameters[i], *argument);
    // Buffers that only another launch writes are read through the constant cache, as inputs are.
    if (!Writes(part.body, *part.parameters[i])) argument->addAttr(llvm::Attribute::ReadOnly);
    emitter.SetBase(part.parameters[i].get(), argument);
  }
  emitter.EmitBody(part.body);
  emitter.Finish();
  return kernel.status.WithContext(part.name);
}

}  // namespace

Status EmitLaunches(const Program& program, const Target& target, const KernelForm& form,
                    llvm::Module& module) {
  if (!program.body) return InvalidArgument(program.name + ": no body");
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  TW_RETURN_IF_ERROR(CheckCapability(program.body, capability).WithContext(program.name));
  const LaunchPlan plan = PlanLaunches(program);
  TW_ASSIGN_OR_RETURN(const auto images, WorkspaceImagesOf(program, plan));
  Program part = program;
  part.parameters.insert(part.parameters.end(), plan.workspace.begin(), plan.workspace.end());
  part.output_count += static_cast<int>(plan.workspace.size());
  for (const Launch& launch : plan.launches) {
    if (launch.library() != nullptr) continue;  // the launcher of the other kernels calls it
    if (module.getFunction(launch.name) != nullptr) {
      return InvalidArgument("two programs are named " + launch.name);
    }
    part.name = launch.name;
    part.body = WithImageBounds(launch.body, images);
    TW_RETURN_IF_ERROR(EmitLaunch(launch, part, form, module));
  }
  return {};
}

}  // namespace tilewright::gpu
