#include "src/base/process/process_name.h"

#include <unistd.h>

#include <array>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Returns the start time of a process in clock ticks after the boot; empty if it does not exist.
std::string StartOf(const std::string& process) {
  const auto stat = ReadFile("/proc/" + process + "/stat");
  if (!stat.ok()) return {};
  // The name of the program, in parentheses, may contain anything.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return {};
  const std::vector<std::string> fields = Split(std::string_view(*stat).substr(name_end + 1), ' ');
  constexpr std::size_t kState = 1, kThreads = 18, kStart = 20;
  if (fields.size() <= kStart) return {};
  // The first thread of a killed process can end before the others.
  if (fields[kState] == "Z" && fields[kThreads] <= "1") return {};
  return fields[kStart];
}

}  // namespace

std::string ProcessName() {
  const std::string process = std::to_string(::getpid());
  return HostName() + " " + process + " " + StartOf(process);
}

bool HasEnded(std::string_view process_name) {
  const std::vector<std::string> parts = Split(process_name, ' ');
  if (parts.size() != 3 || parts[0] != HostName() || !ParseInt64(parts[1]).ok()) return false;
  return StartOf(parts[1]) != parts[2];
}

}  // namespace tilewright
