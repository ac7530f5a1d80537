// Loads and stores. The index of an access is linear in the lane number with factor 1 (a vector
// access), 0 (one scalar) or another factor (one scalar per lane).

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/loops.h"
#include "src/schedule/launch.h"

namespace tilewright::emit {

std::optional<Linear> FunctionEmitter::Flatten(const BufferNode& buffer,
                                               const std::vector<Expr>& indices) {
  Linear flat;
  std::int64_t stride = 1;
  for (std::size_t d = indices.size(); d-- > 0;) {
    std::optional<Linear> index = indexer_.Eval(indices[d]);
    if (!index) return std::nullopt;
    flat = AddScaled(flat, *index, stride);
    stride *= buffer.shape[d];
  }
  return flat;
}

llvm::Value* FunctionEmitter::BaseOf(const BufferNode& buffer) {
  const auto found = bases_.find(&buffer);
  if (found != bases_.end()) return found->second;
  kernel_.Fail(InvalidArgument("buffer " + buffer.name + " is accessed outside of its allocation"));
  return llvm::ConstantPointerNull::get(builder_.getPtrTy());
}

llvm::Value* FunctionEmitter::AddressOf(const BufferNode& buffer, const Linear& index) {
  return indexer_.Address(BaseOf(buffer), buffer.dtype.bytes(), index);
}

llvm::Align FunctionEmitter::AlignmentOf(const BufferNode& buffer, const Linear& index) const {
  // Alignment of every buffer.
  std::uint64_t factors = buffer.scope == Scope::kShared ? kSharedAlignment : 64;
  auto add = [&](std::int64_t elements) {
    factors = std::gcd(factors, static_cast<std::uint64_t>(elements < 0 ? -elements : elements) *
                                    static_cast<std::uint64_t>(buffer.dtype.bytes()));
  };
  add(index.constant);
  for (const auto& term : index.terms) add(term.second);
  return llvm::Align(factors & (~factors + 1));
}

bool FunctionEmitter::InBounds(const BufferNode& buffer, const Linear& index) const {
  const Range range = indexer_.RangeOf(index);
  return range.min >= 0 && range.max < buffer.elements();
}

llvm::Value* FunctionEmitter::FromMemory(Value* value, DataType dtype) {
  if (!dtype.is_bool()) return value;
  return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::Value* FunctionEmitter::ToMemory(Value* value, DataType dtype) {
  if (!dtype.is_bool()) return value;
  return builder_.CreateZExt(value, value->getType()->getWithNewBitWidth(8));
}

llvm::Value* FunctionEmitter::EmitLoad(const ExprNode& load) {
  const BufferNode& buffer = *load.buffer;
  const std::optional<Linear> index = Flatten(buffer, load.args);
  if (lanes_ > 0 && (!index || (index->lane != 0 && index->lane != 1))) {
    if (Value* columns = TransposedLoad(load)) return columns;
    if (Value* picked = LoadFromRow(buffer, load.args)) return picked;
    return Gather(buffer, load.args);
  }
  if (!index) {
    kernel_.Fail(Internal("index of " + buffer.name + " is not a scalar"));
    return Undefined(buffer.dtype);
  }
  if (lanes_ > 0 && index->lane == 1) return LoadVector(buffer, *index);
  Value* active = nullptr;
  if (mask_ != nullptr && !InBounds(buffer, *index)) active = builder_.CreateOrReduce(mask_);
  return LoadScalar(buffer, *index, active);
}

/// If `condition` is false, the element may be outside of the buffer: the value is then zero.
llvm::Value* FunctionEmitter::LoadScalar(const BufferNode& buffer, const Linear& index,
                                         Value* condition) {
  Value* address = AddressOf(buffer, index);
  llvm::Align alignment = AlignmentOf(buffer, index);
  if (condition != nullptr) address = SafeAddress(condition, address);
  Value* loaded =
      builder_.CreateAlignedLoad(MemoryType(context_, buffer.dtype), address, alignment);
  return FromMemory(loaded, buffer.dtype);
}

/// Vectors at the end of a row may have a lane count that fits no register (14 of 16). LLVM splits
/// them, which is best for stores (a masked store takes longer on Zen 4). For loads, returns a mask
/// of the first lanes of one register. Returns null if splitting is as fast, or if the buffer may
/// be promoted to registers, which masks would prevent.
llvm::Constant* FunctionEmitter::MaskOfRest(const BufferNode& buffer) const {
  const auto lanes = static_cast<unsigned>(lanes_);
  const unsigned whole = std::bit_ceil(lanes);
  const std::int64_t bytes = buffer.dtype.bytes();
  if (on_gpu() || !kernel_.features.avx512 || whole == lanes || (bytes != 4 && bytes != 8) ||
      buffer.dtype.is_bool() || whole * bytes > 64) {
    return nullptr;
  }
  const auto storage = kernel_.plan.storage.find(&buffer);
  if (storage == kernel_.plan.storage.end()) return nullptr;
  const bool in_memory =
      storage->second.place != StorageClass::kStack || kernel_.plan.in_memory.contains(&buffer);
  if (!in_memory) return nullptr;
  std::vector<llvm::Constant*> mask(whole, llvm::ConstantInt::getFalse(context_));
  std::fill_n(mask.begin(), lanes, llvm::ConstantInt::getTrue(context_));
  return llvm::ConstantVector::get(mask);
}

llvm::Value* FunctionEmitter::LoadVector(const BufferNode& buffer, const Linear& index) {
  auto* type =
      llvm::FixedVectorType::get(MemoryType(context_, buffer.dtype), static_cast<unsigned>(lanes_));
  Value* address = AddressOf(buffer, index);
  const llvm::Align alignment = AlignmentOf(buffer, index);
  Value* loaded = nullptr;
  const bool all = mask_ == nullptr || InBounds(buffer, index);
  if (llvm::Constant* mask = all ? MaskOfRest(buffer) : nullptr) {
    auto* whole =
        llvm::FixedVectorType::get(type->getElementType(), std::bit_ceil(type->getNumElements()));
    loaded = builder_.CreateMaskedLoad(whole, address, alignment, mask,
                                       llvm::Constant::getNullValue(whole));
    std::vector<int> first(type->getNumElements());
    std::iota(first.begin(), first.end(), 0);
    return builder_.CreateShuffleVector(loaded, first);
  }
  if (mask_ == nullptr || InBounds(buffer, index)) {
    loaded = builder_.CreateAlignedLoad(type, address, alignment);
  } else {
    loaded = builder_.CreateMaskedLoad(type, address, alignment, mask_,
                                       llvm::Constant::getNullValue(type));
  }
  return FromMemory(loaded, buffer.dtype);
}

llvm::Value* FunctionEmitter::Gather(const BufferNode& buffer, const std::vector<Expr>& indices) {
  auto* type =
      llvm::FixedVectorType::get(ScalarType(context_, buffer.dtype), static_cast<unsigned>(lanes_));
  Value* gathered = llvm::PoisonValue::get(type);
  ForEachLane([&](int lane, Value* active) {
    const std::optional<Linear> index = Flatten(buffer, indices);
    if (!index) return kernel_.Fail(Internal("index of " + buffer.name + " is not a scalar"));
    if (active != nullptr && InBounds(buffer, *index)) active = nullptr;
    gathered = builder_.CreateInsertElement(gathered, LoadScalar(buffer, *index, active), lane);
  });
  return gathered;
}

/// Loads lanes that are all in one row of memory with as many elements as lanes, at a position that
/// is a multiple of that (as the channels of several groups in one block): one load and a shuffle.
/// Returns null for other lanes.
llvm::Value* FunctionEmitter::LoadFromRow(const BufferNode& buffer,
                                          const std::vector<Expr>& indices) {
  const int lanes = lanes_;
  if (on_gpu() || mask_ != nullptr || buffer.elements() % lanes != 0 ||
      !std::ranges::all_of(indices, IsIndexExpr)) {
    return nullptr;
  }
  std::optional<Linear> row;
  std::vector<int> picked;
  bool together = true;
  ForEachLane([&](int, Value*) {
    std::optional<Linear> index = together ? Flatten(buffer, indices) : std::nullopt;
    together = index.has_value();
    if (!together) return;
    const std::int64_t place = FloorMod(index->constant, std::int64_t{lanes});
    picked.push_back(static_cast<int>(place));
    index->constant -= place;
    if (!row) row = index;
    together = *index == *row;
  });
  if (!together) return nullptr;
  for (const auto& term : row->terms) together = together && term.second % lanes == 0;
  if (!together) return nullptr;
  Value* loaded = LoadRow(buffer, *row, lanes);
  return FromMemory(builder_.CreateShuffleVector(loaded, picked), buffer.dtype);
}

void FunctionEmitter::Scatter(const BufferNode& buffer, const std::vector<Expr>& indices,
                              Value* value) {
  ForEachLane([&](int lane, Value* active) {
    auto store = [&] {
      const std::optional<Linear> index = Flatten(buffer, indices);
      if (!index) return kernel_.Fail(Internal("index of " + buffer.name + " is not a scalar"));
      builder_.CreateAlignedStore(builder_.CreateExtractElement(value, lane),
                                  AddressOf(buffer, *index), AlignmentOf(buffer, *index));
    };
    if (active == nullptr) return store();
    EmitGuarded(active, store);
  });
}

void FunctionEmitter::StoreVector(const BufferNode& buffer, const Linear& index, Value* value) {
  Value* address = AddressOf(buffer, index);
  const llvm::Align alignment = AlignmentOf(buffer, index);
  if (mask_ == nullptr) {
    builder_.CreateAlignedStore(value, address, alignment);
  } else {
    builder_.CreateMaskedStore(value, address, alignment, mask_);
  }
}

/// Returns `address` if `condition` is true, else the address of 64 zero bytes: a load without a
/// branch.
llvm::Value* FunctionEmitter::SafeAddress(Value* condition, Value* address) {
  constexpr const char* kName = "tw_zeros";
  llvm::GlobalVariable* zeros = kernel_.module.getNamedGlobal(kName);
  if (zeros == nullptr) {
    auto* type = llvm::ArrayType::get(builder_.getInt8Ty(), 64);
    zeros = new llvm::GlobalVariable(
        kernel_.module, type, true, llvm::GlobalValue::PrivateLinkage,
        llvm::Constant::getNullValue(type), kName, nullptr, llvm::GlobalValue::NotThreadLocal,
        kernel_.module.getDataLayout().getDefaultGlobalsAddressSpace());
    zeros->setAlignment(llvm::Align(64));
  }
  if (address->getType() == zeros->getType()) {
    return builder_.CreateSelect(condition, address, zeros);
  }
  Value* generic = builder_.CreateAddrSpaceCast(address, builder_.getPtrTy());
  return builder_.CreateSelect(condition, generic,
                               builder_.CreateAddrSpaceCast(zeros, builder_.getPtrTy()));
}

/// Computes `condition ? load : otherwise` without a branch, for a scalar condition and a load with
/// a linear address. Returns null for other loads, and on a GPU, which converts the branch to a
/// predicate.
llvm::Value* FunctionEmitter::LoadOrConstant(const ExprNode& load, Value* condition,
                                             Value* otherwise) {
  if (mask_ != nullptr || on_gpu()) return nullptr;
  const BufferNode& buffer = *load.buffer;
  const std::optional<Linear> index = Flatten(buffer, load.args);
  if (!index || (index->lane != 0 && index->lane != 1)) return nullptr;
  Value* loaded = nullptr;
  if (index->lane == 0) {
    loaded = LoadScalar(buffer, *index, condition);
  } else {
    if (lanes_ * buffer.dtype.bytes() > 64) return nullptr;
    auto* type = llvm::FixedVectorType::get(MemoryType(context_, buffer.dtype),
                                            static_cast<unsigned>(lanes_));
    Value* address = SafeAddress(condition, AddressOf(buffer, *index));
    loaded = FromMemory(builder_.CreateAlignedLoad(type, address, AlignmentOf(buffer, *index)),
                        buffer.dtype);
  }
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(otherwise)) {
    if (constant->isNullValue() && !buffer.dtype.is_bool()) return loaded;
  }
  Unify(loaded, otherwise);
  return builder_.CreateSelect(condition, loaded, otherwise);
}

}  // namespace tilewright::emit
