#pragma once

#include "src/codegen/llvm/function_emitter.h"

namespace tilewright::emit {

/// Emits a loop over [begin, end) with at least one iteration. `body(atom)` emits one iteration in
/// a new scope; `atom` represents the loop variable, whose values are in `range`.
template <typename Body>
void FunctionEmitter::LoopBetween(Value* begin, Value* end, Range range, const std::string& name,
                                  Body body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* prelude = NewBlock("loop");
  llvm::BasicBlock* inside = NewBlock("body");
  builder_.CreateBr(prelude);
  builder_.SetInsertPoint(prelude);
  llvm::PHINode* variable = builder_.CreatePHI(indexer_.type(), 2, name);
  variable->addIncoming(begin, before);
  builder_.CreateBr(inside);
  builder_.SetInsertPoint(inside);

  indexer_.PushScope(prelude);
  body(indexer_.AddAtom(variable, range));
  indexer_.PopScope();

  Value* next = builder_.CreateAdd(variable, indexer_.Constant(1), "next", true, true);
  variable->addIncoming(next, builder_.GetInsertBlock());
  llvm::BasicBlock* after = NewBlock("after");
  builder_.CreateCondBr(builder_.CreateICmpNE(next, end), prelude, after);
  builder_.SetInsertPoint(after);
}

/// Runs the code that `then` emits only if the scalar `condition` is true.
template <typename Then>
void FunctionEmitter::EmitGuarded(Value* condition, Then then) {
  llvm::BasicBlock* inside = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("join");
  builder_.CreateCondBr(condition, inside, after);
  builder_.SetInsertPoint(inside);
  then();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

template <typename Body>
void FunctionEmitter::ForEachLane(Body body) {
  const int lanes = lanes_;
  Value* mask = mask_;
  auto memo = std::move(memo_);
  lanes_ = 0;
  mask_ = nullptr;
  indexer_.set_lanes(0);
  for (int lane = 0; lane < lanes; ++lane) {
    memo_.clear();
    Linear value = lane_first_;
    value.constant += lane;
    indexer_.Bind(lane_var_, std::move(value));
    body(lane, mask == nullptr ? nullptr : builder_.CreateExtractElement(mask, lane));
  }
  lanes_ = lanes;
  mask_ = mask;
  indexer_.set_lanes(lanes);
  Linear vector = lane_first_;
  vector.lane = 1;
  indexer_.Bind(lane_var_, std::move(vector));
  memo_ = std::move(memo);
}

}  // namespace tilewright::emit
