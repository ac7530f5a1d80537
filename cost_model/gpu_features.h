#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/schedule/summary.h"
#include "src/space/config.h"
#include "src/target/gpu.h"

namespace tilewright::cost_model {

/// Resource use of the launch with most of a program's arithmetic on a GPU, from its loop summary,
/// without lowering. Estimates; docs/gpu.md lists what they omit.
struct GpuProfile {
  double blocks = 1, threads = 1;  ///< of the grid; of a block
  double virtual_threads = 1;      ///< of each thread
  double shared_bytes = 0;         ///< of a block
  double registers = 0;            ///< of a thread
  double occupancy = 0;            ///< resident warps of a multiprocessor, relative to its limit
  double ops = 0;                  ///< of the launch
  double sums = 1;                 ///< accumulators of a thread
  double steps = 1;                ///< copies to shared memory, one after the other
  double global_bytes = 0;         ///< requested by loads and stores
  double sector_bytes = 0;         ///< transferred for them, in sectors of 32 bytes
  double shared_loads = 0;         ///< of all threads, from shared memory
  double bank_passes = 0;          ///< bank passes of these loads: one for each conflict-free warp
};
/// Profiles the launch. limits: of the device's multiprocessors. Without launches, returns zeros.
GpuProfile ProfileLaunch(const LoopSummary& summary, const MultiprocessorLimits& limits);

/// Returns the names of the features of a candidate for a GPU.
const std::vector<std::string>& GpuFeatureNames();
/// Computes the features of a candidate for a GPU. The columns of ExtractFeatures have other
/// meanings here, unused ones are zero: a model is trained on candidates of one target kind only.
/// out: FeatureCount() values, all finite.
void ExtractGpuFeatures(const LoopSummary& summary, const MultiprocessorLimits& limits,
                        const Config& config, std::span<float> out);

}  // namespace tilewright::cost_model
