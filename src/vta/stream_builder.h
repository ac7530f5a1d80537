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

/// How far apart two updates of one accumulator element have to be in a kernel, in micro-ops.
inline constexpr std::size_t kHazardDistance = 3;

/// A stream whose buffers have no address yet: dram_base of a transfer counts from the start of
/// the transfer's buffer.
struct Stream {
  /// Which buffer an instruction addresses.
  static constexpr std::int32_t kNoBuffer = -1;
  static constexpr std::int32_t kUopBuffer = 0;

  struct Buffer {
    std::string name;
    bool writable = false;
    std::vector<std::byte> contents = {};  ///< of a constant that the stream brings along
  };

  std::vector<Instruction> instructions;
  std::vector<std::int32_t> buffer_of;  ///< for each instruction: index into `buffers` or kNoBuffer
  std::vector<Buffer> buffers;          ///< the first holds the micro-ops
  std::vector<std::uint32_t> uops;      ///< encoded

  /// The instructions with real addresses.
  /// addresses: of each buffer, in bytes, multiples of the sizes of the elements they hold.
  /// Errors: kInvalidArgument if an address is not aligned, missing or out of reach.
  Result<std::vector<Instruction>> Bind(const Design& design,
                                        std::span<const std::int64_t> addresses) const;
  /// Encoded micro-ops as they lie in DRAM.
  std::vector<std::byte> UopBytes() const;
};

/// Writes a stream: instructions in program order, token by token.
///
/// A pop waits until the next instruction of its engine carries it, a push rides on the last
/// instruction if that belongs to its engine; where nothing fits, an idle instruction does.
/// Micro-op kernels are loaded in front of the first instruction that uses them, and again if they
/// had to make room. These are the rules of the original runtime, so that its streams can be
/// reproduced. Errors are kept; Finish reports the first one.
class StreamBuilder {
 public:
  explicit StreamBuilder(const Design& design);

  /// A buffer that transfers may address. writable: whether it may be stored to.
  std::int32_t AddBuffer(std::string name, bool writable);
  /// A buffer that is only read and whose contents are part of the stream.
  std::int32_t AddConstant(std::string name, std::vector<std::byte> contents);

  /// The next instruction of `to` waits for a token of its neighbour `from`.
  void Pop(Engine from, Engine to);
  /// `from` hands a token to its neighbour `to` when its last instruction is done.
  void Push(Engine from, Engine to);

  /// Appends a transfer of `buffer`; dram_base counts from its start.
  void Append(const Transfer& transfer, std::int32_t buffer);

  /// A list of micro-ops to run; equal lists may be added twice and are then two kernels.
  /// Errors (at Finish): kInvalidArgument if an index does not fit, the list is empty, longer than
  /// the micro-op memory, or names one destination twice within three places, which the original
  /// hardware computes wrong.
  std::int32_t AddKernel(std::span<const Uop> uops);
  /// Loads all kernels there are with one transfer, so that none is loaded later.
  /// Errors (at Finish): kInvalidArgument if they do not fit the micro-op memory together.
  void LoadKernels();
  /// Appends `gemm` or `alu` with the micro-ops of `kernel`, loading them first if need be.
  void Append(Gemm gemm, std::int32_t kernel);
  void Append(Alu alu, std::int32_t kernel);

  /// Ends the launch: FINISH, behind everything, and returns the stream. The builder is then spent.
  /// Errors: the first one of what was appended, naming the instruction.
  Result<Stream> Finish() &&;

 private:
  struct Kernel {
    std::int64_t first = 0;  // in Stream::uops
    std::int64_t size = 0;
    std::int64_t sram = -1;  // where it is loaded, or -1
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
  std::int64_t uop_end_ = 0;            // of the memory's filled part
  Pending pending_[kEngineCount];
  Status status_;
};

/// Puts a stream into DRAM: allocates its micro-ops and constants, and takes the addresses of the
/// other buffers.
/// addresses: of those, in their order.
/// Errors: as for Stream::Bind.
Result<std::vector<Instruction>> Place(const Design& design, const Stream& stream, Dram& dram,
                                       std::span<const std::int64_t> addresses);

}  // namespace tilewright::vta
