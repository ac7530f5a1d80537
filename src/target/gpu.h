#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Returns the compute capability of a CUDA target, 75 for 7.5: from -arch=sm_75, else from its
/// -model; 70 if neither is given. For OpenCL and AMD GPUs: DeviceTraits::grid_capability.
/// Errors: kInvalidArgument for another kind, an invalid -arch, or an unknown -model without -arch;
/// kUnsupported for a device older than 5.0; those of AmdProcessorOf.
Result<int> ComputeCapabilityOf(const Target& target);

/// Processor of an AMD GPU as LLVM and HIP name it.
struct AmdProcessor {
  std::string_view name;               ///< "gfx906"
  int wave_lanes = 64;                 ///< lanes of a wavefront: 64, or 32 from gfx10 on
  std::int64_t resident_lanes = 2560;  ///< largest number of threads of a compute unit
};
/// Returns the processors that code is generated for, in ascending order.
std::span<const AmdProcessor> AmdProcessors();
/// Returns the processor of a `rocm` target: from -mcpu=gfx906, else from -model=gfx906; gfx900 if
/// neither is given.
/// Errors: kInvalidArgument for another kind, or an unknown processor.
Result<AmdProcessor> AmdProcessorOf(const Target& target);

/// Returns the generic device for the target: every GPU of that generation, and not older, that
/// runs its machine code; for AMD, the target's processor; for OpenCL, every device. It has no
/// model, so a record of it is never a hit, but can be a near match. Errors: those of
/// ComputeCapabilityOf.
Result<DeviceFingerprint> GenericGpuFor(const Target& target);

/// Returns true if tensor cores may multiply float32 as tf32, which drops 13 bits of each factor:
/// only if the target has `-tf32`.
bool AllowsTf32(const Target& target);
/// Checks -tf32 of a CUDA target. Errors: kInvalidArgument for another value than 0 or 1, or for a
/// capability below 8.0, which has no tf32; those of ComputeCapabilityOf with -tf32.
Status CheckTf32(const Target& target);

/// Resident-block limits of one multiprocessor.
struct MultiprocessorLimits {
  std::int64_t threads = 2048;
  std::int64_t blocks = 32;
  std::int64_t shared_bytes = 96 * 1024;
  std::int64_t registers = 65536;               ///< of 4 bytes
  std::int64_t block_shared_bytes = 96 * 1024;  ///< maximum per block
};
/// Returns the limits of a compute capability; an unknown one has those of the next older known
/// one. Source: CUDA C++ Programming Guide, technical specifications per compute capability.
MultiprocessorLimits LimitsOf(int capability);
/// Returns the limits of the device of a grid's target: of its compute capability or AMD processor.
/// Errors: those of ComputeCapabilityOf.
Result<MultiprocessorLimits> LimitsOf(const Target& target);

}  // namespace tilewright
