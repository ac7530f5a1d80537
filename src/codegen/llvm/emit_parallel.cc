// A parallel loop becomes two functions:
//
//   <kernel>.part(bases..., begin, end, outer variables...)   the iterations [begin, end)
//   <kernel>.start(closure, begin, end, worker)               a TwParallelBody: unpacks the closure
//
// The first one takes every buffer as a separate argument, which states to LLVM that they do not
// overlap. The closure is an array of 8-byte slots on the caller's stack.

#include <algorithm>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/kernel.h"
#include "src/codegen/llvm/loops.h"

namespace tilewright::emit {
namespace {

/// Collects variables used in `stmt`, in order of first use.
void CollectVars(const Expr& expr, std::vector<Expr>& vars) {
  if (expr->kind == ExprKind::kVar) {
    const bool known =
        std::any_of(vars.begin(), vars.end(), [&](const Expr& v) { return v.Same(expr); });
    if (!known) vars.push_back(expr);
  }
  for (const Expr& arg : expr->args) CollectVars(arg, vars);
}

void CollectVars(const Stmt& stmt, std::vector<Expr>& vars) {
  for (const Expr& index : stmt->indices) CollectVars(index, vars);
  if (stmt->value) CollectVars(stmt->value, vars);
  if (stmt->condition) CollectVars(stmt->condition, vars);
  for (const Region& region : stmt->regions) {
    for (const Expr& min : region.min) CollectVars(min, vars);
  }
  for (const Stmt& child : stmt->body) CollectVars(child, vars);
}

llvm::Value* SlotAddress(llvm::IRBuilder<>& builder, llvm::Value* base, std::size_t slot) {
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, slot * 8);
}

}  // namespace

void FunctionEmitter::SetCall(llvm::Value* workspace, llvm::Value* parallel) {
  workspace_ = workspace;
  parallel_ = parallel;
}

/// Emits the two functions for `stmt`; returns the TwParallelBody. Its closure contains the
/// workspace, the bases of `shared` and the values of `outer`.
llvm::Function* FunctionEmitter::EmitParallelBody(const Stmt& stmt, const std::vector<Expr>& outer,
                                                  const std::vector<const BufferNode*>& shared) {
  llvm::IRBuilder<> at(context_);
  const std::vector<const BufferNode*>& own = kernel_.plan.worker_buffers;
  std::vector<const BufferNode*> buffers = shared;
  buffers.insert(buffers.end(), own.begin(), own.end());
  std::vector<llvm::Type*> types(buffers.size(), at.getPtrTy());
  llvm::IntegerType* index = kernel_.index_type();
  types.insert(types.end(), 2 + outer.size(), index);
  llvm::Function* part = MakeInternalFunction(kernel_, kernel_.program.name + ".part", types);
  FunctionEmitter emitter(kernel_, part);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    DescribeBufferArgument(kernel_, *buffers[i], *part->getArg(static_cast<unsigned>(i)));
    emitter.SetBase(buffers[i], part->getArg(static_cast<unsigned>(i)));
  }
  unsigned next = static_cast<unsigned>(buffers.size());
  llvm::Value* begin = part->getArg(next++);
  llvm::Value* end = part->getArg(next++);
  for (const Expr& var : outer) {
    const Range range = indexer_.RangeOf(*indexer_.Find(var.get()));
    const int atom = emitter.indexer_.AddAtom(part->getArg(next++), range);
    emitter.indexer_.Bind(var, Linear::Atom(atom));
  }
  for (const auto& [var, value] : indexer_.bindings()) {
    if (value.is_constant()) emitter.indexer_.BindNode(var, value);
  }
  emitter.unroll_steps_ = unroll_steps_;
  emitter.EmitRange(stmt, begin, end);
  emitter.Finish();

  llvm::Function* start =
      MakeInternalFunction(kernel_, kernel_.program.name + ".start",
                           {at.getPtrTy(), at.getInt64Ty(), at.getInt64Ty(), at.getInt32Ty()});
  at.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", start));
  llvm::Value* closure = start->getArg(0);
  std::size_t slot = 0;
  auto load = [&](llvm::Type* type) {
    return at.CreateLoad(type, SlotAddress(at, closure, slot++));
  };
  llvm::Value* workspace = load(at.getPtrTy());
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < shared.size(); ++i) arguments.push_back(load(at.getPtrTy()));
  llvm::Value* worker = at.CreateSExt(start->getArg(3), at.getInt64Ty());
  const StoragePlan& plan = kernel_.plan;
  for (const BufferNode* buffer : own) {
    llvm::Value* offset = at.CreateAdd(
        at.CreateMul(worker,
                     at.getInt64(static_cast<std::uint64_t>(plan.workspace_bytes_per_thread))),
        at.getInt64(
            static_cast<std::uint64_t>(plan.workspace_bytes + plan.storage.at(buffer).offset)));
    arguments.push_back(at.CreateGEP(at.getInt8Ty(), workspace, offset));
  }
  for (unsigned bound : {1, 2}) {
    arguments.push_back(at.CreateTrunc(start->getArg(bound), index));
  }
  for (std::size_t i = 0; i < outer.size(); ++i) arguments.push_back(load(index));
  at.CreateRet(at.CreateCall(part, arguments));
  return start;
}

