// Converts statements to LLVM: loops are kept, unrolled or vectorized according to their kind, and
// small local buffers get a register for each slot.

#include <algorithm>
#include <bit>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/loops.h"
#include "src/ir/open_loop.h"

namespace tilewright::emit {
namespace {

// Maximum number of registers for a fully unrolled vector loop; a longer one stays a loop.
constexpr std::int64_t kMaxChunks = 16;

/// Returns the bytes of the widest element that a vector of the body loads or stores. Wider
/// intermediate results (the 64-bit products of a requantization) take several registers.
std::int64_t WidestBytes(const Expr& expr) {
  if (expr->kind == ExprKind::kLoad) return expr->buffer->dtype.bytes();
  std::int64_t bytes = 1;
  if (!expr->dtype.is_bool() && !IsIndexExpr(expr)) {
    bytes = std::min<std::int64_t>(4, expr->dtype.bytes());
  }
  if (expr->dtype == kFloat64) bytes = 8;
  for (const Expr& arg : expr->args) bytes = std::max(bytes, WidestBytes(arg));
  return bytes;
}

std::int64_t WidestBytes(const Stmt& stmt) {
  std::int64_t bytes = 1;
  if (stmt->kind == StmtKind::kStore) {
    bytes = std::max(stmt->buffer->dtype.bytes(), WidestBytes(stmt->value));
  }
  if (stmt->condition) bytes = std::max(bytes, WidestBytes(stmt->condition));
  for (const Stmt& child : stmt->body) bytes = std::max(bytes, WidestBytes(child));
  return bytes;
}

std::int64_t Attribute(const Stmt& stmt, const char* name, std::int64_t fallback) {
  const auto found = stmt->attributes.find(name);
  return found == stmt->attributes.end() ? fallback : found->second;
}

}  // namespace

llvm::Type* ScalarType(llvm::LLVMContext& context, DataType dtype) {
  if (!dtype.is_float()) return llvm::Type::getIntNTy(context, dtype.is_bool() ? 1 : dtype.bits);
  // bfloat16 has conversions only (EmitCast): not every LLVM target knows the type.
  if (dtype == kBFloat16) return llvm::Type::getInt16Ty(context);
  switch (dtype.bits) {
    case 16:
      return llvm::Type::getHalfTy(context);
    case 32:
      return llvm::Type::getFloatTy(context);
    default:
      return llvm::Type::getDoubleTy(context);
  }
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DataType dtype) {
  return dtype.is_bool() ? llvm::Type::getInt8Ty(context) : ScalarType(context, dtype);
}

FunctionEmitter::FunctionEmitter(KernelContext& kernel, llvm::Function* function)
    : kernel_(kernel),
      context_(function->getContext()),
      function_(function),
      builder_(function->getContext()),
      indexer_(builder_, kernel.index_type(), [this](const Expr& expr) -> llvm::Value* {
        Value* value = EmitExpr(expr);
        return IsVector(value) ? nullptr : value;
      }) {
  entry_ = NewBlock("entry");
  llvm::BasicBlock* start = NewBlock("start");
  builder_.SetInsertPoint(entry_);
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
  indexer_.PushScope(entry_);
}

void FunctionEmitter::Finish() {
  if (multiplies_tiles_) builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  if (on_gpu()) {
    builder_.CreateRetVoid();
  } else if (result_ == nullptr) {
    builder_.CreateRet(builder_.getInt32(0));
  } else {
    builder_.CreateRet(builder_.CreateLoad(builder_.getInt32Ty(), result_));
  }
}

llvm::BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::IRBuilder<> FunctionEmitter::EntryBuilder() {
  return llvm::IRBuilder<>(entry_, entry_->begin());
}

void FunctionEmitter::Emit(const Stmt& stmt) {
  if (!kernel_.status.ok()) return;
  switch (stmt->kind) {
    case StmtKind::kBlock:
      for (const Stmt& child : stmt->body) Emit(child);
      return;
    case StmtKind::kFor:
      return EmitFor(stmt);
    case StmtKind::kStore:
      return EmitStore(stmt);
    case StmtKind::kIf:
      return EmitIf(stmt);
    case StmtKind::kAllocate:
      return EmitAllocate(stmt);
    case StmtKind::kCopy:
      return EmitCopy(stmt);
    case StmtKind::kIntrinsic:
      return EmitIntrinsic(stmt);
    case StmtKind::kLibraryCall:
      return EmitLibraryCall(stmt);
    case StmtKind::kBarrier:
      return EmitBarrier();
    case StmtKind::kPrefetch:
      return EmitPrefetch(stmt);
  }
}

bool FunctionEmitter::ShouldUnroll(const Stmt& stmt) const {
  if (stmt->loop == LoopKind::kUnrolled || kernel_.plan.unrolled.contains(stmt.get())) return true;
  if (stmt->loop == LoopKind::kVirtualThread && on_gpu()) return true;
  if (stmt->loop != LoopKind::kSerial || unroll_steps_ <= 0) return false;
  return CountSteps(stmt, unroll_steps_ + 1) <= unroll_steps_;
}

void FunctionEmitter::EmitFor(const Stmt& stmt) {
  if (stmt->extent <= 0) return;
  if (IsLet(*stmt)) return EmitLet(stmt);
  const std::int64_t outer_steps = unroll_steps_;
  unroll_steps_ = Attribute(stmt, "auto_unroll_max_step", outer_steps);
  // Not unrolled here: ptxas may unroll the remaining loops.
  if (Attribute(stmt, "unroll_explicit", 1) == 0) unroll_steps_ = 0;
  if (on_gpu() && EmitBound(stmt)) {
    // No loop remains.
  } else if (stmt->extent == 1 || (!stmt->value && ShouldUnroll(stmt))) {
    EmitUnrolled(stmt);
  } else if (stmt->loop == LoopKind::kVectorized && lanes_ == 0) {
    EmitVectorized(stmt);
  } else if (stmt->loop == LoopKind::kParallel && parallel_ != nullptr && lanes_ == 0) {
    EmitParallel(stmt);
  } else if (stmt->loop == LoopKind::kSerial || stmt->loop == LoopKind::kVectorized ||
             stmt->loop == LoopKind::kParallel) {
    EmitSerial(stmt);
  } else {
    kernel_.Fail(Unsupported("loop " + stmt->var->name + " is bound to a GPU index, in CPU code"));
  }
  unroll_steps_ = outer_steps;
}

void FunctionEmitter::EmitSerial(const Stmt& stmt) {
  Value* end = indexer_.Constant(stmt->extent);
  if (stmt->value) end = builder_.CreateTrunc(EmitCount(stmt), indexer_.type());
  LoopBetween(indexer_.Constant(0), end, {0, stmt->extent - 1}, stmt->var->name, [&](int atom) {
    indexer_.Bind(stmt->var, Linear::Atom(atom));
    Emit(stmt->body[0]);
  });
}

llvm::Value* FunctionEmitter::EmitCount(const Stmt& stmt) {
  if (!stmt->value) return builder_.getInt64(static_cast<std::uint64_t>(stmt->extent));
  memo_.clear();
  return EmitExpr(stmt->value);
}

void FunctionEmitter::EmitLet(const Stmt& stmt) {
  memo_.clear();
  Value* value = builder_.CreateTrunc(EmitExpr(stmt->indices[0]), indexer_.type());
  llvm::BasicBlock* prelude = NewBlock("let");
  llvm::BasicBlock* inside = NewBlock("body");
  builder_.CreateBr(prelude);
  builder_.SetInsertPoint(prelude);
  builder_.CreateBr(inside);
  builder_.SetInsertPoint(inside);
  memo_.clear();
  indexer_.PushScope(prelude);
  indexer_.Bind(stmt->var, Linear::Atom(indexer_.AddAtom(value, {0, stmt->extent - 1})));
  Emit(stmt->body[0]);
  indexer_.PopScope();
  memo_.clear();
}

void FunctionEmitter::EmitRange(const Stmt& stmt, Value* begin, Value* end) {
  EmitGuarded(builder_.CreateICmpSLT(begin, end), [&] {
    LoopBetween(begin, end, {0, stmt->extent - 1}, stmt->var->name, [&](int atom) {
      indexer_.Bind(stmt->var, Linear::Atom(atom));
      Emit(stmt->body[0]);
    });
  });
}

void FunctionEmitter::EmitUnrolled(const Stmt& stmt) {
  if (EmitPair(stmt)) return;
  auto outer = std::move(transposition_);
  FindTransposition(stmt);
  for (std::int64_t i = 0; i < stmt->extent && kernel_.status.ok(); ++i) {
    if (transposition_) transposition_->step = i;
    indexer_.Bind(stmt->var, Linear::Constant(i));
    Emit(stmt->body[0]);
  }
  transposition_ = std::move(outer);
}

void FunctionEmitter::EmitVectorized(const Stmt& stmt) {
  const std::int64_t native =
      std::max<std::int64_t>(1, kernel_.vector_bytes() / WidestBytes(stmt->body[0]));
  const std::int64_t full = stmt->extent / native;
  std::int64_t done = 0;
  if (full > kMaxChunks) {
    LoopBetween(indexer_.Constant(0), indexer_.Constant(full), {0, full - 1}, stmt->var->name,
                [&](int atom) {
                  EmitChunk(stmt, AddScaled(Linear{}, Linear::Atom(atom), native),
                            static_cast<int>(native));
                });
    done = full * native;
  }
  std::int64_t lanes = native;
  const bool any_lanes = TakesAnyLanes(stmt, done + (stmt->extent - done) / native * native);
  while (done < stmt->extent) {
    if (any_lanes) lanes = std::min(lanes, stmt->extent - done);
    while (lanes > stmt->extent - done) lanes /= 2;
    EmitChunk(stmt, Linear::Constant(done), static_cast<int>(lanes));
    done += lanes;
  }
}

/// Returns true if the remainder of a vector loop can be one vector of this many lanes, the first
/// ones of a register: float32 loads, stores, additions and products, row by row. LLVM widens such
/// vectors; memory is accessed with masks (MaskOfRest).
bool FunctionEmitter::TakesAnyLanes(const Stmt& stmt, std::int64_t done) {
  const std::int64_t rest = stmt->extent - done;
  const Stmt& body = stmt->body[0];
  if (on_gpu() || !kernel_.features.avx512 || mask_ != nullptr || rest < 3 ||
      std::has_single_bit(static_cast<std::uint64_t>(rest)) || body->kind != StmtKind::kStore ||
      body->buffer->dtype != kFloat32) {
    return false;
  }
  Linear first = Linear::Constant(done);
  first.lane = 1;
  lanes_ = static_cast<int>(rest);
  lane_var_ = stmt->var;
  indexer_.set_lanes(lanes_);
  indexer_.Bind(stmt->var, std::move(first));
  const bool takes = LiesInRow(*body->buffer, body->indices) && MovesInRows(body->value);
  lanes_ = 0;
  indexer_.set_lanes(0);
  return takes;
}

bool FunctionEmitter::MovesInRows(const Expr& expr) {
  if (expr->dtype != kFloat32) return false;
  switch (expr->kind) {
    case ExprKind::kFloat:
      return true;
    case ExprKind::kLoad:
      return LiesInRow(*expr->buffer, expr->args);
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
      return MovesInRows(expr->args[0]) && MovesInRows(expr->args[1]);
    default:
      return false;
  }
}

bool FunctionEmitter::LiesInRow(const BufferNode& buffer, const std::vector<Expr>& indices) {
  if (!std::ranges::all_of(indices, IsIndexExpr)) return false;
  const std::optional<Linear> index = Flatten(buffer, indices);
  return index && (index->lane == 0 || index->lane == 1);
}

void FunctionEmitter::EmitChunk(const Stmt& stmt, Linear first, int lanes) {
  if (lanes > 1) {
    lanes_ = lanes;
    lane_var_ = stmt->var;
    lane_first_ = first;
    first.lane = 1;
    indexer_.set_lanes(lanes);
  }
  indexer_.Bind(stmt->var, std::move(first));
  Emit(stmt->body[0]);
  lanes_ = 0;
  indexer_.set_lanes(0);
}

void FunctionEmitter::EmitIf(const Stmt& stmt) {
  memo_.clear();
  Value* condition = EmitExpr(stmt->condition);
  const bool has_else = stmt->body.size() > 1 && stmt->body[1];
  if (const auto* known = llvm::dyn_cast<llvm::Constant>(condition)) {
    if (known->isAllOnesValue()) return Emit(stmt->body[0]);
    if (known->isNullValue()) {
      if (has_else) Emit(stmt->body[1]);
      return;
    }
  }
  if (IsVector(condition)) {
    Value* outer = mask_;
    mask_ = AndMask(condition);
    Emit(stmt->body[0]);
    mask_ = outer;
    if (!has_else) return;
    mask_ = AndMask(builder_.CreateNot(condition));
    Emit(stmt->body[1]);
    mask_ = outer;
    return;
  }
  EmitGuarded(condition, [&] { Emit(stmt->body[0]); });
  if (has_else) EmitGuarded(builder_.CreateNot(condition), [&] { Emit(stmt->body[1]); });
}

void FunctionEmitter::EmitAllocate(const Stmt& stmt) {
  const BufferNode& buffer = *stmt->buffer;
  const Storage& storage = kernel_.plan.storage.at(&buffer);
  const bool known = bases_.contains(&buffer);  // set by another iteration of an unrolled loop
  if (storage.place == StorageClass::kShared && !known) {
    bases_[&buffer] = AllocateShared(buffer);
  } else if (storage.place == StorageClass::kStack && !known) {
    auto* type = llvm::ArrayType::get(
        MemoryType(context_, buffer.dtype),
        static_cast<std::uint64_t>(std::max<std::int64_t>(1, buffer.elements())));
    llvm::AllocaInst* memory = EntryBuilder().CreateAlloca(type, nullptr, buffer.name);
    memory->setAlignment(llvm::Align(64));
    bases_[&buffer] = memory;
  }
  Emit(stmt->body[0]);
}

void FunctionEmitter::EmitStore(const Stmt& stmt) {
  memo_.clear();
  const BufferNode& buffer = *stmt->buffer;
  Value* value = ToMemory(EmitExpr(stmt->value), buffer.dtype);
  std::optional<Linear> index = Flatten(buffer, stmt->indices);
  if (lanes_ > 0 && (!index || (index->lane != 0 && index->lane != 1))) {
    return Scatter(buffer, stmt->indices, ToVector(value));
  }
  if (!index) return kernel_.Fail(Internal("index of " + buffer.name + " is not a scalar"));
  if (lanes_ > 0 && index->lane == 1) return StoreVector(buffer, *index, ToVector(value));
  // All lanes write one element: the last value remains.
  if (IsVector(value)) value = builder_.CreateExtractElement(value, lanes_ - 1);
  auto store = [&] {
    builder_.CreateAlignedStore(value, AddressOf(buffer, *index), AlignmentOf(buffer, *index));
  };
  if (mask_ == nullptr) return store();
  EmitGuarded(builder_.CreateOrReduce(mask_), store);
}

void FunctionEmitter::EmitPrefetch(const Stmt& stmt) {
  memo_.clear();
  std::optional<Linear> index = Flatten(*stmt->buffer, stmt->indices);
  if (!index) return;  // only a hint
  Value* address = AddressOf(*stmt->buffer, *index);
  const std::int64_t locality = std::clamp<std::int64_t>(Attribute(stmt, "locality", 3), 0, 3);
  builder_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {address->getType()},
      {address, builder_.getInt32(0), builder_.getInt32(static_cast<std::uint32_t>(locality)),
       builder_.getInt32(1)});
}

}  // namespace tilewright::emit
