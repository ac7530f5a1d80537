#pragma once

/* A compiled model whose operators run on a GPU. Like src/runtime/model.h: tables that src/compiler
 * emits, and the functions that run them, which are part of such a model alone. */

#include "src/runtime/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One launch; sizes are x, y, z. Its arguments are the addresses of all places of the step, then
 * of the kernel's workspace. */
typedef struct TwGpuLaunch {
  const char* entry;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes; /* that a block is given at the launch */
} TwGpuLaunch;

/** One kernel: launches one after the other. */
typedef struct TwGpuKernel {
  const char* ptx; /* ends in a zero byte */
  const TwGpuLaunch* launches;
  int64_t launch_count;
  const int64_t* workspace; /* offsets of its buffers into the model's workspace, in bytes */
  int64_t workspace_count;
} TwGpuKernel;

typedef struct TwGpuModel {
  TwModel model; /* first, so that a pointer to it is one to this; its steps have no TwKernel */
  const TwGpuKernel* kernels;
  int64_t kernel_count;
  const int32_t* step_kernels; /* one per step: position in `kernels`; -1: copies places[0] */
  int64_t workspace_bytes;
  int64_t capability; /* that the device must have at least: 75 for 7.5 */
} TwGpuModel;

/** Opens a device: loads the kernels, makes room for all tensors and uploads the constants. Without
 *  this, a model's first run opens device 0 of TW_CUDA_LIBRARY. Constants that are not loaded yet
 *  are uploaded when they are. Returns 0, or a code. */
int32_t TwGpuOpen(const TwModel* model, const char* driver, int32_t ordinal);
/** As TwModelRun. Results that the observer gets are copies of what is on the device; seconds are
 * the device's. */
int32_t TwGpuRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                 TwObserver observer, void* context);
/** Puts a run on a stream of the caller (a CUstream of the device's primary context; null: the
 *  default one) and returns without waiting. inputs, outputs: addresses on the device, aligned to
 * 64 bytes (else TW_MODEL_NOT_ALIGNED). Runs must not overlap: they share memory. */
int32_t TwGpuRunOnDevice(const TwModel* model, const uint64_t* inputs, const uint64_t* outputs,
                         void* stream);
/** A GPU has no threads to be set: 0, or TW_MODEL_NO_THREADS for less than one. */
int32_t TwGpuSetThreads(const TwModel* model, int32_t threads);
/** Gives the device back; the next run opens the same one again. Loaded parameters are gone too. */
void TwGpuRelease(const TwModel* model);
/** Release, and what that keeps: when the library goes. */
void TwGpuUnload(const TwModel* model);
/** As TwModelLoad; a device that is open stays so and gets the new constants. */
int32_t TwGpuLoad(const TwModel* model, const char* path);
/** Why the last call that returned a code of a device did; valid until the next call or release. */
const char* TwGpuMessage(const TwModel* model);

/** What a library exports as `tilewright_gpu_model`, beside `tilewright_model`. */
typedef struct TwGpuFunctions {
  int32_t (*open)(const TwModel*, const char*, int32_t);
  int32_t (*run_on_device)(const TwModel*, const uint64_t*, const uint64_t*, void*);
  const char* (*message)(const TwModel*);
} TwGpuFunctions;

#ifdef __cplusplus
}
#endif
