/* check M N K: runs the kernel that kernel_to_c printed for a dense layer, float32 [M,K] times
 * [N,K], and compares it with three plain loops. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void run(const float* data, const float* weight, float* result);

int main(int argc, char** argv) {
  const long rows = argc > 3 ? atol(argv[1]) : 0, columns = argc > 3 ? atol(argv[2]) : 0;
  const long depth = argc > 3 ? atol(argv[3]) : 0;
  if (rows < 1 || columns < 1 || depth < 1) {
    fprintf(stderr, "usage: check M N K\n");
    return 2;
  }
  float* data = malloc(sizeof *data * (size_t)(rows * depth));
  float* weight = malloc(sizeof *weight * (size_t)(columns * depth));
  float* result = malloc(sizeof *result * (size_t)(rows * columns));
  if (data == NULL || weight == NULL || result == NULL) return 2;
  for (long i = 0; i < rows * depth; ++i) data[i] = (float)(i * 7 % 31 - 15) / 16;
  for (long i = 0; i < columns * depth; ++i) weight[i] = (float)(i * 11 % 29 - 14) / 16;
  for (long i = 0; i < rows * columns; ++i) result[i] = NAN;
  run(data, weight, result);
  double largest = 0;
  for (long m = 0; m < rows; ++m) {
    for (long n = 0; n < columns; ++n) {
      double sum = 0;
      for (long k = 0; k < depth; ++k) sum += (double)data[m * depth + k] * weight[n * depth + k];
      const double difference = fabs(sum - result[m * columns + n]);
      if (!(difference <= largest)) largest = difference; /* also for NaN */
    }
  }
  free(data);
  free(weight);
  free(result);
  printf("largest difference from the plain loops: %g\n", largest);
  return largest <= 1e-4 ? 0 : 1;
}
