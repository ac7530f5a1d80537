/* CUDA's and HIP's driver for compiled models. Everything that a run needs is created when the
 * device is opened: modules, one block of device memory (constants, arena and workspace as planned
 * by src/compiler, inputs, outputs) and a stream. A run enqueues all launches on the stream. If the
 * driver supports graphs, the launches are recorded once and replayed as a graph.
 * Copies use the default stream, which synchronizes with the model's stream. Recording uses a
 * separate stream that does not synchronize: while a synchronizing stream is recorded, no other
 * user of the device's context may use the default stream. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/cuda_functions.h"
#include "src/runtime/gpu/gpu_driver.h"

enum { kAlignment = 256 };

struct TwGpuDevice {
  char* message;
  void* library;
  TwCuda cuda;
  int number;
  void* context; /* null: not yet */
  void *stream, *recording, *start, *end;
  void** modules;   /* one per kernel */
  void** functions; /* of the launches of all kernels, in order */
  uint64_t memory;  /* base address of all following parts */
  uint64_t constants, arena, workspace;
  uint64_t *inputs, *outputs;
  void* replay; /* recorded launches */
};

static int32_t Check(TwGpuDevice* device, int code, const char* call) {
  if (code == 0) return 0;
  const char* words = NULL;
  if (device->cuda.error_string(code, &words) != 0 || words == NULL) words = "unknown error";
  snprintf(device->message, TW_GPU_MESSAGE_BYTES, "%s: %s (%d)", TwCudaCall(&device->cuda, call),
           words, code);
  if (code == TW_CUDA_NO_DEVICE) return TW_MODEL_NO_DEVICE;
  return code == TW_CUDA_OUT_OF_MEMORY ? TW_MODEL_NO_DEVICE_MEMORY : TW_MODEL_DEVICE_FAILED;
}

/* Appends words to the message. */
static void Append(TwGpuDevice* device, const char* words) {
  const size_t length = strlen(device->message);
  snprintf(device->message + length, TW_GPU_MESSAGE_BYTES - length, "%s", words);
}

