#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright {

/// OpenCL with the functions and constants that are used here, so that neither headers nor a
/// library are needed to build. The values are those of the Khronos headers and never change.
class OpenClApi {
 public:
  static constexpr const char* kLibrary = "libOpenCL.so.1";

  /// Loads the library. library: a name for the loader's search, or a path.
  /// Errors: kNotFound if it is missing; kUnavailable if it lacks functions.
  static Result<OpenClApi> Open(const std::string& library = kLibrary);

  /// Errors: kUnavailable with the call, the name of the error and its code.
  static Status Check(std::int32_t code, const char* call);
  /// Returns "out of resources" for -5; empty for an unknown code.
  static std::string ErrorName(std::int32_t code);

  // Objects and integers of the interface.
  using Object = void*;  ///< cl_platform_id, cl_device_id, cl_context, …
  using Int = std::int32_t;
  using Uint = std::uint32_t;
  using Bits = std::uint64_t;  ///< cl_bitfield
  using Name = std::intptr_t;  ///< of a property

  // Names as in the standard, without cl and prefixes: clGetPlatformIDs, …
  Int (*GetPlatformIDs)(Uint, Object*, Uint*);
  Int (*GetPlatformInfo)(Object, Uint, std::size_t, void*, std::size_t*);
  Int (*GetDeviceIDs)(Object, Bits, Uint, Object*, Uint*);
  Int (*GetDeviceInfo)(Object, Uint, std::size_t, void*, std::size_t*);
  Object (*CreateContext)(const Name*, Uint, const Object*, void*, void*, Int*);
  Object (*CreateCommandQueue)(Object, Object, Bits, Int*);
  Object (*CreateBuffer)(Object, Bits, std::size_t, void*, Int*);
  Object (*CreateSubBuffer)(Object, Bits, Uint, const void*, Int*);
  Object (*CreateProgramWithSource)(Object, Uint, const char**, const std::size_t*, Int*);
  Int (*BuildProgram)(Object, Uint, const Object*, const char*, void*, void*);
  Int (*GetProgramBuildInfo)(Object, Object, Uint, std::size_t, void*, std::size_t*);
  Object (*CreateKernel)(Object, const char*, Int*);
  Int (*SetKernelArg)(Object, Uint, std::size_t, const void*);
  Int (*EnqueueWriteBuffer)(Object, Object, Uint, std::size_t, std::size_t, const void*, Uint,
                            const Object*, Object*);
  Int (*EnqueueReadBuffer)(Object, Object, Uint, std::size_t, std::size_t, void*, Uint,
                           const Object*, Object*);
  Int (*EnqueueFillBuffer)(Object, Object, const void*, std::size_t, std::size_t, std::size_t, Uint,
                           const Object*, Object*);
  Int (*EnqueueNDRangeKernel)(Object, Object, Uint, const std::size_t*, const std::size_t*,
                              const std::size_t*, Uint, const Object*, Object*);
  Int (*EnqueueMarkerWithWaitList)(Object, Uint, const Object*, Object*);
  Int (*Flush)(Object);
  Int (*GetEventInfo)(Object, Uint, std::size_t, void*, std::size_t*);
  Int (*GetEventProfilingInfo)(Object, Uint, std::size_t, void*, std::size_t*);
  Int (*ReleaseContext)(Object);
  Int (*ReleaseCommandQueue)(Object);
  Int (*ReleaseMemObject)(Object);
  Int (*ReleaseProgram)(Object);
  Int (*ReleaseKernel)(Object);
  Int (*ReleaseEvent)(Object);

 private:
  struct Close {
    void operator()(void* library) const;
  };
  OpenClApi() = default;
  std::unique_ptr<void, Close> library_;
};

}  // namespace tilewright
