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

/// An object of the driver that is given back when its owner goes.
struct CudaRelease {
  int (*release)(void*) = nullptr;
  void operator()(void* handle) const { (void)release(handle); }
};
using CudaHandle = std::unique_ptr<void, CudaRelease>;

/// Memory of a device. Move-only.
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

/// One kernel of a module and the grid it is launched with; sizes are x, y, z.
struct CudaLaunch {
  std::string kernel;
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::int64_t shared_bytes = 0;  ///< that a block is given beside the kernel's own arrays
  CudaLibraryCall library = {};   ///< unless its file is empty, in the place of the kernel
  friend bool operator==(const CudaLaunch&, const CudaLaunch&) = default;
};

/// A loaded program: launches one after the other, all with the same arguments. It must go before
/// its session does.
class CudaProgram {
 public:
  /// Device addresses of what every kernel takes, in order.
  void SetArguments(std::vector<std::uint64_t> addresses) {
    arguments_ = std::move(addresses);
    replay_.reset();
  }

 private:
  friend class CudaSession;
  CudaHandle module_;
  std::vector<CudaLaunch> launches_;
  std::vector<void*> functions_;  // one per launch; null for a library's
  std::vector<CudaMemory> scratch_;
  std::vector<std::unique_ptr<CudaFunction>> calls_;  // one per launch; null for a kernel
  std::vector<std::uint64_t> arguments_;
  CudaHandle replay_;  // graph of so many calls with these arguments; null until it is needed
  std::int64_t replay_calls_ = 0;
};

/// One device in use by this process: its context, a stream, two events. Not thread-safe.
///
/// Calls that fail with a sticky error are remembered in fault(): then the process is to end,
/// without destructors if fault() says that something still runs.
class CudaSession {
 public:
  /// Errors: those of CudaApi::Open and of the driver; kNotFound if there is no such device.
  static Result<std::unique_ptr<CudaSession>> Open(const std::string& library, int ordinal);
  CudaSession(const CudaSession&) = delete;
  CudaSession& operator=(const CudaSession&) = delete;
  ~CudaSession();

  const CudaDevice& device() const { return device_; }
  CudaFault fault() const { return fault_; }
  /// A call of Wait ran out of time: the stream is still at work.
  bool timed_out() const { return timed_out_; }

  /// Errors: kUnavailable ("out of memory" among the driver's words).
  Result<CudaMemory> Allocate(std::int64_t bytes);
  Status Write(std::uint64_t address, std::span<const std::byte> from);
  Status Read(std::uint64_t address, std::span<std::byte> to);
  /// Behind what the stream has to do.
  Status Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes);

  /// ptx: text, or a cubin. Errors: kInvalidArgument with the words of the driver's assembler;
  /// kNotFound for a kernel that is not there; those of the driver, also for more shared memory
  /// than the device gives a block, and of PrepareCudaFunction.
  Result<CudaProgram> Load(const std::string& ptx, std::vector<CudaLaunch> launches);
  /// Puts the program's launches on the stream.
  Status Enqueue(const CudaProgram& program);
  /// Until the stream is empty. Errors: those of what ran; kUnavailable after `limit_seconds`.
  Status Wait(double limit_seconds);
  /// Executes the program `calls` times, more than once as one graph where the driver can (a launch
  /// of each kernel costs more than a short kernel takes), else launch by launch.
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