static uint64_t Rounded(int64_t bytes) {
  return ((uint64_t)bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/* --- opening --- */

static int32_t LoadDriver(TwGpuDevice* device, const char* driver) {
  device->library = TwCudaLoad(driver);
  if (device->library == NULL) {
    snprintf(device->message, TW_GPU_MESSAGE_BYTES, "no %s driver: %s cannot be loaded",
             TwCudaMaker(driver), driver);
    return TW_MODEL_NO_DRIVER;
  }
  const char* missing = TwCudaBind(&device->cuda, device->library);
  if (missing != NULL) {
    snprintf(device->message, TW_GPU_MESSAGE_BYTES, "%s: too old: it has no %s", driver, missing);
    return TW_MODEL_NO_DRIVER;
  }
  return Check(device, device->cuda.init(0), "cuInit");
}

/* Checks that a device of AMD is of the processor of the model's code. */
static int32_t CheckProcessor(const TwGpuModel* gpu, TwGpuDevice* device) {
  TwHipProperties properties;
  memset(&properties, 0, sizeof properties);
  const int32_t code = Check(device, device->cuda.hip_properties(&properties, device->number),
                             "hipGetDeviceProperties");
  if (code != 0) return code;
  char wanted[32];
  snprintf(wanted, sizeof wanted, "gfx%llx", (unsigned long long)gpu->capability);
  TwHipProcessor(&properties);
  if (strcmp(properties.processor, wanted) == 0) return 0;
  properties.name[sizeof properties.name - 1] = '\0';
  snprintf(device->message, TW_GPU_MESSAGE_BYTES, "%s is %s, the model's code needs %s",
           properties.name, properties.processor, wanted);
  return TW_MODEL_OLD_DEVICE;
}

static int32_t FindDevice(const TwGpuModel* gpu, TwGpuDevice* device, int32_t ordinal) {
  const TwCuda* cuda = &device->cuda;
  int count = 0, major = 0, minor = 0;
  int32_t code = Check(device, cuda->device_count(&count), "cuDeviceGetCount");
  if (code == 0 && (ordinal < 0 || ordinal >= count)) {
    snprintf(device->message, TW_GPU_MESSAGE_BYTES, "no %s device %d, there are %d",
             cuda->is_hip ? "AMD" : "CUDA", ordinal, count);
    code = TW_MODEL_NO_DEVICE;
  }
  if (code == 0) code = Check(device, cuda->get_device(&device->number, ordinal), "cuDeviceGet");
  if (cuda->is_hip) return code != 0 ? code : CheckProcessor(gpu, device);
  if (code == 0) {
    code = Check(device, cuda->device_attribute(&major, TW_CUDA_CAPABILITY_MAJOR, device->number),
                 "cuDeviceGetAttribute");
  }
  if (code == 0) {
    code = Check(device, cuda->device_attribute(&minor, TW_CUDA_CAPABILITY_MINOR, device->number),
                 "cuDeviceGetAttribute");
  }
  if (code != 0 || 10 * major + minor >= gpu->capability) return code;
  char name[128] = "the device";
  (void)cuda->device_name(name, sizeof name - 1, device->number);
  snprintf(device->message, TW_GPU_MESSAGE_BYTES, "%s is sm_%d%d, the model's code needs sm_%d",
           name, major, minor, (int)gpu->capability);
  return TW_MODEL_OLD_DEVICE;
}

static int32_t MakeStream(TwGpuDevice* device) {
  TwCuda* cuda = &device->cuda;
  /* Synchronizes with the default stream, on which tensors are copied. */
  int32_t code = Check(device, cuda->create_stream(&device->stream, 0), "cuStreamCreate");
  if (code == 0) {
    code = Check(device, cuda->create_stream(&device->recording, TW_CUDA_NON_BLOCKING),
                 "cuStreamCreate");
  }
  if (code == 0) code = Check(device, cuda->create_event(&device->start, 0), "cuEventCreate");
  if (code == 0) code = Check(device, cuda->create_event(&device->end, 0), "cuEventCreate");
  return code;
}

/* Appends the text of the driver's assembler to the message. */
static int32_t LoadModule(TwGpuDevice* device, const char* ptx, void** module) {
  char words[TW_GPU_MESSAGE_BYTES / 2] = "";
  int keys[] = {TW_CUDA_ERROR_LOG, TW_CUDA_ERROR_LOG_BYTES};
  void* values[] = {words, (void*)(uintptr_t)(sizeof words - 1)};
  const int loaded = device->cuda.load_module(module, ptx, 2, keys, values);
  const int32_t code = Check(device, loaded, "cuModuleLoadDataEx");
  if (code != 0 && words[0] != '\0') {
    Append(device, ": ");
    Append(device, words);
  }
  return code;
}

/* Returns the function of a launch, and allows the shared memory that the launch requests. */
static int32_t FindFunction(TwGpuDevice* device, void* module, const TwGpuLaunch* launch,
                            void** function) {
  const int32_t code =
      Check(device, device->cuda.get_function(function, module, launch->entry), launch->entry);
  if (code != 0 || launch->shared_bytes == 0 || device->cuda.is_hip) return code;
  return Check(
      device,
      device->cuda.set_function(*function, TW_CUDA_MOST_DYNAMIC_SHARED, (int)launch->shared_bytes),
      "cuFuncSetAttribute for a block's shared memory");
}

static int32_t LoadKernels(const TwGpuModel* gpu, TwGpuDevice* device) {
  int64_t launches = 0, loaded = 0;
  for (int64_t i = 0; i < gpu->kernel_count; ++i) launches += gpu->kernels[i].launch_count;
  device->modules = calloc((size_t)gpu->kernel_count + 1, sizeof(void*));
  device->functions = calloc((size_t)launches + 1, sizeof(void*));
  if (device->modules == NULL || device->functions == NULL) return TW_MODEL_NO_MEMORY;
  for (int64_t i = 0; i < gpu->kernel_count; ++i) {
    const TwGpuKernel* kernel = &gpu->kernels[i];
    int32_t code = LoadModule(device, kernel->code, &device->modules[i]);
    for (int64_t l = 0; code == 0 && l < kernel->launch_count; ++l) {
      code = FindFunction(device, device->modules[i], &kernel->launches[l],
                          &device->functions[loaded++]);
    }
    if (code != 0) return code;
  }
  return 0;
}

/* Places the values of a table at the next aligned offsets. Returns the end. */
static uint64_t PlaceValues(const TwValue* values, int64_t count, uint64_t* places, uint64_t next) {
  for (int64_t i = 0; i < count; ++i) {
    places[i] = next;
    next += Rounded(values[i].bytes);
  }
  return next;
}

/* Computes the offsets of all parts and the total size. */
static uint64_t PlanMemory(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwModel* model = &gpu->model;
  device->constants = 0;
  device->arena = Rounded(model->constant_bytes);
  device->workspace = device->arena + Rounded(model->arena_bytes);
  uint64_t next = device->workspace + Rounded(gpu->workspace_bytes);
  next = PlaceValues(model->inputs, model->input_count, device->inputs, next);
  return PlaceValues(model->outputs, model->output_count, device->outputs, next);
}

static int32_t AllocateMemory(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwModel* model = &gpu->model;
  device->inputs = calloc((size_t)model->input_count + 1, sizeof(uint64_t));
  device->outputs = calloc((size_t)model->output_count + 1, sizeof(uint64_t));
  if (device->inputs == NULL || device->outputs == NULL) return TW_MODEL_NO_MEMORY;
  const uint64_t bytes = PlanMemory(gpu, device);
  const int32_t code =
      Check(device, device->cuda.allocate(&device->memory, (size_t)bytes), "cuMemAlloc");
  if (code != 0) {
    char words[64];
    snprintf(words, sizeof words, ", for %llu bytes", (unsigned long long)bytes);
    Append(device, words);
    return code;
  }
  device->constants += device->memory;
  device->arena += device->memory;
  device->workspace += device->memory;
  for (int64_t i = 0; i < model->input_count; ++i) device->inputs[i] += device->memory;
  for (int64_t i = 0; i < model->output_count; ++i) device->outputs[i] += device->memory;
  return 0;
}

static int32_t Enter(TwGpuDevice* device) {
  return Check(device, device->cuda.push_context(device->context), "cuCtxPushCurrent");
}

static void Leave(TwGpuDevice* device) {
  void* popped = NULL;
  (void)device->cuda.pop_context(&popped);
}

static void Close(const TwGpuModel* gpu, TwGpuDevice* device) {
  TwCuda* cuda = &device->cuda;
  if (device->context != NULL && cuda->push_context(device->context) == 0) {
    /* Runs on streams of the caller may still be executing. */
    (void)cuda->synchronize_context();
    if (device->replay != NULL) (void)cuda->destroy_executable(device->replay);
    for (int64_t i = 0; device->modules != NULL && i < gpu->kernel_count; ++i) {
      if (device->modules[i] != NULL) (void)cuda->unload_module(device->modules[i]);
    }
    if (device->memory != 0) (void)cuda->release(device->memory);
    if (device->end != NULL) (void)cuda->destroy_event(device->end);
    if (device->start != NULL) (void)cuda->destroy_event(device->start);
    if (device->recording != NULL) (void)cuda->destroy_stream(device->recording);
    if (device->stream != NULL) (void)cuda->destroy_stream(device->stream);
    Leave(device);
  }
  if (device->context != NULL) (void)cuda->release_context(device->number);
  if (device->library != NULL) dlclose(device->library);
  free(device->modules);
  free(device->functions);
  free(device->inputs);
  free(device->outputs);
  free(device);
}

static int32_t Make(const TwGpuModel* gpu, TwGpuDevice* device) {
  int32_t code = MakeStream(device);
  if (code == 0) code = LoadKernels(gpu, device);
  return code != 0 ? code : AllocateMemory(gpu, device);
}

static int32_t Open(const TwGpuModel* gpu, const char* library, int32_t ordinal, char* message,
                    TwGpuDevice** opened) {
  TwGpuDevice* device = calloc(1, sizeof *device);
  if (device == NULL) return TW_MODEL_NO_MEMORY;
  device->message = message;
  int32_t code = LoadDriver(device, library);
  if (code == 0) code = FindDevice(gpu, device, ordinal);
  if (code == 0) {
    code = Check(device, device->cuda.retain_context(&device->context, device->number),
                 "cuDevicePrimaryCtxRetain");
  }
  if (code == 0) code = Enter(device);
  if (code == 0) {
    code = Make(gpu, device);
    Leave(device);
  }
  if (code != 0) {
    Close(gpu, device);
  } else {
    *opened = device;
  }
  return code;
}

static int32_t Wait(TwGpuDevice* device) {
  return Check(device, device->cuda.synchronize_context(), "cuCtxSynchronize");
}

static int32_t Upload(const TwGpuModel* gpu, TwGpuDevice* device, const unsigned char* constants) {
  return Check(
      device,
      device->cuda.copy_to_device(device->constants, constants, (size_t)gpu->model.constant_bytes),
      "cuMemcpyHtoD");
}

/* --- running --- */

/* Device addresses of a run's places. */
typedef struct Run {
  const uint64_t* inputs;
  const uint64_t* outputs;
  void* stream;
} Run;

static uint64_t Resolve(const TwGpuDevice* device, const Run* run, TwPlace place) {
  const uint64_t offset = (uint64_t)place.offset;
  switch (place.space) {
    case TW_ARENA:
      return device->arena + offset;
    case TW_CONSTANT:
      return device->constants + offset;
    case TW_INPUT:
      return run->inputs[place.index] + offset;
    default:
      return run->outputs[place.index] + offset;
  }
}

static int32_t LaunchStep(const TwGpuModel* gpu, TwGpuDevice* device, const Run* run, int64_t i) {
  const TwStep* step = &gpu->model.steps[i];
  uint64_t addresses[TW_MODEL_MOST_PLACES];
  void* arguments[TW_MODEL_MOST_PLACES];
  int64_t count = 0;
  for (; count < step->place_count; ++count) {
    addresses[count] = Resolve(device, run, step->places[count]);
  }
  const int32_t number = gpu->step_kernels[i];
  if (number < 0) {
    return Check(device,
                 device->cuda.copy_on_device(addresses[1], addresses[0], (size_t)step->result_bytes,
                                             run->stream),
                 "cuMemcpyDtoDAsync");
  }
  const TwGpuKernel* kernel = &gpu->kernels[number];
  for (int64_t w = 0; w < kernel->workspace_count; ++w) {
    addresses[count++] = device->workspace + (uint64_t)kernel->workspace[w];
  }
  for (int64_t a = 0; a < count; ++a) arguments[a] = &addresses[a];
  int64_t function = 0;
  for (int32_t k = 0; k < number; ++k) function += gpu->kernels[k].launch_count;
  for (int64_t l = 0; l < kernel->launch_count; ++l) {
    const TwGpuLaunch* launch = &kernel->launches[l];
    const int code =
        device->cuda.launch(device->functions[function + l], launch->grid[0], launch->grid[1],
                            launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
                            launch->shared_bytes, run->stream, arguments, NULL);
    if (code != 0) return Check(device, code, launch->entry);
  }
  return 0;
}

static int32_t LaunchAll(const TwGpuModel* gpu, TwGpuDevice* device, const Run* run) {
  int32_t code = 0;
  for (int64_t i = 0; code == 0 && i < gpu->model.step_count; ++i) {
    code = LaunchStep(gpu, device, run, i);
  }
  return code;
}

/* Records all launches on the model's tensors. */
static int32_t Record(const TwGpuModel* gpu, TwGpuDevice* device, const Run* run) {
  TwCuda* cuda = &device->cuda;
  const Run recorded = {run->inputs, run->outputs, device->recording};
  int32_t code = Check(device, cuda->begin_capture(recorded.stream, TW_CUDA_CAPTURE_THREAD_LOCAL),
                       "cuStreamBeginCapture");
  if (code != 0) return code;
  code = LaunchAll(gpu, device, &recorded);
  void* graph = NULL;
  /* Also after a failure: the stream must leave capture mode. */
  const int ended = cuda->end_capture(recorded.stream, &graph);
  if (code == 0) code = Check(device, ended, "cuStreamEndCapture");
  if (code == 0) {
    code = Check(device, cuda->instantiate_graph(&device->replay, graph, 0),
                 "cuGraphInstantiateWithFlags");
  }
  if (graph != NULL) (void)cuda->destroy_graph(graph);
  return code;
}

/* Returns the places of runs on the model's tensors. */
static Run OwnRun(const TwGpuDevice* device) {
  const Run run = {device->inputs, device->outputs, device->stream};
  return run;
}

static int32_t RunAll(const TwGpuModel* gpu, TwGpuDevice* device) {
  const TwCuda* cuda = &device->cuda;
  const Run run = OwnRun(device);
  if (cuda->launch_graph == NULL || cuda->instantiate_graph == NULL) {
    return LaunchAll(gpu, device, &run);
  }
  const int32_t code = device->replay != NULL ? 0 : Record(gpu, device, &run);
  if (code != 0) return code;
  return Check(device, cuda->launch_graph(device->replay, run.stream), "cuGraphLaunch");
}

static int32_t RunOnDevice(const TwGpuModel* gpu, TwGpuDevice* device, const uint64_t* inputs,
                           const uint64_t* outputs, void* stream) {
  const Run run = {inputs, outputs, stream};
  return LaunchAll(gpu, device, &run);
}

static int32_t RunStep(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, void* to,
                       double* seconds) {
  const TwCuda* cuda = &device->cuda;
  const TwStep* step = &gpu->model.steps[i];
  const Run run = OwnRun(device);
  int32_t code = Check(device, cuda->record_event(device->start, run.stream), "cuEventRecord");
  if (code == 0) code = LaunchStep(gpu, device, &run, i);
  if (code == 0) code = Check(device, cuda->record_event(device->end, run.stream), "cuEventRecord");
  const uint64_t result = Resolve(device, &run, step->places[step->place_count - 1]);
  if (code == 0) {
    code = Check(device, cuda->copy_to_host(to, result, (size_t)step->result_bytes),
                 step->result->name);
  }
  float milliseconds = 0;
  if (code == 0) {
    code = Check(device, cuda->event_milliseconds(&milliseconds, device->start, device->end),
                 "cuEventElapsedTime");
  }
  *seconds = (double)milliseconds * 1e-3;
  return code;
}

static int32_t WriteInput(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, const void* from) {
  return Check(
      device,
      device->cuda.copy_to_device(device->inputs[i], from, (size_t)gpu->model.inputs[i].bytes),
      "cuMemcpyHtoD");
}

/* The copy waits for the stream. */
static int32_t ReadOutput(const TwGpuModel* gpu, TwGpuDevice* device, int64_t i, void* to) {
  return Check(
      device,
      device->cuda.copy_to_host(to, device->outputs[i], (size_t)gpu->model.outputs[i].bytes),
      "a kernel, or the copy of its result");
}

#define TW_DRIVER_OF(file)                                                                         \
  {                                                                                                \
    .library = (file), .open = Open, .close = Close, .enter = Enter, .leave = Leave, .wait = Wait, \
    .upload = Upload, .write_input = WriteInput, .read_output = ReadOutput, .run = RunAll,         \
    .run_step = RunStep, .run_on_device = RunOnDevice                                              \
  }
const TwGpuDriver TwCudaDriver = TW_DRIVER_OF(TW_CUDA_LIBRARY);
const TwGpuDriver TwHipDriver = TW_DRIVER_OF(TW_HIP_LIBRARY);
