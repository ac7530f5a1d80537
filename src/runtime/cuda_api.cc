#include "src/runtime/cuda_api.h"

#include <dlfcn.h>

namespace tilewright {
namespace {

template <typename Function>
void Bind(void* library, const char* symbol, Function* function) {
  // POSIX: an object pointer from dlsym converts to a function pointer.
  *function = reinterpret_cast<Function>(dlsym(library, symbol));
}

}  // namespace

void CudaApi::Close::operator()(void* library) const { dlclose(library); }

Status CudaApi::BindAll() {
  std::string missing;
  const auto need = [&](const char* symbol, auto* function) {
    Bind(library_.get(), symbol, function);
    if (*function == nullptr && missing.empty()) missing = symbol;
  };
  need("cuInit", &init_);
  need("cuGetErrorString", &error_string_);
  need("cuDriverGetVersion", &driver_version);
  need("cuDeviceGetCount", &device_count);
  need("cuDeviceGet", &get_device);
  need("cuDeviceGetName", &device_name);
  need("cuDeviceGetAttribute", &device_attribute);
  need("cuDeviceTotalMem_v2", &device_memory);
  need("cuDeviceGetPCIBusId", &device_bus_id);
  need("cuDevicePrimaryCtxRetain", &retain_context);
  need("cuDevicePrimaryCtxRelease_v2", &release_context);
  need("cuCtxSetCurrent", &set_context);
  need("cuModuleLoadDataEx", &load_module);
  need("cuModuleUnload", &unload_module);
  need("cuModuleGetFunction", &get_function);
  need("cuMemAlloc_v2", &allocate);
  need("cuMemFree_v2", &release);
  need("cuMemcpyHtoD_v2", &copy_to_device);
  need("cuMemcpyDtoH_v2", &copy_to_host);
  need("cuMemsetD8Async", &fill);
  need("cuLaunchKernel", &launch);
  need("cuStreamCreate", &create_stream);
  need("cuStreamDestroy_v2", &destroy_stream);
  need("cuStreamQuery", &query_stream);
  need("cuEventCreate", &create_event);
  need("cuEventDestroy_v2", &destroy_event);
  need("cuEventRecord", &record_event);
  need("cuEventElapsedTime", &event_milliseconds);
  if (!missing.empty()) return Unavailable("too old: it has no " + missing);
  Bind(library_.get(), "cuStreamBeginCapture_v2", &begin_capture);
  Bind(library_.get(), "cuStreamEndCapture", &end_capture);
  Bind(library_.get(), "cuGraphInstantiateWithFlags", &instantiate_graph);
  Bind(library_.get(), "cuGraphLaunch", &launch_graph);
  Bind(library_.get(), "cuGraphExecDestroy", &destroy_executable);
  Bind(library_.get(), "cuGraphDestroy", &destroy_graph);
  return {};
}

Result<CudaApi> CudaApi::Open(const std::string& library) {
  CudaApi api;
  api.library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (api.library_ == nullptr) {
    return NotFound("no NVIDIA driver: " + library + " cannot be loaded");
  }
  const Status bound = api.BindAll();
  if (!bound.ok()) return bound.WithContext(library);
  TW_RETURN_IF_ERROR(api.Check(api.init_(0), "cuInit"));
  return api;
}

Status CudaApi::Check(int code, const char* call) const {
  if (code == 0) return {};
  const char* words = nullptr;
  if (error_string_(code, &words) != 0 || words == nullptr) words = "unknown error";
  return Unavailable(std::string(call) + ": " + words + " (" + std::to_string(code) + ")");
}

CudaFault CudaApi::FaultOf(int code) {
  switch (code) {
    case 700:  // illegal address
    case 702:  // the display driver's own limit of time
    case 710:  // assertion
    case 714:  // stack
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // address of the wrong space
    case 718:  // program counter
    case 719:  // "unspecified launch failure"
      return CudaFault::kKernelFault;
    case 4:    // driver being unloaded
    case 46:   // device not available
    case 100:  // no device
    case 101:  // no such device
    case 214:  // uncorrectable memory error
    case 220:  // uncorrectable link error
    case 709:  // context destroyed
    case 802:  // system not ready
    case 999:  // unknown: what a device that fell off the bus gives
      return CudaFault::kDeviceLost;
    default:
      return CudaFault::kNone;
  }
}

}  // namespace tilewright
