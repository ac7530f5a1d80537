// Effects of instructions on the memories. Checks every index, and reports reads of entries that
// were not written or whose write is unfinished.

#include "src/vta/simulator/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/math.h"
#include "src/vta/simulator/tile_product.h"

namespace tilewright::vta {
namespace {

/// Reads `count` signed scalars of `bits` (1, 2, 4, 8) bits, the first in the low bits.
void Unpack(std::span<const std::byte> bytes, int bits, std::int64_t count, std::int16_t* to) {
  if (bits == 8) {
    std::ranges::transform(bytes.first(static_cast<std::size_t>(count)), to,
                           [](std::byte byte) { return static_cast<std::int8_t>(byte); });
    return;
  }
  const int lanes = 8 / bits;
  for (std::int64_t i = 0; i < count; ++i) {
    const int byte = std::to_integer<int>(bytes[static_cast<std::size_t>(i / lanes)]);
    const int raw = (byte >> (i % lanes * bits)) & ((1 << bits) - 1);
    const int sign = 1 << (bits - 1);
    to[i] = static_cast<std::int16_t>((raw ^ sign) - sign);
  }
}

/// Writes the low bits of `count` accumulators.
void Pack(const std::int32_t* from, int bits, std::int64_t count, std::span<std::byte> bytes) {
  const int lanes = 8 / bits;
  std::ranges::fill(bytes, std::byte{0});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto raw = static_cast<unsigned>(from[i]) & ((1u << bits) - 1);
    bytes[static_cast<std::size_t>(i / lanes)] |= static_cast<std::byte>(raw << (i % lanes * bits));
  }
}

std::uint32_t LittleEndian(std::span<const std::byte> bytes, std::int64_t index) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value =
        value << 8 | std::to_integer<std::uint32_t>(bytes[static_cast<std::size_t>(index * 4 + i)]);
  }
  return value;
}

// Returns the granularity of data addresses. Micro-ops are smaller, but no instruction stores them.
std::int64_t Granule(const Design& design) {
  return std::min({design.ElementBytes(Memory::kInp), design.ElementBytes(Memory::kWgt),
                   design.ElementBytes(Memory::kOut)});
}

}  // namespace

Machine::Machine(const Design& design, std::span<const Instruction> instructions, Dram& dram,
                 const RunOptions& options)
    : design_(design),
      encoding_(design),
      instructions_(instructions),
      dram_(dram),
      options_(options),
      inp_lanes_(std::int64_t{design.batch()} * design.block()),
      wgt_lanes_(std::int64_t{design.block()} * design.block()),
      acc_lanes_(inp_lanes_),
      inp_depth_(design.Depth(Memory::kInp)),
      wgt_depth_(design.Depth(Memory::kWgt)),
      acc_depth_(design.Depth(Memory::kAcc)),
      granule_bytes_(Granule(design)),
      uops_left_(options.max_uops),
      inp_(static_cast<std::size_t>(inp_depth_ * inp_lanes_)),
      wgt_(static_cast<std::size_t>(wgt_depth_ * wgt_lanes_)),
      acc_(static_cast<std::size_t>(acc_depth_ * acc_lanes_)),
      uop_(static_cast<std::size_t>(design.Depth(Memory::kUop))),
      in_output_(static_cast<std::size_t>(acc_depth_)),
      inp_shadow_(inp_depth_, Engine::kLoad, {Engine::kCompute}, Shadow::kNever),
      wgt_shadow_(wgt_depth_, Engine::kLoad, {Engine::kCompute}, Shadow::kNever),
      acc_shadow_(acc_depth_, Engine::kCompute, {Engine::kStore}, Shadow::kNever),
      uop_shadow_(design.Depth(Memory::kUop), Engine::kCompute, {}, Shadow::kNever),
      dram_shadow_(CeilDiv(dram.size(), granule_bytes_), Engine::kStore,
                   {Engine::kLoad, Engine::kCompute}, Shadow::kBefore) {}

