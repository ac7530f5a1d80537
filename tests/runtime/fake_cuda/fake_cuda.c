// Fake CUDA driver for tests: device memory is host memory, time is a counter, and the effect of a
// kernel follows from its name alone, or from a function of the test (fake_cuda.h). Built several
// times:
//   FAKE_NO_GRAPHS  an older driver without graphs, and a device with less shared memory
//   FAKE_OLD        a driver without a required function
//   FAKE_NO_DEVICE  no device
//   FAKE_BROKEN     cuInit fails
//   FAKE_HIP        AMD's library, for code objects: an AMD GPU, gfx906
// A file hang_at next to the library has the number of the launch of a process that never ends (1:
// the first); workers do not inherit environment variables.
#define _GNU_SOURCE
#include "tests/runtime/fake_cuda/fake_cuda.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FAKE_HIP
#include <elf.h>

#include "src/runtime/cuda_functions.h"
#include "tests/runtime/fake_cuda/hip_names.h"
#endif

#define API __attribute__((visibility("default"))) int

enum {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kUnknown = 999
};
enum { kMaxCaptured = 4096, kMaxMemories = 256, kMaxFunctions = 16384 };

static int sticky = 0, hanging = 0, capturing = 0;
static double now_us = 0;
static void* current = NULL;  // context
static FakeCounts counts = {0};
static FakeExecutor executor = NULL;
static void* executor_context = NULL;

typedef struct {
  char name[256];
  int parameters;
  unsigned most_shared;  // maximum that a launch may request
  int is_dense;          // one of the kernels known by name
} Function;
static Function functions[kMaxFunctions];
static int function_count = 0;

typedef struct {
  const Function* function;  // null: a copy on the device (to, from, bytes)
  unsigned grid[3], block[3], shared;
  uint64_t arguments[FAKE_MOST_ARGUMENTS];
} Launch;
typedef struct {
  int count;
  Launch launches[kMaxCaptured];
} Graph;
static Graph* recorded = NULL;

typedef struct {
  uint64_t address, bytes;
} Memory;
static Memory memories[kMaxMemories];

API fake_cuda_execute_by(FakeExecutor function, void* context) {
  executor = function;
  executor_context = context;
  counts = (FakeCounts){0};
  return 0;
}
API fake_cuda_counts(FakeCounts* out) {
  *out = counts;
  return 0;
}
API fake_cuda_holds(uint64_t address, uint64_t bytes) {
  for (int i = 0; i < kMaxMemories; ++i) {
    if (address >= memories[i].address &&
        address + bytes <= memories[i].address + memories[i].bytes)
      return 1;
  }
  return 0;
}

API cuInit(unsigned flags) {
  (void)flags;
#ifdef FAKE_BROKEN
  return kUnknown;
#else
  return 0;
#endif
}
API cuGetErrorString(int code, const char** words) {
  *words = code == kIllegalAddress ? "an illegal memory access was encountered"
           : code == kOutOfMemory  ? "out of memory"
                                   : "a fake error";
  return 0;
}
API cuDriverGetVersion(int* version) {
#ifdef FAKE_HIP
  *version = 60240000;
#else
  *version = 12040;
#endif
  return 0;
}
API cuDeviceGetCount(int* count) {
#ifdef FAKE_NO_DEVICE
  *count = 0;
#else
  *count = 1;
#endif
  return 0;
}
API cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
API cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  strncpy(name, "Fake GPU", (size_t)length);
  return 0;
}
API cuDeviceGetPCIBusId(char* name, int length, int device) {
  (void)length, (void)device;
  strncpy(name, "fake:00:00.0", (size_t)length);
  return 0;
}
API cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 38 ? 1 << 20 : 100;
  return 0;
}
API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 30;
  return 0;
}
API cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = &sticky;
  return 0;
}
API cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  return 0;
}
API cuCtxSetCurrent(void* context) {
  current = context;
  return context == &sticky ? 0 : 1;
}
API cuCtxPushCurrent_v2(void* context) {
  ++counts.pushed;
  return cuCtxSetCurrent(context);
}
API cuCtxSynchronize(void) {
  ++counts.synchronized;
  return sticky;
}
API cuCtxPopCurrent_v2(void** context) {
  --counts.pushed;
  *context = current;
  current = NULL;
  return 0;
}

