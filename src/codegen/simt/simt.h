#pragma once

#include <memory>
#include <span>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// A program for a GPU that runs on this machine's CPU: the very LLVM module that becomes PTX, with
/// block and thread indices and barriers as calls, every thread of a block a fiber, one block after
/// the other. Slow (about ten nanoseconds per access to memory) and suspicious: see Run.
class SimtKernel {
 public:
  /// Errors: those of Generate; kUnsupported if LLVM cannot make code for this machine.
  static Result<SimtKernel> Build(const Program& program, const Target& target);
  SimtKernel(SimtKernel&&) noexcept;
  SimtKernel& operator=(SimtKernel&&) noexcept;
  ~SimtKernel();

  /// Executes all launches. arguments: the data of each parameter, aligned to 64 bytes.
  /// Errors: kCorrupt with threads and addresses, for
  ///  - an access outside of its buffer;
  ///  - two threads that access one element, one of them writing, without a barrier between (or at
  ///    all, in different blocks of a launch);
  ///  - a read of shared memory or workspace nobody wrote;
  ///  - an access to what an asynchronous copy that nobody waited for is to write;
  ///  - a barrier that not all threads of the block come to.
  Status Run(std::span<void* const> arguments);
  /// Executes one launch of the program (src/schedule/launch.h) as a driver would:
  /// `arguments` are the data of each parameter, then of each buffer of the workspace. Of what the
  /// launches before it did nothing is known, so only reads of shared memory that nobody wrote are
  /// found.
  Status RunLaunch(std::size_t launch, std::span<void* const> arguments);

 private:
  struct State;
  explicit SimtKernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
