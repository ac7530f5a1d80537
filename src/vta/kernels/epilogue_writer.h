#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/vta/isa.h"
#include "src/vta/stream_builder.h"

namespace tilewright::vta {

/// Maximum extent of a packed operator, in elements: above any real network. Products of extents
/// fit 64 bits.
inline constexpr std::int64_t kMaxExtent = 1 << 15;

/// In-place operation on the int32 result.
struct EpilogueStep {
  enum class Operand : std::uint8_t {
    kImmediate,
    kPerChannel,  ///< tensor [co] of ACC tiles
    kTensor,      ///< tensor of the result's shape, of ACC tiles
    kTensorInt8,  ///< tensor of the result's shape, of int8 tiles; only the reference simulator
                  ///< supports it
  };
  AluOp op = AluOp::kAdd;
  Operand operand = Operand::kImmediate;
  std::int16_t immediate = 0;
};

/// Packed result [batch][co][height][width] and the blocks that it is computed in, all in tiles.
struct ResultBlocks {
  std::int64_t batch = 1, co = 1, height = 1, width = 1;
  std::int64_t block_co = 1, block_h = 1, block_w = 1;
  std::int64_t block_batch = 1;  ///< above 1 only for results without height and width
  std::int64_t entries() const { return block_batch * block_co * block_h * block_w; }
};

/// Checks extents and blocks. Errors: kInvalidArgument naming the knob unless each extent is within
/// kMaxExtent and each block divides it.
Status CheckBlocks(const ResultBlocks& blocks);

/// Index of a block, counted in blocks.
struct BlockIndex {
  std::int64_t batch = 0, row = 0, channel = 0, column = 0;
};

/// Returns the accumulator entries of a step's operand for one block.
std::int64_t OperandEntries(EpilogueStep::Operand operand, const ResultBlocks& blocks);

/// Returns the transfer of a block of a tensor with the result's shape, without memory and on-chip
/// address.
/// Errors: kInvalidArgument if one transfer cannot do it.
Result<Transfer> BlockTransfer(const ResultBlocks& blocks, const BlockIndex& block);

/// Writer of the instructions after the computation of a block: loads of operands, ALU
/// instructions, the store.
class EpilogueWriter {
 public:
  /// threads: number of virtual threads. Each has its own accumulators; those of thread k begin at
  ///          k * blocks.entries(). The operands' accumulators follow after all of them.
  /// builder, steps: must outlive the writer. Adds a buffer for each operand.
  EpilogueWriter(const ResultBlocks& blocks, const std::vector<EpilogueStep>& steps,
                 std::int64_t threads, StreamBuilder& builder);

  /// Adds the micro-op kernels of the next thread, in order of threads.
  void AddKernels();
  /// Loads the operands of `block` and computes the steps.
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
  std::vector<std::vector<std::int32_t>> kernels_;  // per thread and step
};

}  // namespace tilewright::vta
