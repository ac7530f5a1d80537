#include "cost_model/vta_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <variant>

#include "cost_model/cost_model.h"
#include "src/vta/simulator/statistics.h"

namespace tilewright::cost_model {
namespace {

/// Returns the busy cycles of each engine without stalls.
std::array<double, vta::kEngineCount> BusyCycles(const vta::Design& design,
                                                 const vta::CycleModel& cycles,
                                                 const vta::Stream& stream) {
  std::array<double, vta::kEngineCount> busy{};
  for (const vta::Instruction& instruction : stream.instructions) {
    busy[static_cast<std::size_t>(instruction.engine())] +=
        cycles.CostOf(design, instruction).cycles();
  }
  return busy;
}

/// Returns the inner factor of a split, or a number.
double ValueOf(const KnobValue& value) {
  if (const auto* factors = std::get_if<std::vector<std::int64_t>>(&value.value)) {
    return factors->empty() ? 0 : static_cast<double>(factors->back());
  }
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) {
    return static_cast<double>(*number);
  }
  const auto* flag = std::get_if<bool>(&value.value);
  return flag != nullptr && *flag ? 1 : 0;
}

}  // namespace

void ExtractVtaFeatures(const vta::Design& design, const vta::CycleModel& cycles,
                        const vta::Stream& stream, const Config& config, std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  std::size_t next = 0;
  // Logarithms, so that trees split at ratios; bytes and cycles of good configs are close together.
  const auto put = [&](double value) {
    if (next < out.size()) out[next++] = static_cast<float>(std::log2(1 + std::max(0.0, value)));
  };
  const auto [load, compute, store] = BusyCycles(design, cycles, stream);
  put(std::max({load, compute, store}));
  put(load + compute + store);
  for (double busy : {load, compute, store}) put(busy);
  const vta::StreamSummary summary = vta::Summarize(design, stream.instructions);
  const vta::Statistics& bytes = summary.statistics;
  for (std::int64_t count :
       {summary.dram_bytes, bytes.inp_load_nbytes, bytes.wgt_load_nbytes, bytes.acc_load_nbytes,
        bytes.uop_load_nbytes, bytes.out_store_nbytes, bytes.gemm_counter, bytes.alu_counter}) {
    put(static_cast<double>(count));
  }
  const vta::InstructionCounts& counts = summary.counts;
  for (std::int64_t count : {counts.Total(), counts.inp, counts.wgt, counts.acc, counts.uop,
                             counts.gemm, counts.alu, counts.out, counts.idle}) {
    put(static_cast<double>(count));
  }
  for (const auto& [name, value] : config.values) put(ValueOf(value));
}

}  // namespace tilewright::cost_model