#ifdef FAKE_HIP
API hipGetDevicePropertiesR0600(TwHipProperties* properties, int device) {
  (void)device;
  memset(properties, 0, sizeof *properties - sizeof properties->rest);
  strcpy(properties->name, "Fake GPU");
  strcpy(properties->processor, "gfx906:sramecc+:xnack-");
  properties->multiprocessors = 60;
  properties->l2_bytes = 4 << 20;
  return 0;
}

// Bytes of a code object: the table of sections is the last part of the file.
static size_t SizeOf(const void* image) {
  const Elf64_Ehdr* header = image;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return strlen(image) + 1;
  return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

// Number of parameters of a kernel, -1 if there is no such kernel. The descriptor NAME.kd has the
// bytes of all parameters, each of which is an address, as its third word.
static int ParametersOf(const char* image, const char* name) {
  const Elf64_Ehdr* header = (const void*)image;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return -1;
  const Elf64_Shdr* sections = (const void*)(image + header->e_shoff);
  char wanted[300];
  snprintf(wanted, sizeof wanted, "%s.kd", name);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym* symbols = (const void*)(image + sections[i].sh_offset);
    const char* names = image + sections[sections[i].sh_link].sh_offset;
    for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; ++s) {
      if (strcmp(names + symbols[s].st_name, wanted) != 0) continue;
      const Elf64_Shdr* at = &sections[symbols[s].st_shndx];
      const char* descriptor = image + at->sh_offset + (symbols[s].st_value - at->sh_addr);
      uint32_t bytes = 0;
      memcpy(&bytes, descriptor + 8, sizeof bytes);
      return (int)(bytes / 8);
    }
  }
  return -1;
}
#endif

// --- modules: only the names and parameters of the kernels in their text are used ---
API cuModuleLoadDataEx(void** module, const void* image, unsigned options, int* keys,
                       void** values) {
  if (sticky != 0) return sticky;
  if (strstr(image, "refuse") != NULL) {
    for (unsigned i = 0; i < options; ++i) {
      if (keys[i] == 5) strcpy(values[i], "line 1: unexpected token");
    }
    return kInvalidPtx;
  }
#ifdef FAKE_HIP
  *module = memcpy(malloc(SizeOf(image)), image, SizeOf(image));
#else
  *module = strdup(image);
#endif
  ++counts.modules;
  return 0;
}
API cuModuleUnload(void* module) {
  if (hanging) pause();  // the real one waits for the device
  free(module);
  --counts.modules;
  return 0;
}
#ifndef FAKE_HIP
// Number of parameters of a PTX kernel, -1 if there is no such kernel.
static int ParametersOf(const char* ptx, const char* name) {
  char entry[sizeof functions->name + 16];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char* at = strstr(ptx, entry);
  if (at == NULL) return -1;
  const char* end = strchr(at, ')');
  int count = 0;
  while ((at = strstr(at, ".param")) != NULL && at < end) ++count, ++at;
  return count;
}
#endif
static int AddFunction(void** function, const char* name, int parameters) {
  if (function_count == kMaxFunctions || parameters > FAKE_MOST_ARGUMENTS) return kUnknown;
  Function* added = &functions[function_count++];
  snprintf(added->name, sizeof added->name, "%s", name);
  added->parameters = parameters;
#ifdef FAKE_HIP
  added->most_shared = 64 << 10;  // without a request
#else
  added->most_shared = 48 << 10;
#endif
  *function = added;
  return 0;
}
// Returns the number in a file next to the library; -1 without such a file.
static long ReadNumber(const char* name) {
  Dl_info self;
  if (dladdr((void*)&ReadNumber, &self) == 0) return -1;
  char path[4096];
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash == NULL ? 0 : (int)(slash - self.dli_fname + 1);
  snprintf(path, sizeof path, "%.*s%s", folder, self.dli_fname, name);
  FILE* file = fopen(path, "r");
  if (file == NULL) return -1;
  long number = -1;
  if (fscanf(file, "%ld", &number) != 1) number = -1;
  fclose(file);
  return number;
}

