#include "src/vta/simulator/statistics.h"

#include <fmt/format.h>

namespace tilewright::vta {
namespace {

void Count(const Design& design, const Transfer& transfer, StreamSummary& summary) {
  if (transfer.x_size == 0) {
    ++summary.counts.idle;
    return;
  }
  const std::int64_t elements = transfer.DramElements();
  const std::int64_t bytes = elements * design.ElementBytes(transfer.memory);
  summary.dram_bytes += bytes;
  Statistics& statistics = summary.statistics;
  switch (transfer.memory) {
    case Memory::kUop:
      ++summary.counts.uop;
      statistics.uop_load_nbytes += bytes;
      return;
    case Memory::kWgt:
      ++summary.counts.wgt;
      statistics.wgt_load_nbytes += bytes;
      return;
    case Memory::kInp:
      ++summary.counts.inp;
      statistics.inp_load_nbytes += bytes;
      return;
    case Memory::kAcc:
    case Memory::kAccInt8:
      ++summary.counts.acc;
      statistics.acc_load_nbytes += elements * design.ElementBytes(Memory::kAcc);
      return;
    case Memory::kOut:
      ++summary.counts.out;
      statistics.out_store_nbytes += bytes;
      return;
  }
}

}  // namespace

Statistics& Statistics::operator+=(const Statistics& other) {
  inp_load_nbytes += other.inp_load_nbytes;
  wgt_load_nbytes += other.wgt_load_nbytes;
  acc_load_nbytes += other.acc_load_nbytes;
  uop_load_nbytes += other.uop_load_nbytes;
  out_store_nbytes += other.out_store_nbytes;
  gemm_counter += other.gemm_counter;
  alu_counter += other.alu_counter;
  return *this;
}

StreamSummary Summarize(const Design& design, std::span<const Instruction> instructions) {
  StreamSummary summary;
  for (const Instruction& instruction : instructions) {
    if (const auto* transfer = std::get_if<Transfer>(&instruction.operation)) {
      Count(design, *transfer, summary);
    } else if (const auto* gemm = std::get_if<Gemm>(&instruction.operation)) {
      ++summary.counts.gemm;
      if (!gemm->reset) summary.statistics.gemm_counter += gemm->loop.Count();
    } else if (const auto* alu = std::get_if<Alu>(&instruction.operation)) {
      ++summary.counts.alu;
      summary.statistics.alu_counter += alu->loop.Count();
    } else {
      ++summary.counts.finish;
    }
  }
  return summary;
}

std::string ToString(const Statistics& statistics) {
  return fmt::format(
      "inp_load_nbytes {}\nwgt_load_nbytes {}\nacc_load_nbytes {}\nuop_load_nbytes {}\n"
      "out_store_nbytes {}\ngemm_counter {}\nalu_counter {}\n",
      statistics.inp_load_nbytes, statistics.wgt_load_nbytes, statistics.acc_load_nbytes,
      statistics.uop_load_nbytes, statistics.out_store_nbytes, statistics.gemm_counter,
      statistics.alu_counter);
}

}  // namespace tilewright::vta
