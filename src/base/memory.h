#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// Returns the bytes of this machine's memory.
std::int64_t MachineMemoryBytes();

/// Checks a size that a file claims before anything is allocated.
/// Errors: kUnsupported, naming `what`, if it exceeds `available` bytes.
Status CheckMemory(std::string_view what, std::int64_t bytes,
                   std::int64_t available = MachineMemoryBytes());

}  // namespace tilewright
