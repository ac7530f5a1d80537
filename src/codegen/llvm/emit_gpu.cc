// Code that only GPUs have: grid and block indices, shared memory, barriers.

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <iterator>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/nvptx/dp4a.h"
#include "src/codegen/nvptx/shared_memory.h"
#include "src/ir/index_width.h"
#include "src/schedule/launch.h"

namespace tilewright::emit {
namespace {

/// Instructions that read an index.
struct IndexRegister {
  LoopKind loop;
  llvm::Intrinsic::ID nvptx, amdgpu;
};
constexpr IndexRegister kIndexRegisters[] = {
    {LoopKind::kBlockX, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
     llvm::Intrinsic::amdgcn_workgroup_id_x},
    {LoopKind::kBlockY, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
     llvm::Intrinsic::amdgcn_workgroup_id_y},
    {LoopKind::kBlockZ, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z,
     llvm::Intrinsic::amdgcn_workgroup_id_z},
    {LoopKind::kThreadX, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x,
     llvm::Intrinsic::amdgcn_workitem_id_x},
    {LoopKind::kThreadY, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y,
     llvm::Intrinsic::amdgcn_workitem_id_y},
    {LoopKind::kThreadZ, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z,
     llvm::Intrinsic::amdgcn_workitem_id_z},
};

}  // namespace

llvm::IntegerType* KernelContext::index_type() const {
  // Half the range of 32 bits: an index may exceed the buffer before its guard applies.
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  const bool small = std::ranges::all_of(
      plan.storage, [](const auto& placed) { return placed.first->bytes() <= kMaxBytes; });
  const bool narrow =
      (on_gpu() || machine == Machine::kArm32) && small && !LeavesInt32(program.body);
  return llvm::IntegerType::get(module.getContext(), narrow ? 32 : 64);
}

/// Emits the body of a loop bound to an index once, with the index as loop variable. Returns false
/// if the loop is not bound.
bool FunctionEmitter::EmitBound(const Stmt& stmt) {
  const auto* found = std::ranges::find(kIndexRegisters, stmt->loop, &IndexRegister::loop);
  if (found == std::end(kIndexRegisters)) return false;
  const llvm::Intrinsic::ID id = kernel_.machine == Machine::kAmdgpu ? found->amdgpu : found->nvptx;
  llvm::IRBuilder<> entry(entry_->getTerminator());
  Value* index = entry.CreateZExt(entry.CreateIntrinsic(id, {}, {}), indexer_.type());
  const int atom = indexer_.AddAtom(index, {0, stmt->extent - 1});
  indexer_.Bind(stmt->var, Linear::Atom(atom));
  Emit(stmt->body[0]);
  return true;
}

void FunctionEmitter::EmitBarrier() {
  if (!on_gpu()) return kernel_.Fail(Unsupported("barrier in CPU code"));
  memo_.clear();
  if (kernel_.machine == Machine::kNvptx) {
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    return;
  }
  // AMD's instruction orders no memory accesses.
  const llvm::SyncScope::ID block = context_.getOrInsertSyncScopeID("workgroup");
  builder_.CreateFence(llvm::AtomicOrdering::Release, block);
  builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  builder_.CreateFence(llvm::AtomicOrdering::Acquire, block);
}

/// Emits the GPU's instruction for four products, lane by lane. Returns null if it has none.
llvm::Value* FunctionEmitter::EmitGpuDot4(Value* acc, Value* a, Value* b, int lanes,
                                          bool a_signed) {
  const bool is_nvidia = kernel_.machine == Machine::kNvptx;
  if (!is_nvidia && kernel_.byte_dot == amdgpu::ByteDot::kNone) return nullptr;
  llvm::Type* integer = builder_.getInt32Ty();
  auto* type = llvm::FunctionType::get(integer, {integer, integer, integer}, false);
  // LLVM has no intrinsic for it.
  llvm::InlineAsm* dp4a =
      llvm::InlineAsm::get(type, a_signed ? nvptx::kDp4aSigned : nvptx::kDp4aUnsigned, "=r,r,r,r",
                           /*hasSideEffects=*/false);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* x = builder_.CreateExtractElement(a, lane);
    Value* y = builder_.CreateExtractElement(b, lane);
    Value* sum = builder_.CreateExtractElement(acc, lane);
    sum = is_nvidia ? builder_.CreateCall(dp4a, {x, y, sum})
                    : amdgpu::EmitDot(builder_, kernel_.byte_dot, sum, x, y, a_signed);
    acc = builder_.CreateInsertElement(acc, sum, lane);
  }
  return acc;
}

llvm::Value* FunctionEmitter::AllocateShared(const BufferNode& buffer) {
  auto* type = llvm::ArrayType::get(
      MemoryType(context_, buffer.dtype),
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, buffer.elements())));
  auto* memory = new llvm::GlobalVariable(
      kernel_.module, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::PoisonValue::get(type), kernel_.program.name + "." + buffer.name, nullptr,
      llvm::GlobalValue::NotThreadLocal, nvptx::kSharedSpace);
  memory->setAlignment(llvm::Align(kSharedAlignment));
  if (kernel_.plan.shared_bytes > kStaticSharedBytes) {
    nvptx::MarkDynamic(*memory, kernel_.program.name, kernel_.plan.storage.at(&buffer).offset);
  }
  return memory;
}

}  // namespace tilewright::emit
