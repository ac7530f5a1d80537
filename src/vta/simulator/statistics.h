#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/vta/design.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// Seven counters with the definitions and names of the reference simulator: bytes without padding,
/// tile products without resets, and accumulator elements. Elements loaded as int8 into the
/// accumulator count as int32.
struct Statistics {
  std::int64_t inp_load_nbytes = 0;
  std::int64_t wgt_load_nbytes = 0;
  std::int64_t acc_load_nbytes = 0;
  std::int64_t uop_load_nbytes = 0;
  std::int64_t out_store_nbytes = 0;
  std::int64_t gemm_counter = 0;
  std::int64_t alu_counter = 0;

  Statistics& operator+=(const Statistics& other);
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Numbers of instructions by kind; gemm includes resets, idle counts those that only pass tokens.
struct InstructionCounts {
  std::int64_t inp = 0, wgt = 0, acc = 0, uop = 0, gemm = 0, alu = 0, out = 0, idle = 0, finish = 0;
  std::int64_t Total() const { return inp + wgt + acc + uop + gemm + alu + out + idle + finish; }
  friend bool operator==(const InstructionCounts&, const InstructionCounts&) = default;
};

/// Totals of a launch; the same for every run of a stream.
struct StreamSummary {
  Statistics statistics;
  InstructionCounts counts;
  /// Bytes transferred over the memory bus, without the instructions themselves (16 bytes each).
  std::int64_t dram_bytes = 0;
};
StreamSummary Summarize(const Design& design, std::span<const Instruction> instructions);

/// Formats one line for each counter, with name and value, in the format of the reference
/// simulator.
std::string ToString(const Statistics& statistics);

}  // namespace tilewright::vta
