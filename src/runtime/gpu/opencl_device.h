#pragma once

/* Open device of OpenCL with a compiled model: shared by opencl_model.c and opencl_program.c. */

#include "src/runtime/gpu/gpu_driver.h"
#include "src/runtime/opencl/functions.h"

enum { TW_CL_NAME_BYTES = 256 };

/* Bytes of a buffer from an offset on; `object` is what kernels take as their argument. */
typedef struct TwClPart {
  TwClObject base;
  size_t offset, bytes;
  TwClObject object; /* the base itself, or a sub-buffer */
} TwClPart;

typedef struct TwClLaunch {
  const TwGpuLaunch* launch;
  TwClObject kernel;
} TwClLaunch;

typedef struct TwClConstant {
  int64_t offset;
  size_t bytes;
  TwClObject buffer;
} TwClConstant;

/* Image in place of a workspace, and the last step that takes it as an
 * argument. */
typedef struct TwClImage {
  TwOpenClImage shape;
  TwClObject object;
  int64_t step;
} TwClImage;

typedef struct TwClEvent {
  TwClObject object;
  const char* name; /* of the kernel, or the call of a copy */
} TwClEvent;

struct TwGpuDevice {
  char* message;
  void* library;
  TwOpenCl cl;
  TwOpenClPlace place;
  char name[TW_CL_NAME_BYTES];
  int rounds_division;
  TwClObject context, queue;
  TwClObject* programs; /* one per kernel */
  TwClObject arena, workspace;
  TwClObject *inputs, *outputs;
  TwClConstant* constants; /* by offset */
  int64_t constant_count;
  TwClImage* images; /* made so far; steps share those of the same size */
  int64_t image_count;
  TwClPart* parts; /* sub-buffers */
  int64_t part_count;
  TwClLaunch* launches; /* of all steps, in order */
  int64_t launch_count;
  int64_t* first_launch; /* of each step, and the end */
  TwClEvent* events;     /* of a run: one per launch or copy */
  int64_t event_count;
};

/** Writes the message. Returns the code of src/runtime/model.h. */
int32_t TwClFail(TwGpuDevice* device, int32_t code, const char* format, ...);
/** Converts a code of OpenCL, with a message that names the call and the error. */
int32_t TwClCheck(TwGpuDevice* device, TwClInt code, const char* call);

/** Converts the code of a call for a kernel, with a message that also names the kernel. */
int32_t TwClCheckKernel(TwGpuDevice* device, TwClInt code, const char* kernel, const char* call);

/** Loads the library, finds the device, checks that it can run the model, and makes context and
 *  queue. */
int32_t TwClOpenQueue(const TwGpuModel* gpu, TwGpuDevice* device, const char* library,
                      int32_t ordinal);
/** Builds the programs of all kernels. */
int32_t TwClBuild(const TwGpuModel* gpu, TwGpuDevice* device);
