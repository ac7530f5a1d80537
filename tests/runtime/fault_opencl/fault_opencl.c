/* Stand-in for libOpenCL.so.1 that passes all calls on to the library in the environment variable
 * OCL_ICD_REAL and fails where OCL_ICD_FAULTS says so: words such as "build@2 resources@3". The
 * number is that of a program's source, counted from 1 in the order in which sources are first
 * seen, also by several processes: OCL_ICD_FOLDER keeps the list. Without a folder every source is
 * the first one. Runners of candidates keep variables with these names.
 *
 *   build      the compiler refuses it          memory     no memory for a buffer (any source)
 *   resources  its launches are refused         lost       so are they, because the device is gone
 *   event      its launches fail later          hang       its launches never end
 *   crash      its launches end the process     platform   there is no platform (any source)
 *   groups     a group has one work item        alignment  parts of buffers at multiples of 8 KiB
 *   kernel     it has no kernel of that name    argument   its kernels take no arguments
 *   devices    the platforms do not answer      parts      none that begins behind a buffer's start
 *
 * FaultOpenClObjects() returns the number of objects that were made and not released. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/runtime/opencl/functions.h"

#define EXPORT __attribute__((visibility("default")))
enum {
  kMax = 4096,
  kLost = -2,
  kNoHostMemory = -6,
  kNoResources = -5,
  kRunning = 1,
  kLogBytes = 64,
  kWideAlignment = 8192
};

static TwOpenCl real;

static const TwOpenCl* Real(void) {
  static int bound;
  if (!bound) {
    const char* path = getenv("OCL_ICD_REAL");
    void* library = dlopen(path != NULL ? path : "", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char* missing = library != NULL ? TwOpenClBind(&real, library) : "file";
    if (missing != NULL) {
      fprintf(stderr, "OCL_ICD_REAL: no %s\n", missing);
      abort();
    }
    bound = 1;
  }
  return &real;
}

/* Objects of OpenCL and the number of their source. */
typedef struct Owned {
  TwClObject object;
  int source;
} Owned;
static Owned owned[kMax];
static int owned_count;

static void Own(TwClObject object, int source) {
  if (object == NULL) return;
  const Owned added = {object, source};
  owned[owned_count++ % kMax] = added;
}

static int SourceOf(TwClObject object) {
  for (int i = owned_count < kMax ? owned_count : kMax; i-- > 0;) {
    if (owned[i].object == object) return owned[i].source;
  }
  return 0;
}

/* Returns true for a fault of this source; number 0: any. */
static int Has(const char* fault, int number) {
  const char* faults = getenv("OCL_ICD_FAULTS");
  char word[64];
  snprintf(word, sizeof word, number > 0 ? "%s@%d" : "%s", fault, number);
  const size_t length = strlen(word);
  for (const char* at = faults; at != NULL && (at = strstr(at, word)) != NULL; ++at) {
    if (at[length] == '\0' || at[length] == ' ') return 1;
  }
  return 0;
}

/* Returns the number of a source. */
static int NumberOf(const char* source, size_t bytes) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ (unsigned char)source[i]) * UINT64_C(1099511628211);
  }
  const char* folder = getenv("OCL_ICD_FOLDER");
  if (folder == NULL) return 1;
  char path[4096];
  snprintf(path, sizeof path, "%s/sources", folder);
  const int file = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  if (file < 0) abort();
  (void)flock(file, LOCK_EX);
  uint64_t known = 0;
  int number = 1;
  while (read(file, &known, sizeof known) == sizeof known && known != hash) ++number;
  if (known != hash && write(file, &hash, sizeof hash) != sizeof hash) abort();
  (void)close(file);
  return number;
}

/* Objects of all kinds that were made and not released. */
static int objects;
EXPORT int FaultOpenClObjects(void) { return objects; }

static TwClObject Made(TwClObject object) {
  if (object != NULL) ++objects;
  return object;
}

/* Returns null, and the error where callers look for it. */
static TwClObject Refuse(TwClInt code, TwClInt* error) {
  if (error != NULL) *error = code;
  return NULL;
}

