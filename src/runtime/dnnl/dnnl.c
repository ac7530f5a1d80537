#define _GNU_SOURCE
#include "src/runtime/dnnl/dnnl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int Refuse(char* problem, size_t size, const char* why) {
  snprintf(problem, size, "%s", why);
  return 0;
}

/* Returns the major version of a file: the number after ".so.". */
static int MajorOf(const char* file) {
  const char* number = strstr(file, ".so.");
  return number != NULL && number[4] == '3' ? 3 : 2;
}

/* Resolves functions by their names, up to one without a name. Returns 0 if one is missing. */
typedef struct {
  const char* name;
  void* place;
} Function;
static int FindFunctions(void* handle, const Function* functions, char* problem, size_t size) {
  for (; functions->name != NULL; ++functions) {
    void* function = dlsym(handle, functions->name);
    if (function == NULL) {
      snprintf(problem, size, "it has no %s", functions->name);
      return 0;
    }
    memcpy(functions->place, &function, sizeof function);
  }
  return 1;
}

int TwDnnlLoad(Dnnl* dnnl, const char* file, char* problem, size_t size) {
  const int major = MajorOf(file);
  if (dnnl->stream != NULL) {
    snprintf(problem, size, "version %d is loaded already", dnnl->major);
    return dnnl->major == major;
  }
  /* A name is looked up in the system's library directories; a path could name any file. */
  if (strchr(file, '/') != NULL) return Refuse(problem, size, "a path, expected a library's name");
  if (dnnl->handle == NULL) dnnl->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (dnnl->handle == NULL) {
    snprintf(problem, size, "not on this machine: %s", dlerror());
    return 0;
  }
  const Function both[] = {{"dnnl_version", &dnnl->version},
                           {"dnnl_engine_create", &dnnl->engine_create},
                           {"dnnl_stream_create", &dnnl->stream_create},
                           {"dnnl_engine_destroy", &dnnl->engine_destroy},
                           {"dnnl_stream_destroy", &dnnl->stream_destroy},
                           {"dnnl_stream_wait", &dnnl->stream_wait},
                           {"dnnl_memory_desc_get_size", &dnnl->desc_size},
                           {"dnnl_reorder_primitive_desc_create", &dnnl->reorder},
                           {"dnnl_primitive_attr_create", &dnnl->attr_create},
                           {"dnnl_primitive_attr_set_scratchpad_mode", &dnnl->attr_scratchpad},
                           {"dnnl_primitive_attr_destroy", &dnnl->attr_destroy},
                           {"dnnl_primitive_desc_destroy", &dnnl->primitive_desc_destroy},
                           {"dnnl_primitive_desc_query_md", &dnnl->query},
                           {"dnnl_primitive_create", &dnnl->primitive_create},
                           {"dnnl_primitive_destroy", &dnnl->primitive_destroy},
                           {"dnnl_primitive_execute", &dnnl->execute},
                           {"dnnl_memory_create", &dnnl->memory_create},
                           {"dnnl_memory_set_data_handle", &dnnl->memory_set},
                           {"dnnl_memory_destroy", &dnnl->memory_destroy},
                           {NULL, NULL}};
  const Function second[] = {{"dnnl_memory_desc_init_by_tag", &dnnl->desc_by_tag},
                             {"dnnl_memory_desc_init_by_strides", &dnnl->desc_by_strides},
                             {"dnnl_dilated_convolution_forward_desc_init", &dnnl->convolution2},
                             {"dnnl_matmul_desc_init", &dnnl->matmul2},
                             {"dnnl_primitive_desc_create", &dnnl->primitive_desc_create2},
                             {NULL, NULL}};
  const Function third[] = {{"dnnl_memory_desc_create_with_tag", &dnnl->desc_by_tag},
                            {"dnnl_memory_desc_create_with_strides", &dnnl->desc_by_strides},
                            {"dnnl_memory_desc_destroy", &dnnl->desc_destroy3},
                            {"dnnl_convolution_forward_primitive_desc_create", &dnnl->convolution3},
                            {"dnnl_matmul_primitive_desc_create", &dnnl->matmul3},
                            {NULL, NULL}};
  if (!FindFunctions(dnnl->handle, both, problem, size)) return 0;
  if (dnnl->version()->major != major) {
    snprintf(problem, size, "version %d, expected %d", dnnl->version()->major, major);
    return 0;
  }
  if (!FindFunctions(dnnl->handle, major == 3 ? third : second, problem, size)) return 0;
  dnnl->major = major;
  *(void**)&dnnl->effective_isa = dlsym(dnnl->handle, "dnnl_get_effective_cpu_isa");
  *(void**)&dnnl->attr_float_mode = dlsym(dnnl->handle, "dnnl_primitive_attr_set_fpmath_mode");
  *(void**)&dnnl->get_threads = dlsym(dnnl->handle, "omp_get_max_threads");
  *(void**)&dnnl->set_threads = dlsym(dnnl->handle, "omp_set_num_threads");
  *(void**)&dnnl->start_threads = dlsym(dnnl->handle, "GOMP_parallel");
  if (dnnl->engine == NULL && dnnl->engine_create(&dnnl->engine, kEngineCpu, 0) != 0) {
    return Refuse(problem, size, "no engine");
  }
  if (dnnl->stream_create(&dnnl->stream, dnnl->engine, 1) != 0) {
    return Refuse(problem, size, "no stream");
  }
  return 1;
}
