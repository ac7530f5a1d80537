#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/runtime/cuda_api.h"
#include "src/runtime/cuda_driver.h"
#include "src/runtime/cuda_library.h"
#include "src/runtime/grid_session.h"

namespace tilewright {

/// Deleter of a driver object.
struct CudaRelease {
  int (*release)(void*) = nullptr;
  void operator()(void* handle) const { (void)release(handle); }
};
using CudaHandle = std::unique_ptr<void, CudaRelease>;

/// GPU in use by this process: its context, a stream, two events.
class CudaSession final : public GridSession {
 public:
  /// Opens a device.
  /// Errors: those of CudaApi::Open and of the driver; kNotFound if there is no such device.
  static Result<std::unique_ptr<CudaSession>> Open(const std::string& library, int ordinal);
  ~CudaSession() override;

  const CudaDevice& device() const { return device_; }

  Result<GridMemory> Allocate(std::int64_t bytes) override;
  Status Write(std::uint64_t address, std::span<const std::byte> from) override;
  Status Read(std::uint64_t address, std::span<std::byte> to) override;
  Status Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes) override;
  /// ptx: text, or a cubin; for AMD a code object. Errors: also those of PrepareCudaFunction.
  Result<GridProgram> Load(const std::string& ptx, std::vector<GridLaunch> launches) override;
  Status Enqueue(const GridProgram& program) override;
  Status Wait(double limit_seconds) override;
  /// If the driver supports graphs and `calls` is above 1, the calls run as one graph (a launch
  /// costs more than a short kernel), else launch by launch.
  Result<double> Time(GridProgram& program, std::int64_t calls, double limit_seconds) override;

 private:
  struct Code;
  CudaSession(CudaApi api, CudaDevice device, int handle);
  static Code& CodeOf(const GridProgram& program);
  Status Start();
  Status Check(int code, const char* call);
  Status PrepareCall(const GridLaunch& launch, Code& code);
  Status AllowShared(void* function, const GridLaunch& launch);
  Result<CudaHandle> Record(const GridProgram& program, std::int64_t calls);
  Status PrepareReplay(GridProgram& program, std::int64_t calls);

  CudaApi api_;
  CudaDevice device_;
  int handle_ = 0;
  bool retained_ = false;
  CudaHandle stream_, start_, end_;
};

}  // namespace tilewright
