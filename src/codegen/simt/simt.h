#pragma once

#include <memory>
#include <span>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// SIMT emulator of one GPU program on this machine's CPU. It runs the LLVM module that becomes
/// PTX or AMD's code, with block and thread indices and barriers as calls, every thread of a block
/// as a fiber, one block after the other. Slow (about ten nanoseconds per memory access), but it
/// detects the errors listed at Run.
class SimtKernel {
 public:
  /// Compiles a program for emulation.
  /// Errors: those of Generate; kUnsupported if LLVM cannot generate code for this machine.
  static Result<SimtKernel> Build(const Program& program, const Target& target);
  SimtKernel(SimtKernel&&) noexcept;
  SimtKernel& operator=(SimtKernel&&) noexcept;
  ~SimtKernel();

  /// Executes all launches. arguments: the data of each parameter, aligned to 64 bytes.
  /// Errors: kCorrupt with threads and addresses, for
  /// - an access outside of its buffer;
  /// - two threads that access one element, one of them writing, without a barrier between (or at
  ///   all, in different blocks of a launch);
  /// - a read of shared memory or workspace that was not written;
  /// - an access to the destination of a pending asynchronous copy;
  /// - a barrier that not all threads of the block arrive at.
  Status Run(std::span<void* const> arguments);
  /// Executes one launch of the program (src/schedule/launch.h) as a driver would:
  /// `arguments` are the data of each parameter, then of each buffer of the workspace. The writes
  /// of earlier launches are unknown, so only reads of uninitialized shared memory are detected.
  Status RunLaunch(std::size_t launch, std::span<void* const> arguments);

 private:
  struct State;
  explicit SimtKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
