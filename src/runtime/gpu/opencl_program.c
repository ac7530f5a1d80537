/* Opening of an OpenCL device for a compiled model, and its programs. */

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/gpu/opencl_device.h"

enum { kLogBytes = 1024 };

/* Writes the message and returns the code. */
int32_t TwClFail(TwGpuDevice* device, int32_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(device->message, TW_GPU_MESSAGE_BYTES, format, arguments);
  va_end(arguments);
  return code;
}

static int32_t StatusOf(TwClInt code) {
  const int memory = code == TW_CL_NO_MEMORY_FOR_OBJECT || code == TW_CL_INVALID_BUFFER_SIZE;
  return memory ? TW_MODEL_NO_DEVICE_MEMORY : TW_MODEL_DEVICE_FAILED;
}

int32_t TwClCheck(TwGpuDevice* device, TwClInt code, const char* call) {
  if (code == 0) return 0;
  return TwClFail(device, StatusOf(code), "%s: %s (%d)", call, TwOpenClErrorName(code), code);
}

int32_t TwClCheckKernel(TwGpuDevice* device, TwClInt code, const char* kernel, const char* call) {
  if (code == 0) return 0;
  return TwClFail(device, StatusOf(code), "%s: %s: %s (%d)", kernel, call, TwOpenClErrorName(code),
                  code);
}

/* --- opening --- */

static int32_t LoadDriver(TwGpuDevice* device, const char* library) {
  /* Drivers have threads and handlers of their own, which outlive an unloaded library. */
  device->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (device->library == NULL) {
    return TwClFail(device, TW_MODEL_NO_DRIVER, "no OpenCL: %s cannot be loaded", library);
  }
  const char* missing = TwOpenClBind(&device->cl, device->library);
  if (missing == NULL) return 0;
  return TwClFail(device, TW_MODEL_NO_DRIVER, "%s: too old: it has no %s (OpenCL 1.2 has)", library,
                  missing);
}

static int32_t FindPlace(TwGpuDevice* device, int32_t ordinal) {
  TwOpenClPlace* places = NULL;
  size_t count = 0;
  const char* call = "";
  const TwClInt error = TwOpenClPlaces(&device->cl, &places, &count, &call);
  int32_t code = TwClCheck(device, error, call);
  if (code == 0 && (ordinal < 0 || (size_t)ordinal >= count)) {
    code =
        TwClFail(device, TW_MODEL_NO_DEVICE, "no OpenCL device %d, there are %zu", ordinal, count);
  }
  if (code == 0) device->place = places[ordinal];
  free(places);
  return code;
}

static int32_t Ask(TwGpuDevice* device, TwClUint what, void* to, size_t bytes) {
  return TwClCheck(device, device->cl.GetDeviceInfo(device->place.device, what, bytes, to, NULL),
                   "clGetDeviceInfo");
}

/* Returns the largest number of work items that a launch has in a group. */
static uint64_t LargestGroup(const TwGpuModel* gpu) {
  uint64_t largest = 0;
  for (int64_t k = 0; k < gpu->kernel_count; ++k) {
    for (int64_t l = 0; l < gpu->kernels[k].launch_count; ++l) {
      const uint32_t* block = gpu->kernels[k].launches[l].block;
      const uint64_t items = (uint64_t)block[0] * block[1] * block[2];
      if (items > largest) largest = items;
    }
  }
  return largest;
}