std::optional<Fault> Machine::Execute(const Issue& issue) {
  const auto& operation = instructions_[static_cast<std::size_t>(issue.instruction)].operation;
  if (const auto* transfer = std::get_if<Transfer>(&operation)) {
    if (transfer->x_size == 0) return std::nullopt;
    return transfer->is_store ? Store(issue, *transfer) : Load(issue, *transfer);
  }
  if (const auto* gemm = std::get_if<Gemm>(&operation)) return Multiply(issue, *gemm);
  if (const auto* alu = std::get_if<Alu>(&operation)) return Calculate(issue, *alu);
  return std::nullopt;
}

std::string Machine::This(const Issue& issue) const {
  return Describe(issue.instruction, instructions_[static_cast<std::size_t>(issue.instruction)]);
}

Shadow& Machine::ShadowOf(Memory memory) {
  switch (memory) {
    case Memory::kUop:
      return uop_shadow_;
    case Memory::kWgt:
      return wgt_shadow_;
    case Memory::kInp:
      return inp_shadow_;
    default:
      return acc_shadow_;
  }
}

std::optional<Fault> Machine::Load(const Issue& issue, const Transfer& t) {
  std::int64_t sram = t.sram_base;
  const std::int64_t row_length = t.RowLength();
  if (auto fault = Clear(issue, t.memory, sram, t.y_pad_0 * row_length)) return fault;
  sram += t.y_pad_0 * row_length;
  for (std::int64_t row = 0; row < t.y_size; ++row, sram += row_length) {
    if (auto fault = Clear(issue, t.memory, sram, t.x_pad_0)) return fault;
    if (auto fault = LoadRow(issue, t, row, sram + t.x_pad_0)) return fault;
    if (auto fault = Clear(issue, t.memory, sram + t.x_pad_0 + t.x_size, t.x_pad_1)) return fault;
  }
  return Clear(issue, t.memory, sram, t.y_pad_1 * row_length);
}

std::optional<Fault> Machine::LoadRow(const Issue& issue, const Transfer& t, std::int64_t row,
                                      std::int64_t sram) {
  const std::int64_t element = design_.ElementBytes(t.memory);
  const std::int64_t address = (t.dram_base + row * t.x_stride) * element;
  const std::int64_t bytes = t.x_size * element;
  if (dram_.Find(address, bytes) == nullptr) {
    return Fault{FaultKind::kBadAddress, issue.instruction,
                 fmt::format("{}: row {} reads bytes {} to {} of DRAM, which no buffer holds",
                             This(issue), row, address, address + bytes - 1)};
  }
  if (options_.check_hazards) {
    for (std::int64_t at = address / granule_bytes_; at * granule_bytes_ < address + bytes; ++at) {
      if (dram_shadow_.Read(at, issue)) continue;
      return ReadError(issue, fmt::format("DRAM byte {}", at * granule_bytes_), dram_shadow_, at);
    }
    for (std::int64_t i = 0; i < t.x_size; ++i) {
      if (auto fault = Written(issue, t.memory, sram + i)) return fault;
    }
  }
  Fill(t, sram, dram_.Bytes(address, bytes));
  return std::nullopt;
}

void Machine::Fill(const Transfer& t, std::int64_t sram, std::span<const std::byte> bytes) {
  switch (t.memory) {
    case Memory::kUop:
      for (std::int64_t i = 0; i < t.x_size; ++i) {
        uop_[static_cast<std::size_t>(sram + i)] = LittleEndian(bytes, i);
      }
      return;
    case Memory::kWgt:
      Unpack(bytes, design_.wgt_bits(), t.x_size * wgt_lanes_, &wgt_[sram * wgt_lanes_]);
      return;
    case Memory::kInp:
      Unpack(bytes, design_.inp_bits(), t.x_size * inp_lanes_, &inp_[sram * inp_lanes_]);
      return;
    case Memory::kAcc:
      for (std::int64_t i = 0; i < t.x_size * acc_lanes_; ++i) {
        acc_[static_cast<std::size_t>(sram * acc_lanes_ + i)] =
            static_cast<std::int32_t>(LittleEndian(bytes, i));
      }
      return;
    case Memory::kAccInt8:
      for (std::int64_t i = 0; i < t.x_size * acc_lanes_; ++i) {
        acc_[static_cast<std::size_t>(sram * acc_lanes_ + i)] =
            static_cast<std::int8_t>(bytes[static_cast<std::size_t>(i)]);
      }
      return;
    case Memory::kOut:
      return;  // rejected by decoding and CheckInstruction
  }
}

