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

/// Memory that the threads may access.
struct Memory {
  enum class Kind : std::uint8_t {
    kInput,      ///< initialized
    kOutput,     ///< initial contents are not read
    kWorkspace,  ///< as kOutput
    kShared,     ///< one per block
  };
  std::string name;
  Kind kind = Kind::kInput;
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
};

/// Machine that runs kernels block by block. The threads of a block are fibers: each runs until it
/// ends or arrives at a barrier, then the next one does. So the detection of a race does not depend
/// on timing: two accesses conflict if no barrier separates them, whichever comes first.
class BlockMachine {
 public:
  using Kernel = void (*)(void* const* arguments);

  BlockMachine() = default;
  BlockMachine(const BlockMachine&) = delete;
  BlockMachine& operator=(const BlockMachine&) = delete;

  /// Returns the number by which the code refers to the memory.
  int AddMemory(Memory memory);
  /// Errors: those of SimtKernel::Run.
  Status Run(const Launch& launch, Kernel kernel, void* const* arguments);

  // --- called by the kernel, on a fiber ---
  /// Returns an index. 0 to 2: thread x, y, z; 3 to 5: block x, y, z.
  std::int32_t Index(std::int32_t which) const;
  /// Waits at a barrier. All threads of the block must arrive at the same barrier; does not return
  /// if they do not.
  void Barrier(std::int32_t which);
  /// Computes a matrix product of the thread's warp from the operands of all its threads, in the
  /// order of the instruction's operands (factors, then sums, which are replaced). product: number
  /// of the instruction in MmaIntrinsics(). Does not return unless the whole warp arrives.
  void MatrixProduct(std::int32_t product, std::uint32_t* words);
  /// Checks an access. memory: its number, or -1 if it is unknown. Does not return if the access is
  /// invalid.
  void Access(std::int32_t memory, const void* address, std::int32_t bytes, std::int32_t write);
  /// Begins a copy to shared memory: `read` bytes come from the source, the rest are zeros. The
  /// wait for its group executes the copy; an access in between is an error. Does not return if one
  /// of its two accesses is invalid or not aligned to all of its bytes.
  void BeginCopy(std::int32_t to_memory, void* to, std::int32_t from_memory, const void* from,
                 std::int32_t bytes, std::int32_t read);
  /// Ends a group of the thread's copies.
  void CommitCopies();
  /// Executes the thread's copies except those of its last `pending` groups.
  void WaitForCopies(std::int32_t pending);

 private:
  /// Last accesses to an element. Times count the intervals between barriers, 0: never.
  struct ShadowCell {
    std::uint32_t written = 0, read = 0;
    std::uint16_t writer = 0, reader = 0;
    bool many_readers = false;
    bool in_flight = false;  // an asynchronous copy to it is pending
  };
  struct Copy {
    int memory;  // destination
    std::byte* to;
    const std::byte* from;
    std::int64_t bytes, read;
    std::int64_t group;
  };
  struct Thread {
    Fiber fiber;
    bool ended = false;
    int barrier = -1;  // barrier that it waits at; -1: none
    int product = -1;  // the matrix product that it waits for, with its operands
    std::uint32_t* words = nullptr;
    std::vector<Copy> copies = {};  // pending asynchronous copies
    std::int64_t groups = 0;        // completed groups of copies
  };
  struct Known {
    Memory memory;
    // Log2 of the bytes of an element: divisions would take most of the time.
    int element_shift = 0;
    std::vector<ShadowCell> elements;
  };

  void RunBlock();
  /// Creates a fiber for every thread of the launch, which runs the kernel once for each block.
  void MakeThreads();
  static void RunThread(void* machine);
  /// Suspends the running thread until its next turn.
  void Leave() { Fiber::Switch(threads_[static_cast<std::size_t>(thread_)].fiber, main_); }
  void CheckAccess(int memory, const void* address, std::int64_t bytes, bool write);
  void SetInFlight(const Copy& copy, bool in_flight);
  void CheckAligned(int memory, const void* address, std::int64_t bytes);
  void Touch(const Known& known, std::int64_t element, ShadowCell* touched, bool write);
  void CheckArrivals();
  /// Executes the matrix products that warps wait for. Returns false if there were none.
  bool MultiplyMatrices();
  void MultiplyOfWarp(std::size_t first);
  int FindMemory(const void* address) const;
  /// Records an error of the running thread.
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
  int thread_ = 0;  // the running one
  std::uint32_t now_ = 0, block_start_ = 0, launch_start_ = 0;
  Status status_;
};

}  // namespace tilewright::simt
