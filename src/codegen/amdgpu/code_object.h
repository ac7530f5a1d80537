#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Resources of one kernel as a code object's metadata state them.
struct AmdKernelResources {
  std::string kernel;
  int vector_registers = 0, scalar_registers = 0;  ///< of 4 bytes; per thread, and per wavefront
  int vector_spills = 0, scalar_spills = 0;        ///< registers kept in memory
  std::int64_t private_bytes = 0;                  ///< memory of one thread
  std::int64_t local_bytes = 0;                    ///< of a block, without that of the launch
  int wave_lanes = 0, threads = 0;
  int parameters = 0;  ///< that the code takes
};

/// Returns the resources of the kernels in a code object (version 3 or later).
/// Errors: kInvalidArgument for another file.
Result<std::vector<AmdKernelResources>> ResourcesOfCodeObject(std::string_view code);

}  // namespace tilewright
