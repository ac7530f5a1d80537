/* Runs the steps of a compiled model one after the other. Memory and threads are made at the first
 * run and kept. Kernels want pointers aligned to 64 bytes: a tensor of the caller that is not goes
 * through memory of our own. */

#define _GNU_SOURCE
#include "src/runtime/model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/runtime/parameters.h"
#include "src/runtime/pool.h"

enum { kAlignment = 64 };

struct TwModelState {
  unsigned char* arena;
  unsigned char* workspace;
  int64_t workspace_bytes;
  void** input_copies; /* null where the caller's memory was aligned so far */
  void** output_copies;
  const void** inputs; /* what the steps of the run see */
  void** outputs;
  TwPool* pool;
  int32_t threads;
  const unsigned char* constants;
  unsigned char* parameters; /* the mapped file, null without one */
};

/* One lock for all models of the process: it is held during a run, and models of one library are
 * one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* Allocate(int64_t bytes) {
  const size_t rounded = ((size_t)bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = aligned_alloc(kAlignment, rounded > 0 ? rounded : kAlignment);
  /* Large pages save a few percent of the time of memory-bound operators. */
  enum { kHugePage = 2 << 20 };
  if (memory != NULL && rounded >= kHugePage) {
    const uintptr_t begin = ((uintptr_t)memory + kHugePage - 1) / kHugePage * kHugePage;
    const uintptr_t end = ((uintptr_t)memory + rounded) / kHugePage * kHugePage;
    if (end > begin) madvise((void*)begin, end - begin, MADV_HUGEPAGE);
  }
  return memory;
}

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Null in a model that calls no library: library.c is then no part of it. */
__attribute__((weak, visibility("hidden"))) void TwLibraryForget(void);

/* What libraries made of the constants must go with these, before anybody runs again. */
static void ForgetConstants(void) {
  if (TwLibraryForget != NULL) TwLibraryForget();
}

static void Free(const TwModel* model) {
  ForgetConstants();
  TwModelState* state = *model->state;
  if (state == NULL) return;
  TwParametersUnmap(model, state->parameters);
  TwPoolDestroy(state->pool);
  for (int64_t i = 0; state->input_copies != NULL && i < model->input_count; ++i) {
    free(state->input_copies[i]);
  }
  for (int64_t i = 0; state->output_copies != NULL && i < model->output_count; ++i) {
    free(state->output_copies[i]);
  }
  free(state->input_copies);
  free(state->output_copies);
  free(state->inputs);
  free(state->outputs);
  free(state->workspace);
  free(state->arena);
  free(state);
  *model->state = NULL;
}

static int32_t Prepare(const TwModel* model) {
  if (*model->state != NULL) return 0;
  TwModelState* state = calloc(1, sizeof *state);
  if (state == NULL) return TW_MODEL_NO_MEMORY;
  *model->state = state;
  state->threads = (int32_t)model->threads;
  state->constants = model->constants;
  state->arena = Allocate(model->arena_bytes);
  state->input_copies = calloc((size_t)model->input_count + 1, sizeof(void*));
  state->output_copies = calloc((size_t)model->output_count + 1, sizeof(void*));
  state->inputs = calloc((size_t)model->input_count + 1, sizeof(void*));
  state->outputs = calloc((size_t)model->output_count + 1, sizeof(void*));
  if (state->arena != NULL && state->input_copies != NULL && state->output_copies != NULL &&
      state->inputs != NULL && state->outputs != NULL) {
    return 0;
  }
  Free(model);
  return TW_MODEL_NO_MEMORY;
}

/* The pool and a workspace for its threads. */
static int32_t PrepareThreads(const TwModel* model) {
  TwModelState* state = *model->state;
  if (state->pool == NULL && state->threads > 1) {
    const TwPoolOptions options = TwPoolDefaults(state->threads);
    state->pool = TwPoolCreate(&options);
    if (state->pool == NULL) return TW_MODEL_NO_THREADS;
  }
  if (state->workspace != NULL) return 0;
  int64_t needed = 0;
  for (int64_t i = 0; i < model->step_count; ++i) {
    const TwKernelInfo* info = model->steps[i].info;
    if (info == NULL) continue;
    const int64_t bytes = info->workspace_bytes + state->threads * info->workspace_bytes_per_thread;
    if (bytes > needed) needed = bytes;
  }
  state->workspace = Allocate(needed);
  return state->workspace != NULL ? 0 : TW_MODEL_NO_MEMORY;
}

static int IsAligned(const void* pointer) { return (uintptr_t)pointer % kAlignment == 0; }

