/* Everything that a run needs is created when the device is opened: modules, one block of device
 * memory (constants, arena and workspace as planned by src/compiler, inputs, outputs) and a stream.
 * A run copies the inputs to the device, enqueues all launches on the stream and copies the outputs
 * back. If the driver supports graphs, the launches are recorded once and replayed as a graph.
 * Copies use the default stream, which synchronizes with the model's stream. Recording uses a
 * separate stream that does not synchronize: while a synchronizing stream is recorded, no other
 * user of the device's context may use the default stream. */

#define _GNU_SOURCE
#include "src/runtime/gpu_model.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/cuda_functions.h"
#include "src/runtime/parameters.h"

enum { kAlignment = 256, kTensorAlignment = 64, kMessageBytes = 2048 };

struct TwModelState {
  void* library;
  TwCuda cuda;
  int32_t ordinal; /* these two: of the device that was opened last, for reopening */
  char* driver;    /* null: no device was opened */
  int device;
  void* context; /* null: no device is open */
  void *stream, *recording, *start, *end;
  void** modules;   /* one per kernel */
  void** functions; /* of the launches of all kernels, in order */
  uint64_t memory;  /* base address of all following parts */
  uint64_t constants, arena, workspace;
  uint64_t *inputs, *outputs;
  void* replay;          /* recorded launches */
  void* result;          /* result of an operator for an observer, on the host */
  unsigned char* mapped; /* parameter file */
  char message[kMessageBytes];
};

/* One lock for all models of the process. It is held during a run; a call by an observer of the run
 * fails. */
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static const TwGpuModel* GpuOf(const TwModel* model) {
  return (const TwGpuModel*)(const void*)model;
}

/* Returns the model's state; creates it at first. Null if there is no memory. */
static TwModelState* StateOf(const TwModel* model) {
  if (*model->state == NULL) *model->state = calloc(1, sizeof **model->state);
  return *model->state;
}

static int32_t Check(TwModelState* state, int code, const char* call) {
  if (code == 0) return 0;
  const char* words = NULL;
  if (state->cuda.error_string(code, &words) != 0 || words == NULL) words = "unknown error";
  snprintf(state->message, sizeof state->message, "%s: %s (%d)", call, words, code);
  if (code == TW_CUDA_NO_DEVICE) return TW_MODEL_NO_DEVICE;
  return code == TW_CUDA_OUT_OF_MEMORY ? TW_MODEL_NO_DEVICE_MEMORY : TW_MODEL_DEVICE_FAILED;
}

