#include "src/codegen/gpu/launches.h"

#include <llvm/IR/Constants.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>

#include <algorithm>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/kernel.h"
#include "src/codegen/llvm/target_machine.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/launch.h"
#include "src/schedule/workspace_images.h"
#include "src/target/gpu.h"

namespace tilewright::nvptx {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

/// Declares the fixed block size of a kernel, from which ptxas derives the number of registers.
void RequireBlock(const Launch& launch, llvm::Function* kernel) {
  llvm::LLVMContext& context = kernel->getContext();
  llvm::NamedMDNode* annotations =
      kernel->getParent()->getOrInsertNamedMetadata("nvvm.annotations");
  constexpr const char* kNames[] = {"reqntidx", "reqntidy", "reqntidz"};
  for (std::size_t i = 0; i < 3; ++i) {
    llvm::Constant* extent = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context),
                                                    static_cast<std::uint64_t>(launch.block[i]));
    annotations->addOperand(llvm::MDNode::get(
        context, {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context, kNames[i]),
                  llvm::ValueAsMetadata::get(extent)}));
  }
}

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

Status EmitLaunch(const Launch& launch, const Program& part, llvm::Module& module) {
  const CpuFeatures features;
  const LaunchLimits limits;
  TW_ASSIGN_OR_RETURN(
      const auto plan,
      emit::PlanStorage(part, {.register_bytes = limits.registers_per_thread * 4, .gpu = true}));
  emit::KernelContext kernel{module, part, features, plan, emit::Machine::kNvptx};
  llvm::LLVMContext& context = module.getContext();
  const std::vector<llvm::Type*> types(part.parameters.size(), llvm::PointerType::get(context, 0));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, part.name, module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  RequireBlock(launch, function);
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

Result<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  emit::InitializeBackEnds();
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (back_end == nullptr) return Unsupported("LLVM without NVPTX: " + error);
  const std::string device = "sm_" + std::to_string(capability);
  // sm_75's matrix products came with PTX 6.5; LLVM would write 6.3.
  const char* features = capability == 75 ? "+ptx65" : "";
  std::unique_ptr<llvm::TargetMachine> machine(
      back_end->createTargetMachine(kTriple, device, features, llvm::TargetOptions(), std::nullopt,
                                    std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return Unsupported("no code generator for NVPTX");
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(device)) {
    return Unsupported("-arch=" + device + ": LLVM does not support this device");
  }
  return machine;
}

Status EmitLaunches(const Program& program, const Target& target, llvm::Module& module) {
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
    TW_RETURN_IF_ERROR(EmitLaunch(launch, part, module));
  }
  return {};
}

}  // namespace tilewright::nvptx
