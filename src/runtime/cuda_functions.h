#pragma once

/* Functions of the CUDA driver, loaded at run time: neither building nor starting a program
 * requires CUDA. HIP, the library of AMD GPUs, has the same functions under other names, with the
 * same codes. Plain C: it is also part of compiled models. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_CUDA_LIBRARY "libcuda.so.1"
/** Stands for the newest of libamdhip64.so.7, libamdhip64.so.6 and libamdhip64.so. */
#define TW_HIP_LIBRARY "libamdhip64.so"

/** Codes of the driver; 0 is success. */
enum { TW_CUDA_OUT_OF_MEMORY = 2, TW_CUDA_NO_DEVICE = 100, TW_CUDA_NOT_READY = 600 };
/** Attributes of a device. */
enum { TW_CUDA_CAPABILITY_MAJOR = 75, TW_CUDA_CAPABILITY_MINOR = 76 };
/** Options of load_module: buffer for the assembler's error log, and its size. */
enum { TW_CUDA_ERROR_LOG = 5, TW_CUDA_ERROR_LOG_BYTES = 6 };
/** Flag of create_stream: work on it does not synchronize with the default stream. */
enum { TW_CUDA_NON_BLOCKING = 1 };
/** Mode of begin_capture: calls of other threads are not captured. */
enum { TW_CUDA_CAPTURE_THREAD_LOCAL = 1 };
/** Attribute of a function: shared memory that its launches may request, in bytes. Up to 48 KiB are
 *  allowed without it. */
enum { TW_CUDA_MOST_DYNAMIC_SHARED = 8 };

/** Device as hipGetDeviceProperties describes it from ROCm 6 on (hipDeviceProp_tR0600): the members
 *  that are read, between gaps. */
typedef struct TwHipProperties {
  char name[256];
  char gap[132];
  int multiprocessors;
  char gap_before_l2[224];
  int l2_bytes;
  char gap_before_processor[540];
  char processor[256]; /* "gfx906:sramecc+:xnack-" */
  char rest[1024];     /* more than follows */
} TwHipProperties;

/** All return the driver's code. */
typedef struct TwCuda {
  int is_hip;
  int (*init)(unsigned flags);
  int (*error_string)(int code, const char** words);
  /* devices */
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*get_device)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_memory)(size_t* bytes, int device);
  int (*device_bus_id)(char* id, int length, int device);
  /* contexts, modules, memory */
  int (*retain_context)(void** context, int device);
  int (*release_context)(int device);
  int (*set_context)(void* context);
  int (*push_context)(void* context);
  int (*pop_context)(void** context);
  int (*synchronize_context)(void);
  int (*load_module)(void** module, const void* image, unsigned options, int* keys, void** values);
  int (*unload_module)(void* module);
  int (*get_function)(void** function, void* module, const char* name);
  int (*set_function)(void* function, int attribute, int value);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*copy_to_device)(uint64_t to, const void* from, size_t bytes);
  int (*copy_to_host)(void* to, uint64_t from, size_t bytes);
  int (*copy_on_device)(uint64_t to, uint64_t from, size_t bytes, void* stream);
  int (*fill)(uint64_t address, unsigned char value, size_t bytes, void* stream);
  /* execution */
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** arguments, void** extra);
  int (*create_stream)(void** stream, unsigned flags);
  int (*destroy_stream)(void* stream);
  int (*query_stream)(void* stream);
  int (*create_event)(void** event, unsigned flags);
  int (*destroy_event)(void* event);
  int (*record_event)(void* event, void* stream);
  int (*event_milliseconds)(float* milliseconds, void* start, void* end);
  /* graphs: null in drivers before 11.4 */
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** graph);
  int (*instantiate_graph)(void** executable, void* graph, unsigned long long flags);
  int (*launch_graph)(void* executable, void* stream);
  int (*destroy_executable)(void* executable);
  int (*destroy_graph)(void* graph);
  /* null for CUDA; of HIP, set_function and device_attribute are null */
  int (*hip_properties)(TwHipProperties* properties, int device);
} TwCuda;

/** Opens the library of a driver (dlopen); null if it cannot be loaded. */
void* TwCudaLoad(const char* library);
/** Returns the maker of the GPUs of a driver's file: "NVIDIA", or "AMD" for a name with "hip". */
const char* TwCudaMaker(const char* library);
/** Returns the driver's name of a call, which is given by its name in CUDA. */
const char* TwCudaCall(const TwCuda* cuda, const char* call);
/** Cuts the processor's options off ("gfx906" remains). */
void TwHipProcessor(TwHipProperties* properties);

/** Resolves the functions in a library handle from dlopen, of HIP if it has hipInit. Returns null,
 *  or the missing symbol.
 *  Graph functions may be missing: they are null then. */
const char* TwCudaBind(TwCuda* cuda, void* library);

#ifdef __cplusplus
}
#endif