API cuModuleGetFunction(void** function, void* module, const char* name) {
  static const char* const kKernels[] = {"tw_candidate", "skip",   "wrong", "past_end",
                                         "before_start", "input",  "fault", "lost",
                                         "hang",         "killed", "late",  "slow"};
  if (executor != NULL) {
    const int parameters = ParametersOf(module, name);
    return parameters < 0 ? kNotFound : AddFunction(function, name, parameters);
  }
  for (size_t i = 0; i < sizeof kKernels / sizeof *kKernels; ++i) {
    if (strcmp(name, kKernels[i]) != 0) continue;
    const int code = AddFunction(function, name, 3);
    if (code == 0) ((Function*)*function)->is_dense = 1;
    return code;
  }
  if (ReadNumber("any_kernel") < 0) return kNotFound;
  const int parameters = ParametersOf(module, name);
  return parameters < 0 ? kNotFound : AddFunction(function, name, parameters);
}

API cuFuncSetAttribute(void* function, int attribute, int value) {
#ifdef FAKE_NO_GRAPHS
  enum { kMaxDynamicShared = 8, kOfBlock = 99 << 10 };
#else
  enum { kMaxDynamicShared = 8, kOfBlock = 163 << 10 };
#endif
  if (attribute != kMaxDynamicShared || value < 0 || value > kOfBlock) return kInvalidValue;
  ((Function*)function)->most_shared = (unsigned)value;
  return 0;
}

// --- memory ---
API cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (sticky != 0) return sticky;
  if (current == NULL) return kInvalidContext;
  if (bytes > ((size_t)1 << 30)) return kOutOfMemory;
  int slot = 0;
  while (slot < kMaxMemories && memories[slot].address != 0) ++slot;
  if (slot == kMaxMemories) return kUnknown;
  // Like device memory: aligned, with undefined contents.
  void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset(memory, 0xA5, bytes);
  *address = (uint64_t)(uintptr_t)memory;
  memories[slot] = (Memory){*address, bytes};
  return 0;
}
API cuMemFree_v2(uint64_t address) {
  if (hanging) pause();
  for (int i = 0; i < kMaxMemories; ++i) {
    if (memories[i].address == address) memories[i] = (Memory){0, 0};
  }
  free((void*)(uintptr_t)address);
  return 0;
}
API cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  ++counts.to_device;
  if (sticky == 0) memcpy((void*)(uintptr_t)to, from, bytes);
  return sticky;
}
API cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  ++counts.to_host;
  if (sticky == 0) memcpy(to, (void*)(uintptr_t)from, bytes);
  return sticky;
}
#ifndef FAKE_OLD
API cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, void* stream) {
  (void)stream;
  if (sticky == 0) memset((void*)(uintptr_t)address, value, bytes);
  return sticky;
}
#endif

// --- execution ---
// dense(float32[4,16]MK,float32[32,16]NK)->float32
static void Dense(const float* data, const float* weight, float* output) {
  for (int m = 0; m < 4; ++m) {
    for (int n = 0; n < 32; ++n) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += data[m * 16 + k] * weight[n * 16 + k];
      output[m * 32 + n] = sum;
    }
  }
}

static int HangsNow(void) {
  static long launches = 0, at = 0;
  if (launches++ == 0) at = ReadNumber("hang_at");
  return launches == at;
}

static void ExecuteByName(const Launch* launch) {
  static int calls = 0;
  const char* kernel = launch->function->name;
  float* data = (float*)(uintptr_t)launch->arguments[0];
  float* output = (float*)(uintptr_t)launch->arguments[2];
  now_us += strcmp(kernel, "slow") == 0 ? 60000 : 20;
  if (HangsNow()) hanging = 1;
  if (strcmp(kernel, "fault") == 0) sticky = kIllegalAddress;
  if (strcmp(kernel, "lost") == 0) sticky = kUnknown;
  if (strcmp(kernel, "hang") == 0) hanging = 1;
  if (strcmp(kernel, "killed") == 0) raise(SIGKILL);
  if (sticky != 0 || hanging || strcmp(kernel, "skip") == 0) return;
  if (!launch->function->is_dense) return;
  Dense(data, (const float*)(uintptr_t)launch->arguments[1], output);
  if (strcmp(kernel, "wrong") == 0) output[37] += 1;
  if (strcmp(kernel, "late") == 0 && ++calls > 4) output[37] += 1;
  if (strcmp(kernel, "past_end") == 0) output[128 + 15] = 1;
  if (strcmp(kernel, "before_start") == 0) output[-2] = 1;
  if (strcmp(kernel, "input") == 0) data[1] += 1;
}

