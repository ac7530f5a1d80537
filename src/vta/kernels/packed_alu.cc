#include "src/vta/kernels/packed_alu.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright::vta {
namespace {

Status Check(const Design& design, const ResultBlocks& blocks,
             const std::vector<EpilogueStep>& steps) {
  TW_RETURN_IF_ERROR(CheckBlocks(blocks));
  if (steps.empty()) {
    return InvalidArgument("no ALU operation: hardware would store older data");
  }
  std::int64_t entries = blocks.entries();
  for (const EpilogueStep& step : steps) entries += OperandEntries(step.operand, blocks);
  if (entries > design.Depth(Memory::kAcc)) {
    return InvalidArgument(fmt::format("needs {} entries of ACC, expected at most {}", entries,
                                       design.Depth(Memory::kAcc)));
  }
  return Status();
}

}  // namespace

Result<Stream> BuildPackedAlu(const Design& design, const ResultBlocks& blocks, bool int8_data,
                              const std::vector<EpilogueStep>& steps) {
  TW_RETURN_IF_ERROR(Check(design, blocks, steps));
  StreamBuilder builder(design);
  const std::int32_t data = builder.AddBuffer("data", false);
  const std::int32_t output = builder.AddBuffer("output", true);
  EpilogueWriter writer(blocks, steps, 1, builder);
  writer.AddKernels();
  const std::int64_t rows = blocks.height / blocks.block_h;
  const std::int64_t channels = blocks.co / blocks.block_co;
  const std::int64_t columns = blocks.width / blocks.block_w;
  const std::int64_t count = blocks.batch * rows * channels * columns;
  const bool many = count > 1;
  if (many) builder.Push(Engine::kStore, Engine::kCompute);
  for (std::int64_t n = 0; n < count; ++n) {
    const BlockIndex block = {.batch = n / (rows * channels * columns),
                              .row = n / (channels * columns) % rows,
                              .channel = n / columns % channels,
                              .column = n % columns};
    if (many) builder.Pop(Engine::kStore, Engine::kCompute);
    auto load = BlockTransfer(blocks, block);
    if (!load.ok()) return load.status().WithContext("loading the data");
    load->memory = int8_data ? Memory::kAccInt8 : Memory::kAcc;
    builder.Append(*load, data);
    TW_RETURN_IF_ERROR(writer.Calculate(block, 0));
    builder.Push(Engine::kCompute, Engine::kStore);
    builder.Pop(Engine::kCompute, Engine::kStore);
    TW_RETURN_IF_ERROR(writer.Store(block, 0, output));
    if (many) builder.Push(Engine::kStore, Engine::kCompute);
  }
  return std::move(builder).Finish();
}

}  // namespace tilewright::vta