static int32_t CheckDevice(const TwGpuModel* gpu, TwGpuDevice* device) {
  size_t items = 0;
  TwClUint alignment_bits = 0;
  TwClBits floats = 0;
  int32_t code = Ask(device, TW_CL_DEVICE_NAME, device->name, sizeof device->name - 1);
  if (code == 0) code = Ask(device, TW_CL_DEVICE_WORK_GROUP_SIZE, &items, sizeof items);
  if (code == 0) {
    code = Ask(device, TW_CL_DEVICE_ALIGNMENT_BITS, &alignment_bits, sizeof alignment_bits);
  }
  if (code == 0) code = Ask(device, TW_CL_DEVICE_FLOAT_CONFIG, &floats, sizeof floats);
  if (code != 0) return code;
  device->rounds_division = (floats & TW_CL_ROUNDS_DIVISION) != 0;
  const uint64_t group = LargestGroup(gpu);
  if (group > items) {
    return TwClFail(device, TW_MODEL_OLD_DEVICE,
                    "%s has work groups of at most %zu items, the model's code needs %llu",
                    device->name, items, (unsigned long long)group);
  }
  if ((int64_t)(alignment_bits / 8) > gpu->alignment) {
    return TwClFail(
        device, TW_MODEL_OLD_DEVICE,
        "%s has parts of buffers at multiples of %u bytes, the model's are at those of %d",
        device->name, alignment_bits / 8, (int)gpu->alignment);
  }
  return 0;
}

static int32_t MakeQueue(TwGpuDevice* device) {
  const TwOpenCl* cl = &device->cl;
  const TwClName properties[] = {TW_CL_CONTEXT_PLATFORM, (TwClName)device->place.platform, 0};
  TwClInt error = 0;
  device->context = cl->CreateContext(properties, 1, &device->place.device, NULL, NULL, &error);
  int32_t code = TwClCheck(device, error, "clCreateContext");
  if (code != 0) return code;
  /* Profiling: observed steps are timed. */
  device->queue =
      cl->CreateCommandQueue(device->context, device->place.device, TW_CL_PROFILING, &error);
  return TwClCheck(device, error, "clCreateCommandQueue");
}

int32_t TwClOpenQueue(const TwGpuModel* gpu, TwGpuDevice* device, const char* library,
                      int32_t ordinal) {
  int32_t code = LoadDriver(device, library);
  if (code == 0) code = FindPlace(device, ordinal);
  if (code == 0) code = CheckDevice(gpu, device);
  return code != 0 ? code : MakeQueue(device);
}

/* Appends the compiler's text to the message, as one line. */
static void AppendLog(TwGpuDevice* device, TwClObject program) {
  size_t bytes = 0;
  const TwOpenCl* cl = &device->cl;
  const TwClObject on = device->place.device;
  if (cl->GetProgramBuildInfo(program, on, TW_CL_BUILD_LOG, 0, NULL, &bytes) != 0) return;
  char* log = calloc(1, bytes + 1);
  if (log == NULL) return;
  if (cl->GetProgramBuildInfo(program, on, TW_CL_BUILD_LOG, bytes, log, NULL) == 0) {
    for (char* c = log; *c != '\0'; ++c) {
      if (*c == '\n') *c = ' ';
    }
    const size_t length = strlen(device->message);
    snprintf(device->message + length, TW_GPU_MESSAGE_BYTES - length, ": %.*s", kLogBytes, log);
  }
  free(log);
}

static int32_t BuildKernel(TwGpuDevice* device, const TwGpuKernel* kernel, TwClObject* program) {
  const TwOpenCl* cl = &device->cl;
  TwClInt error = 0;
  const char *source = kernel->code, *name = kernel->launches[0].entry;
  *program = cl->CreateProgramWithSource(device->context, 1, &source, NULL, &error);
  int32_t code = TwClCheckKernel(device, error, name, "clCreateProgramWithSource");
  if (code != 0) return code;
  error = cl->BuildProgram(*program, 1, &device->place.device,
                           TwOpenClBuildOptions(device->rounds_division), NULL, NULL);
  if (error == 0) return 0;
  code = TwClCheckKernel(device, error, name, "clBuildProgram");
  if (error == TW_CL_BUILD_FAILURE) AppendLog(device, *program);
  return code;
}

int32_t TwClBuild(const TwGpuModel* gpu, TwGpuDevice* device) {
  device->programs = calloc((size_t)gpu->kernel_count + 1, sizeof(TwClObject));
  if (device->programs == NULL) return TW_MODEL_NO_MEMORY;
  int32_t code = 0;
  for (int64_t k = 0; code == 0 && k < gpu->kernel_count; ++k) {
    code = BuildKernel(device, &gpu->kernels[k], &device->programs[k]);
  }
  return code;
}
