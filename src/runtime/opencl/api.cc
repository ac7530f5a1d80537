#include "src/runtime/opencl/api.h"

#include <dlfcn.h>

#include <algorithm>

namespace tilewright {
namespace {

struct ErrorRow {
  std::int32_t code;
  const char* name;
};
constexpr ErrorRow kErrors[] = {
    {-1, "device not found"},
    {-2, "device not available"},
    {-3, "compiler not available"},
    {-4, "memory object allocation failure"},
    {-5, "out of resources"},
    {-6, "out of host memory"},
    {-7, "profiling info not available"},
    {-11, "build program failure"},
    {-13, "misaligned sub-buffer offset"},
    {-14, "error of a command in the wait list"},
    {-30, "invalid value"},
    {-34, "invalid context"},
    {-36, "invalid command queue"},
    {-38, "invalid memory object"},
    {-43, "invalid build options"},
    {-45, "invalid program executable"},
    {-46, "invalid kernel name"},
    {-48, "invalid kernel"},
    {-49, "invalid argument index"},
    {-50, "invalid argument value"},
    {-51, "invalid argument size"},
    {-52, "invalid kernel arguments"},
    {-54, "invalid work group size"},
    {-55, "invalid work item size"},
    {-61, "invalid buffer size"},
    {-1001, "no platform"},
};

}  // namespace

void OpenClApi::Close::operator()(void* library) const { dlclose(library); }

Result<OpenClApi> OpenClApi::Open(const std::string& library) {
  OpenClApi api;
  // Drivers have threads and handlers of their own, which outlive an unloaded library.
  api.library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
  if (api.library_ == nullptr) return NotFound("no OpenCL: " + library + " cannot be loaded");
  const char* missing = nullptr;
  const auto bind = [&](auto& function, const char* name) {
    void* found = dlsym(api.library_.get(), name);
    if (found == nullptr && missing == nullptr) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
#define TW_BIND(name) bind(api.name, "cl" #name)
  TW_BIND(GetPlatformIDs);
  TW_BIND(GetPlatformInfo);
  TW_BIND(GetDeviceIDs);
  TW_BIND(GetDeviceInfo);
  TW_BIND(CreateContext);
  TW_BIND(CreateCommandQueue);
  TW_BIND(CreateBuffer);
  TW_BIND(CreateSubBuffer);
  TW_BIND(CreateProgramWithSource);
  TW_BIND(BuildProgram);
  TW_BIND(GetProgramBuildInfo);
  TW_BIND(CreateKernel);
  TW_BIND(SetKernelArg);
  TW_BIND(EnqueueWriteBuffer);
  TW_BIND(EnqueueReadBuffer);
  TW_BIND(EnqueueFillBuffer);
  TW_BIND(EnqueueNDRangeKernel);
  TW_BIND(EnqueueMarkerWithWaitList);
  TW_BIND(Flush);
  TW_BIND(GetEventInfo);
  TW_BIND(GetEventProfilingInfo);
  TW_BIND(ReleaseContext);
  TW_BIND(ReleaseCommandQueue);
  TW_BIND(ReleaseMemObject);
  TW_BIND(ReleaseProgram);
  TW_BIND(ReleaseKernel);
  TW_BIND(ReleaseEvent);
#undef TW_BIND
  if (missing != nullptr) {
    return Unavailable(library + ": too old: it has no " + missing + " (OpenCL 1.2 has)");
  }
  return api;
}

std::string OpenClApi::ErrorName(std::int32_t code) {
  const auto* found = std::ranges::find(kErrors, code, &ErrorRow::code);
  return found == std::end(kErrors) ? std::string() : found->name;
}

Status OpenClApi::Check(std::int32_t code, const char* call) {
  if (code == 0) return {};
  const std::string name = ErrorName(code);
  return Unavailable(std::string(call) + ": " + (name.empty() ? "unknown error" : name) + " (" +
                     std::to_string(code) + ")");
}

}  // namespace tilewright