static int32_t Bind(const TwModel* model, const void* const* inputs, void* const* outputs) {
  TwModelState* state = *model->state;
  if (state->constants == NULL) return TW_MODEL_NO_PARAMETERS;
  for (int64_t i = 0; i < model->input_count; ++i) {
    if (inputs[i] == NULL) return TW_MODEL_NULL_POINTER;
    state->inputs[i] = inputs[i];
    if (IsAligned(inputs[i])) continue;
    void** copy = &state->input_copies[i];
    if (*copy == NULL) *copy = Allocate(model->inputs[i].bytes);
    if (*copy == NULL) return TW_MODEL_NO_MEMORY;
    memcpy(*copy, inputs[i], (size_t)model->inputs[i].bytes);
    state->inputs[i] = *copy;
  }
  for (int64_t i = 0; i < model->output_count; ++i) {
    if (outputs[i] == NULL) return TW_MODEL_NULL_POINTER;
    state->outputs[i] = outputs[i];
    if (IsAligned(outputs[i])) continue;
    void** copy = &state->output_copies[i];
    if (*copy == NULL) *copy = Allocate(model->outputs[i].bytes);
    if (*copy == NULL) return TW_MODEL_NO_MEMORY;
    state->outputs[i] = *copy;
  }
  return 0;
}

static void* Resolve(const TwModel* model, TwPlace place) {
  TwModelState* state = *model->state;
  switch (place.space) {
    case TW_ARENA:
      return state->arena + place.offset;
    case TW_CONSTANT:
      return (void*)(uintptr_t)(state->constants + place.offset);
    case TW_INPUT:
      return (unsigned char*)(uintptr_t)state->inputs[place.index] + place.offset;
    default:
      return (unsigned char*)state->outputs[place.index] + place.offset;
  }
}

static int32_t RunStep(const TwModel* model, const TwStep* step) {
  TwModelState* state = *model->state;
  void* arguments[TW_MODEL_MOST_PLACES];
  for (int64_t i = 0; i < step->place_count; ++i) {
    arguments[i] = Resolve(model, step->places[i]);
  }
  if (step->kernel == NULL) {
    memcpy(arguments[1], arguments[0], (size_t)step->result_bytes);
    return 0;
  }
  const TwParallel* parallel = state->pool != NULL ? TwPoolParallel(state->pool) : NULL;
  return step->kernel(arguments, state->workspace, parallel);
}

static int32_t RunSteps(const TwModel* model, TwObserver observer, void* context) {
  for (int64_t i = 0; i < model->step_count; ++i) {
    const TwStep* step = &model->steps[i];
    const double start = observer != NULL ? Seconds() : 0;
    int32_t code = RunStep(model, step);
    if (code == 0 && observer != NULL) {
      const double seconds = Seconds() - start;
      code = observer(context, i, Resolve(model, step->places[step->place_count - 1]), seconds);
    }
    if (code != 0) return code;
  }
  return 0;
}

int32_t TwModelRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                   TwObserver observer, void* context) {
  if (inputs == NULL || outputs == NULL) return TW_MODEL_NULL_POINTER;
  pthread_mutex_lock(&lock);
  int32_t code = Prepare(model);
  if (code == 0) code = PrepareThreads(model);
  if (code == 0) code = Bind(model, inputs, outputs);
  if (code == 0) code = RunSteps(model, observer, context);
  for (int64_t i = 0; code == 0 && i < model->output_count; ++i) {
    const void* result = (*model->state)->outputs[i];
    if (result != outputs[i]) memcpy(outputs[i], result, (size_t)model->outputs[i].bytes);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwModelSetThreads(const TwModel* model, int32_t threads) {
  if (threads < 1) return TW_MODEL_NO_THREADS;
  pthread_mutex_lock(&lock);
  int32_t code = Prepare(model);
  if (code == 0 && (*model->state)->threads != threads) {
    TwModelState* state = *model->state;
    TwPoolDestroy(state->pool);
    state->pool = NULL;
    free(state->workspace);
    state->workspace = NULL;
    state->threads = threads;
    code = PrepareThreads(model);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwModelLoad(const TwModel* model, const char* path) {
  if (path == NULL) return TW_MODEL_NULL_POINTER;
  if (model->constants != NULL) return 0; /* they came with the library */
  unsigned char* mapped = NULL;
  pthread_mutex_lock(&lock);
  int32_t code = Prepare(model);
  if (code == 0) code = TwParametersMap(model, path, &mapped);
  if (code == 0) {
    TwModelState* state = *model->state;
    ForgetConstants();
    TwParametersUnmap(model, state->parameters);
    state->parameters = mapped;
    state->constants = mapped + TW_PARAMETER_OFFSET;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

void TwModelRelease(const TwModel* model) {
  pthread_mutex_lock(&lock);
  Free(model);
  pthread_mutex_unlock(&lock);
}
