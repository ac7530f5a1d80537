#include "src/runtime/opencl/api.h"

#include <dlfcn.h>

namespace tilewright {

void OpenClApi::Close::operator()(void* library) const { dlclose(library); }

Result<OpenClApi> OpenClApi::Open(const std::string& library) {
  OpenClApi api;
  // Drivers have threads and handlers of their own, which outlive an unloaded library.
  api.library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
  if (api.library_ == nullptr) return NotFound("no OpenCL: " + library + " cannot be loaded");
  const char* missing = TwOpenClBind(&api, api.library_.get());
  if (missing != nullptr) {
    return Unavailable(library + ": too old: it has no " + missing + " (OpenCL 1.2 has)");
  }
  return api;
}

Status OpenClApi::Check(std::int32_t code, const char* call) {
  if (code == 0) return {};
  return Unavailable(std::string(call) + ": " + TwOpenClErrorName(code) + " (" +
                     std::to_string(code) + ")");
}

}  // namespace tilewright