std::optional<Fault> Machine::Clear(const Issue& issue, Memory memory, std::int64_t sram,
                                    std::int64_t count) {
  const auto clear = [&](auto& memory_values, std::int64_t lanes) {
    std::fill_n(memory_values.begin() + sram * lanes, count * lanes, 0);
  };
  switch (memory) {
    case Memory::kUop:
      clear(uop_, 1);
      break;
    case Memory::kWgt:
      clear(wgt_, wgt_lanes_);
      break;
    case Memory::kInp:
      clear(inp_, inp_lanes_);
      break;
    default:
      clear(acc_, acc_lanes_);
      break;
  }
  for (std::int64_t i = 0; options_.check_hazards && i < count; ++i) {
    if (auto fault = Written(issue, memory, sram + i)) return fault;
  }
  return std::nullopt;
}

std::optional<Fault> Machine::Store(const Issue& issue, const Transfer& t) {
  const std::int64_t element = design_.ElementBytes(Memory::kOut);
  const std::int64_t bytes = t.x_size * element;
  std::int64_t sram = t.sram_base;
  for (std::int64_t row = 0; row < t.y_size; ++row, sram += t.x_size) {
    const std::int64_t address = (t.dram_base + row * t.x_stride) * element;
    const Dram::Buffer* buffer = dram_.Find(address, bytes);
    if (buffer == nullptr || !buffer->writable) {
      return Fault{
          FaultKind::kBadAddress, issue.instruction,
          fmt::format("{}: row {} writes bytes {} to {} of DRAM, {}", This(issue), row, address,
                      address + bytes - 1,
                      buffer == nullptr ? "which no buffer holds"
                                        : "part of " + buffer->name + ", which is only read")};
    }
    if (options_.check_hazards) {
      for (std::int64_t i = sram; i < sram + t.x_size; ++i) {
        if (!acc_shadow_.Read(i, issue)) {
          return ReadError(issue, fmt::format("OUT {}", i), acc_shadow_, i);
        }
        if (!in_output_[static_cast<std::size_t>(i)]) {
          return Fault{
              FaultKind::kStaleOutput, issue.instruction,
              fmt::format(
                  "{}: OUT {} was last written by {}: hardware would store older "
                  "data; expected a GEMM or ALU operation on it",
                  This(issue), i,
                  Describe(acc_shadow_.LastWrite(i),
                           instructions_[static_cast<std::size_t>(acc_shadow_.LastWrite(i))]))};
        }
      }
      for (std::int64_t at = address / granule_bytes_; at * granule_bytes_ < address + bytes;
           ++at) {
        if (dram_shadow_.Write(at, issue)) continue;
        return WriteError(issue, fmt::format("DRAM byte {}", at * granule_bytes_), dram_shadow_,
                          at);
      }
    }
    Pack(&acc_[static_cast<std::size_t>(sram * acc_lanes_)], design_.inp_bits(),
         t.x_size * acc_lanes_, dram_.Bytes(address, bytes));
  }
  return std::nullopt;
}