#define FORWARD(name, parameters, arguments) \
  EXPORT TwClInt cl##name parameters { return Real()->name arguments; }
/* e: receives the event, or is null. */
#define ENQUEUE(name, parameters, arguments)     \
  EXPORT TwClInt cl##name parameters {           \
    const TwClInt code = Real()->name arguments; \
    if (e != NULL && code == 0) (void)Made(*e);  \
    return code;                                 \
  }
#define RELEASE(kind)                                 \
  EXPORT TwClInt clRelease##kind(TwClObject object) { \
    --objects;                                        \
    return Real()->Release##kind(object);             \
  }

EXPORT TwClInt clGetPlatformIDs(TwClUint most, TwClObject* platforms, TwClUint* count) {
  if (Has("platform", 0)) return TW_CL_NO_PLATFORM;
  return Real()->GetPlatformIDs(most, platforms, count);
}
FORWARD(GetPlatformInfo, (TwClObject p, TwClUint n, size_t b, void* to, size_t* s),
        (p, n, b, to, s))
EXPORT TwClInt clGetDeviceIDs(TwClObject p, TwClBits t, TwClUint n, TwClObject* d, TwClUint* c) {
  if (Has("devices", 0)) return kNoHostMemory;
  return Real()->GetDeviceIDs(p, t, n, d, c);
}
EXPORT TwClInt clGetDeviceInfo(TwClObject d, TwClUint n, size_t b, void* to, size_t* s) {
  const TwClInt code = Real()->GetDeviceInfo(d, n, b, to, s);
  if (n == TW_CL_DEVICE_WORK_GROUP_SIZE && to != NULL && Has("groups", 0)) *(size_t*)to = 1;
  if (n == TW_CL_DEVICE_ALIGNMENT_BITS && to != NULL && Has("alignment", 0)) {
    *(TwClUint*)to = 8 * kWideAlignment;
  }
  return code;
}
EXPORT TwClObject clCreateContext(const TwClName* p, TwClUint n, const TwClObject* d, void* f,
                                  void* c, TwClInt* e) {
  return Made(Real()->CreateContext(p, n, d, f, c, e));
}
EXPORT TwClObject clCreateCommandQueue(TwClObject c, TwClObject d, TwClBits b, TwClInt* e) {
  return Made(Real()->CreateCommandQueue(c, d, b, e));
}
EXPORT TwClObject clCreateBuffer(TwClObject c, TwClBits b, size_t n, void* h, TwClInt* e) {
  if (Has("memory", 0)) return Refuse(TW_CL_NO_MEMORY_FOR_OBJECT, e);
  return Made(Real()->CreateBuffer(c, b, n, h, e));
}
EXPORT TwClObject clCreateSubBuffer(TwClObject m, TwClBits b, TwClUint t, const void* i,
                                    TwClInt* e) {
  if (Has("parts", 0) && ((const TwClRegion*)i)->origin > 0) return Refuse(kNoResources, e);
  return Made(Real()->CreateSubBuffer(m, b, t, i, e));
}
EXPORT TwClObject clCreateImage(TwClObject c, TwClBits b, const void* f, const void* d, void* h,
                                TwClInt* e) {
  if (Has("memory", 0)) return Refuse(TW_CL_NO_MEMORY_FOR_OBJECT, e);
  return Made(Real()->CreateImage(c, b, f, d, h, e));
}
EXPORT TwClObject clCreateProgramWithSource(TwClObject c, TwClUint n, const char** s,
                                            const size_t* l, TwClInt* e) {
  TwClObject program = Real()->CreateProgramWithSource(c, n, s, l, e);
  Own(program, NumberOf(s[0], l != NULL ? l[0] : strlen(s[0])));
  return Made(program);
}
EXPORT TwClInt clBuildProgram(TwClObject p, TwClUint n, const TwClObject* d, const char* o, void* f,
                              void* u) {
  if (Has("build", SourceOf(p))) return TW_CL_BUILD_FAILURE;
  return Real()->BuildProgram(p, n, d, o, f, u);
}
EXPORT TwClInt clGetProgramBuildInfo(TwClObject p, TwClObject d, TwClUint n, size_t b, void* to,
                                     size_t* s) {
  static const char log[kLogBytes] = "a line\nof the stand-in's compiler";
  if (n != TW_CL_BUILD_LOG || !Has("build", SourceOf(p))) {
    return Real()->GetProgramBuildInfo(p, d, n, b, to, s);
  }
  if (s != NULL) *s = sizeof log;
  if (to != NULL) memcpy(to, log, b < sizeof log ? b : sizeof log);
  return 0;
}
EXPORT TwClObject clCreateKernel(TwClObject p, const char* n, TwClInt* e) {
  if (Has("kernel", SourceOf(p))) return Refuse(TW_CL_INVALID_KERNEL_NAME, e);
  TwClObject kernel = Real()->CreateKernel(p, n, e);
  Own(kernel, SourceOf(p));
  return Made(kernel);
}
EXPORT TwClInt clSetKernelArg(TwClObject k, TwClUint i, size_t b, const void* v) {
  if (Has("argument", SourceOf(k))) return kNoResources;
  return Real()->SetKernelArg(k, i, b, v);
}
ENQUEUE(EnqueueWriteBuffer,
        (TwClObject q, TwClObject m, TwClUint b, size_t o, size_t n, const void* f, TwClUint c,
         const TwClObject* w, TwClObject* e),
        (q, m, b, o, n, f, c, w, e))
