// Files from which a process reads its CPU quota (src/runtime/cpu_limit.c). The input is the list
// of control groups and, after a zero byte, the quota of the root group.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/status.h"
#include "src/runtime/cpu_limit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;  // NOLINT: a test program of one function
  static const auto* const folder = [] {
    auto* made = new Result<LockedTempDir>(LockedTempDir::Create("tilewright-fuzz-"));
    TW_CHECK(made->ok());
    std::filesystem::create_directories((*made)->path() + "/proc/self");
    std::filesystem::create_directories((*made)->path() + "/sys/fs/cgroup");
    return made;
  }();
  const std::string root = (*folder)->path();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\0'), size);
  const std::string_view quota = text.substr(std::min(end + 1, size));
  TW_CHECK(WriteFile(root + "/proc/self/cgroup", text.substr(0, end)).ok());
  TW_CHECK(WriteFile(root + "/sys/fs/cgroup/cpu.max", quota).ok());
  TW_CHECK(TwCpuQuota(root.c_str()) >= 0);
  return 0;
}
