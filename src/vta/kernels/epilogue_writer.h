#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/isa.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Largest extent of a packed operator, in elements.
inline constexpr std::int64_t kMaxExtent = 1 << 15;

/// One operation on the int32 result, in place.
struct EpilogueStep {
  enum class Operand : std::uint8_t {
    kImmediate,
    kPerChannel,  ///< a tensor [co] of ACC tiles
    kTensor,      ///< a tensor like the result, of ACC tiles
    kTensorInt8,  ///< a tensor like the result, of int8 tiles; only the reference simulator has it
  };
  AluOp op = AluOp::kAdd;
  Operand operand = Operand::kImmediate;
  std::int16_t immediate = 0;
};

/// A packed result [batch][co][height][width] and the blocks it is computed in, all in tiles.
struct ResultBlocks {
  std::int64_t batch = 1, co = 1, height = 1, width = 1;
  std::int64_t block_co = 1, block_h = 1, block_w = 1;
  std::int64_t block_batch = 1;  ///< above 1 only for results without height and width
  std::int64_t entries() const { return block_batch * block_co * block_h * block_w; }
};

/// Errors: kInvalidArgument naming the knob unless each extent is one of a real network and each
/// block divides it.
Status CheckBlocks(const ResultBlocks& blocks);

/// Which block, counted in blocks.
struct BlockIndex {
  std::int64_t batch = 0, row = 0, channel = 0, column = 0;
};

/// Accumulator entries of a step's operand for one block.
std::int64_t OperandEntries(EpilogueStep::Operand operand, const ResultBlocks& blocks);

/// The transfer of a block of a tensor like the result; memory and place on the chip are left open.
/// Errors: kInvalidArgument if one transfer cannot do it.
Result<Transfer> BlockTransfer(const ResultBlocks& blocks, const BlockIndex& block);

/// Writes what follows the computation of a block: loads of operands, ALU instructions, the store.
class EpilogueWriter {
 public:
  /// threads: each has its own accumulators; those of thread k begin at k * blocks.entries(), the
  ///          operands' behind all of them.
  /// builder, steps: must outlive the writer. Adds a buffer for each operand.
  EpilogueWriter(const ResultBlocks& blocks, const std::vector<EpilogueStep>& steps,
                 std::int64_t threads, StreamBuilder& builder);

  /// Adds the micro-op kernels of the next thread, in order of threads.
  void AddKernels();
  /// Loads the operands of `block` and calculates.
  Status Calculate(const BlockIndex& block, std::int64_t thread);
  Status Store(const BlockIndex& block, std::int64_t thread, std::int32_t buffer);

 private:
  struct Place {  // of an operand
    std::int64_t base = 0;
    std::int64_t entries = 0;
    std::int32_t buffer = Stream::kNoBuffer;
  };
  Status LoadOperand(const BlockIndex& block, std::int64_t thread, std::size_t step);

  const ResultBlocks blocks_;
  const std::vector<EpilogueStep>& steps_;
  StreamBuilder& builder_;
  std::vector<Place> operands_;                     // of each step
  std::vector<std::vector<std::int32_t>> kernels_;  // of each thread, of each step
};

}  // namespace tilewright::vta
