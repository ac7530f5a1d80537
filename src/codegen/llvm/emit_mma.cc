// Matrix products on a GPU's tensor cores. DistributeFragments assigned loads and sums to threads;
// here they become the operands of the instruction in PTX order: words of `a` (k outermost, then
// rows), words of `b`, accumulators (rows, then columns).

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/nvptx/mma.h"

namespace tilewright::emit {
namespace {

bool Fits(const Region& region, DataType dtype, std::int64_t elements) {
  return region.buffer->dtype == dtype && Product(region.extent) == elements;
}

}  // namespace

/// Loads the thread's words of each row or column: the first words of all rows, then the second
/// words, and so on.
void FunctionEmitter::LoadFragments(std::span<const Region> runs, const MmaIntrinsic& mma,
                                    std::vector<Value*>* words) {
  const auto count = static_cast<unsigned>(mma.words());
  llvm::Type* word = builder_.getInt32Ty();
  auto* chunk = llvm::FixedVectorType::get(word, count);
  llvm::Type* operand =
      mma.operand == kFloat16 ? llvm::FixedVectorType::get(builder_.getHalfTy(), 2) : word;
  std::vector<Value*> loaded;
  for (const Region& run : runs) {
    const std::optional<Linear> index = Flatten(*run.buffer, run.min);
    if (!index) return kernel_.Fail(Internal("a fragment's index is not a scalar"));
    loaded.push_back(builder_.CreateAlignedLoad(chunk, AddressOf(*run.buffer, *index),
                                                AlignmentOf(*run.buffer, *index)));
  }
  for (unsigned i = 0; i < count; ++i) {
    for (Value* run : loaded) {
      words->push_back(builder_.CreateBitCast(builder_.CreateExtractElement(run, i), operand));
    }
  }
}

void FunctionEmitter::EmitMma(const StmtNode& stmt, const MmaIntrinsic& mma) {
  if (!on_gpu()) return kernel_.Fail(Unsupported(stmt.name + " in CPU code"));
  if (lanes_ > 0) return kernel_.Fail(Unsupported("intrinsic inside of a vector loop"));
  const auto count = static_cast<std::size_t>(mma.sums());
  const auto rows = static_cast<std::size_t>(mma.rows());
  const std::span<const Region> regions(stmt.regions);
  bool fits = regions.size() == count + rows + 1;
  for (std::size_t i = 0; fits && i < regions.size(); ++i) {
    fits = i < count ? Fits(regions[i], mma.acc, 1) : Fits(regions[i], mma.operand, mma.chunk());
  }
  if (!fits)
    return kernel_.Fail(InvalidArgument(stmt.name + ": regions of the wrong size or type"));
  std::vector<Value*> operands;
  LoadFragments(regions.subspan(count, rows), mma, &operands);
  LoadFragments(regions.subspan(count + rows), mma, &operands);
  std::vector<Value*> places;
  llvm::Type* type = ScalarType(context_, mma.acc);
  for (const Region& sum : regions.first(count)) {
    const std::optional<Linear> index = Flatten(*sum.buffer, sum.min);
    if (!index) return kernel_.Fail(Internal(stmt.name + ": an index is not a scalar"));
    places.push_back(AddressOf(*sum.buffer, *index));
    operands.push_back(builder_.CreateLoad(type, places.back()));
  }
  Value* result = builder_.CreateIntrinsic(nvptx::IntrinsicOf(mma), {}, operands);
  for (unsigned i = 0; i < places.size(); ++i) {
    builder_.CreateStore(builder_.CreateExtractValue(result, i), places[i]);
  }
}

}  // namespace tilewright::emit
