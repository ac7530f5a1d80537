#include "src/runtime/cuda_functions.h"

#include <dlfcn.h>
#include <string.h>

typedef struct Symbol {
  const char* name;
  size_t offset; /* into TwCuda */
} Symbol;

static const Symbol kNeeded[] = {
    {"cuInit", offsetof(TwCuda, init)},
    {"cuGetErrorString", offsetof(TwCuda, error_string)},
    {"cuDriverGetVersion", offsetof(TwCuda, driver_version)},
    {"cuDeviceGetCount", offsetof(TwCuda, device_count)},
    {"cuDeviceGet", offsetof(TwCuda, get_device)},
    {"cuDeviceGetName", offsetof(TwCuda, device_name)},
    {"cuDeviceGetAttribute", offsetof(TwCuda, device_attribute)},
    {"cuDeviceTotalMem_v2", offsetof(TwCuda, device_memory)},
    {"cuDeviceGetPCIBusId", offsetof(TwCuda, device_bus_id)},
    {"cuDevicePrimaryCtxRetain", offsetof(TwCuda, retain_context)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(TwCuda, release_context)},
    {"cuCtxSetCurrent", offsetof(TwCuda, set_context)},
    {"cuCtxPushCurrent_v2", offsetof(TwCuda, push_context)},
    {"cuCtxPopCurrent_v2", offsetof(TwCuda, pop_context)},
    {"cuCtxSynchronize", offsetof(TwCuda, synchronize_context)},
    {"cuModuleLoadDataEx", offsetof(TwCuda, load_module)},
    {"cuModuleUnload", offsetof(TwCuda, unload_module)},
    {"cuModuleGetFunction", offsetof(TwCuda, get_function)},
    {"cuFuncSetAttribute", offsetof(TwCuda, set_function)},
    {"cuMemAlloc_v2", offsetof(TwCuda, allocate)},
    {"cuMemFree_v2", offsetof(TwCuda, release)},
    {"cuMemcpyHtoD_v2", offsetof(TwCuda, copy_to_device)},
    {"cuMemcpyDtoH_v2", offsetof(TwCuda, copy_to_host)},
    {"cuMemcpyDtoDAsync_v2", offsetof(TwCuda, copy_on_device)},
    {"cuMemsetD8Async", offsetof(TwCuda, fill)},
    {"cuLaunchKernel", offsetof(TwCuda, launch)},
    {"cuStreamCreate", offsetof(TwCuda, create_stream)},
    {"cuStreamDestroy_v2", offsetof(TwCuda, destroy_stream)},
    {"cuStreamQuery", offsetof(TwCuda, query_stream)},
    {"cuEventCreate", offsetof(TwCuda, create_event)},
    {"cuEventDestroy_v2", offsetof(TwCuda, destroy_event)},
    {"cuEventRecord", offsetof(TwCuda, record_event)},
    {"cuEventElapsedTime", offsetof(TwCuda, event_milliseconds)},
};
static const Symbol kOfGraphs[] = {
    {"cuStreamBeginCapture_v2", offsetof(TwCuda, begin_capture)},
    {"cuStreamEndCapture", offsetof(TwCuda, end_capture)},
    {"cuGraphInstantiateWithFlags", offsetof(TwCuda, instantiate_graph)},
    {"cuGraphLaunch", offsetof(TwCuda, launch_graph)},
    {"cuGraphExecDestroy", offsetof(TwCuda, destroy_executable)},
    {"cuGraphDestroy", offsetof(TwCuda, destroy_graph)},
};

/* POSIX: an object pointer from dlsym converts to a function pointer. */
static int Bind(TwCuda* cuda, void* library, const Symbol* symbol) {
  void* found = dlsym(library, symbol->name);
  memcpy((char*)cuda + symbol->offset, &found, sizeof found);
  return found != NULL;
}

const char* TwCudaBind(TwCuda* cuda, void* library) {
  for (size_t i = 0; i < sizeof kNeeded / sizeof *kNeeded; ++i) {
    if (!Bind(cuda, library, &kNeeded[i])) return kNeeded[i].name;
  }
  for (size_t i = 0; i < sizeof kOfGraphs / sizeof *kOfGraphs; ++i) {
    (void)Bind(cuda, library, &kOfGraphs[i]);
  }
  return NULL;
}
