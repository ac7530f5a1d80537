#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "src/vta/design.h"

namespace tilewright::vta {

/// Narrows to a field's type. Loops count in 64 bits, but fields of instructions have fewer than
/// 32: encoding checks that they fit.
constexpr std::uint32_t U32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

/// Engine of the pipeline, in pipeline order. Each executes its instructions in order.
enum class Engine : std::uint8_t { kLoad, kCompute, kStore };
inline constexpr int kEngineCount = 3;
constexpr std::size_t EngineIndex(Engine engine) { return static_cast<std::size_t>(engine); }
/// Returns "load", "compute", "store".
std::string_view EngineName(Engine engine);

/// Token queue between neighbouring engines.
enum class Queue : std::uint8_t {
  kLoadToCompute,
  kComputeToLoad,
  kComputeToStore,
  kStoreToCompute
};
inline constexpr int kQueueCount = 4;
/// Returns "load>compute" and so on.
std::string_view QueueName(Queue queue);

/// Tokens that an instruction waits for and tokens that it pushes when done. "prev" and "next" are
/// the neighbours of its engine.
struct Tokens {
  bool pop_prev = false;
  bool pop_next = false;
  bool push_prev = false;
  bool push_next = false;
  friend bool operator==(const Tokens&, const Tokens&) = default;
};

/// Two-dimensional copy between DRAM and an on-chip memory. Addresses, sizes and strides count
/// elements of `memory`. Rows are contiguous on the chip, including padding.
struct Transfer {
  bool is_store = false;
  Memory memory = Memory::kInp;
  std::uint32_t sram_base = 0;
  std::uint32_t dram_base = 0;
  std::uint32_t y_size = 0;    ///< rows in DRAM
  std::uint32_t x_size = 0;    ///< elements of a row in DRAM; 0: moves nothing, but passes tokens
  std::uint32_t x_stride = 0;  ///< from row to row in DRAM
  std::uint32_t y_pad_0 = 0;   ///< rows of zeros before, after; loads only
  std::uint32_t y_pad_1 = 0;
  std::uint32_t x_pad_0 = 0;  ///< zeros before, after each row
  std::uint32_t x_pad_1 = 0;

  std::int64_t DramElements() const { return std::int64_t{y_size} * x_size; }
  std::int64_t RowLength() const { return std::int64_t{x_pad_0} + x_size + x_pad_1; }
  std::int64_t SramElements() const {
    return (std::int64_t{y_pad_0} + y_size + y_pad_1) * RowLength();
  }
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Loop nest of GEMM and ALU: for o < iter_out, for i < iter_in, for every micro-op u with
/// uop_begin <= u < uop_end.
struct UopLoop {
  std::uint32_t uop_begin = 0;
  std::uint32_t uop_end = 0;
  std::uint32_t iter_out = 1;
  std::uint32_t iter_in = 1;

  std::int64_t Count() const {
    return std::int64_t{iter_out} * iter_in * (std::int64_t{uop_end} - uop_begin);
  }
  friend bool operator==(const UopLoop&, const UopLoop&) = default;
};

/// Increment of an index per iteration of the outer and the inner loop.
struct Factor {
  std::uint32_t out = 0;
  std::uint32_t in = 0;
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// GEMM: ACC[dst] += INP[src] * WGT[wgt] transposed; with `reset`, ACC[dst] = 0.
struct Gemm {
  bool reset = false;
  UopLoop loop;
  Factor dst, src, wgt;
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

enum class AluOp : std::uint8_t { kMin, kMax, kAdd, kShr, kMul };
inline constexpr int kAluOpCount = 5;
/// Returns "min", "max", "add", "shr", "mul".
std::string_view AluOpName(AluOp op);
/// Computes one lane: minimum, maximum, sum and product (both modulo 2^32), or `a` shifted right
/// arithmetically by `b` (left by -b if b is negative; shifts by more than 31 leave no bits of
/// `a`).
std::int32_t AluResult(AluOp op, std::int32_t a, std::int32_t b);

/// ALU operation: ACC[dst] = op(ACC[dst], immediate or ACC[src]), lane by lane.
struct Alu {
  bool reset = false;  ///< bit of the format without effect
  UopLoop loop;
  Factor dst, src;
  AluOp op = AluOp::kAdd;
  bool use_immediate = false;
  std::int16_t immediate = 0;
  friend bool operator==(const Alu&, const Alu&) = default;
};

/// End of a launch.
struct Finish {
  friend bool operator==(const Finish&, const Finish&) = default;
};

struct Instruction {
  Tokens tokens;
  std::variant<Transfer, Gemm, Alu, Finish> operation;

  /// Returns the engine that executes it.
  Engine engine() const;
  /// Returns true for a transfer that moves nothing.
  bool IsIdle() const;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// Micro-op: element indices to which the loops of an instruction add.
struct Uop {
  std::uint32_t dst = 0;  ///< accumulator
  std::uint32_t src = 0;  ///< activation (GEMM) or accumulator (ALU)
  std::uint32_t wgt = 0;  ///< weight (GEMM)
  friend bool operator==(const Uop&, const Uop&) = default;
};

/// Formats one line of assembler text, such as
/// `load.inp sram=0 dram=1024 rows=10x56 stride=56 pad=1,0,1,1 pop_next push_next`
/// (padding: before and after the rows, before and after each row; omitted if zero).
std::string ToString(const Instruction& instruction);

}  // namespace tilewright::vta
