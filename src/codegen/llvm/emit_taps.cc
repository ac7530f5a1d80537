// Sums over window taps for each lane. The bytes of four neighbouring pixels, with as many channels
// as lanes, are one vector in memory. Transposed to four bytes per channel they are an operand of a
// byte dot product. Pixels outside of the buffer are zero. If their positions are known, the
// nearest four pixels inside are loaded and zeros shuffled in; otherwise a mask excludes them from
// the load.

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <tuple>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"

namespace tilewright::emit {
namespace {

constexpr int kTaps = 4;  // bytes of a lane

llvm::VectorType* WordLanes(llvm::IRBuilder<>& builder, int lanes) {
  return llvm::FixedVectorType::get(builder.getInt32Ty(), static_cast<unsigned>(lanes));
}

/// Transposes taps x lanes bytes to lanes x taps: tap t is pixel t + shift, zero if it is outside.
/// First moves words into the 16-byte groups that need them, then bytes within these: one
/// instruction each, or one for both if the target can permute bytes freely.
llvm::Value* ByLane(llvm::IRBuilder<>& builder, llvm::Value* pixels, int shift, int lanes) {
  const int words = lanes / kTaps;  // of a pixel
  std::vector<int> word_order, byte_order;
  for (int i = 0; i < lanes; ++i) {
    const int pixel = i % kTaps + shift;
    const bool inside = pixel >= 0 && pixel < kTaps;
    word_order.push_back(inside ? pixel * words + i / kTaps : lanes);  // lanes: of the zeros
  }
  constexpr int kGroup = 16;
  for (int i = 0; i < lanes * kTaps; ++i) {
    const int place = i % kGroup;
    byte_order.push_back(i - place + place % kTaps * kTaps + place / kTaps);
  }
  if (words > 1 || shift != 0) {
    llvm::Value* zeros = llvm::Constant::getNullValue(pixels->getType());
    pixels = builder.CreateShuffleVector(pixels, zeros, word_order);
  }
  auto* bytes =
      llvm::FixedVectorType::get(builder.getInt8Ty(), static_cast<unsigned>(lanes * kTaps));
  pixels = builder.CreateShuffleVector(builder.CreateBitCast(pixels, bytes), byte_order);
  return builder.CreateBitCast(pixels, WordLanes(builder, lanes));
}

}  // namespace

/// Returns the taps of a region by lane; null if all of them are outside of the buffer.
llvm::Value* FunctionEmitter::LoadTaps(const Region& region, std::size_t taps, int lanes) {
  const BufferNode& buffer = *region.buffer;
  std::optional<Linear> index = Flatten(buffer, region.min);
  const std::optional<Linear> first = indexer_.Eval(region.min[taps]);
  if (!index || !first) {
    kernel_.Fail(Internal("index of " + buffer.name + " is not a scalar"));
    return nullptr;
  }
  llvm::VectorType* type = WordLanes(builder_, lanes);
  const Range range = indexer_.RangeOf(*first);
  const std::int64_t size = buffer.shape[taps];
  if (range.max + kTaps <= 0 || range.min >= size) return nullptr;
  const bool inside_all = range.min >= 0 && range.max + kTaps <= size;
  if (inside_all || (first->is_constant() && size >= kTaps)) {
    const std::int64_t nearest =
        inside_all ? range.min : std::clamp(range.min, std::int64_t{0}, size - kTaps);
    index->constant += (nearest - range.min) * lanes;
    Value* pixels =
        builder_.CreateAlignedLoad(type, AddressOf(buffer, *index), AlignmentOf(buffer, *index));
    return ByLane(builder_, pixels, static_cast<int>(range.min - nearest), lanes);
  }
  std::vector<llvm::Constant*> pixel_of;
  for (int i = 0; i < lanes; ++i) pixel_of.push_back(builder_.getInt32(i / (lanes / kTaps)));
  Value* pixels = builder_.CreateIntCast(indexer_.Materialize(*first), builder_.getInt32Ty(), true);
  pixels = builder_.CreateAdd(builder_.CreateVectorSplat(static_cast<unsigned>(lanes), pixels),
                              llvm::ConstantVector::get(pixel_of));
  Value* inside = builder_.CreateICmpULT(
      pixels, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(size)));
  Value* masked =
      builder_.CreateMaskedLoad(type, AddressOf(buffer, *index), AlignmentOf(buffer, *index),
                                inside, llvm::Constant::getNullValue(type));
  return ByLane(builder_, masked, 0, lanes);
}

/// Emits acc += taps . b, for regions in the form of the intrinsic.
void FunctionEmitter::EmitTaps(const StmtNode& stmt) {
  const auto& [acc, a, b] = std::tie(stmt.regions[0], stmt.regions[1], stmt.regions[2]);
  const std::int64_t lanes = Product(acc.extent);
  // The taps' dimension is the outermost one with several elements in the region.
  const auto found = std::ranges::find_if(a.extent, [](std::int64_t extent) { return extent > 1; });
  const bool known =
      lanes % kTaps == 0 && lanes <= 16 && found != a.extent.end() && *found == kTaps;
  if (!known) {
    return kernel_.Fail(Unsupported(stmt.name + " of " + std::to_string(lanes) +
                                    " lanes, expected 4, 8 or 16, the taps outermost"));
  }
  const std::optional<Linear> acc_index = Flatten(*acc.buffer, acc.min);
  const std::optional<Linear> b_index = Flatten(*b.buffer, b.min);
  if (!acc_index || !b_index) {
    return kernel_.Fail(Internal(stmt.name + ": an index is not a scalar"));
  }
  const int count = static_cast<int>(lanes);
  Value* taps = LoadTaps(a, static_cast<std::size_t>(found - a.extent.begin()), count);
  if (taps == nullptr) return;
  llvm::VectorType* type = WordLanes(builder_, count);
  Value* weights = builder_.CreateAlignedLoad(type, AddressOf(*b.buffer, *b_index),
                                              AlignmentOf(*b.buffer, *b_index));
  Value* address = AddressOf(*acc.buffer, *acc_index);
  const llvm::Align alignment = AlignmentOf(*acc.buffer, *acc_index);
  Value* sum = builder_.CreateAlignedLoad(type, address, alignment);
  sum = EmitDot4(sum, taps, weights, count, {.b_narrow = b.buffer->narrow});
  builder_.CreateAlignedStore(sum, address, alignment);
}

}  // namespace tilewright::emit
