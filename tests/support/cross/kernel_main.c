/* kernel LIBRARY NAME FILE...: runs a kernel on the tensors in the files, its parameters in order,
 * and writes the last one, the result, back. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/runtime/abi.h"

enum { kMaxParameters = 16, kAlignment = 64, kMaxName = 256, kThreads = 1 };

static int Fail(const char* what) {
  fprintf(stderr, "kernel: %s\n", what);
  return 1;
}

static void* Allocate(size_t bytes) {
  return aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
}

/* Returns the contents of a file; null if it cannot be read. */
static void* Read(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  void* content = NULL;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  const long end = ftell(file);
  if (end >= 0 && fseek(file, 0, SEEK_SET) == 0) content = Allocate((size_t)end);
  *bytes = (size_t)end;
  if (content != NULL && fread(content, 1, *bytes, file) != *bytes) content = NULL;
  fclose(file);
  return content;
}

int main(int argc, char** argv) {
  if (argc < 4 || argc - 3 > kMaxParameters) return Fail("wrong number of arguments");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return Fail(dlerror());
  char info_name[kMaxName];
  snprintf(info_name, sizeof info_name, "%s_info", argv[2]);
  const TwKernel kernel = (TwKernel)(uintptr_t)dlsym(library, argv[2]);
  const TwKernelInfo* info = dlsym(library, info_name);
  if (kernel == NULL || info == NULL || info->abi_version != TW_ABI_VERSION) return Fail(argv[2]);
  if (info->parameters != (uint32_t)(argc - 3)) return Fail("wrong number of parameters");
  void* arguments[kMaxParameters] = {NULL};
  size_t bytes = 0;
  for (int i = 3; i < argc; ++i) {
    arguments[i - 3] = Read(argv[i], &bytes);
    if (arguments[i - 3] == NULL) return Fail(argv[i]);
  }
  void* workspace =
      Allocate((size_t)(info->workspace_bytes + kThreads * info->workspace_bytes_per_thread));
  if (workspace == NULL) return Fail("no memory");
  const int32_t code = kernel(arguments, workspace, NULL);
  if (code != 0) return Fail("the kernel returned an error");
  FILE* result = fopen(argv[argc - 1], "wb");
  if (result == NULL || fwrite(arguments[argc - 4], 1, bytes, result) != bytes) {
    return Fail(argv[argc - 1]);
  }
  return fclose(result);
}
