#include "src/templates/vta/launch.h"

#include <algorithm>
#include <utility>

#include "src/vta/simulator/timing.h"

namespace tilewright {
namespace {

/// Streams of one virtual thread leave a token, as those of the original compiler do.
constexpr bool kTokensMayBeLeft = true;

/// Returns an operand as the accelerator loads it. Values per channel become a tile for each block
/// of them, with equal rows; `addend` is added to int32 elements.
std::vector<std::byte> OperandBytes(const vta::Design& design, const Tensor& tensor,
                                    const TensorType& result, std::int32_t addend) {
  const std::span raw(tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  if (tensor.dtype() != kInt32) return {raw.begin(), raw.end()};
  const bool per_channel = tensor.elements() < result.elements();
  const std::int64_t rows = per_channel ? design.batch() : 1;
  std::vector<std::int32_t> values;
  values.reserve(static_cast<std::size_t>(tensor.elements() * rows));
  const auto elements = tensor.As<std::int32_t>();
  const auto block = static_cast<std::size_t>(design.block());
  for (std::size_t tile = 0; tile < elements.size(); tile += block) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int32_t value : elements.subspan(tile, block)) {
        values.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(value) +
                                                   static_cast<std::uint32_t>(addend)));
      }
    }
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return {bytes, bytes + values.size() * sizeof(std::int32_t)};
}

}  // namespace

Result<VtaLaunch> LaunchStream(const vta::Design& design, const vta::Stream& stream,
                               std::span<const Tensor* const> tensors,
                               std::span<const std::int32_t> addends, const TensorType& result,
                               bool check_hazards) {
  if (tensors.size() < addends.size()) return InvalidArgument("fewer tensors than operands");
  vta::Dram dram;
  std::vector<std::int64_t> addresses;
  const std::size_t plain = tensors.size() - addends.size();
  for (std::size_t i = 0; i < plain; ++i) {
    const std::span raw(tensors[i]->data(), static_cast<std::size_t>(tensors[i]->bytes()));
    addresses.push_back(dram.Allocate(i == 0 ? "data" : "kernel", raw, false));
  }
  const std::int64_t output = dram.Allocate("output", result.bytes(), true);
  addresses.push_back(output);
  for (std::size_t i = 0; i < addends.size(); ++i) {
    addresses.push_back(dram.Allocate(
        "operand", OperandBytes(design, *tensors[plain + i], result, addends[i]), false));
  }
  TW_ASSIGN_OR_RETURN(auto instructions, vta::Place(design, stream, dram, addresses));
  vta::RunOptions options;
  options.allow_tokens_left = kTokensMayBeLeft;
  options.check_hazards = check_hazards;
  vta::RunResult run = vta::RunStream(design, instructions, &dram, options);
  TW_RETURN_IF_ERROR(run.status());
  VtaLaunch launch{Tensor(result), std::move(run), std::move(instructions)};
  std::ranges::copy(dram.Bytes(output, result.bytes()), launch.result.data());
  return launch;
}

Result<VtaCost> CostOfStream(const VtaTarget& vta, const vta::Stream& stream, bool cycles) {
  vta::RunOptions options;
  options.allow_tokens_left = kTokensMayBeLeft;
  const vta::RunResult run = vta::RunStream(vta.design, stream.instructions, nullptr, options);
  TW_RETURN_IF_ERROR(run.status());
  VtaCost cost;
  cost.dram_bytes = static_cast<double>(run.summary.dram_bytes);
  if (!cycles) return cost;
  cost.cycles = vta::Simulate(vta.design, stream.instructions, run.pipeline, vta.cycles).cycles;
  return cost;
}

}  // namespace tilewright
