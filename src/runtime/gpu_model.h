#pragma once

/* Compiled model whose operators run on a GPU. Like src/runtime/model.h: tables that src/compiler
 * emits, and the functions that run them, which are linked only into such models. */

#include "src/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Kernel launch; sizes are x, y, z. Its arguments are the addresses of all places of the step,
 *  then of the kernel's workspace. */
typedef struct TwGpuLaunch {
  const char* entry;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes; /* dynamic shared memory of a block */
} TwGpuLaunch;

/** Kernel: a sequence of launches. */
typedef struct TwGpuKernel {
  const char* code; /* PTX, OpenCL C or an AMD code object; ends in a zero byte */
  const TwGpuLaunch* launches;
  int64_t launch_count;
  const int64_t* workspace; /* offsets of its buffers into the model's workspace, in bytes */
  int64_t workspace_count;
} TwGpuKernel;

/** Functions of CUDA, HIP or OpenCL (src/runtime/gpu/gpu_driver.h). Only the driver that a model
 * names is linked into it. */
typedef struct TwGpuDriver TwGpuDriver;
extern const TwGpuDriver TwCudaDriver;
extern const TwGpuDriver TwHipDriver;
extern const TwGpuDriver TwOpenClDriver;

typedef struct TwGpuModel {
  /* First, so that a pointer to it is a pointer to this; its steps have no TwKernel. */
  TwModel model;
  const TwGpuKernel* kernels;
  int64_t kernel_count;
  const int32_t* step_kernels; /* one per step: position in `kernels`; -1: copies places[0] */
  int64_t workspace_bytes;
  /* CUDA: minimum compute capability, 75 for 7.5. HIP: the processor, 0x906 for gfx906 */
  int64_t capability;
  int64_t alignment; /* of all offsets into the arena and the workspace, in bytes */
  const TwGpuDriver* driver;
} TwGpuModel;

/** Opens a device: loads the kernels, allocates all tensors and uploads the constants. Without this
 *  call, a model's first run opens device 0 of the driver's library. Constants that are not loaded
 *  yet are uploaded when they are. Returns 0, or a code. */
int32_t TwGpuOpen(const TwModel* model, const char* driver, int32_t ordinal);
/** As TwModelRun. The observer gets copies of the results on the device; seconds are measured on
 *  the device. */
int32_t TwGpuRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                 TwObserver observer, void* context);
/** CUDA and HIP: enqueues a run on a stream of the caller (a CUstream or hipStream_t of the
 * device's primary context; null: the default one) and returns without waiting. inputs, outputs:
 * addresses on the device, aligned to 64 bytes (else TW_MODEL_NOT_ALIGNED). Runs must not overlap:
 * they share memory. */
int32_t TwGpuRunOnDevice(const TwModel* model, const uint64_t* inputs, const uint64_t* outputs,
                         void* stream);
/** Has no effect on a GPU: returns 0, or TW_MODEL_NO_THREADS for a number below 1. */
int32_t TwGpuSetThreads(const TwModel* model, int32_t threads);
/** Releases the device; the next run reopens the same one. Loaded parameters are released too. */
void TwGpuRelease(const TwModel* model);
/** As TwGpuRelease, and frees the rest of the state; called when the library is unloaded. */
void TwGpuUnload(const TwModel* model);
/** As TwModelLoad; an open device stays open and gets the new constants. */
int32_t TwGpuLoad(const TwModel* model, const char* path);
/** Returns the reason of the last device error code; valid until the next call or release. */
const char* TwGpuMessage(const TwModel* model);

/** Exported by a library as `tilewright_gpu_model`, in addition to `tilewright_model`. */
typedef struct TwGpuFunctions {
  int32_t (*open)(const TwModel*, const char*, int32_t);
  /* null for OpenCL, which has no addresses */
  int32_t (*run_on_device)(const TwModel*, const uint64_t*, const uint64_t*, void*);
  const char* (*message)(const TwModel*);
} TwGpuFunctions;

#ifdef __cplusplus
}
#endif
