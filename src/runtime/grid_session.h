#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/cuda_library.h"

namespace tilewright {

/// Consequence of a driver error code for this process. From kKernelFault on, the context no longer
/// works (NVIDIA: sticky errors), and the process must end.
enum class GridFault : std::uint8_t {
  kNone,         ///< success, or an error of this call only
  kKernelFault,  ///< illegal operation of the kernel: bad address, bad instruction, …
  kDeviceLost,   ///< failure of the device or its driver, independent of the kernel
};

/// Device memory. Move-only.
class GridMemory {
 public:
  using Release = std::function<void(std::uint64_t address)>;
  GridMemory() = default;
  GridMemory(Release release, std::uint64_t address, std::int64_t bytes)
      : release_(std::move(release)), address_(address), bytes_(bytes) {}
  GridMemory(GridMemory&& other) noexcept { *this = std::move(other); }
  GridMemory& operator=(GridMemory&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GridMemory() {
    if (release_) release_(address_);
  }
  std::uint64_t address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Release release_;
  std::uint64_t address_ = 0;
  std::int64_t bytes_ = 0;
};

/// Launch of one kernel of a module; sizes are x, y, z.
struct GridLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  /// Dynamic shared memory of a block, in addition to the kernel's static arrays.
  std::int64_t shared_bytes = 0;
  CudaLibraryCall library = {};  ///< replaces the kernel unless its file is empty
  friend bool operator==(const GridLaunch&, const GridLaunch&) = default;
};

/// Loaded program: launches in order, all with the same arguments. It must be destroyed before its
/// session. Move-only.
class GridProgram {
 public:
  /// Driver objects of a program.
  class Code {
   public:
    virtual ~Code() = default;
    /// Releases everything that was prepared for the arguments so far.
    virtual void ForgetArguments() = 0;
  };
  GridProgram() = default;
  explicit GridProgram(std::unique_ptr<Code> code) : code_(std::move(code)) {}
  /// Sets the device addresses of the arguments that every kernel takes, in order.
  void SetArguments(std::vector<std::uint64_t> addresses) {
    arguments_ = std::move(addresses);
    code_->ForgetArguments();
  }
  const std::vector<std::uint64_t>& arguments() const { return arguments_; }
  Code* code() const { return code_.get(); }

 private:
  std::unique_ptr<Code> code_;
  std::vector<std::uint64_t> arguments_;
};

/// Device in use by this process. Not thread-safe.
///
/// fault() records a sticky error. Then the process has to end, without destructors if fault()
/// reports that work is still running.
class GridSession {
 public:
  GridSession() = default;
  GridSession(const GridSession&) = delete;
  GridSession& operator=(const GridSession&) = delete;
  virtual ~GridSession() = default;

  GridFault fault() const { return fault_; }
  /// Returns true after a timeout of Wait: work is still running.
  bool timed_out() const { return timed_out_; }

  /// Errors: kUnavailable (with "out of memory" in the driver's text).
  virtual Result<GridMemory> Allocate(std::int64_t bytes) = 0;
  virtual Status Write(std::uint64_t address, std::span<const std::byte> from) = 0;
  virtual Status Read(std::uint64_t address, std::span<std::byte> to) = 0;
  /// Enqueues a fill after the enqueued work.
  virtual Status Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes) = 0;

  /// Loads a program. code: as the target's code generator writes it.
  /// Errors: kInvalidArgument with the driver's text about the code; kNotFound for a missing
  /// kernel; those of the driver, also for more shared memory than the device gives a block.
  virtual Result<GridProgram> Load(const std::string& code, std::vector<GridLaunch> launches) = 0;
  /// Enqueues the program's launches.
  virtual Status Enqueue(const GridProgram& program) = 0;
  /// Waits until all enqueued work is done.
  /// Errors: those of the executed work; kUnavailable after `limit_seconds`.
  virtual Status Wait(double limit_seconds) = 0;
  /// Executes the program `calls` times. Returns seconds on the device, by its events.
  virtual Result<double> Time(GridProgram& program, std::int64_t calls, double limit_seconds) = 0;

 protected:
  GridFault fault_ = GridFault::kNone;
  bool timed_out_ = false;
};

}  // namespace tilewright
