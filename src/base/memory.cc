#include "src/base/memory.h"

#include <fmt/format.h>
#include <unistd.h>

namespace tilewright {

std::int64_t MachineMemoryBytes() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

Status CheckMemory(std::string_view what, std::int64_t bytes, std::int64_t available) {
  if (bytes <= available) return Status();
  return Unsupported(fmt::format("{} takes {:.1f} GB of memory, there are {:.1f} GB", what,
                                 1e-9 * static_cast<double>(bytes),
                                 1e-9 * static_cast<double>(available)));
}

}  // namespace tilewright
