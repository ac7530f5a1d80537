#pragma once

/* Functions and constants of OpenCL, loaded at run time: neither headers nor a library are needed
 * to build. The values are those of the Khronos headers and never change. Plain C: it is also part
 * of compiled models. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_OPENCL_LIBRARY "libOpenCL.so.1"

/* Objects and integers of the interface. */
typedef void* TwClObject; /* cl_platform_id, cl_device_id, cl_context, … */
typedef int32_t TwClInt;
typedef uint32_t TwClUint;
typedef uint64_t TwClBits; /* cl_bitfield */
typedef intptr_t TwClName; /* of a property */

/** Codes; 0 is success. */
enum {
  TW_CL_DEVICE_NOT_FOUND = -1,
  TW_CL_DEVICE_NOT_AVAILABLE = -2,
  TW_CL_NO_MEMORY_FOR_OBJECT = -4,
  TW_CL_BUILD_FAILURE = -11,
  TW_CL_INVALID_IMAGE_SIZE = -40,
  TW_CL_INVALID_KERNEL_NAME = -46,
  TW_CL_INVALID_BUFFER_SIZE = -61,
  TW_CL_NO_PLATFORM = -1001
};

/** Names of what is asked for. */
enum {
  TW_CL_PLATFORM_NAME = 0x0902,
  TW_CL_DEVICE_TYPE = 0x1000,
  TW_CL_DEVICE_COMPUTE_UNITS = 0x1002,
  TW_CL_DEVICE_WORK_GROUP_SIZE = 0x1004,
  TW_CL_DEVICE_ALIGNMENT_BITS = 0x1019,
  TW_CL_DEVICE_FLOAT_CONFIG = 0x101B,
  TW_CL_DEVICE_CACHE_BYTES = 0x101E,
  TW_CL_DEVICE_MEMORY_BYTES = 0x101F,
  TW_CL_DEVICE_LOCAL_BYTES = 0x1023,
  TW_CL_DEVICE_NAME = 0x102B,
  TW_CL_DEVICE_DRIVER = 0x102D,
  TW_CL_DEVICE_VERSION = 0x102F,
  TW_CL_CONTEXT_PLATFORM = 0x1084,
  TW_CL_BUILD_LOG = 0x1183,
  TW_CL_EVENT_STATUS = 0x11D3,
  TW_CL_BUFFER_REGION = 0x1220,
  TW_CL_EVENT_STARTED = 0x1282,
  TW_CL_EVENT_ENDED = 0x1283
};

/** Bits: types of devices, of floats, of queues and of memory; and a call that waits. */
enum {
  TW_CL_TYPE_CPU = 1 << 1,
  TW_CL_ROUNDS_DIVISION = 1 << 7,
  TW_CL_PROFILING = 1 << 1,
  TW_CL_READ_WRITE = 1 << 0,
  TW_CL_READ_ONLY = 1 << 2,
  TW_CL_COPY_HOST = 1 << 5,
  TW_CL_BLOCKING = 1
};
#define TW_CL_ALL_TYPES UINT64_C(0xFFFFFFFF)

/** Part of a buffer, for CreateSubBuffer. */
typedef struct TwClRegion {
  size_t origin, bytes;
} TwClRegion;

