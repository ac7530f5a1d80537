/* dump LIBRARY INPUT...: runs a compiled model on raw inputs and writes what each operator made to
 * standard output: a line "name<TAB>logical layout<TAB>layout<TAB>bytes", then the bytes. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/runtime/model.h"

enum { kMaxTensors = 16 };

static int32_t Dump(void* context, int64_t index, const void* result, double seconds) {
  const TwModel* model = context;
  const TwStep* step = &model->steps[index];
  (void)seconds;
  printf("%s\t%s\t%s\t%lld\n", step->result->name, step->logical_layout, step->layout,
         (long long)step->result_bytes);
  fwrite(result, 1, (size_t)step->result_bytes, stdout);
  return 0;
}

static int Fail(const char* what) {
  fprintf(stderr, "dump: %s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return Fail("no library given");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return Fail(dlerror());
  const TwModelFunctions* functions = dlsym(library, "tilewright_model");
  if (functions == NULL) return Fail("no tilewright_model");
  const TwModel* model = functions->model;
  if (model->input_count != argc - 2 || model->input_count > kMaxTensors ||
      model->output_count > kMaxTensors) {
    return Fail("wrong number of inputs");
  }
  void* inputs[kMaxTensors] = {NULL};
  void* outputs[kMaxTensors] = {NULL};
  for (int64_t i = 0; i < model->input_count; ++i) {
    const size_t bytes = (size_t)model->inputs[i].bytes;
    FILE* file = fopen(argv[i + 2], "rb");
    inputs[i] = malloc(bytes);
    if (file == NULL || fread(inputs[i], 1, bytes, file) != bytes) return Fail(argv[i + 2]);
    fclose(file);
  }
  for (int64_t i = 0; i < model->output_count; ++i) {
    outputs[i] = malloc((size_t)model->outputs[i].bytes);
  }
  const int32_t code =
      functions->run(model, (const void* const*)inputs, outputs, Dump, (void*)(uintptr_t)model);
  if (code != 0) fprintf(stderr, "dump: code %d\n", code);
  dlclose(library);
  return code != 0;
}
