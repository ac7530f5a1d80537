// Loads whose lanes are far apart, but whose neighbours along an unrolled loop around the vector
// loop are adjacent: loads rows and transposes them in registers. A block of n x n takes n loads
// and n log2(n) shuffles; a gather takes n x n loads. Pairs of 16-bit elements are moved as one.

#include <bit>
#include <numeric>

#include "src/codegen/llvm/function_emitter.h"

namespace tilewright::emit {
namespace {

constexpr std::int64_t kMinBlock = 4;

bool IsBlock(std::int64_t extent) {
  return extent >= kMinBlock && std::has_single_bit(static_cast<std::uint64_t>(extent));
}

/// Returns true for an unrolled loop of two stores of 16-bit elements.
bool IsPair(const StmtNode& stmt) {
  return stmt.kind == StmtKind::kFor && stmt.loop == LoopKind::kUnrolled && stmt.extent == 2 &&
         stmt.body[0]->kind == StmtKind::kStore && stmt.body[0]->buffer->dtype.bytes() == 2;
}

/// Transposes n vectors of n elements: each step exchanges the off-diagonal blocks, of half the
/// size of the previous step.
void Transpose(llvm::IRBuilder<>& builder, std::vector<llvm::Value*>& rows) {
  const int n = static_cast<int>(rows.size());
  for (int half = n / 2; half > 0; half /= 2) {
    std::vector<int> upper, lower;
    for (int lane = 0; lane < n; ++lane) {
      const bool second = (lane & half) != 0;
      upper.push_back(second ? n + lane - half : lane);
      lower.push_back(second ? n + lane : lane + half);
    }
    for (int row = 0; row < n; ++row) {
      if ((row & half) != 0) continue;
      llvm::Value*& a = rows[static_cast<std::size_t>(row)];
      llvm::Value*& b = rows[static_cast<std::size_t>(row + half)];
      llvm::Value* first = builder.CreateShuffleVector(a, b, upper);
      b = builder.CreateShuffleVector(a, b, lower);
      a = first;
    }
  }
}

}  // namespace

/// Emits a loop of two stores inside of a vector loop whose elements are adjacent, those of all
/// lanes one after the other, as one store. Returns false for other loops.
bool FunctionEmitter::EmitPair(const Stmt& stmt) {
  if (lanes_ == 0 || mask_ != nullptr || on_gpu() || !IsPair(*stmt)) return false;
  const StmtNode& store = *stmt->body[0];
  indexer_.Bind(stmt->var, Linear::Constant(1));
  std::optional<Linear> second = Flatten(*store.buffer, store.indices);
  indexer_.Bind(stmt->var, Linear::Constant(0));
  const std::optional<Linear> first = Flatten(*store.buffer, store.indices);
  if (!first || !second || first->lane != 2) return false;
  second->constant -= 1;
  if (!(*first == *second)) return false;
  memo_.clear();
  Value* pairs =
      store.value->kind == ExprKind::kLoad ? PairedLoad(*store.value, stmt->var) : nullptr;
  if (pairs == nullptr) {
    std::vector<Value*> halves;
    for (int half = 0; half < 2; ++half) {
      memo_.clear();
      indexer_.Bind(stmt->var, Linear::Constant(half));
      halves.push_back(ToVector(EmitExpr(store.value)));
    }
    std::vector<int> order;
    for (int lane = 0; lane < lanes_; ++lane) order.insert(order.end(), {lane, lanes_ + lane});
    pairs = builder_.CreateShuffleVector(halves[0], halves[1], order);
  }
  builder_.CreateAlignedStore(pairs, AddressOf(*store.buffer, *first),
                              AlignmentOf(*store.buffer, *first));
  return true;
}

/// Returns the pairs of a load along the loop over `var` as one number for each lane; null if they
/// are not adjacent in memory.
llvm::Value* FunctionEmitter::PairedLoad(const ExprNode& load, const Expr& var) {
  indexer_.Bind(var, Linear::Constant(1));
  std::optional<Linear> second = Flatten(*load.buffer, load.args);
  indexer_.Bind(var, Linear::Constant(0));
  const std::optional<Linear> first = Flatten(*load.buffer, load.args);
  if (!first || !second || first->lane == 0 || first->lane == 1) return nullptr;
  second->constant -= 1;
  if (!(*first == *second)) return nullptr;
  return TransposedLoad(load, 2);
}

void FunctionEmitter::FindTransposition(const Stmt& stmt) {
  transposition_.reset();
  if (on_gpu() || lanes_ > 0 || !IsBlock(stmt->extent)) return;
  // Chunks follow each other without control flow, so the loads of one are available to the others.
  const StmtNode& inner = *stmt->body[0];
  if (inner.kind != StmtKind::kFor || inner.loop != LoopKind::kVectorized ||
      inner.extent > kernel_.features.float_lanes() ||
      (inner.body[0]->kind != StmtKind::kStore && !IsPair(*inner.body[0]))) {
    return;
  }
  transposition_ = Transposition{stmt->var, stmt->extent, 0, {}};
}

/// Returns the lanes of a load, from rows along the unrolled loop; null if they are not adjacent.
/// group: adjacent elements that are one lane.
llvm::Value* FunctionEmitter::TransposedLoad(const ExprNode& load, int group) {
  if (!transposition_ || mask_ != nullptr || !lane_first_.terms.empty()) return nullptr;
  const std::pair key(&load, lane_first_.constant);
  auto known = transposition_->columns.find(key);
  if (known == transposition_->columns.end()) {
    if (transposition_->step != 0) return nullptr;
    known = transposition_->columns.emplace(key, Columns(load, group)).first;
  }
  if (known->second.empty()) return nullptr;
  return FromMemory(known->second[static_cast<std::size_t>(transposition_->step)],
                    load.buffer->dtype);
}

/// Returns a vector for each iteration of the unrolled loop; none if their elements are not rows of
/// memory.
std::vector<llvm::Value*> FunctionEmitter::Columns(const ExprNode& load, int group) {
  const BufferNode& buffer = *load.buffer;
  const std::int64_t lanes = lanes_, extent = transposition_->extent;
  if (!IsBlock(lanes)) return {};
  std::optional<Linear> first;
  bool rows = true;
  for (std::int64_t i = 0; i < extent && rows; ++i) {
    indexer_.Bind(transposition_->var, Linear::Constant(i));
    std::optional<Linear> index = Flatten(buffer, load.args);
    if (i == 0) first = index;
    if (index) index->constant -= i * group;
    rows = index.has_value() && *index == *first;
  }
  indexer_.Bind(transposition_->var, Linear::Constant(transposition_->step));
  if (!rows) return {};

  const std::int64_t block = std::min(lanes, extent);
  std::vector<std::vector<Value*>> parts(static_cast<std::size_t>(extent));
  for (std::int64_t lane = 0; lane < lanes; lane += block) {
    for (std::int64_t column = 0; column < extent; column += block) {
      std::vector<Value*> square;
      for (std::int64_t i = 0; i < block; ++i) {
        Linear row = *first;
        row.constant += (lane + i) * first->lane + column * group;
        row.lane = 0;
        square.push_back(LoadRow(buffer, row, block, group));
      }
      Transpose(builder_, square);
      for (std::int64_t i = 0; i < block; ++i) {
        parts[static_cast<std::size_t>(column + i)].push_back(square[static_cast<std::size_t>(i)]);
      }
    }
  }
  std::vector<Value*> columns;
  for (std::vector<Value*>& part : parts) columns.push_back(Joined(std::move(part)));
  return columns;
}

llvm::Value* FunctionEmitter::LoadRow(const BufferNode& buffer, const Linear& index,
                                      std::int64_t count, int group) {
  llvm::Type* element = MemoryType(context_, buffer.dtype);
  if (group > 1)
    element = builder_.getIntNTy(static_cast<unsigned>(8 * group * buffer.dtype.bytes()));
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
  return builder_.CreateAlignedLoad(type, AddressOf(buffer, index), AlignmentOf(buffer, index));
}

/// Concatenates vectors of one length; their number is a power of two.
llvm::Value* FunctionEmitter::Joined(std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      const auto* type = llvm::cast<llvm::FixedVectorType>(parts[i]->getType());
      std::vector<int> lanes(2 * type->getNumElements());
      std::iota(lanes.begin(), lanes.end(), 0);
      pairs.push_back(builder_.CreateShuffleVector(parts[i], parts[i + 1], lanes));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

}  // namespace tilewright::emit
