#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/vta/design.h"
#include "src/vta/dram.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// Minimum distance of two updates of one accumulator element in a kernel, in micro-ops.
inline constexpr std::size_t kHazardDistance = 3;

/// Stream whose buffers have no addresses yet: dram_base of a transfer is relative to the start of
/// the transfer's buffer.
struct Stream {
  /// Value of buffer_of for instructions without a buffer.
  static constexpr std::int32_t kNoBuffer = -1;
  static constexpr std::int32_t kUopBuffer = 0;

  struct Buffer {
    std::string name;
    bool writable = false;
    std::vector<std::byte> contents = {};  ///< of a constant that is part of the stream
  };

  std::vector<Instruction> instructions;
  std::vector<std::int32_t> buffer_of;  ///< for each instruction: index into `buffers` or kNoBuffer
  std::vector<Buffer> buffers;          ///< the first holds the micro-ops
  std::vector<std::uint32_t> uops;      ///< encoded

  /// Returns the instructions with real addresses.
  /// addresses: of each buffer, in bytes, multiples of the sizes of their elements.
  /// Errors: kInvalidArgument if an address is not aligned, missing or out of reach.
  Result<std::vector<Instruction>> Bind(const Design& design,
                                        std::span<const std::int64_t> addresses) const;
  /// Returns the encoded micro-ops in their DRAM layout.
  std::vector<std::byte> UopBytes() const;
};

/// Builder of a stream: instructions in program order, with explicit tokens.
///
/// A pop is attached to the next instruction of its engine, a push to the last instruction if that
/// belongs to its engine; otherwise an idle instruction carries it. Micro-op kernels are loaded
/// before the first instruction that uses them, and again after an eviction. These rules are those
/// of the original runtime, so its streams can be reproduced. Errors are sticky: Finish reports the
/// first one.
class StreamBuilder {
 public:
  explicit StreamBuilder(const Design& design);

  /// Adds a buffer that transfers may address. writable: stores are allowed.
  std::int32_t AddBuffer(std::string name, bool writable);
  /// Adds a read-only buffer whose contents are part of the stream.
  std::int32_t AddConstant(std::string name, std::vector<std::byte> contents);

  /// Makes the next instruction of `to` wait for a token of its neighbour `from`.
  void Pop(Engine from, Engine to);
  /// Makes `from` push a token to its neighbour `to` when its last instruction is done.
  void Push(Engine from, Engine to);

  /// Appends a transfer of `buffer`; dram_base is relative to its start.
  void Append(const Transfer& transfer, std::int32_t buffer);

  /// Adds a list of micro-ops. Adding an equal list again creates another kernel.
  /// Errors (at Finish): kInvalidArgument if an index does not fit, if the list is empty or longer
  /// than the micro-op memory, or if it names one destination twice within three positions, which
  /// the original hardware computes incorrectly.
  std::int32_t AddKernel(std::span<const Uop> uops);
  /// Loads all kernels added so far with one transfer, so that none is loaded later.
  /// Errors (at Finish): kInvalidArgument if they do not fit the micro-op memory together.
  void LoadKernels();
  /// Appends `gemm` or `alu` with the micro-ops of `kernel`; loads them first if necessary.
  void Append(Gemm gemm, std::int32_t kernel);
  void Append(Alu alu, std::int32_t kernel);

  /// Ends the launch with FINISH after all other instructions and returns the stream. The builder
  /// must not be used afterwards.
  /// Errors: the first error of the appended instructions, naming the instruction.
  Result<Stream> Finish() &&;

 private:
  struct Kernel {
    std::int64_t first = 0;  // in Stream::uops
    std::int64_t size = 0;
    std::int64_t sram = -1;  // on-chip address, or -1
  };
  struct Pending {
    bool prev = false, next = false;
  };
  Instruction& Emit(Engine engine, Instruction instruction, std::int32_t buffer);
  void EmitIdle(Engine engine, bool push_prev, bool push_next);
  void FlushPops(Engine engine);
  void MakeResident(Kernel& kernel);
  void LoadUops(std::int64_t sram, std::int64_t first, std::int64_t count);
  template <typename Operation>
  void AppendLoop(Operation operation, std::int32_t kernel);
  void Fail(std::string message);

  Design design_;
  Stream stream_;
  std::vector<Kernel> kernels_;
  std::vector<std::int32_t> resident_;  // kernels in the micro-op memory
  std::int64_t uop_end_ = 0;            // end of the memory's filled part
  Pending pending_[kEngineCount];
  Status status_;
};

/// Places a stream in DRAM: allocates its micro-ops and constants, and uses the given addresses of
/// the other buffers.
/// addresses: of those, in their order.
/// Errors: as for Stream::Bind.
Result<std::vector<Instruction>> Place(const Design& design, const Stream& stream, Dram& dram,
                                       std::span<const std::int64_t> addresses);

}  // namespace tilewright::vta
