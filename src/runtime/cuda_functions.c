#include "src/runtime/cuda_functions.h"

#include <dlfcn.h>
#include <string.h>

_Static_assert(offsetof(TwHipProperties, multiprocessors) == 388, "as in hip_runtime_api.h");
_Static_assert(offsetof(TwHipProperties, l2_bytes) == 616, "as in hip_runtime_api.h");
_Static_assert(offsetof(TwHipProperties, processor) == 1160, "as in hip_runtime_api.h");

typedef struct Symbol {
  const char* cuda;
  const char* hip; /* null: HIP's function differs and is not used */
  size_t offset;   /* into TwCuda */
} Symbol;

static const Symbol kNeeded[] = {
    {"cuInit", "hipInit", offsetof(TwCuda, init)},
    {"cuGetErrorString", "hipDrvGetErrorString", offsetof(TwCuda, error_string)},
    {"cuDriverGetVersion", "hipDriverGetVersion", offsetof(TwCuda, driver_version)},
    {"cuDeviceGetCount", "hipGetDeviceCount", offsetof(TwCuda, device_count)},
    {"cuDeviceGet", "hipDeviceGet", offsetof(TwCuda, get_device)},
    {"cuDeviceGetName", "hipDeviceGetName", offsetof(TwCuda, device_name)},
    {"cuDeviceGetAttribute", NULL, offsetof(TwCuda, device_attribute)},
    {"cuDeviceTotalMem_v2", "hipDeviceTotalMem", offsetof(TwCuda, device_memory)},
    {"cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", offsetof(TwCuda, device_bus_id)},
    {"cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", offsetof(TwCuda, retain_context)},
    {"cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease",
     offsetof(TwCuda, release_context)},
    {"cuCtxSetCurrent", "hipCtxSetCurrent", offsetof(TwCuda, set_context)},
    {"cuCtxPushCurrent_v2", "hipCtxPushCurrent", offsetof(TwCuda, push_context)},
    {"cuCtxPopCurrent_v2", "hipCtxPopCurrent", offsetof(TwCuda, pop_context)},
    {"cuCtxSynchronize", "hipDeviceSynchronize", offsetof(TwCuda, synchronize_context)},
    {"cuModuleLoadDataEx", "hipModuleLoadDataEx", offsetof(TwCuda, load_module)},
    {"cuModuleUnload", "hipModuleUnload", offsetof(TwCuda, unload_module)},
    {"cuModuleGetFunction", "hipModuleGetFunction", offsetof(TwCuda, get_function)},
    {"cuFuncSetAttribute", NULL, offsetof(TwCuda, set_function)},
    {"cuMemAlloc_v2", "hipMalloc", offsetof(TwCuda, allocate)},
    {"cuMemFree_v2", "hipFree", offsetof(TwCuda, release)},
    {"cuMemcpyHtoD_v2", "hipMemcpyHtoD", offsetof(TwCuda, copy_to_device)},
    {"cuMemcpyDtoH_v2", "hipMemcpyDtoH", offsetof(TwCuda, copy_to_host)},
    {"cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", offsetof(TwCuda, copy_on_device)},
    {"cuMemsetD8Async", "hipMemsetD8Async", offsetof(TwCuda, fill)},
    {"cuLaunchKernel", "hipModuleLaunchKernel", offsetof(TwCuda, launch)},
    {"cuStreamCreate", "hipStreamCreateWithFlags", offsetof(TwCuda, create_stream)},
    {"cuStreamDestroy_v2", "hipStreamDestroy", offsetof(TwCuda, destroy_stream)},
    {"cuStreamQuery", "hipStreamQuery", offsetof(TwCuda, query_stream)},
    {"cuEventCreate", "hipEventCreateWithFlags", offsetof(TwCuda, create_event)},
    {"cuEventDestroy_v2", "hipEventDestroy", offsetof(TwCuda, destroy_event)},
    {"cuEventRecord", "hipEventRecord", offsetof(TwCuda, record_event)},
    {"cuEventElapsedTime", "hipEventElapsedTime", offsetof(TwCuda, event_milliseconds)},
};
static const Symbol kOfGraphs[] = {
    {"cuStreamBeginCapture_v2", "hipStreamBeginCapture", offsetof(TwCuda, begin_capture)},
    {"cuStreamEndCapture", "hipStreamEndCapture", offsetof(TwCuda, end_capture)},
    {"cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags",
     offsetof(TwCuda, instantiate_graph)},
    {"cuGraphLaunch", "hipGraphLaunch", offsetof(TwCuda, launch_graph)},
    {"cuGraphExecDestroy", "hipGraphExecDestroy", offsetof(TwCuda, destroy_executable)},
    {"cuGraphDestroy", "hipGraphDestroy", offsetof(TwCuda, destroy_graph)},
};

static const char kProperties[] = "hipGetDevicePropertiesR0600";

/* POSIX: an object pointer from dlsym converts to a function pointer. */
static int Bind(TwCuda* cuda, void* library, const char* name, size_t offset) {
  void* found = dlsym(library, name);
  memcpy((char*)cuda + offset, &found, sizeof found);
  return found != NULL;
}

const char* TwCudaBind(TwCuda* cuda, void* library) {
  cuda->is_hip = dlsym(library, "hipInit") != NULL;
  for (size_t i = 0; i < sizeof kNeeded / sizeof *kNeeded; ++i) {
    const char* name = cuda->is_hip ? kNeeded[i].hip : kNeeded[i].cuda;
    if (name != NULL && !Bind(cuda, library, name, kNeeded[i].offset)) return name;
  }
  for (size_t i = 0; i < sizeof kOfGraphs / sizeof *kOfGraphs; ++i) {
    (void)Bind(cuda, library, cuda->is_hip ? kOfGraphs[i].hip : kOfGraphs[i].cuda,
               kOfGraphs[i].offset);
  }
  if (!cuda->is_hip) return NULL;
  return Bind(cuda, library, kProperties, offsetof(TwCuda, hip_properties)) ? NULL : kProperties;
}

void* TwCudaLoad(const char* library) {
  static const char* const kVersions[] = {TW_HIP_LIBRARY ".7", TW_HIP_LIBRARY ".6"};
  if (strcmp(library, TW_HIP_LIBRARY) == 0) {
    for (size_t i = 0; i < sizeof kVersions / sizeof *kVersions; ++i) {
      void* found = dlopen(kVersions[i], RTLD_NOW | RTLD_LOCAL);
      if (found != NULL) return found;
    }
  }
  return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

const char* TwCudaMaker(const char* library) {
  const char* slash = strrchr(library, '/');
  return strstr(slash == NULL ? library : slash, "hip") == NULL ? "NVIDIA" : "AMD";
}

const char* TwCudaCall(const TwCuda* cuda, const char* call) {
  const size_t length = strlen(call);
  for (size_t i = 0; cuda->is_hip && i < sizeof kNeeded / sizeof *kNeeded; ++i) {
    const Symbol* symbol = &kNeeded[i];
    const int same = strncmp(symbol->cuda, call, length) == 0 &&
                     (symbol->cuda[length] == '\0' || symbol->cuda[length] == '_');
    if (same && symbol->hip != NULL) return symbol->hip;
  }
  return call;
}

void TwHipProcessor(TwHipProperties* properties) {
  properties->processor[sizeof properties->processor - 1] = '\0';
  char* end = strchr(properties->processor, ':');
  if (end != NULL) *end = '\0';
}
