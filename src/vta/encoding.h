#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

inline constexpr std::int64_t kInstructionBytes = 16;
inline constexpr std::int64_t kUopBytes = 4;

/// Instruction as the hardware reads it: bits 0 to 63, bits 64 to 127.
using InstructionWords = std::array<std::uint64_t, 2>;

/// Checks that instructions and micro-ops of a design with memories of these log2 depths fit their
/// 128 and 32 bits. Every valid Design passes.
/// Errors: kInvalidArgument naming what is too wide.
Status CheckEncodable(int log_uop, int log_inp, int log_wgt, int log_acc);

/// Binary format of one design: field widths follow the depths of its memories.
class Encoding {
 public:
  explicit Encoding(const Design& design);

  /// Encodes an instruction.
  /// Errors: kInvalidArgument naming the field whose value does not fit, or an operation that has
  /// no code (a load of OUT).
  Result<InstructionWords> Encode(const Instruction& instruction) const;
  /// Decodes an instruction. Ignores bits that belong to no field, because compilers leave them
  /// undefined.
  /// Errors: kInvalidArgument for an unknown operation, memory type or ALU operation.
  Result<Instruction> Decode(const InstructionWords& words) const;

  /// Encodes a micro-op. Errors: kInvalidArgument naming the index that does not fit.
  Result<std::uint32_t> Encode(const Uop& uop) const;
  Uop Decode(std::uint32_t word) const {
    return {word & acc_mask_, (word >> log_acc_) & src_mask_, (word >> wgt_shift_) & wgt_mask_};
  }

  /// Encodes a sequence of instructions, 16 bytes each, little endian.
  /// Errors: as for one; messages give the position of the instruction, from 0.
  Result<std::vector<std::byte>> EncodeStream(std::span<const Instruction> instructions) const;
  /// Decodes a sequence. Errors: as for one, and kInvalidArgument if the size is not a multiple of
  /// 16.
  Result<std::vector<Instruction>> DecodeStream(std::span<const std::byte> bytes) const;

 private:
  int log_uop_, log_inp_, log_wgt_, log_acc_;
  int wgt_shift_;
  std::uint32_t acc_mask_, src_mask_, wgt_mask_;
};

/// Formats assembler text: one numbered line for each instruction.
std::string Listing(std::span<const Instruction> instructions);

}  // namespace tilewright::vta
