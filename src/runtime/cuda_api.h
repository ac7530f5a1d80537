#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/cuda_functions.h"

namespace tilewright {

/// Consequence of a driver error code for this process. From kKernelFault on, the context no longer
/// works (NVIDIA: sticky errors), and the process must end.
enum class CudaFault : std::uint8_t {
  kNone,         ///< success, or an error of this call only
  kKernelFault,  ///< illegal operation of the kernel: bad address, bad instruction, …
  kDeviceLost,   ///< failure of the device or its driver, independent of the kernel
};

/// CUDA driver with its functions (src/runtime/cuda_functions.h).
class CudaApi : public TwCuda {
 public:
  static constexpr const char* kLibrary = TW_CUDA_LIBRARY;

  /// Loads and initializes the driver. library: a name for the loader's search, or a path.
  /// Errors: kNotFound if it is missing; kUnavailable if it lacks functions or does not work.
  static Result<CudaApi> Open(const std::string& library = kLibrary);

  /// Errors: kUnavailable with the call, the driver's text and the code.
  Status Check(int code, const char* call) const;
  static CudaFault FaultOf(int code);
  /// Returns true if launches can be recorded and replayed as a graph (drivers from 11.4 on).
  bool has_graphs() const { return instantiate_graph != nullptr && launch_graph != nullptr; }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  CudaApi() : TwCuda() {}
  std::unique_ptr<void, Close> library_;
};

}  // namespace tilewright
