/* Models for a GPU, apart from their driver: one device is open from the first run, or the choice
 * of a device, until the release. A run copies the inputs to the device, executes all steps and
 * copies the outputs back. */

#define _GNU_SOURCE
#include "src/runtime/gpu_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/gpu/gpu_driver.h"
#include "src/runtime/parameters.h"

enum { kResultAlignment = 256, kTensorAlignment = 64 };

struct TwModelState {
  TwGpuDevice* device;   /* null: no device is open */
  int32_t ordinal;       /* these two: of the device that was opened last, for reopening */
  char* driver;          /* null: no device was opened */
  void* result;          /* result of an operator for an observer, on the host */
  unsigned char* mapped; /* parameter file */
  char message[TW_GPU_MESSAGE_BYTES];
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

static const unsigned char* ConstantsOf(const TwModel* model, const TwModelState* state) {
  return state->mapped != NULL ? state->mapped + TW_PARAMETER_OFFSET : model->constants;
}

/* Returns to the state without a device, but keeps its identity for reopening. */
static void Close(const TwGpuModel* gpu, TwModelState* state) {
  if (state->device != NULL) gpu->driver->close(gpu, state->device);
  state->device = NULL;
  free(state->result);
  state->result = NULL;
}

/* Uploads the constants to an open device, again if runs may still read them. If that fails,
 * reopening the device uploads them. Skips constants that are not loaded yet: TwGpuLoad uploads
 * them. */
static int32_t Upload(const TwGpuModel* gpu, TwModelState* state, int again) {
  const TwGpuDriver* driver = gpu->driver;
  const unsigned char* constants = ConstantsOf(&gpu->model, state);
  if (constants == NULL || gpu->model.constant_bytes == 0) return 0;
  int32_t code = driver->enter(state->device);
  if (code == 0) {
    if (again) code = driver->wait(state->device);
    if (code == 0) code = driver->upload(gpu, state->device, constants);
    driver->leave(state->device);
  }
  if (code != 0) Close(gpu, state);
  return code;
}

static int32_t Open(const TwGpuModel* gpu, TwModelState* state, const char* driver,
                    int32_t ordinal) {
  const int32_t code = gpu->driver->open(gpu, driver, ordinal, state->message, &state->device);
  return code != 0 ? code : Upload(gpu, state, 0);
}

/* --- running --- */

static int32_t RunObserved(const TwGpuModel* gpu, TwModelState* state, TwObserver observer,
                           void* context) {
  int64_t most = kResultAlignment;
  for (int64_t i = 0; i < gpu->model.step_count; ++i) {
    if (gpu->model.steps[i].result_bytes > most) most = gpu->model.steps[i].result_bytes;
  }
  most = (most + kResultAlignment - 1) / kResultAlignment * kResultAlignment;
  if (state->result == NULL) state->result = aligned_alloc(kResultAlignment, (size_t)most);
  if (state->result == NULL) return TW_MODEL_NO_MEMORY;
  for (int64_t i = 0; i < gpu->model.step_count; ++i) {
    double seconds = 0;
    int32_t code = gpu->driver->run_step(gpu, state->device, i, state->result, &seconds);
    if (code == 0) code = observer(context, i, state->result, seconds);
    if (code != 0) return code;
  }
  return 0;
}

static int32_t RunWithCopies(const TwGpuModel* gpu, TwModelState* state, const void* const* inputs,
                             void* const* outputs, TwObserver observer, void* context) {
  const TwGpuDriver* driver = gpu->driver;
  int32_t code = driver->enter(state->device);
  if (code != 0) return code;
  for (int64_t i = 0; code == 0 && i < gpu->model.input_count; ++i) {
    code = driver->write_input(gpu, state->device, i, inputs[i]);
  }
  if (code == 0) {
    code = observer != NULL ? RunObserved(gpu, state, observer, context)
                            : driver->run(gpu, state->device);
  }
  for (int64_t i = 0; code == 0 && i < gpu->model.output_count; ++i) {
    code = driver->read_output(gpu, state->device, i, outputs[i]);
  }
  driver->leave(state->device);
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
  const TwGpuModel* gpu = GpuOf(model);
  *state = StateOf(model);
  if (*state == NULL) return TW_MODEL_NO_MEMORY;
  if (ConstantsOf(model, *state) == NULL) return TW_MODEL_NO_PARAMETERS;
  if ((*state)->device != NULL) return 0;
  const char* driver = (*state)->driver != NULL ? (*state)->driver : gpu->driver->library;
  return Open(gpu, *state, driver, (*state)->ordinal);
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
  if (code == 0 && state->device != NULL && state->ordinal != ordinal) Close(GpuOf(model), state);
  if (code == 0 && state->device == NULL) {
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
  const TwGpuDriver* driver = GpuOf(model)->driver;
  TwModelState* state = NULL;
  code = Ready(model, &state);
  if (code == 0) code = driver->enter(state->device);
  if (code == 0) {
    code = driver->run_on_device(GpuOf(model), state->device, inputs, outputs, stream);
    driver->leave(state->device);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwGpuSetThreads(const TwModel* model, int32_t threads) {
  (void)model;
  return threads >= 1 ? 0 : TW_MODEL_NO_THREADS;
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
    if (state->device != NULL) code = Upload(GpuOf(model), state, 1);
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
