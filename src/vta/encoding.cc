// Binary encoding of instructions and micro-ops, with one list of fields for both directions; and
// the listing.

#include "src/vta/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

// Fields are placed from bit 0 upward; a field that would cross bit 64 starts there instead. The
// fields of each operation are listed once, in Visit..., for encoding, decoding and measuring.

namespace tilewright::vta {
namespace {

enum Opcode : std::uint32_t { kLoad = 0, kStore = 1, kGemm = 2, kFinish = 3, kAlu = 4 };

constexpr int kOpcodeBits = 3;
constexpr int kMemoryBits = 3;
constexpr int kSramBaseBits = 16;
constexpr int kDramBaseBits = 32;
constexpr int kSizeBits = 16;
constexpr int kPadBits = 4;
constexpr int kIterationBits = 14;
constexpr int kAluOpBits = 3;
constexpr int kImmediateBits = 16;

struct Depths {
  int uop, inp, wgt, acc;  // log2
};

/// Position of the next field. In a memory of one element, fields have no bits.
struct Cursor {
  int bit = 0;
  int Take(int width) {
    if (bit / 64 != (bit + width - 1) / 64) bit = (bit / 64 + 1) * 64;
    const int at = bit;
    bit += width;
    return at;
  }
};

std::uint64_t Mask(int width) { return (std::uint64_t{1} << width) - 1; }

struct Writer {
  Cursor cursor;
  InstructionWords words{};
  Status status;
  void operator()(std::string_view name, int width, std::uint32_t& value) {
    if (value > Mask(width)) {
      if (status.ok()) {
        status =
            InvalidArgument(fmt::format("{}: {}, expected at most {}", name, value, Mask(width)));
      }
      return;
    }
    if (width == 0) return;
    const int at = cursor.Take(width);
    words[static_cast<std::size_t>(at / 64)] |= std::uint64_t{value} << (at % 64);
  }
};

struct Reader {
  Cursor cursor;
  InstructionWords words{};
  void operator()(std::string_view, int width, std::uint32_t& value) {
    value = 0;
    if (width == 0) return;
    const int at = cursor.Take(width);
    value = static_cast<std::uint32_t>((words[static_cast<std::size_t>(at / 64)] >> (at % 64)) &
                                       Mask(width));
  }
};

struct Measure {
  Cursor cursor;
  void operator()(std::string_view, int width, std::uint32_t&) {
    if (width > 0) cursor.Take(width);
  }
};

template <typename Bits, typename Value>
void CodeField(Bits& bits, std::string_view name, int width, Value& value) {
  auto raw = static_cast<std::uint32_t>(value);
  bits(name, width, raw);
  value = static_cast<Value>(raw);
}

template <typename Bits>
void Visit(Bits& bits, std::uint32_t& opcode, Tokens& tokens) {
  bits("opcode", kOpcodeBits, opcode);
  CodeField(bits, "pop_prev_dep", 1, tokens.pop_prev);
  CodeField(bits, "pop_next_dep", 1, tokens.pop_next);
  CodeField(bits, "push_prev_dep", 1, tokens.push_prev);
  CodeField(bits, "push_next_dep", 1, tokens.push_next);
}

template <typename Bits>
void Visit(Bits& bits, const Depths&, Transfer& t) {
  CodeField(bits, "memory_type", kMemoryBits, t.memory);
  bits("sram_base", kSramBaseBits, t.sram_base);
  bits("dram_base", kDramBaseBits, t.dram_base);
  bits("y_size", kSizeBits, t.y_size);
  bits("x_size", kSizeBits, t.x_size);
  bits("x_stride", kSizeBits, t.x_stride);
  bits("y_pad_0", kPadBits, t.y_pad_0);
  bits("y_pad_1", kPadBits, t.y_pad_1);
  bits("x_pad_0", kPadBits, t.x_pad_0);
  bits("x_pad_1", kPadBits, t.x_pad_1);
}

template <typename Bits>
void Visit(Bits& bits, const Depths& depths, bool& reset, UopLoop& loop) {
  CodeField(bits, "reset_reg", 1, reset);
  bits("uop_bgn", depths.uop, loop.uop_begin);
  bits("uop_end", depths.uop + 1, loop.uop_end);
  bits("iter_out", kIterationBits, loop.iter_out);
  bits("iter_in", kIterationBits, loop.iter_in);
}

template <typename Bits>
void Visit(Bits& bits, const Depths& depths, Gemm& g) {
  Visit(bits, depths, g.reset, g.loop);
  bits("dst_factor_out", depths.acc, g.dst.out);
  bits("dst_factor_in", depths.acc, g.dst.in);
  bits("src_factor_out", depths.inp, g.src.out);
  bits("src_factor_in", depths.inp, g.src.in);
  bits("wgt_factor_out", depths.wgt, g.wgt.out);
  bits("wgt_factor_in", depths.wgt, g.wgt.in);
}

template <typename Bits>
void Visit(Bits& bits, const Depths& depths, Alu& a) {
  Visit(bits, depths, a.reset, a.loop);
  bits("dst_factor_out", depths.acc, a.dst.out);
  bits("dst_factor_in", depths.acc, a.dst.in);
  bits("src_factor_out", depths.acc, a.src.out);
  bits("src_factor_in", depths.acc, a.src.in);
  CodeField(bits, "alu_opcode", kAluOpBits, a.op);
  CodeField(bits, "use_imm", 1, a.use_immediate);
  auto raw = static_cast<std::uint32_t>(static_cast<std::uint16_t>(a.immediate));
  bits("imm", kImmediateBits, raw);
  a.immediate = static_cast<std::int16_t>(static_cast<std::uint16_t>(raw));
}

template <typename Bits>
void Visit(Bits&, const Depths&, Finish&) {}

std::uint32_t OpcodeOf(const Instruction& instruction) {
  switch (instruction.operation.index()) {
    case 0:
      return std::get<Transfer>(instruction.operation).is_store ? kStore : kLoad;
    case 1:
      return kGemm;
    case 2:
      return kAlu;
    default:
      return kFinish;
  }
}

Status CheckMemory(const Transfer& t) {
  const auto type = static_cast<int>(t.memory);
  if (type >= kMemoryCount) {
    return InvalidArgument(
        fmt::format("memory_type: {}, expected at most {}", type, kMemoryCount - 1));
  }
  if (!t.is_store && t.memory == Memory::kOut) {
    return InvalidArgument("memory_type: OUT cannot be loaded");
  }
  // A store that moves nothing may name any memory: compilers write 0 there.
  if (t.is_store && t.memory != Memory::kOut && t.x_size != 0) {
    return InvalidArgument(
        fmt::format("memory_type: a store of {}, expected OUT", MemoryName(t.memory)));
  }
  return Status();
}

template <typename Operation>
Operation Read(Reader& reader, const Depths& depths) {
  Operation operation;
  Visit(reader, depths, operation);
  return operation;
}

}  // namespace

Status CheckEncodable(int log_uop, int log_inp, int log_wgt, int log_acc) {
  const int uop_bits = log_acc + std::max(log_acc, log_inp) + log_wgt;
  if (uop_bits > 32) {
    return InvalidArgument(fmt::format(
        "a micro-op needs {} bits to name 2^{} ACC, 2^{} INP and 2^{} WGT elements, expected at "
        "most 32: make a buffer smaller",
        uop_bits, log_acc, log_inp, log_wgt));
  }
  for (const int depth : {log_uop, log_inp, log_wgt, log_acc}) {
    if (depth > kSramBaseBits) {
      return InvalidArgument(
          fmt::format("a memory has 2^{} elements, expected at most 2^{}", depth, kSramBaseBits));
    }
  }
  const int factor_bits = 2 * (log_acc + log_inp + log_wgt);
  if (factor_bits > 64) {
    return InvalidArgument(fmt::format(
        "the index factors of a GEMM need {} bits, expected at most 64: make a buffer smaller",
        factor_bits));
  }
  const Depths depths = {log_uop, log_inp, log_wgt, log_acc};
  std::uint32_t opcode = 0;
  Tokens tokens;
  Gemm gemm;
  Alu alu;
  Measure gemm_bits, alu_bits;
  Visit(gemm_bits, opcode, tokens);
  Visit(gemm_bits, depths, gemm);
  Visit(alu_bits, opcode, tokens);
  Visit(alu_bits, depths, alu);
  for (const auto& [name, bits] :
       {std::pair{"GEMM", gemm_bits.cursor.bit}, std::pair{"ALU", alu_bits.cursor.bit}}) {
    if (bits > 128) {
      return InvalidArgument(fmt::format(
          "{} instructions need {} bits, expected at most 128: make the UOP or ACC buffer smaller",
          name, bits));
    }
  }
  return Status();
}

Encoding::Encoding(const Design& design)
    : log_uop_(design.LogDepth(Memory::kUop)),
      log_inp_(design.LogDepth(Memory::kInp)),
      log_wgt_(design.LogDepth(Memory::kWgt)),
      log_acc_(design.LogDepth(Memory::kAcc)),
      wgt_shift_(log_acc_ + std::max(log_acc_, log_inp_)),
      acc_mask_(static_cast<std::uint32_t>(Mask(log_acc_))),
      src_mask_(static_cast<std::uint32_t>(Mask(std::max(log_acc_, log_inp_)))),
      wgt_mask_(static_cast<std::uint32_t>(Mask(log_wgt_))) {}

Result<InstructionWords> Encoding::Encode(const Instruction& instruction) const {
  if (const auto* transfer = std::get_if<Transfer>(&instruction.operation)) {
    TW_RETURN_IF_ERROR(CheckMemory(*transfer));
  }
  Instruction copy = instruction;  // one visitor serves encoding and decoding
  std::uint32_t opcode = OpcodeOf(instruction);
  Writer writer;
  Visit(writer, opcode, copy.tokens);
  const Depths depths = {log_uop_, log_inp_, log_wgt_, log_acc_};
  std::visit([&](auto& operation) { Visit(writer, depths, operation); }, copy.operation);
  TW_RETURN_IF_ERROR(writer.status);
  return writer.words;
}

Result<Instruction> Encoding::Decode(const InstructionWords& words) const {
  Reader reader;
  reader.words = words;
  const Depths depths = {log_uop_, log_inp_, log_wgt_, log_acc_};
  Instruction instruction;
  std::uint32_t opcode = 0;
  Visit(reader, opcode, instruction.tokens);
  switch (opcode) {
    case kLoad:
    case kStore: {
      auto transfer = Read<Transfer>(reader, depths);
      transfer.is_store = opcode == kStore;
      TW_RETURN_IF_ERROR(CheckMemory(transfer));
      instruction.operation = transfer;
      return instruction;
    }
    case kGemm:
      instruction.operation = Read<Gemm>(reader, depths);
      return instruction;
    case kAlu: {
      const auto alu = Read<Alu>(reader, depths);
      if (static_cast<int>(alu.op) >= kAluOpCount) {
        return InvalidArgument(fmt::format("alu_opcode: {}, expected at most {}",
                                           static_cast<int>(alu.op), kAluOpCount - 1));
      }
      instruction.operation = alu;
      return instruction;
    }
    case kFinish:
      instruction.operation = Finish();
      return instruction;
    default:
      return InvalidArgument(fmt::format("opcode: {}, expected at most 4", opcode));
  }
}

Result<std::uint32_t> Encoding::Encode(const Uop& uop) const {
  struct Part {
    const char* name;
    std::uint32_t value, limit;
  };
  for (const Part& part : {Part{"dst_idx", uop.dst, acc_mask_}, Part{"src_idx", uop.src, src_mask_},
                           Part{"wgt_idx", uop.wgt, wgt_mask_}}) {
    if (part.value > part.limit) {
      return InvalidArgument(
          fmt::format("{}: {}, expected at most {}", part.name, part.value, part.limit));
    }
  }
  const std::uint64_t word = std::uint64_t{uop.dst} | std::uint64_t{uop.src} << log_acc_ |
                             std::uint64_t{uop.wgt} << wgt_shift_;
  return static_cast<std::uint32_t>(word);
}

Result<std::vector<std::byte>> Encoding::EncodeStream(
    std::span<const Instruction> instructions) const {
  std::vector<std::byte> bytes;
  bytes.reserve(instructions.size() * kInstructionBytes);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto words = Encode(instructions[i]);
    if (!words.ok()) return words.status().WithContext(fmt::format("instruction {}", i));
    for (const std::uint64_t word : *words) {
      for (int shift = 0; shift < 64; shift += 8) {
        bytes.push_back(static_cast<std::byte>((word >> shift) & 0xff));
      }
    }
  }
  return bytes;
}

Result<std::vector<Instruction>> Encoding::DecodeStream(std::span<const std::byte> bytes) const {
  if (bytes.size() % kInstructionBytes != 0) {
    return InvalidArgument(fmt::format("a stream of {} bytes is cut off: expected a multiple of {}",
                                       bytes.size(), kInstructionBytes));
  }
  std::vector<Instruction> instructions;
  instructions.reserve(bytes.size() / kInstructionBytes);
  for (std::size_t at = 0; at < bytes.size(); at += kInstructionBytes) {
    InstructionWords words{};
    for (std::size_t i = 0; i < kInstructionBytes; ++i) {
      words[i / 8] |= std::to_integer<std::uint64_t>(bytes[at + i]) << (i % 8 * 8);
    }
    auto instruction = Decode(words);
    if (!instruction.ok()) {
      return instruction.status().WithContext(
          fmt::format("instruction {}", at / kInstructionBytes));
    }
    instructions.push_back(*std::move(instruction));
  }
  return instructions;
}

std::string Listing(std::span<const Instruction> instructions) {
  std::string text;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{:6}  {}\n", i, ToString(instructions[i]));
  }
  return text;
}

}  // namespace tilewright::vta
