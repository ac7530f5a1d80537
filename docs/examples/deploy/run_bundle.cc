// run_bundle PARAMETERS INPUT: as run_library.c, in C++ and with a bundle, whose library is given
// its parameters from a file.

#include <cstdio>
#include <vector>

#include "model.h"
#include "tensor_file.h"

int main(int argc, char** argv) {
  if (argc != 3 || model_input_count() != 1 || model_output_count() != 1) {
    std::fprintf(stderr,
                 "usage: run_bundle PARAMETERS INPUT, for a model of one input and output\n");
    return 2;
  }
  if (const int code = model_load(argv[1]); code != 0) {
    std::fprintf(stderr, "%s: not this model's parameters (code %d)\n", argv[1], code);
    return 1;
  }
  const TilewrightValue& input = *model_input(0);
  const TilewrightValue& output = *model_output(0);
  std::vector<unsigned char> data(static_cast<std::size_t>(input.bytes));
  std::vector<unsigned char> result(static_cast<std::size_t>(output.bytes));
  if (ReadTensor(argv[2], input.dtype, input.shape, input.rank, data.data(), input.bytes) != 0) {
    return 1;
  }
  const void* inputs[] = {data.data()};
  void* outputs[] = {result.data()};
  if (const int code = model_run(inputs, outputs); code != 0) {
    std::fprintf(stderr, "model_run: code %d\n", code);
    return 1;
  }
  return PrintTopFive(output.dtype, result.data(), output.bytes) == 0 ? 0 : 1;
}
