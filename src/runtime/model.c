/* Runs the steps of a compiled model in order. Memory and threads are created at the first run and
 * kept. Kernels require pointers aligned to 64 bytes: an unaligned tensor of the caller is copied
 * through the model's memory. */

#define _GNU_SOURCE
#include "src/runtime/model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "src/runtime/cpu_limit.h"
#include "src/runtime/large_pages.h"
#include "src/runtime/parameters.h"
#include "src/runtime/pool.h"

enum { kAlignment = 64 };

struct TwModelState {
  unsigned char* arena;
  unsigned char* workspace;
  int64_t workspace_bytes;
  void** input_copies; /* null as long as the caller's memory was aligned */
  void** output_copies;
  const void** inputs; /* tensors as the steps of the run see them */
  void** outputs;
  TwPool* pool;
  int32_t threads;
  int64_t entries;        /* of the open dimension; 1 without one */
  int64_t padded_entries; /* that tensors in the arena have room for */
  const unsigned char* constants;
  unsigned char* parameters; /* the mapped file; null if there is none */
};

/* One lock for all models of the process. It is held during a run, and models of one library share
 * it. It rejects the thread that holds it: an observer of a run. */
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/* State of the constants in the library, which its models share: whether a model has run, and how
 * many bytes MoveConstants has processed. */
static int constants_used;
static int64_t constants_moved;

static void* Allocate(int64_t bytes) {
  if (bytes > PTRDIFF_MAX - kAlignment) return NULL; /* exceeds 32-bit addresses */
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

/* Null in a model without library calls: library.c is then not linked. */
__attribute__((weak, visibility("hidden"))) void TwLibraryForget(void);

/* State that libraries derived from the constants must be freed with them, before the next run. */
static void ForgetConstants(void) {
  if (TwLibraryForget != NULL) TwLibraryForget();
}

static void FreeTensors(const TwModel* model, TwModelState* state) {
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
  free(state->arena);
  state->input_copies = state->output_copies = state->outputs = NULL;
  state->inputs = NULL;
  state->arena = NULL;
}

static void FreeThreads(TwModelState* state) {
  TwPoolDestroy(state->pool);
  free(state->workspace);
  state->pool = NULL;
  state->workspace = NULL;
}

/* Clears everything except the number of threads. */
static void Empty(const TwModel* model, TwModelState* state) {
  ForgetConstants();
  FreeThreads(state);
  FreeTensors(model, state);
  TwParametersUnmap(model, state->parameters);
  state->parameters = NULL;
  state->constants = model->constants;
}

static void SetEntries(const TwModel* model, TwModelState* state, int64_t size) {
  const int64_t block = model->open != NULL ? model->open->padded_to : 1;
  state->entries = size;
  state->padded_entries = block > 0 ? (size + block - 1) / block * block : 1;
}

/* Returns the model's state; creates it at first. Null if there is no memory. */
static TwModelState* StateOf(const TwModel* model) {
  if (*model->state != NULL) return *model->state;
  TwModelState* state = calloc(1, sizeof *state);
  if (state == NULL) return NULL;
  state->threads = (int32_t)model->threads;
  if (state->threads > 1) {
    /* More threads than processors of a container would wait for each other. */
    const int32_t usable = TwUsableCpus();
    if (usable < state->threads) state->threads = usable;
  }
  SetEntries(model, state, model->open != NULL ? model->open->least : 1);
  state->constants = model->constants;
  *model->state = state;
  return state;
}

static int32_t PrepareTensors(const TwModel* model, TwModelState* state) {
  if (state->arena != NULL) return 0;
  state->input_copies = calloc((size_t)model->input_count + 1, sizeof(void*));
  state->output_copies = calloc((size_t)model->output_count + 1, sizeof(void*));
  state->inputs = calloc((size_t)model->input_count + 1, sizeof(void*));
  state->outputs = calloc((size_t)model->output_count + 1, sizeof(void*));
  state->arena = Allocate(model->arena_bytes);
  if (state->arena != NULL && state->input_copies != NULL && state->output_copies != NULL &&
      state->inputs != NULL && state->outputs != NULL) {
    return 0;
  }
  FreeTensors(model, state);
  return TW_MODEL_NO_MEMORY;
}

static unsigned char* MakeWorkspace(const TwModel* model, int32_t threads) {
  int64_t needed = 0;
  for (int64_t i = 0; i < model->step_count; ++i) {
    const TwOpenStep* open = model->open != NULL ? &model->open->open_steps[i] : NULL;
    const int64_t kernels = open != NULL ? open->kernel_count : model->steps[i].info != NULL;
    for (int64_t k = 0; k < kernels; ++k) {
      const TwKernelInfo* info = open != NULL ? open->infos[k] : model->steps[i].info;
      const int64_t bytes = info->workspace_bytes + threads * info->workspace_bytes_per_thread;
      if (bytes > needed) needed = bytes;
    }
  }
  return Allocate(needed);
}

/* Creates another pool and a workspace for its threads. After a failure the old ones stay. */
static int32_t ChangeThreads(const TwModel* model, TwModelState* state, int32_t threads) {
  TwPool* pool = NULL;
  if (threads > 1) {
    const TwPoolOptions options = TwPoolDefaults(threads);
    pool = TwPoolCreate(&options);
    if (pool == NULL) return TW_MODEL_NO_THREADS;
  }
  unsigned char* workspace = MakeWorkspace(model, threads);
  if (workspace == NULL) {
    TwPoolDestroy(pool);
    return TW_MODEL_NO_MEMORY;
  }
  FreeThreads(state);
  state->pool = pool;
  state->workspace = workspace;
  state->threads = threads;
  return 0;
}

static int32_t PrepareThreads(const TwModel* model, TwModelState* state) {
  const int forked = state->pool != NULL && TwPoolIsForked(state->pool);
  if (state->workspace != NULL && !forked) return 0;
  return ChangeThreads(model, state, state->threads);
}

/* Returns the number of entries of a tensor with a size. */
static int64_t EntriesOf(const TwPositionCount* count, int64_t size) {
  if (count == NULL) return size;
  const int64_t value = count->times * size + count->plus;
  int64_t quotient = value / count->divide;
  if (value % count->divide < 0) --quotient;
  return count->factor * quotient + count->offset;
}

/* Returns the bytes of an input or output with the largest size. */
static int64_t MostBytes(const TwModel* model, const TwValue* value) {
  const TwOpenDimension* open = model->open;
  for (int64_t i = 0; open != NULL && i < open->value_count; ++i) {
    if (open->values[i].value != value || open->values[i].extent == NULL) continue;
    return EntriesOf(open->values[i].count, open->most) * open->values[i].entry_bytes;
  }
  return value->bytes;
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
    if (*copy == NULL) *copy = Allocate(MostBytes(model, &model->inputs[i]));
    if (*copy == NULL) return TW_MODEL_NO_MEMORY;
    memcpy(*copy, inputs[i], (size_t)model->inputs[i].bytes);
    state->inputs[i] = *copy;
  }
  for (int64_t i = 0; i < model->output_count; ++i) {
    if (outputs[i] == NULL) return TW_MODEL_NULL_POINTER;
    state->outputs[i] = outputs[i];
    if (IsAligned(outputs[i])) continue;
    void** copy = &state->output_copies[i];
    if (*copy == NULL) *copy = Allocate(MostBytes(model, &model->outputs[i]));
    if (*copy == NULL) return TW_MODEL_NO_MEMORY;
    state->outputs[i] = *copy;
  }
  return 0;
}

