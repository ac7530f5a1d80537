/* run_library INPUT: runs a compiled model of one input and one output on a tensor from a file (raw
 * or .npy) and prints the five largest numbers it gives. In C, with the library itself. */

#include <stdio.h>
#include <stdlib.h>

#include "model.h"
#include "tensor_file.h"

int main(int argc, char** argv) {
  if (argc != 2 || model_input_count() != 1 || model_output_count() != 1) {
    fprintf(stderr, "usage: run_library INPUT, for a model of one input and one output\n");
    return 2;
  }
  const TilewrightValue* input = model_input(0);
  const TilewrightValue* output = model_output(0);
  void* data = malloc((size_t)input->bytes);
  void* result = malloc((size_t)output->bytes);
  int code = 1;
  if (data != NULL && result != NULL &&
      ReadTensor(argv[1], input->dtype, input->shape, input->rank, data, input->bytes) == 0) {
    const void* inputs[] = {data};
    void* outputs[] = {result};
    code = model_run(inputs, outputs);
    if (code != 0) fprintf(stderr, "model_run: code %d\n", code);
    if (code == 0) code = PrintTopFive(output->dtype, result, output->bytes);
  }
  free(result);
  free(data);
  return code == 0 ? 0 : 1;
}