std::optional<Fault> Machine::CheckUops(const Issue& issue, const UopLoop& loop) {
  uops_left_ -= loop.Count();
  if (uops_left_ < 0) {
    return Fault{
        FaultKind::kBadInstruction, issue.instruction,
        fmt::format("{}: more than {} micro-ops in one launch", This(issue), options_.max_uops)};
  }
  for (std::int64_t u = loop.uop_begin; options_.check_hazards && u < loop.uop_end; ++u) {
    if (!uop_shadow_.Read(u, issue)) {
      return ReadError(issue, fmt::format("UOP {}", u), uop_shadow_, u);
    }
  }
  return std::nullopt;
}

std::optional<Fault> Machine::Multiply(const Issue& issue, const Gemm& gemm) {
  if (auto fault = CheckUops(issue, gemm.loop)) return fault;
  if (gemm.loop.Count() == 0) return std::nullopt;
  for (std::int64_t o = 0; o < gemm.loop.iter_out; ++o) {
    for (std::int64_t i = 0; i < gemm.loop.iter_in; ++i) {
      for (std::uint32_t u = gemm.loop.uop_begin; u < gemm.loop.uop_end; ++u) {
        const Uop uop = encoding_.Decode(uop_[u]);
        if (auto fault = MultiplyOne(issue, gemm, uop.dst + o * gemm.dst.out + i * gemm.dst.in,
                                     uop.src + o * gemm.src.out + i * gemm.src.in,
                                     uop.wgt + o * gemm.wgt.out + i * gemm.wgt.in)) {
          return fault;
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Fault> Machine::MultiplyOne(const Issue& issue, const Gemm& gemm, std::int64_t dst,
                                          std::int64_t src, std::int64_t wgt) {
  if (dst >= acc_depth_) return OutOfRange(issue, Memory::kAcc, dst);
  std::int32_t* acc = &acc_[static_cast<std::size_t>(dst * acc_lanes_)];
  if (gemm.reset) {
    std::fill_n(acc, acc_lanes_, 0);
    if (!options_.check_hazards) return std::nullopt;
    return Written(issue, Memory::kAcc, dst);
  }
  if (src >= inp_depth_) return OutOfRange(issue, Memory::kInp, src);
  if (wgt >= wgt_depth_) return OutOfRange(issue, Memory::kWgt, wgt);
  if (options_.check_hazards) {
    if (!inp_shadow_.Read(src, issue)) {
      return ReadError(issue, fmt::format("INP {}", src), inp_shadow_, src);
    }
    if (!wgt_shadow_.Read(wgt, issue)) {
      return ReadError(issue, fmt::format("WGT {}", wgt), wgt_shadow_, wgt);
    }
    if (!acc_shadow_.Read(dst, issue)) {
      return ReadError(issue, fmt::format("ACC {}", dst), acc_shadow_, dst);
    }
    if (auto fault = Written(issue, Memory::kAcc, dst)) return fault;
    in_output_[static_cast<std::size_t>(dst)] = true;
  }
  TileProduct(design_.batch(), design_.block(), &inp_[static_cast<std::size_t>(src * inp_lanes_)],
              &wgt_[static_cast<std::size_t>(wgt * wgt_lanes_)], acc);
  return std::nullopt;
}

std::optional<Fault> Machine::Calculate(const Issue& issue, const Alu& alu) {
  if (auto fault = CheckUops(issue, alu.loop)) return fault;
  if (alu.loop.Count() == 0) return std::nullopt;
  for (std::int64_t o = 0; o < alu.loop.iter_out; ++o) {
    for (std::int64_t i = 0; i < alu.loop.iter_in; ++i) {
      for (std::uint32_t u = alu.loop.uop_begin; u < alu.loop.uop_end; ++u) {
        const Uop uop = encoding_.Decode(uop_[u]);
        if (auto fault = CalculateOne(issue, alu, uop.dst + o * alu.dst.out + i * alu.dst.in,
                                      uop.src + o * alu.src.out + i * alu.src.in)) {
          return fault;
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Fault> Machine::CalculateOne(const Issue& issue, const Alu& alu, std::int64_t dst,
                                           std::int64_t src) {
  if (dst >= acc_depth_) return OutOfRange(issue, Memory::kAcc, dst);
  if (!alu.use_immediate && src >= acc_depth_) return OutOfRange(issue, Memory::kAcc, src);
  if (options_.check_hazards) {
    if (!acc_shadow_.Read(dst, issue)) {
      return ReadError(issue, fmt::format("ACC {}", dst), acc_shadow_, dst);
    }
    if (!alu.use_immediate && !acc_shadow_.Read(src, issue)) {
      return ReadError(issue, fmt::format("ACC {}", src), acc_shadow_, src);
    }
    if (auto fault = Written(issue, Memory::kAcc, dst)) return fault;
    in_output_[static_cast<std::size_t>(dst)] = true;
  }
  std::int32_t* to = &acc_[static_cast<std::size_t>(dst * acc_lanes_)];
  if (alu.use_immediate) {
    for (std::int64_t lane = 0; lane < acc_lanes_; ++lane) {
      to[lane] = AluResult(alu.op, to[lane], alu.immediate);
    }
    return std::nullopt;
  }
  const std::int32_t* from = &acc_[static_cast<std::size_t>(src * acc_lanes_)];
  for (std::int64_t lane = 0; lane < acc_lanes_; ++lane) {
    to[lane] = AluResult(alu.op, to[lane], from[lane]);
  }
  return std::nullopt;
}

std::optional<Fault> Machine::Written(const Issue& issue, Memory memory, std::int64_t entry) {
  Shadow& shadow = ShadowOf(memory);
  if (&shadow == &acc_shadow_) in_output_[static_cast<std::size_t>(entry)] = false;
  if (shadow.Write(entry, issue)) return std::nullopt;
  return WriteError(issue, fmt::format("{} {}", MemoryName(memory), entry), shadow, entry);
}

std::optional<Fault> Machine::ReadError(const Issue& issue, const std::string& what,
                                        const Shadow& shadow, std::int64_t entry) const {
  const std::int32_t written = shadow.LastWrite(entry);
  if (written == Shadow::kNever) {
    return Fault{FaultKind::kNotWritten, issue.instruction,
                 fmt::format("{} reads {}, which nothing has written", This(issue), what)};
  }
  return Disorder(issue,
                  fmt::format("reads {}, which {} writes", what,
                              Describe(written, instructions_[static_cast<std::size_t>(written)])),
                  written, shadow.writer());
}

std::optional<Fault> Machine::WriteError(const Issue& issue, const std::string& what,
                                         const Shadow& shadow, std::int64_t entry) const {
  Engine engine{};
  const std::int32_t read = shadow.LateRead(entry, issue, engine);
  return Disorder(issue,
                  fmt::format("overwrites {}, which {} reads", what,
                              Describe(read, instructions_[static_cast<std::size_t>(read)])),
                  read, engine);
}

Fault Machine::Disorder(const Issue& issue, const std::string& what, std::int32_t other,
                        Engine other_engine) const {
  const bool raced = issue.done[static_cast<std::size_t>(other_engine)] < other;
  if (!raced) {
    return {FaultKind::kWrongOrder, issue.instruction,
            fmt::format("{} {}: the tokens put the later instruction first", This(issue), what)};
  }
  // The missing token would determine which of the two runs first.
  const bool other_first = other < issue.instruction;
  return {FaultKind::kRace, issue.instruction,
          fmt::format("{} {}: no token orders them; expected one on the way from {} to {}",
                      This(issue), what, EngineName(other_first ? other_engine : issue.engine),
                      EngineName(other_first ? issue.engine : other_engine))};
}

Fault Machine::OutOfRange(const Issue& issue, Memory memory, std::int64_t index) const {
  return {FaultKind::kBufferOverrun, issue.instruction,
          fmt::format("{}: a micro-op reaches element {} of {}, expected at most {}", This(issue),
                      index, MemoryName(memory), design_.Depth(memory) - 1)};
}

}  // namespace tilewright::vta
