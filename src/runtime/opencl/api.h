#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/runtime/opencl/functions.h"

namespace tilewright {

/// OpenCL with its functions (functions.h).
class OpenClApi : public TwOpenCl {
 public:
  static constexpr const char* kLibrary = TW_OPENCL_LIBRARY;

  /// Loads the library. library: a name for the loader's search, or a path.
  /// Errors: kNotFound if it is missing; kUnavailable if it lacks functions.
  static Result<OpenClApi> Open(const std::string& library = kLibrary);

  /// Errors: kUnavailable with the call, the name of the error and its code.
  static Status Check(std::int32_t code, const char* call);

  using Object = TwClObject;
  using Int = TwClInt;
  using Uint = TwClUint;
  using Bits = TwClBits;
  using Name = TwClName;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  OpenClApi() : TwOpenCl() {}
  std::unique_ptr<void, Close> library_;
};

}  // namespace tilewright
