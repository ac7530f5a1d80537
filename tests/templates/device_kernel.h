#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/runtime/cuda_session.h"
#include "src/schedule/lower/lower.h"
#include "src/target/target.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Runs kernels on a GPU, with guard bytes around everything that they touch.
class DeviceKernelRunner {
 public:
  /// ordinal: of the driver's devices. library: the driver. Errors: those of CudaSession::Open.
  static Result<std::unique_ptr<DeviceKernelRunner>> Open(
      int ordinal, const std::string& library = CudaApi::kLibrary);

  /// arguments: the program's parameters in order, the result last; what the kernel leaves of it
  /// unwritten keeps its bytes. Errors: kInvalidArgument where no code can be made; kInternal with
  /// the driver's words for a kernel that fails, and for one that writes to guard bytes or to an
  /// input.
  Status Run(const Program& program, const Target& target, std::vector<Tensor>& arguments);

  /// From now on every kernel is timed behind its run: calls one after the other with warm caches,
  /// as many as take a while.
  void TimeKernels() { times_ = true; }
  /// Of one call of the last kernel, by the device's clock; 0 if it was not timed.
  double last_seconds() const { return last_seconds_; }

  /// Has ExecuteGpuKernelsBy use this device, which must outlive that.
  void ExecuteAll();
  /// Ends the process with 1, and says why, if the context is broken: the driver would wait for a
  /// kernel that does not end.
  void EndIfBroken() const;

  /// A kernel broke the context: no other one can run in this process.
  bool broken() const { return session_->fault() != CudaFault::kNone || session_->timed_out(); }
  const CudaDevice& device() const { return session_->device(); }

 private:
  explicit DeviceKernelRunner(std::unique_ptr<CudaSession> session)
      : session_(std::move(session)) {}

  Result<double> Time(CudaProgram& program);

  std::unique_ptr<CudaSession> session_;
  bool times_ = false;
  double last_seconds_ = 0;
};

/// For the `--device N` of a benchmark: the device, on which all kernels for CUDA run from now on.
/// Null, with the reason on standard error, if there is none.
std::unique_ptr<DeviceKernelRunner> OpenDeviceForAll(const std::string& ordinal);

}  // namespace tilewright
