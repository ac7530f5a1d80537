/* Times a library with an open dimension against a library of one size, interleaved in one process.
 *
 *   open_sizes OPEN.so FIXED.so DIMENSION SIZE THREADS SECONDS
 *
 * Prints the size, the fastest run of each in microseconds, the median of the ratios of runs next
 * to each other, and the largest difference of an output relative to its largest element (float32).
 */

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/runtime/model.h"

enum { kMaxTensors = 16, kMaxRuns = 100000 };

/* Processor time of this process with one thread, so that other programs do not count. */
static clockid_t clock_used = CLOCK_MONOTONIC;

static double Seconds(void) {
  struct timespec now;
  clock_gettime(clock_used, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void Require(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "open_sizes: %s\n", what);
  exit(1);
}

static void* Symbol(const char* path, const char* name, int required) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  Require(library != NULL, dlerror());
  void* symbol = dlsym(library, name);
  Require(symbol != NULL || !required, name);
  return symbol;
}

static void* Memory(int64_t bytes) {
  void* memory = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
  Require(memory != NULL, "no memory");
  return memory;
}

static int CompareDoubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double Run(const TwModelFunctions* functions, const void* const* inputs, void** outputs) {
  const double start = Seconds();
  Require(functions->run(functions->model, inputs, outputs, NULL, NULL) == 0, "a run failed");
  return Seconds() - start;
}

int main(int argc, char** argv) {
  Require(argc == 7, "OPEN.so FIXED.so DIMENSION SIZE THREADS SECONDS");
  const TwModelFunctions* open = Symbol(argv[1], "tilewright_model", 1);
  const TwOpenFunctions* sizes = Symbol(argv[1], "tilewright_open", 1);
  const TwModelFunctions* fixed = Symbol(argv[2], "tilewright_model", 1);
  const int32_t threads = atoi(argv[5]);
  if (threads == 1) clock_used = CLOCK_PROCESS_CPUTIME_ID;
  Require(sizes->set_size(open->model, argv[3], atoll(argv[4])) == 0, "no such size");
  Require(open->set_threads(open->model, threads) == 0, "no threads");
  Require(fixed->set_threads(fixed->model, threads) == 0, "no threads");
  const TwModel *a = open->model, *b = fixed->model;
  Require(a->input_count == b->input_count && a->output_count == b->output_count &&
              a->input_count < kMaxTensors && a->output_count < kMaxTensors,
          "other inputs or outputs");
  const void* inputs[kMaxTensors] = {0};
  void *made[kMaxTensors] = {0}, *expected[kMaxTensors] = {0};
  unsigned seed = 1;
  for (int64_t i = 0; i < a->input_count; ++i) {
    Require(a->inputs[i].bytes == b->inputs[i].bytes, "an input of another size");
    void* memory = Memory(a->inputs[i].bytes);
    inputs[i] = memory;
    if (strcmp(a->inputs[i].dtype, "int64") == 0) { /* numbers of words */
      for (int64_t e = 0; e < a->inputs[i].bytes / 8; ++e) ((int64_t*)memory)[e] = e * 7 % 100;
      continue;
    }
    float* input = memory;
    for (int64_t e = 0; e < a->inputs[i].bytes / 4; ++e) {
      seed = seed * 1664525u + 1013904223u;
      input[e] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
  }
  for (int64_t i = 0; i < a->output_count; ++i) {
    Require(a->outputs[i].bytes == b->outputs[i].bytes, "an output of another size");
    made[i] = Memory(a->outputs[i].bytes);
    expected[i] = Memory(a->outputs[i].bytes);
  }
  for (int warm = 0; warm < 3; ++warm) {
    Run(open, inputs, made);
    Run(fixed, inputs, expected);
  }
  double* ratios = malloc(kMaxRuns * sizeof *ratios);
  Require(ratios != NULL, "no memory");
  double least_open = 1e9, least_fixed = 1e9;
  int runs = 0;
  const double end = Seconds() + atof(argv[6]);
  while (runs < kMaxRuns && (runs < 5 || Seconds() < end)) {
    double first = 0, second = 0;
    if (runs % 2 == 0) {
      first = Run(open, inputs, made);
      second = Run(fixed, inputs, expected);
    } else {
      second = Run(fixed, inputs, expected);
      first = Run(open, inputs, made);
    }
    if (first < least_open) least_open = first;
    if (second < least_fixed) least_fixed = second;
    ratios[runs++] = first / second;
  }
  qsort(ratios, (size_t)runs, sizeof *ratios, CompareDoubles);
  double error = 0, largest = 0;
  for (int64_t i = 0; i < a->output_count; ++i) {
    for (int64_t e = 0; e < a->outputs[i].bytes / 4; ++e) {
      const double x = ((float*)made[i])[e], y = ((float*)expected[i])[e];
      if (fabs(x - y) > error) error = fabs(x - y);
      if (fabs(y) > largest) largest = fabs(y);
    }
  }
  printf("%s,%.2f,%.2f,%.3f,%.1e\n", argv[4], 1e6 * least_open, 1e6 * least_fixed, ratios[runs / 2],
         largest > 0 ? error / largest : error);
  return 0;
}
