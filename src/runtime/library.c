/* oneDNN convolutions and matrix products, loaded at run time.
 *
 * oneDNN treats padded memory as writable and writes zeros there, also in operands. So channels
 * that fill up a block are described as ordinary channels with zero weights. */

#include "src/runtime/library.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/runtime/dnnl/dnnl.h"

enum { kAlignment = 64 };

/* --- cached state --- */

typedef struct Weight {
  const void* source;
  void* prepared;
  struct Weight* next;
} Weight;

/* Prepared call for a number of threads. */
typedef struct Plan {
  int32_t threads;
  void* description;
  void* primitive;
  void* source; /* memory objects */
  void* weights;
  void* result;
  void* scratchpad;
  void* scratchpad_bytes;
  Weight* prepared; /* a ring of all, from the most recently used one */
  struct Plan* next;
} Plan;

struct TwLibraryState {
  Plan* plans;
  char problem[400]; /* empty: none */
  TwLibraryCall* next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* also held during calls */
static Dnnl dnnl;
static TwLibraryCall* calls; /* those that have a state */
static int closed;           /* the program is exiting */

static int Fail(TwLibraryCall* call, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char text[200];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(call->state->problem, sizeof call->state->problem, "%s: %s: %s", call->operation,
           call->file, text);
  return 0;
}

static int Load(TwLibraryCall* call) {
  char why[200];
  if (closed && dnnl.stream == NULL) return Fail(call, "the program ends");
  return TwDnnlLoad(&dnnl, call->file, why, sizeof why) ? 1 : Fail(call, "%s", why);
}

static int TypeOf(int64_t type) {
  static const int types[] = {0, kTypeF32, kTypeS32, kTypeS8, kTypeU8};
  return types[type];
}

static int64_t BytesOf(int64_t type) {
  return type == TW_LIBRARY_F32 || type == TW_LIBRARY_S32 ? 4 : 1;
}

static int64_t Channels(int64_t channels, int64_t layout) {
  return layout < TW_LIBRARY_BLOCKED_8 ? channels : (channels + layout - 1) / layout * layout;
}

/* Returns the convolution with channels rounded up to full blocks; see above. */
static TwLibraryShape Filled(const TwLibraryShape* shape) {
  TwLibraryShape filled = *shape;
  filled.c = Channels(shape->c, shape->data_layout);
  filled.k = Channels(shape->k, shape->result_layout);
  if (shape->groups == shape->c && shape->groups > 1) filled.groups = filled.c;
  return filled;
}

/* Returns a descriptor in the form that functions take. */
static const void* Pointer(const MemoryDesc* desc) {
  return dnnl.major == 3 ? desc->handle : (const void*)desc;
}

static int Activations(MemoryDesc* desc, const Dims dims, int type, int64_t layout) {
  const int added = dnnl.major == 3 ? kTagsAdded : 0;
  if (layout == TW_LIBRARY_BLOCKED_8) return dnnl.desc_by_tag(desc, 4, dims, type, kTag8 + added);
  if (layout == TW_LIBRARY_BLOCKED_16) {
    return dnnl.desc_by_tag(desc, 4, dims, type, kTag16 + added);
  }
  const int64_t c = dims[1], h = dims[2], w = dims[3];
  const Dims plain = {c * h * w, h * w, w, 1}, last = {c * h * w, 1, w * c, c};
  return dnnl.desc_by_strides(desc, 4, dims, type, layout == TW_LIBRARY_NHWC ? last : plain);
}

/* Memory descriptors of an operation. */
typedef struct {
  MemoryDesc source;
  MemoryDesc weights; /* in the best layout for the operation, unless the weight is not constant */
  MemoryDesc given;   /* the caller's weight */
  MemoryDesc result;
} Operands;

static void FreeOperands(Operands* operands) {
  if (dnnl.major != 3) return;
  void* const handles[] = {operands->source.handle, operands->weights.handle,
                           operands->given.handle, operands->result.handle};
  for (size_t i = 0; i < sizeof handles / sizeof *handles; ++i) {
    if (handles[i] != NULL) dnnl.desc_destroy3(handles[i]);
  }
}

static int DescribeConvolution(const TwLibraryShape* s, Operands* operands) {
  const Dims data = {s->n, s->c, s->h, s->w}, result = {s->n, s->k, s->oh, s->ow};
  const int64_t inner = s->c / s->groups, outer = s->k / s->groups, taps = s->r * s->s;
  const Dims grouped = {s->groups, outer, inner, s->r, s->s};
  const Dims strides = {outer * inner * taps, inner * taps, taps, s->s, 1};
  const int first = s->groups > 1 ? 0 : 1; /* without groups: one dimension fewer */
  const int count = 5 - first, type = TypeOf(s->weight_type);
  return Activations(&operands->source, data, TypeOf(s->data_type), s->data_layout) == 0 &&
         Activations(&operands->result, result, TypeOf(s->result_type), s->result_layout) == 0 &&
         dnnl.desc_by_strides(&operands->given, count, grouped + first, type, strides + first) ==
             0 &&
         dnnl.desc_by_tag(&operands->weights, count, grouped + first, type, kTagAny) == 0;
}

static int DescribeProducts(const TwLibraryShape* s, Operands* operands) {
  const Dims data = {s->n, s->h, s->c}, weight = {s->n, s->c, s->k}, result = {s->n, s->h, s->k};
  const Dims rows = {s->h * s->c, s->c, 1}, rows_of_weight = {s->c * s->k, 1, s->c};
  const Dims columns_of_weight = {s->c * s->k, s->k, 1};
  const Dims sums = {s->h * s->k, s->k, 1};
  const int first = s->n > 1 ? 0 : 1; /* a single product lacks this dimension */
  const int64_t* from = (s->weight_columns != 0 ? columns_of_weight : rows_of_weight) + first;
  const int count = 3 - first, type = TypeOf(s->weight_type);
  const int given = dnnl.desc_by_strides(&operands->given, count, weight + first, type, from);
  const int wanted =
      s->constant_weight == 0
          ? dnnl.desc_by_strides(&operands->weights, count, weight + first, type, from)
          : dnnl.desc_by_tag(&operands->weights, count, weight + first, type, kTagAny);
  return given == 0 && wanted == 0 &&
         dnnl.desc_by_strides(&operands->source, count, data + first, TypeOf(s->data_type),
                              rows + first) == 0 &&
         dnnl.desc_by_strides(&operands->result, count, result + first, TypeOf(s->result_type),
                              sums + first) == 0;
}

/* operands: initially zero; the caller frees it also after a failure. */
static int Describe(const TwLibraryShape* shape, Operands* operands) {
  return shape->kind == TW_LIBRARY_CONVOLUTION ? DescribeConvolution(shape, operands)
                                               : DescribeProducts(shape, operands);
}

/* Creates the primitive descriptor of the operation. Returns the library's status, 0 on success. */
static int MakeDescription(const TwLibraryShape* s, const Operands* operands, void* attributes,
                           void** description) {
  const void* const source = Pointer(&operands->source);
  const void* const weights = Pointer(&operands->weights);
  const void* const result = Pointer(&operands->result);
  const Dims strides = {s->stride_h, s->stride_w};
  const Dims dilation = {s->dilation_h - 1, s->dilation_w - 1};
  const Dims before = {s->pad_top, s->pad_left}, after = {s->pad_bottom, s->pad_right};
  const int convolution = s->kind == TW_LIBRARY_CONVOLUTION;
  if (dnnl.major == 3) {
    return convolution
               ? dnnl.convolution3(description, dnnl.engine, kForwardInference, kConvolutionDirect,
                                   source, weights, NULL, result, strides, dilation, before, after,
                                   attributes)
               : dnnl.matmul3(description, dnnl.engine, source, weights, NULL, result, attributes);
  }
  OperationDesc operation;
  const int code =
      convolution ? dnnl.convolution2(&operation, kForwardInference, kConvolutionDirect, source,
                                      weights, NULL, result, strides, dilation, before, after)
                  : dnnl.matmul2(&operation, source, weights, NULL, result);
  if (code != 0) return code;
  return dnnl.primitive_desc_create2(description, &operation, attributes, dnnl.engine, NULL);
}

static void* Allocate(size_t bytes) {
  return aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
}

static void FreePlan(Plan* plan) {
  Weight* weight = plan->prepared;
  if (weight != NULL) { /* open the ring */
    Weight* first = weight->next;
    weight->next = NULL;
    weight = first;
  }
  while (weight != NULL) {
    Weight* next = weight->next;
    free(weight->prepared);
    free(weight);
    weight = next;
  }
  void* const memories[] = {plan->source, plan->weights, plan->result, plan->scratchpad};
  for (size_t i = 0; i < sizeof memories / sizeof *memories; ++i) {
    if (memories[i] != NULL) dnnl.memory_destroy(memories[i]);
  }
  if (plan->primitive != NULL) dnnl.primitive_destroy(plan->primitive);
  if (plan->description != NULL) dnnl.primitive_desc_destroy(plan->description);
  free(plan->scratchpad_bytes);
  free(plan);
}

static const void* DescOf(const Plan* plan, int what) {
  return dnnl.query(plan->description, what, 0);
}

/* Checks that 8-bit products are exact: oneDNN's environment variables can disable instructions of
 * the target. */
static int CheckExact(TwLibraryCall* call) {
  const int64_t type = call->shape.data_type;
  if (BytesOf(type) > 1) return 1;
  const int vnni = dnnl.major == 3 ? kVnni3 : kVnni2;
  if (dnnl.effective_isa != NULL && (dnnl.effective_isa() & vnni) != 0) return 1;
  return Fail(call,
              "its 8-bit products are not exact without VNNI instructions, which it does not "
              "use here (DNNL_MAX_CPU_ISA?)");
}

/* Returns the attributes of all calls; null after a failure. The environment may request floats of
 * fewer bits. */
static void* MakeAttributes(void) {
  void* attributes = NULL;
  if (dnnl.attr_create(&attributes) != 0) return NULL;
  if (dnnl.attr_scratchpad(attributes, kScratchpadUser) == 0 &&
      (dnnl.attr_float_mode == NULL || dnnl.attr_float_mode(attributes, kStrictFloats) == 0)) {
    return attributes;
  }
  dnnl.attr_destroy(attributes);
  return NULL;
}

static int MakePrimitive(TwLibraryCall* call, Plan* plan) {
  if (!CheckExact(call)) return 0;
  const TwLibraryShape shape = Filled(&call->shape);
  void* attributes = MakeAttributes();
  if (attributes == NULL) return Fail(call, "it refuses the attributes");
  Operands operands = {0};
  const int described = Describe(&shape, &operands);
  const int code =
      described ? MakeDescription(&shape, &operands, attributes, &plan->description) : 0;
  FreeOperands(&operands);
  dnnl.attr_destroy(attributes);
  if (!described) return Fail(call, "it refuses the sizes or layouts");
  if (code != 0) return Fail(call, "it has no code for this (its status %d)", code);
  if (dnnl.primitive_create(&plan->primitive, plan->description) != 0) {
    return Fail(call, "it cannot make the code");
  }
  const void* scratchpad = DescOf(plan, kQueryScratchpad);
  plan->scratchpad_bytes = Allocate(dnnl.desc_size(scratchpad));
  if (plan->scratchpad_bytes == NULL ||
      dnnl.memory_create(&plan->source, DescOf(plan, kQuerySource), dnnl.engine, NULL) != 0 ||
      dnnl.memory_create(&plan->weights, DescOf(plan, kQueryWeights), dnnl.engine, NULL) != 0 ||
      dnnl.memory_create(&plan->result, DescOf(plan, kQueryResult), dnnl.engine, NULL) != 0 ||
      dnnl.memory_create(&plan->scratchpad, scratchpad, dnnl.engine, plan->scratchpad_bytes) != 0) {
    return Fail(call, "no memory");
  }
  return 1;
}

static void Nothing(void* data) { (void)data; }

/* Sets the library's threads for later calls. Returns the previous number, for restoring it. */
static int UseThreads(int threads) {
  const int before = dnnl.get_threads != NULL ? dnnl.get_threads() : 1;
  if (before != threads && dnnl.set_threads != NULL) dnnl.set_threads(threads);
  return before;
}

/* Returns the plan for the number of threads; null after a failure. */
static Plan* FindPlan(TwLibraryCall* call, int32_t threads) {
  if (call->state == NULL) {
    call->state = calloc(1, sizeof *call->state);
    if (call->state == NULL) return NULL;
    call->state->next = calls;
    calls = call;
  }
  if (call->state->problem[0] != 0) return NULL;
  for (Plan* plan = call->state->plans; plan != NULL; plan = plan->next) {
    if (plan->threads == threads) return plan;
  }
  if (!Load(call)) return NULL;
  Plan* plan = calloc(1, sizeof *plan);
  if (plan == NULL) return NULL;
  plan->threads = threads;
  const int before = UseThreads(threads);
  const int made = MakePrimitive(call, plan);
  if (made && threads > 1 && dnnl.start_threads != NULL) {
    dnnl.start_threads(Nothing, NULL, (unsigned)threads, 0);
  }
  UseThreads(before);
  if (!made) {
    FreePlan(plan);
    return NULL;
  }
  plan->next = call->state->plans;
  call->state->plans = plan;
  return plan;
}

/* Returns a copy of the weight with zeros for the channels that fill up blocks. Requires no groups,
 * or groups of one channel each. */
static void* FillUp(const TwLibraryShape* given, const TwLibraryShape* filled, const void* weight) {
  const int64_t taps = given->r * given->s * BytesOf(given->weight_type);
  const int64_t from = given->c / given->groups * taps, to = filled->c / filled->groups * taps;
  unsigned char* copy = Allocate((size_t)(filled->k * to));
  if (copy == NULL) return NULL;
  memset(copy, 0, (size_t)(filled->k * to));
  for (int64_t k = 0; k < given->k; ++k) {
    memcpy(copy + k * to, (const unsigned char*)weight + k * from, (size_t)from);
  }
  return copy;
}

static int Reorder(int threads, const void* from_desc, void* from, const void* to_desc, void* to) {
  const int before = UseThreads(threads);
  void *description = NULL, *primitive = NULL, *source = NULL, *result = NULL;
  int ok = dnnl.reorder(&description, from_desc, dnnl.engine, to_desc, dnnl.engine, NULL) == 0 &&
           dnnl.primitive_create(&primitive, description) == 0 &&
           dnnl.memory_create(&source, from_desc, dnnl.engine, from) == 0 &&
           dnnl.memory_create(&result, to_desc, dnnl.engine, to) == 0;
  if (ok) {
    const ExecArgument arguments[] = {{kArgumentSource, source}, {kArgumentResult, result}};
    ok = dnnl.execute(primitive, dnnl.stream, 2, arguments) == 0 &&
         dnnl.stream_wait(dnnl.stream) == 0;
  }
  if (source != NULL) dnnl.memory_destroy(source);
  if (result != NULL) dnnl.memory_destroy(result);
  if (primitive != NULL) dnnl.primitive_destroy(primitive);
  if (description != NULL) dnnl.primitive_desc_destroy(description);
  UseThreads(before);
  return ok;
}

/* Returns the weight in the primitive's layout; null after a failure. */
static const void* FindWeight(TwLibraryCall* call, Plan* plan, const void* source) {
  if (call->shape.constant_weight == 0) return source;
  /* Callers with many weights use them in the order of preparation. */
  for (Weight* weight = plan->prepared; weight != NULL;) {
    weight = weight->next;
    if (weight->source == source) {
      plan->prepared = weight;
      return weight->prepared;
    }
    if (weight == plan->prepared) break;
  }
  const TwLibraryShape filled = Filled(&call->shape);
  Operands operands = {0};
  const int described = Describe(&filled, &operands);
  const void* wanted = DescOf(plan, kQueryWeights);
  Weight* weight = calloc(1, sizeof *weight);
  void* copy = FillUp(&call->shape, &filled, source);
  if (weight != NULL) weight->prepared = Allocate(dnnl.desc_size(wanted));
  const int ready =
      described && weight != NULL && copy != NULL && weight->prepared != NULL &&
      Reorder(plan->threads, Pointer(&operands.given), copy, wanted, weight->prepared);
  FreeOperands(&operands);
  if (!ready) {
    Fail(call, "the weight cannot be brought to its layout");
    if (weight != NULL) free(weight->prepared);
    free(weight);
    free(copy);
    return NULL;
  }
  free(copy);
  weight->source = source;
  weight->next = plan->prepared != NULL ? plan->prepared->next : weight;
  if (plan->prepared != NULL) plan->prepared->next = weight;
  plan->prepared = weight;
  return weight->prepared;
}

static int32_t Execute(Plan* plan, void* result, const void* data, const void* weight) {
  /* The interface takes handles that are not const; operands are not written, because they have no
   * padding. */
  if (dnnl.memory_set(plan->source, (void*)(uintptr_t)data) != 0 ||
      dnnl.memory_set(plan->weights, (void*)(uintptr_t)weight) != 0 ||
      dnnl.memory_set(plan->result, result) != 0) {
    return TW_LIBRARY_FAILED;
  }
  const ExecArgument arguments[] = {{kArgumentSource, plan->source},
                                    {kArgumentWeights, plan->weights},
                                    {kArgumentResult, plan->result},
                                    {kArgumentScratchpad, plan->scratchpad}};
  const int before = UseThreads(plan->threads);
  const int code = dnnl.execute(plan->primitive, dnnl.stream, 4, arguments);
  const int waited = dnnl.stream_wait(dnnl.stream);
  UseThreads(before);
  return code == 0 && waited == 0 ? 0 : TW_LIBRARY_FAILED;
}

static int32_t ThreadsOf(const TwParallel* parallel) {
  return parallel != NULL ? parallel->threads : 1;
}

const char* TwLibraryPrepare(TwLibraryCall* call, void* const* arguments, int64_t weight,
                             const TwParallel* parallel) {
  pthread_mutex_lock(&lock);
  Plan* plan = FindPlan(call, ThreadsOf(parallel));
  const int ready =
      plan != NULL && (arguments == NULL || FindWeight(call, plan, arguments[weight]) != NULL);
  const char* words = NULL;
  if (!ready) {
    const int said = call->state != NULL && call->state->problem[0] != 0;
    words = said ? call->state->problem : "no memory";
  }
  pthread_mutex_unlock(&lock);
  return words;
}

int32_t TwLibraryRun(TwLibraryCall* call, void* result, const void* data, const void* weight,
                     const TwParallel* parallel) {
  pthread_mutex_lock(&lock);
  Plan* plan = FindPlan(call, ThreadsOf(parallel));
  const void* prepared = plan != NULL ? FindWeight(call, plan, weight) : NULL;
  const int32_t code = prepared != NULL ? Execute(plan, result, data, prepared) : TW_LIBRARY_FAILED;
  pthread_mutex_unlock(&lock);
  return code;
}

/* Requires the lock. */
static void ForgetCalls(void) {
  while (calls != NULL) {
    TwLibraryCall* call = calls;
    calls = call->state->next;
    while (call->state->plans != NULL) {
      Plan* plan = call->state->plans;
      call->state->plans = plan->next;
      FreePlan(plan);
    }
    free(call->state);
    call->state = NULL;
  }
}

void TwLibraryForget(void) {
  pthread_mutex_lock(&lock);
  ForgetCalls();
  pthread_mutex_unlock(&lock);
}

/* The library stays loaded: its threads may be running its code. Threads of the program may be in a
 * model now or later: the lock waits for the former, and the latter are rejected. */
__attribute__((destructor)) static void Close(void) {
  pthread_mutex_lock(&lock);
  ForgetCalls();
  if (dnnl.stream != NULL) dnnl.stream_destroy(dnnl.stream);
  if (dnnl.engine != NULL) dnnl.engine_destroy(dnnl.engine);
  dnnl.stream = dnnl.engine = NULL;
  closed = 1;
  pthread_mutex_unlock(&lock);
}
