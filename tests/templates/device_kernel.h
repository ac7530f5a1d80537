#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/cuda_session.h"
#include "src/runtime/grid_session.h"
#include "src/schedule/lower/lower.h"
#include "src/target/target.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Runner of kernels on a device of CUDA or OpenCL, with guard bytes around all their buffers.
class DeviceKernelRunner {
 public:
  /// ordinal: index of the driver's device. library: the driver. Errors: those of
  /// CudaSession::Open.
  static Result<std::unique_ptr<DeviceKernelRunner>> Open(
      int ordinal, const std::string& library = CudaApi::kLibrary);
  /// The same for an OpenCL device. Errors: those of OpenClSession::Open.
  static Result<std::unique_ptr<DeviceKernelRunner>> OpenOpenCl(int ordinal);

  /// arguments: the program's parameters in order, the result last; unwritten bytes of the result
  /// are kept. Errors: kInvalidArgument if code generation fails; kInternal with the driver's
  /// message if the kernel fails, or if it writes to guard bytes or to an input.
  Status Run(const Program& program, const Target& target, std::vector<Tensor>& arguments);

  /// Compiles a program without running it. Errors: as Run.
  Status Compile(const Program& program, const Target& target);

  /// Enables timing of every later kernel after its run: consecutive calls with warm caches, enough
  /// of them for a measurable time.
  void TimeKernels() { times_ = true; }
  /// Sets the limit of a call in seconds, for machines whose processors other programs use, too.
  void SetLimit(double seconds) { limit_seconds_ = seconds; }
  /// Seconds of one call of the last kernel, by the device's clock; 0 if it was not timed.
  double last_seconds() const { return last_seconds_; }

  /// Makes ExecuteGpuKernelsBy use this device, which must outlive that.
  void ExecuteAll();
  /// If the context is broken, prints the reason and ends the process with 1: the driver would wait
  /// for a kernel that does not end.
  void EndIfBroken() const;

  /// Returns whether a kernel broke the context: no other kernel can run in this process.
  bool broken() const { return session_->fault() != GridFault::kNone || session_->timed_out(); }
  bool is_opencl() const { return is_opencl_; }

 private:
  explicit DeviceKernelRunner(std::unique_ptr<GridSession> session, bool is_opencl)
      : session_(std::move(session)),
        is_opencl_(is_opencl),
        limit_seconds_(is_opencl ? kOpenClLimitSeconds : kLimitSeconds) {}

  Result<GridProgram> Load(const Program& program, const Target& target);
  Result<double> Time(GridProgram& program);

  static constexpr double kLimitSeconds = 10;
  /// On a device that is this processor.
  static constexpr double kOpenClLimitSeconds = 100;
  std::unique_ptr<GridSession> session_;
  const bool is_opencl_;
  double limit_seconds_;
  bool times_ = false;
  double last_seconds_ = 0;
};

/// Opens the device of a benchmark's `--device N` or `--device opencl:N`, on which all later
/// kernels for grids run. Returns null and prints the reason to standard error if there is none.
std::unique_ptr<DeviceKernelRunner> OpenDeviceForAll(const std::string& ordinal);

}  // namespace tilewright