/** Names as in the standard, without cl and prefixes: clGetPlatformIDs, … */
typedef struct TwOpenCl {
  TwClInt (*GetPlatformIDs)(TwClUint, TwClObject*, TwClUint*);
  TwClInt (*GetPlatformInfo)(TwClObject, TwClUint, size_t, void*, size_t*);
  TwClInt (*GetDeviceIDs)(TwClObject, TwClBits, TwClUint, TwClObject*, TwClUint*);
  TwClInt (*GetDeviceInfo)(TwClObject, TwClUint, size_t, void*, size_t*);
  TwClObject (*CreateContext)(const TwClName*, TwClUint, const TwClObject*, void*, void*, TwClInt*);
  TwClObject (*CreateCommandQueue)(TwClObject, TwClObject, TwClBits, TwClInt*);
  TwClObject (*CreateBuffer)(TwClObject, TwClBits, size_t, void*, TwClInt*);
  TwClObject (*CreateImage)(TwClObject, TwClBits, const void*, const void*, void*, TwClInt*);
  TwClObject (*CreateSubBuffer)(TwClObject, TwClBits, TwClUint, const void*, TwClInt*);
  TwClObject (*CreateProgramWithSource)(TwClObject, TwClUint, const char**, const size_t*,
                                        TwClInt*);
  TwClInt (*BuildProgram)(TwClObject, TwClUint, const TwClObject*, const char*, void*, void*);
  TwClInt (*GetProgramBuildInfo)(TwClObject, TwClObject, TwClUint, size_t, void*, size_t*);
  TwClObject (*CreateKernel)(TwClObject, const char*, TwClInt*);
  TwClInt (*SetKernelArg)(TwClObject, TwClUint, size_t, const void*);
  TwClInt (*EnqueueWriteBuffer)(TwClObject, TwClObject, TwClUint, size_t, size_t, const void*,
                                TwClUint, const TwClObject*, TwClObject*);
  TwClInt (*EnqueueReadBuffer)(TwClObject, TwClObject, TwClUint, size_t, size_t, void*, TwClUint,
                               const TwClObject*, TwClObject*);
  TwClInt (*EnqueueCopyBuffer)(TwClObject, TwClObject, TwClObject, size_t, size_t, size_t, TwClUint,
                               const TwClObject*, TwClObject*);
  TwClInt (*EnqueueFillBuffer)(TwClObject, TwClObject, const void*, size_t, size_t, size_t,
                               TwClUint, const TwClObject*, TwClObject*);
  TwClInt (*EnqueueNDRangeKernel)(TwClObject, TwClObject, TwClUint, const size_t*, const size_t*,
                                  const size_t*, TwClUint, const TwClObject*, TwClObject*);
  TwClInt (*EnqueueMarkerWithWaitList)(TwClObject, TwClUint, const TwClObject*, TwClObject*);
  TwClInt (*Flush)(TwClObject);
  TwClInt (*Finish)(TwClObject);
  TwClInt (*GetEventInfo)(TwClObject, TwClUint, size_t, void*, size_t*);
  TwClInt (*GetEventProfilingInfo)(TwClObject, TwClUint, size_t, void*, size_t*);
  TwClInt (*ReleaseContext)(TwClObject);
  TwClInt (*ReleaseCommandQueue)(TwClObject);
  TwClInt (*ReleaseMemObject)(TwClObject);
  TwClInt (*ReleaseProgram)(TwClObject);
  TwClInt (*ReleaseKernel)(TwClObject);
  TwClInt (*ReleaseEvent)(TwClObject);
} TwOpenCl;

/** Resolves the functions in a library handle from dlopen. Returns null, or the missing symbol. */
const char* TwOpenClBind(TwOpenCl* api, void* library);

/** Returns "out of resources" for -5; "unknown error" for an unknown code. */
const char* TwOpenClErrorName(TwClInt code);

/** Returns the options that programs for this device are built with. */
const char* TwOpenClBuildOptions(int rounds_division);

/** Image of texels of 4 floats that the kernels of a program take as an
 * argument. */
typedef struct TwOpenClImage {
  TwClUint argument;
  size_t width, height; /* in texels */
  int half;             /* the elements are float16, else float32 */
} TwOpenClImage;

/** Reads the declaration of an image at the beginning of a source, a line
 *  "// tw_image PROGRAM ARGUMENT WIDTH HEIGHT float" (or half). Moves `source`
 * to the next line. program: the name of the first kernel; images of other
 * programs are skipped. Returns 1; 0 if there is no more image; -1 for a line
 * that is no declaration. */
int TwOpenClNextImage(const char** source, const char* program, TwOpenClImage* image);

/** Returns the bytes of the texels of an image. */
size_t TwOpenClImageBytes(const TwOpenClImage* image);

/** Makes an image, whose texels are NaN. Returns null after an error. */
TwClObject TwOpenClMakeImage(const TwOpenCl* api, TwClObject context, const TwOpenClImage* image,
                             TwClInt* error);

/** Platform and device. */
typedef struct TwOpenClPlace {
  TwClObject platform, device;
} TwOpenClPlace;

/** Lists the devices of all platforms, in the platforms' order. places: receives memory of malloc,
 *  also if there is no device. call: receives the name of the call that failed. Returns the code of
 *  that, 0 also for no platform or device. */
TwClInt TwOpenClPlaces(const TwOpenCl* api, TwOpenClPlace** places, size_t* count,
                       const char** call);

#ifdef __cplusplus
}
#endif
