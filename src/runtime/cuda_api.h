#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/cuda_functions.h"

namespace tilewright {

/// What a code of the driver means for the process that got it. From kKernelFault on nothing in
/// this process's context works any more (NVIDIA calls such errors sticky): the process must end.
enum class CudaFault : std::uint8_t {
  kNone,         ///< success, or an error of the one call
  kKernelFault,  ///< the kernel did something illegal: bad address, bad instruction, …
  kDeviceLost,   ///< the device or its driver failed, whatever ran
};

/// The CUDA driver, with its functions (src/runtime/cuda_functions.h).
class CudaApi : public TwCuda {
 public:
  static constexpr const char* kLibrary = TW_CUDA_LIBRARY;

  /// Loads and initializes the driver. library: a name the loader looks for, or a path.
  /// Errors: kNotFound if there is none; kUnavailable if it lacks functions or does not work.
  static Result<CudaApi> Open(const std::string& library = kLibrary);

  /// Errors: kUnavailable with the call, the driver's words and the code.
  Status Check(int code, const char* call) const;
  static CudaFault FaultOf(int code);
  /// Launches can be recorded once and replayed as a whole (drivers from 11.4 on).
  bool has_graphs() const { return instantiate_graph != nullptr && launch_graph != nullptr; }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  CudaApi() : TwCuda() {}
  std::unique_ptr<void, Close> library_;
};

}  // namespace tilewright