static uint64_t Rounded(int64_t bytes) {
  return ((uint64_t)bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/* --- opening --- */

static int32_t LoadDriver(TwModelState* state, const char* driver) {
  state->library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (state->library == NULL) {
    snprintf(state->message, sizeof state->message, "no NVIDIA driver: %s cannot be loaded",
             driver);
    return TW_MODEL_NO_DRIVER;
  }
  const char* missing = TwCudaBind(&state->cuda, state->library);
  if (missing != NULL) {
    snprintf(state->message, sizeof state->message, "%s: too old: it has no %s", driver, missing);
    return TW_MODEL_NO_DRIVER;
  }
  return Check(state, state->cuda.init(0), "cuInit");
}

static int32_t FindDevice(const TwGpuModel* gpu, TwModelState* state, int32_t ordinal) {
  const TwCuda* cuda = &state->cuda;
  int count = 0, major = 0, minor = 0;
  int32_t code = Check(state, cuda->device_count(&count), "cuDeviceGetCount");
  if (code == 0 && (ordinal < 0 || ordinal >= count)) {
    snprintf(state->message, sizeof state->message, "no CUDA device %d, there are %d", ordinal,
             count);
    code = TW_MODEL_NO_DEVICE;
  }
  if (code == 0) code = Check(state, cuda->get_device(&state->device, ordinal), "cuDeviceGet");
  if (code == 0) {
    code = Check(state, cuda->device_attribute(&major, TW_CUDA_CAPABILITY_MAJOR, state->device),
                 "cuDeviceGetAttribute");
  }
  if (code == 0) {
    code = Check(state, cuda->device_attribute(&minor, TW_CUDA_CAPABILITY_MINOR, state->device),
                 "cuDeviceGetAttribute");
  }
  if (code != 0 || 10 * major + minor >= gpu->capability) return code;
  char name[128] = "the device";
  (void)cuda->device_name(name, sizeof name - 1, state->device);
  snprintf(state->message, sizeof state->message, "%s is sm_%d%d, the model's code needs sm_%d",
           name, major, minor, (int)gpu->capability);
  return TW_MODEL_OLD_DEVICE;
}

static int32_t MakeStream(TwModelState* state) {
  TwCuda* cuda = &state->cuda;
  /* Synchronizes with the default stream, on which tensors are copied. */
  int32_t code = Check(state, cuda->create_stream(&state->stream, 0), "cuStreamCreate");
  if (code == 0) {
    code = Check(state, cuda->create_stream(&state->recording, TW_CUDA_NON_BLOCKING),
                 "cuStreamCreate");
  }
  if (code == 0) code = Check(state, cuda->create_event(&state->start, 0), "cuEventCreate");
  if (code == 0) code = Check(state, cuda->create_event(&state->end, 0), "cuEventCreate");
  return code;
}

/* Appends the text of the driver's assembler to the message. */
static int32_t LoadModule(TwModelState* state, const char* ptx, void** module) {
  char words[kMessageBytes / 2] = "";
  int keys[] = {TW_CUDA_ERROR_LOG, TW_CUDA_ERROR_LOG_BYTES};
  void* values[] = {words, (void*)(uintptr_t)(sizeof words - 1)};
  const int loaded = state->cuda.load_module(module, ptx, 2, keys, values);
  const int32_t code = Check(state, loaded, "cuModuleLoadDataEx");
  if (code != 0 && words[0] != '\0') {
    const size_t length = strlen(state->message);
    snprintf(state->message + length, sizeof state->message - length, ": %s", words);
  }
  return code;
}

/* Returns the function of a launch, and allows the shared memory that the launch requests. */
static int32_t FindFunction(TwModelState* state, void* module, const TwGpuLaunch* launch,
                            void** function) {
  const int32_t code =
      Check(state, state->cuda.get_function(function, module, launch->entry), launch->entry);
  if (code != 0 || launch->shared_bytes == 0) return code;
  return Check(
      state,
      state->cuda.set_function(*function, TW_CUDA_MOST_DYNAMIC_SHARED, (int)launch->shared_bytes),
      "cuFuncSetAttribute for a block's shared memory");
}

static int32_t LoadKernels(const TwGpuModel* gpu, TwModelState* state) {
  int64_t launches = 0, loaded = 0;
  for (int64_t i = 0; i < gpu->kernel_count; ++i) launches += gpu->kernels[i].launch_count;
  state->modules = calloc((size_t)gpu->kernel_count + 1, sizeof(void*));
  state->functions = calloc((size_t)launches + 1, sizeof(void*));
  if (state->modules == NULL || state->functions == NULL) return TW_MODEL_NO_MEMORY;
  for (int64_t i = 0; i < gpu->kernel_count; ++i) {
    const TwGpuKernel* kernel = &gpu->kernels[i];
    int32_t code = LoadModule(state, kernel->ptx, &state->modules[i]);
    for (int64_t l = 0; code == 0 && l < kernel->launch_count; ++l) {
      code =
          FindFunction(state, state->modules[i], &kernel->launches[l], &state->functions[loaded++]);
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
static uint64_t PlanMemory(const TwGpuModel* gpu, TwModelState* state) {
  const TwModel* model = &gpu->model;
  state->constants = 0;
  state->arena = Rounded(model->constant_bytes);
  state->workspace = state->arena + Rounded(model->arena_bytes);
  uint64_t next = state->workspace + Rounded(gpu->workspace_bytes);
  next = PlaceValues(model->inputs, model->input_count, state->inputs, next);
  return PlaceValues(model->outputs, model->output_count, state->outputs, next);
}

static int32_t AllocateMemory(const TwGpuModel* gpu, TwModelState* state) {
  const TwModel* model = &gpu->model;
  state->inputs = calloc((size_t)model->input_count + 1, sizeof(uint64_t));
  state->outputs = calloc((size_t)model->output_count + 1, sizeof(uint64_t));
  if (state->inputs == NULL || state->outputs == NULL) return TW_MODEL_NO_MEMORY;
  const uint64_t bytes = PlanMemory(gpu, state);
  const int32_t code =
      Check(state, state->cuda.allocate(&state->memory, (size_t)bytes), "cuMemAlloc");
  if (code != 0) {
    const size_t length = strlen(state->message);
    snprintf(state->message + length, sizeof state->message - length, ", for %llu bytes",
             (unsigned long long)bytes);
    return code;
  }
  state->constants += state->memory;
  state->arena += state->memory;
  state->workspace += state->memory;
  for (int64_t i = 0; i < model->input_count; ++i) state->inputs[i] += state->memory;
  for (int64_t i = 0; i < model->output_count; ++i) state->outputs[i] += state->memory;
  return 0;
}

static const unsigned char* ConstantsOf(const TwModel* model, const TwModelState* state) {
  return state->mapped != NULL ? state->mapped + TW_PARAMETER_OFFSET : model->constants;
}

/* Skips constants that are not loaded yet: TwGpuLoad uploads them. */
static int32_t Upload(const TwModel* model, TwModelState* state) {
  const unsigned char* constants = ConstantsOf(model, state);
  if (constants == NULL || model->constant_bytes == 0) return 0;
  return Check(
      state, state->cuda.copy_to_device(state->constants, constants, (size_t)model->constant_bytes),
      "cuMemcpyHtoD");
}

static void Pop(TwModelState* state) {
  void* popped = NULL;
  (void)state->cuda.pop_context(&popped);
}

/* Returns to the state without a device, but keeps its identity for reopening. Errors of the driver
 * are ignored. */
static void Close(const TwGpuModel* gpu, TwModelState* state) {
  TwCuda* cuda = &state->cuda;
  if (state->context != NULL && cuda->push_context(state->context) == 0) {
    /* Runs on streams of the caller may still be executing. */
    (void)cuda->synchronize_context();
    if (state->replay != NULL) (void)cuda->destroy_executable(state->replay);
    for (int64_t i = 0; state->modules != NULL && i < gpu->kernel_count; ++i) {
      if (state->modules[i] != NULL) (void)cuda->unload_module(state->modules[i]);
    }
    if (state->memory != 0) (void)cuda->release(state->memory);
    if (state->end != NULL) (void)cuda->destroy_event(state->end);
    if (state->start != NULL) (void)cuda->destroy_event(state->start);
    if (state->recording != NULL) (void)cuda->destroy_stream(state->recording);
    if (state->stream != NULL) (void)cuda->destroy_stream(state->stream);
    Pop(state);
  }
  if (state->context != NULL) (void)cuda->release_context(state->device);
  if (state->library != NULL) dlclose(state->library);
  free(state->modules);
  free(state->functions);
  free(state->inputs);
  free(state->outputs);
  free(state->result);
  TwModelState closed = {
      .mapped = state->mapped, .ordinal = state->ordinal, .driver = state->driver};
  memcpy(closed.message, state->message, sizeof closed.message);
  *state = closed;
}

static int32_t Open(const TwGpuModel* gpu, TwModelState* state, const char* driver,
                    int32_t ordinal) {
  int32_t code = LoadDriver(state, driver);
  if (code == 0) code = FindDevice(gpu, state, ordinal);
  if (code == 0) {
    code = Check(state, state->cuda.retain_context(&state->context, state->device),
                 "cuDevicePrimaryCtxRetain");
  }
  if (code == 0) code = Check(state, state->cuda.push_context(state->context), "cuCtxPushCurrent");
  if (code == 0) {
    code = MakeStream(state);
    if (code == 0) code = LoadKernels(gpu, state);
    if (code == 0) code = AllocateMemory(gpu, state);
    if (code == 0) code = Upload(&gpu->model, state);
    Pop(state);
  }
  if (code != 0) Close(gpu, state);
  return code;
}

/* --- running --- */

/* Device addresses of a run's places. */
typedef struct Run {
  const uint64_t* inputs;
  const uint64_t* outputs;
  void* stream;
} Run;

static uint64_t Resolve(const TwModelState* state, const Run* run, TwPlace place) {
  const uint64_t offset = (uint64_t)place.offset;
  switch (place.space) {
    case TW_ARENA:
      return state->arena + offset;
    case TW_CONSTANT:
      return state->constants + offset;
    case TW_INPUT:
      return run->inputs[place.index] + offset;
    default:
      return run->outputs[place.index] + offset;
  }
}

static int32_t LaunchStep(const TwGpuModel* gpu, TwModelState* state, const Run* run, int64_t i) {
  const TwStep* step = &gpu->model.steps[i];
  uint64_t addresses[TW_MODEL_MOST_PLACES];
  void* arguments[TW_MODEL_MOST_PLACES];
  int64_t count = 0;
  for (; count < step->place_count; ++count) {
    addresses[count] = Resolve(state, run, step->places[count]);
  }
  const int32_t number = gpu->step_kernels[i];
  if (number < 0) {
    return Check(state,
                 state->cuda.copy_on_device(addresses[1], addresses[0], (size_t)step->result_bytes,
                                            run->stream),
                 "cuMemcpyDtoDAsync");
  }
  const TwGpuKernel* kernel = &gpu->kernels[number];
  for (int64_t w = 0; w < kernel->workspace_count; ++w) {
    addresses[count++] = state->workspace + (uint64_t)kernel->workspace[w];
  }
  for (int64_t a = 0; a < count; ++a) arguments[a] = &addresses[a];
  int64_t function = 0;
  for (int32_t k = 0; k < number; ++k) function += gpu->kernels[k].launch_count;
  for (int64_t l = 0; l < kernel->launch_count; ++l) {
    const TwGpuLaunch* launch = &kernel->launches[l];
    const int code =
        state->cuda.launch(state->functions[function + l], launch->grid[0], launch->grid[1],
                           launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
                           launch->shared_bytes, run->stream, arguments, NULL);
    if (code != 0) return Check(state, code, launch->entry);
  }
  return 0;
}

static int32_t LaunchAll(const TwGpuModel* gpu, TwModelState* state, const Run* run) {
  int32_t code = 0;
  for (int64_t i = 0; code == 0 && i < gpu->model.step_count; ++i) {
    code = LaunchStep(gpu, state, run, i);
  }
  return code;
}

/* Records all launches on the model's tensors. */
static int32_t Record(const TwGpuModel* gpu, TwModelState* state, const Run* run) {
  TwCuda* cuda = &state->cuda;
  const Run recorded = {run->inputs, run->outputs, state->recording};
  int32_t code = Check(state, cuda->begin_capture(recorded.stream, TW_CUDA_CAPTURE_THREAD_LOCAL),
                       "cuStreamBeginCapture");
  if (code != 0) return code;
  code = LaunchAll(gpu, state, &recorded);
  void* graph = NULL;
  /* Also after a failure: the stream must leave capture mode. */
  const int ended = cuda->end_capture(recorded.stream, &graph);
  if (code == 0) code = Check(state, ended, "cuStreamEndCapture");
  if (code == 0) {
    code = Check(state, cuda->instantiate_graph(&state->replay, graph, 0),
                 "cuGraphInstantiateWithFlags");
  }
  if (graph != NULL) (void)cuda->destroy_graph(graph);
  return code;
}

static int32_t RunAll(const TwGpuModel* gpu, TwModelState* state, const Run* run) {
  const TwCuda* cuda = &state->cuda;
  if (cuda->launch_graph == NULL || cuda->instantiate_graph == NULL) {
    return LaunchAll(gpu, state, run);
  }
  const int32_t code = state->replay != NULL ? 0 : Record(gpu, state, run);
  if (code != 0) return code;
  return Check(state, cuda->launch_graph(state->replay, run->stream), "cuGraphLaunch");
}

/* Copies a step's result to the host, and passes it with its seconds to the observer. */
static int32_t ObserveStep(const TwGpuModel* gpu, TwModelState* state, const Run* run, int64_t i,
                           double* seconds) {
  const TwCuda* cuda = &state->cuda;
  const TwStep* step = &gpu->model.steps[i];
  int32_t code = Check(state, cuda->record_event(state->start, run->stream), "cuEventRecord");
  if (code == 0) code = LaunchStep(gpu, state, run, i);
  if (code == 0) code = Check(state, cuda->record_event(state->end, run->stream), "cuEventRecord");
  const uint64_t result = Resolve(state, run, step->places[step->place_count - 1]);
  if (code == 0) {
    code = Check(state, cuda->copy_to_host(state->result, result, (size_t)step->result_bytes),
                 step->result->name);
  }
  float milliseconds = 0;
  if (code == 0) {
    code = Check(state, cuda->event_milliseconds(&milliseconds, state->start, state->end),
                 "cuEventElapsedTime");
  }
  *seconds = (double)milliseconds * 1e-3;
  return code;
}

static int32_t RunObserved(const TwGpuModel* gpu, TwModelState* state, const Run* run,
                           TwObserver observer, void* context) {
  int64_t most = 1;
  for (int64_t i = 0; i < gpu->model.step_count; ++i) {
    if (gpu->model.steps[i].result_bytes > most) most = gpu->model.steps[i].result_bytes;
  }
  if (state->result == NULL) state->result = aligned_alloc(kAlignment, (size_t)Rounded(most));
  if (state->result == NULL) return TW_MODEL_NO_MEMORY;
  for (int64_t i = 0; i < gpu->model.step_count; ++i) {
    double seconds = 0;
    int32_t code = ObserveStep(gpu, state, run, i, &seconds);
    if (code == 0) code = observer(context, i, state->result, seconds);
    if (code != 0) return code;
  }
  return 0;
}

/* Copies inputs to the device, runs, and copies outputs back; the last copy waits for the
 * stream. */
static int32_t RunWithCopies(const TwGpuModel* gpu, TwModelState* state, const void* const* inputs,
                             void* const* outputs, TwObserver observer, void* context) {
  const TwModel* model = &gpu->model;
  const TwCuda* cuda = &state->cuda;
  const Run run = {state->inputs, state->outputs, state->stream};
  int32_t code = Check(state, cuda->push_context(state->context), "cuCtxPushCurrent");
  if (code != 0) return code;
  for (int64_t i = 0; code == 0 && i < model->input_count; ++i) {
    code =
        Check(state, cuda->copy_to_device(run.inputs[i], inputs[i], (size_t)model->inputs[i].bytes),
              "cuMemcpyHtoD");
  }
  if (code == 0) {
    code = observer != NULL ? RunObserved(gpu, state, &run, observer, context)
                            : RunAll(gpu, state, &run);
  }
  for (int64_t i = 0; code == 0 && i < model->output_count; ++i) {
    code = Check(state,
                 cuda->copy_to_host(outputs[i], run.outputs[i], (size_t)model->outputs[i].bytes),
                 "a kernel, or the copy of its result");
  }
  Pop(state);
  return code;
}

static int HasNull(const void* const* pointers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (pointers[i] == NULL) return 1;
  }
  return 0;
}

static int32_t CheckAddresses(const uint64_t* addresses, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (addresses[i] == 0) return TW_MODEL_NULL_POINTER;
    if (addresses[i] % kTensorAlignment != 0) return TW_MODEL_NOT_ALIGNED;
  }
  return 0;
}

/* Returns the state of a model whose device is open and has the constants. */
static int32_t Ready(const TwModel* model, TwModelState** state) {
  *state = StateOf(model);
  if (*state == NULL) return TW_MODEL_NO_MEMORY;
  if (ConstantsOf(model, *state) == NULL) return TW_MODEL_NO_PARAMETERS;
  if ((*state)->context != NULL) return 0;
  const char* driver = (*state)->driver != NULL ? (*state)->driver : TW_CUDA_LIBRARY;
  return Open(GpuOf(model), *state, driver, (*state)->ordinal);
}

/* Records the device to reopen after a release. */
static int32_t Remember(TwModelState* state, const char* driver, int32_t ordinal) {
  char* copy = strdup(driver);
  if (copy == NULL) return TW_MODEL_NO_MEMORY;
  free(state->driver);
  state->driver = copy;
  state->ordinal = ordinal;
  return 0;
}

int32_t TwGpuOpen(const TwModel* model, const char* driver, int32_t ordinal) {
  if (driver == NULL) return TW_MODEL_NULL_POINTER;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  int32_t code = state != NULL ? 0 : TW_MODEL_NO_MEMORY;
  if (code == 0 && state->context != NULL && state->ordinal != ordinal) Close(GpuOf(model), state);
  if (code == 0 && state->context == NULL) {
    code = Open(GpuOf(model), state, driver, ordinal);
    if (code == 0) code = Remember(state, driver, ordinal);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwGpuRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                 TwObserver observer, void* context) {
  if (inputs == NULL || outputs == NULL || HasNull(inputs, model->input_count) ||
      HasNull((const void* const*)outputs, model->output_count)) {
    return TW_MODEL_NULL_POINTER;
  }
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = NULL;
  int32_t code = Ready(model, &state);
  if (code == 0) code = RunWithCopies(GpuOf(model), state, inputs, outputs, observer, context);
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwGpuRunOnDevice(const TwModel* model, const uint64_t* inputs, const uint64_t* outputs,
                         void* stream) {
  if (inputs == NULL || outputs == NULL) return TW_MODEL_NULL_POINTER;
  int32_t code = CheckAddresses(inputs, model->input_count);
  if (code == 0) code = CheckAddresses(outputs, model->output_count);
  if (code != 0) return code;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = NULL;
  code = Ready(model, &state);
  if (code == 0) code = Check(state, state->cuda.push_context(state->context), "cuCtxPushCurrent");
  if (code == 0) {
    const Run run = {inputs, outputs, stream};
    code = LaunchAll(GpuOf(model), state, &run);
    Pop(state);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwGpuSetThreads(const TwModel* model, int32_t threads) {
  (void)model;
  return threads >= 1 ? 0 : TW_MODEL_NO_THREADS;
}

/* Uploads the constants to an open device. If that fails, reopening the device uploads them
 * again. */
static int32_t UploadAgain(const TwGpuModel* gpu, TwModelState* state) {
  int32_t code = Check(state, state->cuda.push_context(state->context), "cuCtxPushCurrent");
  if (code == 0) {
    /* Runs on streams of the caller may still read them. */
    code = Check(state, state->cuda.synchronize_context(), "cuCtxSynchronize");
    if (code == 0) code = Upload(&gpu->model, state);
    Pop(state);
  }
  if (code != 0) Close(gpu, state);
  return code;
}

int32_t TwGpuLoad(const TwModel* model, const char* path) {
  if (path == NULL) return TW_MODEL_NULL_POINTER;
  if (model->constants != NULL) return 0; /* the constants are in the library */
  unsigned char* mapped = NULL;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  int32_t code = state != NULL ? TwParametersMap(model, path, &mapped) : TW_MODEL_NO_MEMORY;
  if (code == 0) {
    TwParametersUnmap(model, state->mapped);
    state->mapped = mapped;
    if (state->context != NULL) code = UploadAgain(GpuOf(model), state);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

/* Clears everything except the choice of the device. */
static void Empty(const TwModel* model, TwModelState* state) {
  Close(GpuOf(model), state);
  TwParametersUnmap(model, state->mapped);
  state->mapped = NULL;
}

void TwGpuRelease(const TwModel* model) {
  if (pthread_mutex_lock(&lock) != 0) return;
  if (*model->state != NULL) Empty(model, *model->state);
  pthread_mutex_unlock(&lock);
}

void TwGpuUnload(const TwModel* model) {
  if (pthread_mutex_lock(&lock) != 0) return; /* an observer is ending the program */
  TwModelState* state = *model->state;
  if (state != NULL) {
    Empty(model, state);
    free(state->driver);
    free(state);
    *model->state = NULL;
  }
  pthread_mutex_unlock(&lock);
}

const char* TwGpuMessage(const TwModel* model) {
  const int locked = pthread_mutex_lock(&lock) == 0; /* otherwise an observer is calling */
  const char* message = *model->state != NULL ? (*model->state)->message : "";
  if (locked) pthread_mutex_unlock(&lock);
  return message;
}
