// Runs one command and ends its descendants. After the fork of a program with threads, nothing is
// allocated and only async-signal-safe calls are made.

#include "measure/program/keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "src/base/process/subprocess.h"

namespace tilewright::measure {
namespace {

constexpr int kReportFd = 3, kLeashFd = 4;
constexpr int kGraceMilliseconds = 50;          // for processes that are about to end by themselves
constexpr std::int64_t kEndNs = 5'000'000'000;  // for processes that do not end
constexpr std::size_t kMaxProcesses = 1 << 16;

/// State shared between the keeper and the command until exec.
struct SharedStart {
  std::int64_t start_ns;
  int exec_error;
};

std::int64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void SleepMilliseconds(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

// Processes of the machine and their parents. Static: nothing may be allocated after the fork.
int process_pid[kMaxProcesses];
int process_parent[kMaxProcesses];
bool process_zombie[kMaxProcesses];
bool process_marked[kMaxProcesses];

/// Parses a decimal number; negative if the text does not begin with one.
int NumberIn(const char* text) {
  if (*text < '0' || *text > '9') return -1;
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

/// Returns the parent in /proc/PID/stat; negative if the process is gone. A process is also a
/// zombie if its main thread has ended and others run.
int ParentOf(const char* pid_text, bool& zombie) {
  char path[64] = "/proc/";
  std::strncat(path, pid_text, 16);
  std::strcat(path, "/stat");
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[1024];
  const ssize_t count = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  if (count <= 0) return -1;
  text[count] = '\0';
  const char* name_end = std::strrchr(text, ')');  // the name may contain anything
  if (name_end == nullptr || name_end[1] == '\0' || name_end[2] == '\0') return -1;
  zombie = name_end[2] == 'Z';
  return NumberIn(name_end + 4);
}

/// Lists the processes of the machine. Returns their number.
std::size_t ListProcesses() {
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  alignas(8) char buffer[8192];
  std::size_t found = 0;
  while (true) {
    const long count = ::syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (count <= 0) break;
    for (long at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->length;
      const int pid = NumberIn(entry->name);
      if (pid < 0 || found == kMaxProcesses) continue;
      const int parent = ParentOf(entry->name, process_zombie[found]);
      if (parent < 0) continue;
      process_pid[found] = pid;
      process_parent[found] = parent;
      process_marked[found] = false;
      ++found;
    }
  }
  ::close(folder);
  return found;
}

/// Sends a signal to all descendants of this process. Returns the number of those that are no
/// zombies.
int SignalDescendants(int signal) {
  const std::size_t count = ListProcesses();
  const int self = ::getpid();
  int descendants = 0;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (process_marked[i]) continue;
      bool below = process_parent[i] == self;
      for (std::size_t k = 0; k < count && !below; ++k) {
        below = process_marked[k] && process_pid[k] == process_parent[i];
      }
      if (!below) continue;
      process_marked[i] = more = true;
      if (!process_zombie[i]) ++descendants;
      ::kill(process_pid[i], signal);
    }
  }
  return descendants;
}

/// Reaps children that have ended. Returns false if there are no children at all.
bool ReapEnded() {
  while (true) {
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended == 0) return true;
    if (ended < 0 && errno != EINTR) return false;
  }
}

/// Ends all descendants. Gives up after a time: a process of another user cannot be ended. Returns
/// how many were running.
int EndDescendants(bool with_grace) {
  for (int waited = 0; with_grace && waited < kGraceMilliseconds && ReapEnded(); ++waited) {
    SleepMilliseconds(1);
  }
  int most = 0;
  const std::int64_t until = NowNs() + kEndNs;
  while (ReapEnded() && NowNs() < until) {
    // Stopped processes cannot fork, so the list becomes complete.
    for (int before = -1, now = 0; now != before && NowNs() < until;) {
      before = now;
      now = SignalDescendants(SIGSTOP);
      most = now > most ? now : most;
    }
    SignalDescendants(SIGKILL);
    for (int waited = 0; waited < 20 && ReapEnded(); ++waited) SleepMilliseconds(1);
  }
  return most;
}

[[noreturn]] void RunCommand(const KeeperPlan& plan, SharedStart& shared) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (plan.file_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(plan.file_bytes);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (plan.has_cores) ::sched_setaffinity(0, sizeof(plan.cores), &plan.cores);
  if (plan.priority != 0) (void)SetSessionPriority(plan.priority);
  ::close_range(kReportFd, ~0U, 0);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (plan.folder != nullptr && ::chdir(plan.folder) != 0) {
    shared.exec_error = errno;
    ::_exit(127);
  }
  shared.start_ns = NowNs();
  ::execve(plan.arguments[0], plan.arguments, plan.environment);
  shared.exec_error = errno;
  ::_exit(127);
}

/// Moves the descriptors of the plan to 0 to 4 and closes all others.
void ArrangeDescriptors(const KeeperPlan& plan) {
  constexpr int kHigh = 64;
  int high[5];
  const int given[5] = {plan.input, plan.output, plan.error, plan.report, plan.leash};
  for (int i = 0; i < 5; ++i) high[i] = ::fcntl(given[i], F_DUPFD, kHigh);
  for (int i = 0; i < 5; ++i) ::dup2(high[i], i);
  ::close_range(kLeashFd + 1, ~0U, 0);
}

/// Waits for the command or the leash. Returns whether the command has ended.
bool WaitForCommand(pid_t command) {
  const int watched = static_cast<int>(::syscall(SYS_pidfd_open, command, 0));
  constexpr int kPollMilliseconds = 2;  // before Linux 5.3
  while (true) {
    pollfd fds[2] = {{kLeashFd, POLLIN, 0}, {watched, POLLIN, 0}};
    const bool has_watch = watched >= 0;
    (void)::poll(fds, has_watch ? 2 : 1, has_watch ? -1 : kPollMilliseconds);
    siginfo_t info{};
    const int peeked =
        ::waitid(P_PID, static_cast<id_t>(command), &info, WEXITED | WNOHANG | WNOWAIT);
    if (peeked == 0 && info.si_pid == command) break;
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      if (has_watch) ::close(watched);
      return false;
    }
  }
  if (watched >= 0) ::close(watched);
  return true;
}

}  // namespace

[[noreturn]] void RunKeeper(const KeeperPlan& plan) {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, 0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ArrangeDescriptors(plan);
  auto* shared = static_cast<SharedStart*>(::mmap(
      nullptr, sizeof(SharedStart), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) ::_exit(1);
  KeeperReport report;
  const pid_t command = ::fork();
  if (command == 0) RunCommand(plan, *shared);
  for (int fd = 0; fd < kReportFd; ++fd) ::close(fd);
  if (command < 0) {
    report.exec_error = errno;
  } else if (WaitForCommand(command)) {
    const std::int64_t end_ns = NowNs();
    rusage used{};
    ::wait4(command, &report.status, 0, &used);
    report.exec_error = shared->exec_error;
    report.wall_ns = shared->start_ns > 0 ? end_ns - shared->start_ns : 0;
    report.cpu_us = (std::int64_t{used.ru_utime.tv_sec} + used.ru_stime.tv_sec) * 1'000'000 +
                    used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    report.preemptions = used.ru_nivcsw;
    report.leftovers = EndDescendants(/*with_grace=*/true);
  } else {
    (void)EndDescendants(/*with_grace=*/false);
    ::_exit(0);
  }
  (void)!::write(kReportFd, &report, sizeof(report));
  ::_exit(0);
}

}  // namespace tilewright::measure
