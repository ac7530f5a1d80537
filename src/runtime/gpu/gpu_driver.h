#pragma once

/* Interface between a compiled model for a GPU (gpu_model.c) and the driver of its device. */

#include "src/runtime/gpu_model.h"

enum { TW_GPU_MESSAGE_BYTES = 2048 };

/** Open device with everything that runs need: code, memory, queue. Each driver has its own. */
typedef struct TwGpuDevice TwGpuDevice;

/** Functions of a driver. Those with a code return 0 or a code of src/runtime/model.h, and then the
 *  reason is in the device's message. */
struct TwGpuDriver {
  const char* library; /* file that is loaded by default */
  /** Loads the driver from `library`, opens its device `ordinal` and makes everything that runs
   *  need. message: TW_GPU_MESSAGE_BYTES that outlive the device. After a failure nothing is open
   *  and *device is null. */
  int32_t (*open)(const TwGpuModel* gpu, const char* library, int32_t ordinal, char* message,
                  TwGpuDevice** device);
  /** Waits for all work and frees everything. Errors of the driver are ignored. */
  void (*close)(const TwGpuModel* gpu, TwGpuDevice* device);
  /** Begins and ends a sequence of the calls below. */
  int32_t (*enter)(TwGpuDevice* device);
  void (*leave)(TwGpuDevice* device);
  /** Waits for all work, also that on streams of the caller. */
  int32_t (*wait)(TwGpuDevice* device);
  int32_t (*upload)(const TwGpuModel* gpu, TwGpuDevice* device, const unsigned char* constants);
  int32_t (*write_input)(const TwGpuModel* gpu, TwGpuDevice* device, int64_t input,
                         const void* from);
  /** Reads an output when the work before is done. */
  int32_t (*read_output)(const TwGpuModel* gpu, TwGpuDevice* device, int64_t output, void* to);
  /** Enqueues all steps. */
  int32_t (*run)(const TwGpuModel* gpu, TwGpuDevice* device);
  /** Runs one step. result: receives its result; seconds: its time on the device. */
  int32_t (*run_step)(const TwGpuModel* gpu, TwGpuDevice* device, int64_t step, void* result,
                      double* seconds);
  /** As TwGpuRunOnDevice; null if the driver has no addresses. */
  int32_t (*run_on_device)(const TwGpuModel* gpu, TwGpuDevice* device, const uint64_t* inputs,
                           const uint64_t* outputs, void* stream);
};
