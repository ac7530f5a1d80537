#include "measure/worker/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "measure/sandbox/sandbox.h"
#include "measure/worker/parallel.h"
#include "src/base/files/file.h"
#include "src/base/process/subprocess.h"
#include "src/runtime/loader.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

constexpr int kProbeMilliseconds = 10000;

std::string TryInSandbox(const ProbeOrder& order, const ReadAllowlist& readable) {
  (void)DropPrivileges(readable);
  Pool pool;
  if (order.threads > 1) {
    TwPoolOptions options = TwPoolDefaults(order.threads);
    options.widen = 1;
    pool.reset(TwPoolCreate(&options));
    if (pool == nullptr) {
      return "no threads can be started (" + std::to_string(order.threads) +
             " asked for): " + ErrnoReason();
    }
  }
  (void)InstallSyscallFilter();
  auto loaded = LoadKernel(order.path, kProbeSymbol);
  if (!loaded.ok()) return loaded.status().message();
  return loaded->entry.run(nullptr, nullptr, nullptr) == 0 ? "" : "a probe returned no 0";
}

[[noreturn]] void RunProbe(const ProbeOrder& order, const ReadAllowlist& readable,
                           int result) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  DetachFromTerminal();
  const std::string problem = TryInSandbox(order, readable);
  const std::string line = problem.empty() ? "ok" : problem;
  (void)!::write(result, line.data(), line.size());
  ::_exit(0);
}

}  // namespace

std::string MissingSystemFeatures() {
  for (const char* path : {"/proc/self/statm", "/proc/self/task"}) {
    if (::access(path, R_OK) != 0) return std::string(path) + ": " + ErrnoReason();
  }
  return {};
}

std::string LoadProbe(const ProbeOrder& order) {
  const std::string missing = MissingSystemFeatures();
  if (!missing.empty()) return missing;
  auto target = Target::Parse(order.target);
  if (!target.ok()) return target.status().message();
  if (!DeviceTraitsOf(*target).machine_code) return ReadFile(order.path).status().message();
  const ReadAllowlist readable = ReadAllowlistBuilder().Of(order.path, *target);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe can be made: " + ErrnoReason();
  const pid_t pid = ::fork();
  if (pid == 0) RunProbe(order, readable, ends[1]);
  const std::string no_process = pid < 0 ? "no process can be made: " + ErrnoReason() : "";
  ::close(ends[1]);
  std::string said;
  pollfd runner_times{ends[0], POLLIN, 0};
  if (pid > 0 && ::poll(&runner_times, 1, kProbeMilliseconds) > 0) {
    std::array<char, 512> text{};
    const ssize_t count = ::read(ends[0], text.data(), text.size());
    if (count > 0) said.assign(text.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (pid < 0) return no_process;
  int status = 0;
  if (said.empty()) ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  if (said.empty()) {
    return "a process that loads a probe ended: " +
           (WIFSIGNALED(status) ? SignalName(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status)));
  }
  return said == "ok" ? "" : said;
}

}  // namespace tilewright::measure
