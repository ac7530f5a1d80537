#include "src/vta/kernels/epilogue_writer.h"

#include <fmt/format.h>

#include "src/vta/kernels/copy_pattern.h"
#include "src/vta/kernels/uop_nest.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

}  // namespace

Status CheckBlocks(const ResultBlocks& blocks) {
  struct Split {
    const char* name;
    std::int64_t extent, inner;
  };
  for (const auto& [name, extent, inner] :
       {Split{"batch", blocks.batch, 1}, Split{"tile_co", blocks.co, blocks.block_co},
        Split{"tile_h", blocks.height, blocks.block_h},
        Split{"tile_w", blocks.width, blocks.block_w}}) {
    if (extent < 1 || extent > kMaxExtent) {
      return InvalidArgument(
          fmt::format("{}: extent {}, expected 1 to {}", name, extent, kMaxExtent));
    }
    if (inner < 1 || extent % inner != 0) {
      return InvalidArgument(fmt::format("{}: {} does not divide {}", name, inner, extent));
    }
  }
  return Status();
}

std::int64_t OperandEntries(Operand operand, const ResultBlocks& blocks) {
  switch (operand) {
    case Operand::kImmediate:
      return 0;
    case Operand::kPerChannel:
      return blocks.block_co;
    default:
      return blocks.entries();
  }
}

Result<Transfer> BlockTransfer(const ResultBlocks& blocks, const BlockIndex& block) {
  const CopyDimension region[] = {{blocks.block_batch, blocks.co * blocks.height * blocks.width},
                                  {blocks.block_co, blocks.height * blocks.width},
                                  {blocks.block_h, blocks.width},
                                  {blocks.block_w, 1}};
  auto transfer = CopyPattern(region);
  if (!transfer.ok()) return transfer;
  const std::int64_t channel =
      block.batch * blocks.block_batch * blocks.co + block.channel * blocks.block_co;
  const std::int64_t row = channel * blocks.height + block.row * blocks.block_h;
  transfer->dram_base = U32(row * blocks.width + block.column * blocks.block_w);
  return transfer;
}

EpilogueWriter::EpilogueWriter(const ResultBlocks& blocks, const std::vector<EpilogueStep>& steps,
                               std::int64_t threads, StreamBuilder& builder)
    : blocks_(blocks), steps_(steps), builder_(builder) {
  std::int64_t acc = threads * blocks.entries();
  for (const EpilogueStep& step : steps) {
    const std::int64_t entries = OperandEntries(step.operand, blocks);
    Place place = {.base = acc, .entries = entries};
    if (entries > 0) {
      place.buffer = builder.AddBuffer(fmt::format("operand of step {}", operands_.size()), false);
    }
    operands_.push_back(place);
    acc += threads * entries;
  }
}

void EpilogueWriter::AddKernels() {
  const auto thread = static_cast<std::int64_t>(kernels_.size());
  kernels_.emplace_back();
  for (const Place& operand : operands_) {
    Uop uop;
    uop.dst = U32(thread * blocks_.entries());
    if (operand.entries > 0) uop.src = U32(operand.base + thread * operand.entries);
    kernels_.back().push_back(builder_.AddKernel({&uop, 1}));
  }
}

Status EpilogueWriter::LoadOperand(const BlockIndex& block, std::int64_t thread, std::size_t step) {
  const Place& place = operands_[step];
  const Operand operand = steps_[step].operand;
  Transfer transfer;
  if (operand == Operand::kPerChannel) {
    transfer.y_size = 1;
    transfer.x_size = transfer.x_stride = U32(blocks_.block_co);
    transfer.dram_base = U32(block.channel * blocks_.block_co);
  } else {
    const auto pattern = BlockTransfer(blocks_, block);
    if (!pattern.ok()) return pattern.status().WithContext("loading an operand");
    transfer = *pattern;
  }
  transfer.memory = operand == Operand::kTensorInt8 ? Memory::kAccInt8 : Memory::kAcc;
  transfer.sram_base = U32(place.base + thread * place.entries);
  builder_.Append(transfer, place.buffer);
  return Status();
}

Status EpilogueWriter::Calculate(const BlockIndex& block, std::int64_t thread) {
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    if (operands_[n].entries > 0) TW_RETURN_IF_ERROR(LoadOperand(block, thread, n));
  }
  for (std::size_t n = 0; n < steps_.size(); ++n) {
    const bool per_channel = steps_[n].operand == Operand::kPerChannel;
    const std::int64_t plane = blocks_.block_h * blocks_.block_w;
    const NestLoop whole[] = {{blocks_.entries(), 1, 1, 0}};
    // Two loops, as a block of several batches has planes of one entry.
    const NestLoop by_channel[] = {{blocks_.block_batch, U32(blocks_.block_co * plane), 0, 0},
                                   {blocks_.block_co, U32(plane), 1, 0},
                                   {plane, 1, 0, 0}};
    const UopNest nest = per_channel ? FoldNest(by_channel, {Uop()}) : FoldNest(whole, {Uop()});
    Alu alu;
    alu.op = steps_[n].op;
    alu.use_immediate = steps_[n].operand == Operand::kImmediate;
    alu.immediate = steps_[n].immediate;
    alu.loop.iter_out = nest.iter_out;
    alu.loop.iter_in = nest.iter_in;
    alu.dst = nest.dst;
    if (!alu.use_immediate) alu.src = nest.src;
    builder_.Append(alu, kernels_[static_cast<std::size_t>(thread)][n]);
  }
  return Status();
}

Status EpilogueWriter::Store(const BlockIndex& block, std::int64_t thread, std::int32_t buffer) {
  auto transfer = BlockTransfer(blocks_, block);
  if (!transfer.ok()) return transfer.status().WithContext("storing the output");
  transfer->is_store = true;
  transfer->memory = Memory::kOut;
  transfer->sram_base = U32(thread * blocks_.entries());
  builder_.Append(*transfer, buffer);
  return Status();
}

}  // namespace tilewright::vta
