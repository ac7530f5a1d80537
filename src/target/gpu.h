#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Compute capability of a CUDA target, 75 for 7.5: from -arch=sm_75, or else from its -model; 70
/// where neither is given.
/// Errors: kInvalidArgument for another kind, an -arch that is none, or an unknown -model without
/// -arch; kUnsupported for a device older than 5.0.
Result<int> ComputeCapabilityOf(const Target& target);

/// Stands for every GPU that runs the target's own machine code, of that generation and not older:
/// without a model, so that a record is never a hit, but may be a near hit.
/// Errors: those of ComputeCapabilityOf.
Result<DeviceFingerprint> GenericGpuFor(const Target& target);

/// Whether tensor cores may multiply float32 as tf32, which drops 13 bits of each factor: only
/// where the target says `-tf32`.
bool AllowsTf32(const Target& target);
/// Errors: kInvalidArgument if a CUDA target says -tf32 with another value than 0 or 1, or is of a
/// capability below 8.0, which has no tf32; those of ComputeCapabilityOf with -tf32.
Status CheckTf32(const Target& target);

/// What one multiprocessor holds at the same time.
struct MultiprocessorLimits {
  std::int64_t threads = 2048;
  std::int64_t blocks = 32;
  std::int64_t shared_bytes = 96 * 1024;
  std::int64_t registers = 65536;               ///< of 4 bytes
  std::int64_t block_shared_bytes = 96 * 1024;  ///< one block may ask for that much of it
};
/// Of a compute capability; one that is not known is like the next older one that is.
/// Source: CUDA C++ Programming Guide, technical specifications per compute capability.
MultiprocessorLimits LimitsOf(int capability);

}  // namespace tilewright
