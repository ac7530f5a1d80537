#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/cuda_functions.h"
#include "src/runtime/grid_session.h"

namespace tilewright {

/// CUDA driver, or HIP for AMD GPUs, with its functions (src/runtime/cuda_functions.h).
class CudaApi : public TwCuda {
 public:
  static constexpr const char* kLibrary = TW_CUDA_LIBRARY;
  static constexpr const char* kHipLibrary = TW_HIP_LIBRARY;

  /// Loads and initializes the driver. library: a name for the loader's search, or a path.
  /// Errors: kNotFound if it is missing; kUnavailable if it lacks functions or does not work.
  static Result<CudaApi> Open(const std::string& library = kLibrary);

  /// call: by its name in CUDA. Errors: kUnavailable with the call, the driver's text and the code.
  Status Check(int code, const char* call) const;
  static GridFault FaultOf(int code);
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
