/* What the kernels for dense, float32 [4,16] x [32,16] -> [4,32], have in common. */

#pragma once

#include <stdint.h>

#include "src/runtime/abi.h"

enum { kRows = 4, kDepth = 16, kColumns = 32, kElements = kRows * kColumns };

#define EXPORT __attribute__((visibility("default")))

static void Dense(void* const* arguments) {
  const float* data = arguments[0];
  const float* weight = arguments[1];
  float* out = arguments[2];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += (double)data[i * kDepth + k] * weight[j * kDepth + k];
      out[i * kColumns + j] = (float)sum;
    }
  }
}

/* Calls since the artifact was loaded. */
static int calls;