static void* Resolve(const TwModel* model, TwPlace place) {
  TwModelState* state = *model->state;
  switch (place.space) {
    case TW_ARENA:
      return state->arena + place.offset * state->padded_entries;
    case TW_ENTRIES:
      return &state->entries;
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

/* Returns true if most constants are read for a few products only, as by dense layers of one row.
 * Other networks are limited by arithmetic and do not benefit from the copy. */
static int ReadsConstantsOnce(const TwModel* model) {
  enum { kFewProducts = 8 }; /* per byte */
  int64_t macs = 0;
  for (int64_t i = 0; i < model->step_count; ++i) macs += model->steps[i].macs;
  return macs / kFewProducts < model->constant_bytes;
}

/* Moves constants to large pages in the second run, because a program that runs a model once would
 * wait for it in vain; all at once, because a copy in parts, and over several runs, took as long.
 * Parameter files stay in place, shared with other processes. */
static void MoveConstants(const TwModel* model) {
  const double kSeconds = 60;
  if (!ReadsConstantsOnce(model)) return;
  if (model->constants == NULL || constants_moved >= model->constant_bytes) return;
  if (constants_used) {
    constants_moved =
        TwLargePagesMove(model->constants, model->constant_bytes, constants_moved, kSeconds);
  }
  constants_used = 1;
}

int32_t TwModelRun(const TwModel* model, const void* const* inputs, void* const* outputs,
                   TwObserver observer, void* context) {
  if (inputs == NULL || outputs == NULL) return TW_MODEL_NULL_POINTER;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  int32_t code = state != NULL ? PrepareTensors(model, state) : TW_MODEL_NO_MEMORY;
  if (code == 0) code = PrepareThreads(model, state);
  if (code == 0) code = Bind(model, inputs, outputs);
  if (code == 0) MoveConstants(model);
  if (code == 0) code = RunSteps(model, observer, context);
  for (int64_t i = 0; code == 0 && i < model->output_count; ++i) {
    const void* result = state->outputs[i];
    if (result != outputs[i]) memcpy(outputs[i], result, (size_t)model->outputs[i].bytes);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

int32_t TwModelSetThreads(const TwModel* model, int32_t threads) {
  if (threads < 1) return TW_MODEL_NO_THREADS;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  int32_t code = state != NULL ? 0 : TW_MODEL_NO_MEMORY;
  if (code == 0 && state->threads != threads) code = ChangeThreads(model, state, threads);
  pthread_mutex_unlock(&lock);
  return code;
}

static void Resize(const TwOpenDimension* open, int64_t step_count, int64_t size) {
  for (int64_t i = 0; i < open->value_count; ++i) {
    const TwOpenValue* value = &open->values[i];
    if (value->extent == NULL) continue;
    const int64_t entries = EntriesOf(value->count, size);
    *value->extent = entries * value->entry_extent;
    value->value->bytes = entries * value->entry_bytes;
  }
  for (int64_t i = 0; i < step_count; ++i) {
    const TwOpenStep* from = &open->open_steps[i];
    TwStep* step = &open->steps[i];
    const int64_t entries = EntriesOf(from->count, size);
    step->result_bytes = from->fixed_result_bytes + entries * from->entry_result_bytes;
    step->macs = from->fixed_macs + entries * from->entry_macs;
    step->bytes = from->fixed_bytes + entries * from->entry_bytes;
    if (from->kernel_count == 0) continue;
    const uint8_t choice = from->choice != NULL ? from->choice[size - 1] : 0;
    step->kernel = from->kernels[choice];
    step->info = from->infos[choice];
  }
}

int32_t TwModelResize(const TwModel* model, int64_t size) {
  if (model->open == NULL) return TW_MODEL_NO_SUCH_DIMENSION;
  const int64_t least = model->open->padded_to > 0 ? 1 : model->open->least;
  if (size < least || size > model->open->most) return TW_MODEL_WRONG_SIZE;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  if (state != NULL) {
    Resize(model->open, model->step_count, size);
    SetEntries(model, state, size);
  }
  pthread_mutex_unlock(&lock);
  return state != NULL ? 0 : TW_MODEL_NO_MEMORY;
}

/* Without strcmp, which libraries for 32-bit Arm cannot link. */
static int SameText(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

int32_t TwModelSetSize(const TwModel* model, const char* dimension, int64_t size) {
  if (dimension == NULL) return TW_MODEL_NULL_POINTER;
  if (model->open == NULL || !SameText(dimension, model->open->name)) {
    return TW_MODEL_NO_SUCH_DIMENSION;
  }
  if (size < model->open->least) return TW_MODEL_WRONG_SIZE;
  return TwModelResize(model, size);
}

int32_t TwModelLoad(const TwModel* model, const char* path) {
  if (path == NULL) return TW_MODEL_NULL_POINTER;
  if (model->constants != NULL) return 0; /* the constants are in the library */
  unsigned char* mapped = NULL;
  if (pthread_mutex_lock(&lock) != 0) return TW_MODEL_BUSY;
  TwModelState* state = StateOf(model);
  int32_t code = state != NULL ? TwParametersMap(model, path, &mapped) : TW_MODEL_NO_MEMORY;
  if (code == 0) {
    ForgetConstants();
    TwParametersUnmap(model, state->parameters);
    state->parameters = mapped;
    state->constants = mapped + TW_PARAMETER_OFFSET;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

void TwModelRelease(const TwModel* model) {
  if (pthread_mutex_lock(&lock) != 0) return;
  if (*model->state != NULL) Empty(model, *model->state);
  pthread_mutex_unlock(&lock);
}

void TwModelUnload(const TwModel* model) {
  if (pthread_mutex_lock(&lock) != 0) return; /* an observer is ending the program */
  if (*model->state != NULL) Empty(model, *model->state);
  free(*model->state);
  *model->state = NULL;
  pthread_mutex_unlock(&lock);
}

static int HasShapes(const TwModel* model, const int64_t* const* shapes) {
  for (int64_t i = 0; i < model->input_count; ++i) {
    const TwValue* input = &model->inputs[i];
    for (int64_t d = 0; d < input->rank; ++d) {
      if (shapes[i] == NULL || shapes[i][d] != input->shape[d]) return 0;
    }
  }
  return 1;
}

int64_t TwModelSetOf(const TwModelFunctions* const* sets, int64_t count,
                     const int64_t* const* shapes) {
  if (shapes == NULL) return -1;
  for (int64_t i = 0; i < count; ++i) {
    if (HasShapes(sets[i]->model, shapes)) return i;
  }
  return -1;
}

int32_t TwModelRunSet(const TwModelFunctions* const* sets, int64_t count,
                      const int64_t* const* shapes, const void* const* inputs,
                      void* const* outputs) {
  const int64_t set = TwModelSetOf(sets, count, shapes);
  if (set < 0) return TW_MODEL_NO_SUCH_SHAPES;
  return sets[set]->run(sets[set]->model, inputs, outputs, NULL, NULL);
}

int32_t TwModelSetThreadsOfSets(const TwModelFunctions* const* sets, int64_t count,
                                int32_t threads) {
  for (int64_t i = 0; i < count; ++i) {
    const int32_t code = sets[i]->set_threads(sets[i]->model, threads);
    if (code != 0) return code;
  }
  return 0;
}

void TwModelReleaseSets(const TwModelFunctions* const* sets, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sets[i]->release(sets[i]->model);
}
