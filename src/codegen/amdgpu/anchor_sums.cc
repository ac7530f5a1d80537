#include "src/codegen/amdgpu/anchor_sums.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <utility>
#include <vector>

namespace tilewright::amdgpu {
namespace {

/// Returns true for arithmetic of one register whose only use is elsewhere in straight code.
bool MaySink(const llvm::Instruction& instruction) {
  const llvm::Type* type = instruction.getType();
  if (!type->isFloatTy() && !type->isIntegerTy(32)) return false;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  const bool sum = instruction.getOpcode() == llvm::Instruction::FAdd ||
                   instruction.getOpcode() == llvm::Instruction::Add ||
                   (call != nullptr && (call->getIntrinsicID() == llvm::Intrinsic::fma ||
                                        call->getIntrinsicID() == llvm::Intrinsic::fmuladd ||
                                        call->getIntrinsicID() == llvm::Intrinsic::amdgcn_sdot4 ||
                                        call->getIntrinsicID() == llvm::Intrinsic::amdgcn_sudot4));
  if (!sum || !instruction.hasOneUse()) return false;
  const auto* user = llvm::cast<llvm::Instruction>(*instruction.user_begin());
  return user->getParent() != instruction.getParent() && !llvm::isa<llvm::PHINode>(user);
}

bool IsBarrier(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::FenceInst>(instruction) || instruction.isTerminator();
}

/// Passes the sum through assembly without instructions at `place`, which cannot be moved.
void Anchor(llvm::Instruction& sum, llvm::Instruction& place) {
  llvm::IRBuilder<> at(&place);
  auto* type = llvm::FunctionType::get(sum.getType(), {sum.getType()}, false);
  llvm::CallInst* anchored =
      at.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", /*hasSideEffects=*/true), {&sum});
  sum.replaceUsesWithIf(anchored, [&](const llvm::Use& use) { return use.getUser() != anchored; });
}

}  // namespace

void AnchorSums(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    std::vector<std::pair<llvm::Instruction*, llvm::Instruction*>> anchors;
    std::vector<llvm::Instruction*> waiting;
    for (llvm::Instruction& instruction : block) {
      if (IsBarrier(instruction)) {
        for (llvm::Instruction* sum : waiting) anchors.emplace_back(sum, &instruction);
        waiting.clear();
      } else if (MaySink(instruction)) {
        waiting.push_back(&instruction);
      }
    }
    for (const auto& [sum, place] : anchors) Anchor(*sum, *place);
  }
}

bool IsAnchor(const llvm::CallBase& call) {
  const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  return assembly != nullptr && assembly->getAsmString().empty() && call.arg_size() == 1;
}

}  // namespace tilewright::amdgpu
