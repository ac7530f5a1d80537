#include "src/codegen/simt/matrix_product.h"

#include <llvm/ADT/APFloat.h>

#include <bit>

namespace tilewright::simt {
namespace {

/// Register word of a lane, and the index of an element in it.
struct Place {
  int lane, word, element;
};

/// Returns the number of elements of `operand` in one word.
int PerWord(const MmaIntrinsic& mma) { return 4 / mma.operand.bytes(); }

/// Returns the place of element (`row`, k = `q`) of `a`, or (k = `q`, column) of `b`. Four lanes
/// hold the words of a row in turn. `groups`: rows per lane, eight rows apart.
Place FactorAt(const MmaIntrinsic& mma, int row, int q, int groups) {
  const int each = PerWord(mma);
  const int block = q / (4 * each);
  return {row % 8 * 4 + q % (4 * each) / each, row / 8 + groups * block, q % each};
}

double FactorOf(const MmaIntrinsic& mma, std::uint32_t word, int element) {
  if (mma.operand == kInt8) {
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> (8 * element)));
  }
  if (mma.operand == kFloat16) {
    const llvm::APInt half(16, static_cast<std::uint16_t>(word >> (16 * element)));
    return static_cast<double>(llvm::APFloat(llvm::APFloat::IEEEhalf(), half).convertToFloat());
  }
  constexpr std::uint32_t kTf32 = ~std::uint32_t{0x1FFF};
  return std::bit_cast<float>(word & kTf32);
}

}  // namespace

void MultiplyWarp(const MmaIntrinsic& mma, const std::array<std::uint32_t*, 32>& words) {
  const int a_words = mma.rows() * mma.words();
  const int sums = a_words + mma.words();
  for (int row = 0; row < mma.m; ++row) {
    for (int column = 0; column < mma.n; ++column) {
      const int lane = row % 8 * 4 + column / 2;
      std::uint32_t& sum = words[static_cast<std::size_t>(lane)][sums + row / 8 * 2 + column % 2];
      for (int q = 0; q < mma.k; ++q) {
        const Place a = FactorAt(mma, row, q, mma.rows());
        const Place b = FactorAt(mma, column, q, 1);
        const double product =
            FactorOf(mma, words[static_cast<std::size_t>(a.lane)][a.word], a.element) *
            FactorOf(mma, words[static_cast<std::size_t>(b.lane)][a_words + b.word], b.element);
        sum = mma.acc == kInt32
                  ? sum + static_cast<std::uint32_t>(static_cast<std::int32_t>(product))
                  : std::bit_cast<std::uint32_t>(static_cast<float>(
                        static_cast<double>(std::bit_cast<float>(sum)) + product));
      }
    }
  }
}

}  // namespace tilewright::simt
