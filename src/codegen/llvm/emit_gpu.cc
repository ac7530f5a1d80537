// Code that only GPUs have: grid and block indices, shared memory, barriers.

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/nvptx/dp4a.h"
#include "src/codegen/nvptx/shared_memory.h"
#include "src/ir/index_width.h"
#include "src/schedule/launch.h"

namespace tilewright::emit {
namespace {

/// Returns the register of the index; not_intrinsic for loops that are not bound to one.
llvm::Intrinsic::ID IndexRegister(LoopKind kind) {
  switch (kind) {
    case LoopKind::kBlockX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x;
    case LoopKind::kBlockY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y;
    case LoopKind::kBlockZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z;
    case LoopKind::kThreadX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x;
    case LoopKind::kThreadY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y;
    case LoopKind::kThreadZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

}  // namespace

llvm::IntegerType* KernelContext::index_type() const {
  // Half the range of 32 bits: an index may exceed the buffer before its guard applies.
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  const bool small = std::ranges::all_of(
      plan.storage, [](const auto& placed) { return placed.first->bytes() <= kMaxBytes; });
  const bool narrow = (machine == Machine::kNvptx || machine == Machine::kArm32) && small &&
                      !LeavesInt32(program.body);
  return llvm::IntegerType::get(module.getContext(), narrow ? 32 : 64);
}

/// Emits the body of a loop bound to an index once, with the index as loop variable. Returns false
/// if the loop is not bound.
bool FunctionEmitter::EmitBound(const Stmt& stmt) {
  const llvm::Intrinsic::ID id = IndexRegister(stmt->loop);
  if (id == llvm::Intrinsic::not_intrinsic) return false;
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
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

/// Emits the GPU's instruction for four products, lane by lane; LLVM has no intrinsic for it.
llvm::Value* FunctionEmitter::EmitDp4a(Value* acc, Value* a, Value* b, int lanes, bool a_signed) {
  llvm::Type* integer = builder_.getInt32Ty();
  auto* type = llvm::FunctionType::get(integer, {integer, integer, integer}, false);
  llvm::InlineAsm* dp4a =
      llvm::InlineAsm::get(type, a_signed ? nvptx::kDp4aSigned : nvptx::kDp4aUnsigned, "=r,r,r,r",
                           /*hasSideEffects=*/false);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* sum = builder_.CreateCall(
        dp4a, {builder_.CreateExtractElement(a, lane), builder_.CreateExtractElement(b, lane),
               builder_.CreateExtractElement(acc, lane)});
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
