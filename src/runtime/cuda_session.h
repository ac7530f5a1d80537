#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/cuda_api.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/cuda_library.h"

namespace tilewright {

/// Deleter of a driver object.
struct CudaRelease {
  int (*release)(void*) = nullptr;
  void operator()(void* handle) const { (void)release(handle); }
};
using CudaHandle = std::unique_ptr<void, CudaRelease>;

/// Device memory. Move-only.
class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(const CudaApi& api, std::uint64_t address, std::int64_t bytes)
      : release_(api.release), address_(address), bytes_(bytes) {}
  CudaMemory(CudaMemory&& other) noexcept { *this = std::move(other); }
  CudaMemory& operator=(CudaMemory&& other) noexcept;
  ~CudaMemory();
  std::uint64_t address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  int (*release_)(std::uint64_t) = nullptr;
  std::uint64_t address_ = 0;
  std::int64_t bytes_ = 0;
};

/// Launch of one kernel of a module; sizes are x, y, z.
struct CudaLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  /// Dynamic shared memory of a block, in addition to the kernel's static arrays.
  std::int64_t shared_bytes = 0;
  CudaLibraryCall library = {};  ///< replaces the kernel unless its file is empty
  friend bool operator==(const CudaLaunch&, const CudaLaunch&) = default;
};

/// Loaded program: launches in order, all with the same arguments. It must be destroyed before its
/// session.
class CudaProgram {
 public:
  /// Sets the device addresses of the arguments that every kernel takes, in order.
  void SetArguments(std::vector<std::uint64_t> addresses) {
    arguments_ = std::move(addresses);
    replay_.reset();
  }

 private:
  friend class CudaSession;
  CudaHandle module_;
  std::vector<CudaLaunch> launches_;
  std::vector<void*> functions_;  // one per launch; null for a library call
  std::vector<CudaMemory> scratch_;
  std::vector<std::unique_ptr<CudaFunction>> calls_;  // one per launch; null for a kernel
  std::vector<std::uint64_t> arguments_;
  CudaHandle replay_;  // recorded graph with these arguments; null until it is needed
  std::int64_t replay_calls_ = 0;
};

/// Device in use by this process: its context, a stream, two events. Not thread-safe.
///
/// fault() records a sticky error. Then the process has to end, without destructors if fault()
/// reports that work is still running.
class CudaSession {
 public:
  /// Opens a device.
  /// Errors: those of CudaApi::Open and of the driver; kNotFound if there is no such device.
  static Result<std::unique_ptr<CudaSession>> Open(const std::string& library, int ordinal);
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;
  ~CudaSession();

  const CudaDevice& device() const { return device_; }
  CudaFault fault() const { return fault_; }
  /// Returns true after a timeout of Wait: the stream is still busy.
  bool timed_out() const { return timed_out_; }

  /// Errors: kUnavailable (with "out of memory" in the driver's text).
  Result<CudaMemory> Allocate(std::int64_t bytes);
  Status Write(std::uint64_t address, std::span<const std::byte> from);
  Status Read(std::uint64_t address, std::span<std::byte> to);
  /// Enqueues a fill after the work of the stream.
  Status Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes);

  /// Loads a program. ptx: text, or a cubin.
  /// Errors: kInvalidArgument with the text of the driver's assembler; kNotFound for a missing
  /// kernel; those of the driver, also for more shared memory than the device gives a block, and of
  /// PrepareCudaFunction.
  Result<CudaProgram> Load(const std::string& ptx, std::vector<CudaLaunch> launches);
  /// Enqueues the program's launches on the stream.
  Status Enqueue(const CudaProgram& program);
  /// Waits until the stream is empty.
  /// Errors: those of the executed work; kUnavailable after `limit_seconds`.
  Status Wait(double limit_seconds);
  /// Executes the program `calls` times. If the driver supports graphs and `calls` is above 1, the
  /// calls run as one graph (a launch costs more than a short kernel), else launch by launch.
  /// Returns seconds on the device, by events.
  Result<double> Time(CudaProgram& program, std::int64_t calls, double limit_seconds);

 private:
  CudaSession(CudaApi api, CudaDevice device, int handle);
  Status Start();
  Status Check(int code, const char* call);
  Status PrepareCall(const CudaLaunch& launch, CudaProgram& program);
  Status AllowShared(void* function, const CudaLaunch& launch);
  Result<CudaHandle> Record(const CudaProgram& program, std::int64_t calls);
  Status PrepareReplay(CudaProgram& program, std::int64_t calls);

  CudaApi api_;
  CudaDevice device_;
  int handle_ = 0;
  bool retained_ = false, timed_out_ = false;
  CudaFault fault_ = CudaFault::kNone;
  CudaHandle stream_, start_, end_;
};

}  // namespace tilewright
