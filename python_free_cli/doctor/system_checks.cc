// Checks of properties of the system that make candidates or jobs fail.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "python_free_cli/doctor/checks.h"
#include "src/base/strings.h"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

void InspectClock(const CheckInput& in, Finding& out) {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const auto current = in.files.Read(folder + "current_clocksource");
  if (!current) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  out.is = *current;
  // Clock sources that are read without a system call, in tens of nanoseconds.
  constexpr std::array<std::string_view, 4> kFast = {"tsc", "kvm-clock", "arch_sys_counter",
                                                     "hyperv_clocksource_tsc_page"};
  if (std::ranges::find(kFast, *current) != kFast.end()) return;
  const std::string all = in.files.Read(folder + "available_clocksource").value_or("");
  const std::vector<std::string> available = Split(all, ' ');
  out.verdict = Severity::kProblem;
  out.command = "add tsc=reliable to the kernel's command line";
  for (const std::string& name : available) {
    if (std::ranges::find(kFast, name) == kFast.end()) continue;
    out.command = "echo " + name + " | sudo tee " + folder + "current_clocksource";
    break;
  }
}

void InspectShm(const CheckInput& in, Finding& out) {
  // Artifacts and the tensors of a candidate; those of large networks take some 100 MB.
  constexpr std::int64_t kWanted = 512 * kMiB;
  if (in.probe.shm_free_bytes < 0) {
    out.verdict = Severity::kAdvice;
    out.is = "does not exist; temporary files go to $TMPDIR or /tmp";
    out.command = "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm";
    return;
  }
  out.is = fmt::format("{} MiB free", in.probe.shm_free_bytes / kMiB);
  const auto mounts = in.files.Read("/proc/self/mounts");
  std::istringstream lines(mounts.value_or(""));
  bool noexec = false;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() > 3 && words[1] == "/dev/shm") {
      noexec = ("," + words[3] + ",").find(",noexec,") != std::string::npos;
    }
  }
  if (noexec) {
    out.verdict = Severity::kAdvice;
    out.is += ", but mounted noexec; candidates go to a disk";
    out.command = "sudo mount -o remount,exec /dev/shm";
  } else if (in.probe.shm_free_bytes < kWanted) {
    out.verdict = Severity::kProblem;
    out.command = "sudo mount -o remount,size=2G /dev/shm    # for a container: --shm-size 2g";
  }
}

/// Returns the soft limit of a row of /proc/self/limits; -1 for unlimited; nullopt without the row.
std::optional<std::int64_t> SoftLimit(const std::string& limits, std::string_view row) {
  std::istringstream lines(limits);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(row)) continue;
    std::istringstream words(line.substr(row.size()));
    std::string soft;
    words >> soft;
    if (soft == "unlimited") return -1;
    const auto number = ParseInt64(soft);
    if (number.ok()) return *number;
  }
  return std::nullopt;
}

void InspectLimits(const CheckInput& in, Finding& out) {
  struct Least {
    std::string_view row;
    std::int64_t least;
    std::string_view option;  // of ulimit
    std::int64_t unit;        // of ulimit, in bytes or pieces
  };
  // Files: six per worker, and those of the store. Processes: workers and their threads. Address
  // space and file size: LLVM, a candidate and a large library.
  constexpr std::array<Least, 5> kMin = {{{"Max open files", 1024, "-n", 1},
                                          {"Max processes", 512, "-u", 1},
                                          {"Max address space", std::int64_t{16} << 30, "-v", 1024},
                                          {"Max file size", std::int64_t{4} << 30, "-f", 1024},
                                          {"Max stack size", 1 << 20, "-s", 1024}}};
  const auto limits = in.files.Read("/proc/self/limits");
  if (!limits) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  std::vector<std::string> low, raise;
  for (const Least& one : kMin) {
    const auto limit = SoftLimit(*limits, one.row);
    if (!limit || *limit < 0 || *limit >= one.least) continue;
    low.push_back(fmt::format("{} {}, expected {} or more", one.row.substr(4), *limit, one.least));
    raise.push_back(fmt::format("ulimit {} {}", one.option, one.least / one.unit));
  }
  out.is = low.empty() ? "open files, processes, memory and file sizes are sufficient"
                       : fmt::format("{}", fmt::join(low, "; "));
  if (low.empty()) return;
  out.verdict = Severity::kProblem;
  out.command = fmt::format("{}", fmt::join(raise, " && "));
}

void InspectMemory(const CheckInput& in, Finding& out) {
  const auto text = in.files.Read("/proc/meminfo");
  std::int64_t available = -1;
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    std::istringstream words(line.substr(13));
    words >> available;
  }
  if (available < 0) {
    out.verdict = Severity::kNote;
    out.is = "not reported by the system";
    return;
  }
  out.is = fmt::format("{} MiB free", available >> 10);
  constexpr std::int64_t kWantedKib = std::int64_t{2} << 20;
  if (available >= kWantedKib) return;
  out.verdict = Severity::kAdvice;
  out.command = "ps -eo rss,comm --sort=-rss | head    # stop processes that are not needed";
}

void InspectSandbox(const CheckInput& in, Finding& out) {
  out.is = in.probe.sandbox_refused.empty() ? "system call filter, Landlock, user namespace"
                                            : in.probe.sandbox_refused;
  if (in.probe.sandbox_refused.empty()) return;
  out.verdict = Severity::kNote;
}

}  // namespace

std::vector<Check> SystemChecks() {
  return {
      {"clock source", "a clock that needs a system call adds a microsecond per reading",
       &InspectClock},
      {"/dev/shm", "holds candidates and their tensors; a disk is slower, and a full one fails",
       &InspectShm},
      {"limits", "a worker that runs out of files, processes or memory fails correct candidates",
       &InspectLimits},
      {"memory", "a machine that swaps measures its disk", &InspectMemory},
      {"sandbox", "candidates and code from packages run with restricted rights", &InspectSandbox},
  };
}

}  // namespace tilewright::cli
