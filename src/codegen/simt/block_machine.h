#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/codegen/simt/fiber.h"
#include "src/schedule/launch.h"

namespace tilewright::simt {

/// Memory the threads may access.
struct Memory {
  enum class Kind : std::uint8_t {
    kInput,      ///< holds values from the start
    kOutput,     ///< what it holds before is not looked at
    kWorkspace,  ///< as kOutput
    kShared,     ///< of one block: another one for each
  };
  std::string name;
  Kind kind = Kind::kInput;
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
};

/// Runs kernels block by block. The threads of a block are fibers: each runs until it ends or comes
/// to a barrier, then the next one does. So a race does not depend on timing: two accesses are in
/// conflict if no barrier is between them, whichever comes first.
class BlockMachine {
 public:
  using Kernel = void (*)(void* const* arguments);

  BlockMachine() = default;
  BlockMachine(const BlockMachine&) = delete;
  BlockMachine& operator=(const BlockMachine&) = delete;

  /// Returns the number by which the code calls it.
  int AddMemory(Memory memory);
  /// Errors: those of SimtKernel::Run.
  Status Run(const Launch& launch, Kernel kernel, void* const* arguments);

  // --- called by the kernel, on a fiber ---
  /// Index 0 to 2: thread x, y, z; 3 to 5: block x, y, z.
  std::int32_t Index(std::int32_t which) const;
  /// All threads of the block must come to the same barrier. Does not return if they do not.
  void Barrier(std::int32_t which);
  /// A matrix product of the thread's warp: what all its threads give, in the order of the
  /// instruction's operands (factors, then sums, which are replaced). product: number of the
  /// instruction in MmaIntrinsics(). Does not return unless the whole warp comes to it.
  void MatrixProduct(std::int32_t product, std::uint32_t* words);
  /// memory: its number, or -1 if the code does not know. Does not return if the access is wrong.
  void Access(std::int32_t memory, const void* address, std::int32_t bytes, std::int32_t write);
  /// Begins a copy to shared memory, of whose source `read` bytes are read and the rest are zeros.
  /// It is made by the wait for its group; an access in between is wrong. Does not return if one of
  /// its two accesses is, or not aligned to all of its bytes.
  void BeginCopy(std::int32_t to_memory, void* to, std::int32_t from_memory, const void* from,
                 std::int32_t bytes, std::int32_t read);
  /// Ends a group of the thread's copies.
  void CommitCopies();
  /// Makes the thread's copies but those of its last `pending` groups.
  void WaitForCopies(std::int32_t pending);

 private:
  /// Who touched an element last. Times count the stretches between barriers, 0: never.
  struct ShadowCell {
    std::uint32_t written = 0, read = 0;
    std::uint16_t writer = 0, reader = 0;
    bool many_readers = false;
    bool in_flight = false;  // an asynchronous copy to it is under way
  };
  struct Copy {
    int memory;  // that is written
    std::byte* to;
    const std::byte* from;
    std::int64_t bytes, read;
    std::int64_t group;
  };
  struct Thread {
    Fiber fiber;
    bool ended = false;
    int barrier = -1;  // where it waits; -1: nowhere
    int product = -1;  // the matrix product it waits for, with its part of it
    std::uint32_t* words = nullptr;
    std::vector<Copy> copies = {};  // asynchronous ones under way
    std::int64_t groups = 0;        // of copies, that ended
  };
  struct Known {
    Memory memory;
    int element_shift = 0;  // log2 of the bytes of one: divisions would take most of the time
    std::vector<ShadowCell> elements;
  };

  void RunBlock();
  /// Gives every thread of the launch a fiber, which runs the kernel once for each block.
  void MakeThreads();
  static void RunThread(void* machine);
  /// Leaves the running thread, until it is its turn again.
  void Leave() { Fiber::Switch(threads_[static_cast<std::size_t>(thread_)].fiber, main_); }
  void CheckAccess(int memory, const void* address, std::int64_t bytes, bool write);
  void SetInFlight(const Copy& copy, bool in_flight);
  void CheckAligned(int memory, const void* address, std::int64_t bytes);
  void Touch(const Known& known, std::int64_t element, ShadowCell* touched, bool write);
  void CheckArrivals();
  /// Executes the matrix products that warps wait for. False: there were none.
  bool MultiplyMatrices();
  void MultiplyOfWarp(std::size_t first);
  int FindMemory(const void* address) const;
  /// Remembers what the running thread did wrong.
  void Fault(const std::string& reason);
  std::string ThreadText(int thread) const;

  static constexpr std::size_t kStackBytes = 512 * 1024;  // unoptimized code spills a lot
  std::vector<Known> memories_;
  const Launch* launch_ = nullptr;
  Kernel kernel_ = nullptr;
  void* const* arguments_ = nullptr;
  std::array<std::int32_t, 3> block_ = {0, 0, 0};
  std::vector<Thread> threads_;
  std::unique_ptr<std::byte[]> stacks_;
  Fiber main_;
  int thread_ = 0;  // the one that runs
  std::uint32_t now_ = 0, block_start_ = 0, launch_start_ = 0;
  Status status_;
};

}  // namespace tilewright::simt
