#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/schedule/summary.h"
#include "src/space/config.h"
#include "src/target/gpu.h"

namespace tilewright::cost_model {

/// What the launch that does most of the arithmetic of a program asks of a GPU, from its loop
/// summary: nothing is lowered. Estimates; what they leave out is in docs/gpu.md.
struct GpuProfile {
  double blocks = 1, threads = 1;  ///< of the grid; of a block
  double virtual_threads = 1;      ///< of each thread
  double shared_bytes = 0;         ///< of a block
  double registers = 0;            ///< of a thread
  double occupancy = 0;            ///< warps a multiprocessor holds, of those it could hold
  double ops = 0;                  ///< of the launch
  double sums = 1;                 ///< accumulators of a thread
  double steps = 1;                ///< copies to shared memory, one after the other
  double global_bytes = 0;         ///< that loads and stores ask for
  double sector_bytes = 0;         ///< that are moved for them, in sectors of 32 bytes
  double shared_loads = 0;         ///< of all threads, from shared memory
  double bank_passes = 0;          ///< what these take: one for each conflict-free warp
};
/// limits: of the device's multiprocessors. Zero launches give zeros.
GpuProfile ProfileLaunch(const LoopSummary& summary, const MultiprocessorLimits& limits);

/// Names of the features of a candidate for a GPU.
const std::vector<std::string>& GpuFeatureNames();
/// Features of a candidate for a GPU. The columns are those of ExtractFeatures with another
/// meaning, unused ones zero: a model learns from candidates of one kind of target only.
/// out: FeatureCount() values, all finite.
void ExtractGpuFeatures(const LoopSummary& summary, const MultiprocessorLimits& limits,
                        const Config& config, std::span<float> out);

}  // namespace tilewright::cost_model