/// Stores the code; the function returns the first one that is not 0.
void FunctionEmitter::KeepCode(llvm::Value* code) {
  if (result_ == nullptr) {
    llvm::IRBuilder<> entry = EntryBuilder();
    result_ = entry.CreateAlloca(entry.getInt32Ty());
    entry.CreateStore(entry.getInt32(0), result_);
  }
  llvm::Value* first = builder_.CreateLoad(builder_.getInt32Ty(), result_);
  llvm::Value* none = builder_.CreateICmpEQ(first, builder_.getInt32(0));
  builder_.CreateStore(builder_.CreateSelect(none, code, first), result_);
}

void FunctionEmitter::EmitParallel(const Stmt& stmt) {
  std::vector<Expr> used, outer;
  CollectVars(stmt, used);
  for (const Expr& var : used) {
    const Linear* value = indexer_.Find(var.get());
    if (value != nullptr && !value->is_constant()) outer.push_back(var);
  }
  std::vector<const BufferNode*> shared;
  for (const Buffer& buffer : kernel_.program.parameters) shared.push_back(buffer.get());
  shared.insert(shared.end(), kernel_.plan.workspace_buffers.begin(),
                kernel_.plan.workspace_buffers.end());
  llvm::Function* start = EmitParallelBody(stmt, outer, shared);

  const std::size_t slots = 1 + shared.size() + outer.size();
  llvm::Value* closure =
      EntryBuilder().CreateAlloca(llvm::ArrayType::get(builder_.getInt64Ty(), slots));
  std::size_t slot = 0;
  auto store = [&](llvm::Value* value) {
    builder_.CreateStore(value, SlotAddress(builder_, closure, slot++));
  };
  store(workspace_);
  for (const BufferNode* buffer : shared) store(BaseOf(*buffer));
  for (const Expr& var : outer) store(indexer_.Materialize(*indexer_.Find(var.get())));

  llvm::Value* extent = EmitCount(stmt);
  llvm::Value* alone = builder_.CreateIsNull(parallel_);
  EmitGuarded(alone, [&] {
    KeepCode(
        builder_.CreateCall(start, {closure, builder_.getInt64(0), extent, builder_.getInt32(0)}));
  });
  EmitGuarded(builder_.CreateNot(alone), [&] {
    llvm::PointerType* pointer = builder_.getPtrTy();
    auto* parallel = llvm::StructType::get(pointer, pointer, builder_.getInt32Ty());  // TwParallel
    llvm::Value* context = builder_.CreateLoad(pointer, parallel_);
    llvm::Value* launch =
        builder_.CreateLoad(pointer, builder_.CreateStructGEP(parallel, parallel_, 1));
    auto* type = llvm::FunctionType::get(builder_.getInt32Ty(),
                                         {pointer, pointer, pointer, builder_.getInt64Ty()}, false);
    KeepCode(builder_.CreateCall(type, launch, {context, start, closure, extent}));
  });
}

}  // namespace tilewright::emit
