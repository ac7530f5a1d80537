#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/vta/dram.h"
#include "src/vta/encoding.h"
#include "src/vta/simulator/shadow.h"
#include "src/vta/simulator/simulator.h"

namespace tilewright::vta {

/// Memories of one VTA, with the effects of instructions on them.
class Machine {
 public:
  /// instructions: for messages about earlier ones; must outlive the machine.
  Machine(const Design& design, std::span<const Instruction> instructions, Dram& dram,
          const RunOptions& options);

  /// Executes one instruction that CheckInstruction accepts.
  std::optional<Fault> Execute(const Issue& issue);

 private:
  using MaybeFault = std::optional<Fault>;
  MaybeFault Load(const Issue& issue, const Transfer& transfer);
  MaybeFault LoadRow(const Issue& issue, const Transfer& transfer, std::int64_t row,
                     std::int64_t sram);
  void Fill(const Transfer& transfer, std::int64_t sram, std::span<const std::byte> bytes);
  MaybeFault Clear(const Issue& issue, Memory memory, std::int64_t sram, std::int64_t count);
  MaybeFault Store(const Issue& issue, const Transfer& transfer);
  MaybeFault Multiply(const Issue& issue, const Gemm& gemm);
  MaybeFault MultiplyOne(const Issue& issue, const Gemm& gemm, std::int64_t dst, std::int64_t src,
                         std::int64_t wgt);
  MaybeFault Calculate(const Issue& issue, const Alu& alu);
  MaybeFault CalculateOne(const Issue& issue, const Alu& alu, std::int64_t dst, std::int64_t src);
  /// Checks that the loop is not endless and that its micro-ops were loaded.
  MaybeFault CheckUops(const Issue& issue, const UopLoop& loop);

  Shadow& ShadowOf(Memory memory);
  MaybeFault Written(const Issue& issue, Memory memory, std::int64_t entry);
  MaybeFault ReadError(const Issue& issue, const std::string& what, const Shadow& shadow,
                       std::int64_t entry) const;
  MaybeFault WriteError(const Issue& issue, const std::string& what, const Shadow& shadow,
                        std::int64_t entry) const;
  Fault Disorder(const Issue& issue, const std::string& what, std::int32_t other,
                 Engine other_engine) const;
  Fault OutOfRange(const Issue& issue, Memory memory, std::int64_t index) const;
  std::string This(const Issue& issue) const;

  const Design design_;
  const Encoding encoding_;
  std::span<const Instruction> instructions_;
  Dram& dram_;
  const RunOptions options_;
  const std::int64_t inp_lanes_, wgt_lanes_, acc_lanes_;
  const std::int64_t inp_depth_, wgt_depth_, acc_depth_;
  const std::int64_t granule_bytes_;  // of DRAM, for its shadow
  std::int64_t uops_left_;

  // Scalars of activations and weights have at most 8 bits; 16-bit storage makes products fast.
  std::vector<std::int16_t> inp_, wgt_;
  std::vector<std::int32_t> acc_;
  std::vector<std::uint32_t> uop_;
  // True if the last write of an accumulator element also reached the hardware's output memory.
  std::vector<bool> in_output_;
  Shadow inp_shadow_, wgt_shadow_, acc_shadow_, uop_shadow_, dram_shadow_;
};

}  // namespace tilewright::vta