static void Execute(const Launch* launch) {
  const uint64_t* arguments = launch->arguments;
  if (launch->function == NULL) {
    memmove((void*)(uintptr_t)arguments[0], (void*)(uintptr_t)arguments[1], arguments[2]);
  } else if (executor != NULL) {
    now_us += 20;
    ++counts.launches;
    if (sticky == 0 &&
        executor(executor_context, launch->function->name, launch->grid, launch->block,
                 launch->shared, arguments, launch->function->parameters) != 0) {
      sticky = kIllegalAddress;
    }
  } else {
    ExecuteByName(launch);
  }
}

static int Enqueue(const Launch* launch) {
  if (current == NULL) return kInvalidContext;
  if (sticky != 0) return sticky;
  if (!capturing) {
    Execute(launch);
  } else if (recorded->count < kMaxCaptured) {
    recorded->launches[recorded->count++] = *launch;
  }
  return 0;
}
API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  (void)stream;
  const Launch copy = {NULL, {0}, {0}, 0, {to, from, bytes}};
  return Enqueue(&copy);
}
API cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** arguments, void** extra) {
  (void)stream, (void)extra;
  if (gx * gy * gz * bx * by * bz == 0) return kInvalidValue;
  Launch launch = {function, {gx, gy, gz}, {bx, by, bz}, shared, {0}};
  if (shared > launch.function->most_shared) return kInvalidValue;
  if (shared > counts.most_shared) counts.most_shared = shared;
  for (int i = 0; i < launch.function->parameters; ++i) {
    launch.arguments[i] = *(uint64_t*)arguments[i];
  }
  return Enqueue(&launch);
}
// Only for recording: kernels on it would not wait for copies on the default stream.
static int non_blocking_stream = 0;
API cuStreamCreate(void** stream, unsigned flags) {
  if (flags > 1) return 1;
  *stream = flags == 1 ? (void*)&non_blocking_stream : (void*)&now_us;
  return 0;
}
API cuStreamDestroy_v2(void* stream) {
  (void)stream;
  return 0;
}
API cuStreamQuery(void* stream) {
  (void)stream;
  return hanging ? kNotReady : sticky;
}
API cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof(double));
  return 0;
}
API cuEventDestroy_v2(void* event) {
  free(event);
  return 0;
}
API cuEventRecord(void* event, void* stream) {
  (void)stream;
  *(double*)event = now_us;
  return 0;  // errors of kernels are reported later
}
API cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = (float)((*(double*)end - *(double*)start) * 1e-3);
  return sticky;
}

#ifndef FAKE_NO_GRAPHS
API cuStreamBeginCapture_v2(void* stream, int mode) {
  (void)mode;
  if (stream != &non_blocking_stream) ++counts.recorded_in_the_way;
  capturing = 1;
  recorded = calloc(1, sizeof(Graph));
  ++counts.graphs;
  return 0;
}
API cuStreamEndCapture(void* stream, void** graph) {
  (void)stream;
  capturing = 0;
  *graph = recorded;
  return 0;
}
API cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  (void)flags;
  *executable = malloc(sizeof(Graph));
  memcpy(*executable, graph, sizeof(Graph));
  return 0;
}
API cuGraphLaunch(void* executable, void* stream) {
  if (stream == &non_blocking_stream) return 1;
  const Graph* graph = executable;
  ++counts.replays;
  // A replay avoids the cost of single launches: 1 instead of 20 us each.
  for (int i = 0; i < graph->count; ++i) Execute(&graph->launches[i]);
  now_us -= graph->count;
  return sticky;
}
API cuGraphExecDestroy(void* executable) {
  free(executable);
  return 0;
}
API cuGraphDestroy(void* graph) {
  --counts.graphs;
  free(graph);
  return 0;
}
#endif

// --- NVML, in the same file: a separate library in a real driver ---
API nvmlInit_v2(void) { return 0; }
API nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &now_us;
  return strncmp(id, "none", 4) == 0 ? 6 : 0;
}
API nvmlDeviceGetClockInfo(void* device, int domain, unsigned* mhz) {
  (void)device, (void)domain;
  *mhz = 1500;
  return 0;
}
API nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  (void)device;
#ifdef FAKE_NO_GRAPHS
  *reasons = 0x40;  // this device is hot
#else
  *reasons = 0x4;
#endif
  return 0;
}
#ifndef FAKE_NO_GRAPHS
/* 100 W while something runs. */
API nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  (void)device;
  *millijoules = (unsigned long long)(now_us / 10);
  return 0;
}
#endif
