#pragma once

#include <chrono>
#include <cstdint>

#include "src/tensor/workload.h"

namespace tilewright {

/// Returns the seconds of a monotonic clock.
inline double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns convolution i of 1,000 that differ in channels and extents.
inline Workload SampleWorkload(int i) {
  Workload workload = *Workload::Parse(
      "conv2d(float32[1,64,56,56]NCHW,float32[64,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32");
  const std::int64_t channels = 16 * (1 + i % 40);
  workload.data.shape = {1, channels, 7 + i / 40, 7 + i / 40};
  workload.weight.shape = {64, channels, 3, 3};
  return workload;
}

}  // namespace tilewright
