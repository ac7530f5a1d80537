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

  /// Has ExecuteGpuKernelsBy use this device, which must outlive that.
  void ExecuteAll();

  /// A kernel broke the context: no other one can run in this process.
  bool broken() const { return session_->fault() != CudaFault::kNone || session_->hanging(); }
  const CudaDevice& device() const { return session_->device(); }

 private:
  explicit DeviceKernelRunner(std::unique_ptr<CudaSession> session)
      : session_(std::move(session)) {}

  std::unique_ptr<CudaSession> session_;
};

}  // namespace tilewright