ENQUEUE(EnqueueReadBuffer,
        (TwClObject q, TwClObject m, TwClUint b, size_t o, size_t n, void* t, TwClUint c,
         const TwClObject* w, TwClObject* e),
        (q, m, b, o, n, t, c, w, e))
ENQUEUE(EnqueueCopyBuffer,
        (TwClObject q, TwClObject f, TwClObject t, size_t fo, size_t to, size_t n, TwClUint c,
         const TwClObject* w, TwClObject* e),
        (q, f, t, fo, to, n, c, w, e))
ENQUEUE(EnqueueFillBuffer,
        (TwClObject q, TwClObject m, const void* p, size_t b, size_t o, size_t n, TwClUint c,
         const TwClObject* w, TwClObject* e),
        (q, m, p, b, o, n, c, w, e))
EXPORT TwClInt clEnqueueNDRangeKernel(TwClObject q, TwClObject k, TwClUint d, const size_t* o,
                                      const size_t* g, const size_t* l, TwClUint c,
                                      const TwClObject* w, TwClObject* e) {
  const int source = SourceOf(k);
  if (Has("resources", source)) return kNoResources;
  if (Has("lost", source)) return kLost;
  if (Has("crash", source)) raise(SIGSEGV);
  const TwClInt code = Real()->EnqueueNDRangeKernel(q, k, d, o, g, l, c, w, e);
  if (e != NULL && code == 0) Own(Made(*e), source);
  return code;
}
ENQUEUE(EnqueueMarkerWithWaitList, (TwClObject q, TwClUint c, const TwClObject* w, TwClObject* e),
        (q, c, w, e))
FORWARD(Flush, (TwClObject q), (q))
FORWARD(Finish, (TwClObject q), (q))
EXPORT TwClInt clGetEventInfo(TwClObject e, TwClUint n, size_t b, void* to, size_t* s) {
  const int source = SourceOf(e);
  const TwClInt code = Real()->GetEventInfo(e, n, b, to, s);
  if (n == TW_CL_EVENT_STATUS && Has("hang", source)) *(TwClInt*)to = kRunning;
  if (n == TW_CL_EVENT_STATUS && Has("event", source)) *(TwClInt*)to = kNoResources;
  return code;
}
FORWARD(GetEventProfilingInfo, (TwClObject e, TwClUint n, size_t b, void* to, size_t* s),
        (e, n, b, to, s))
RELEASE(Context)
RELEASE(CommandQueue)
RELEASE(MemObject)
RELEASE(Program)
RELEASE(Kernel)
RELEASE(Event)
