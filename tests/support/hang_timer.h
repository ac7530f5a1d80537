#pragma once

#include <signal.h>
#include <sys/time.h>

#include <atomic>

namespace tilewright {

/// Ends the program by SIGALRM unless StartHangTimer is called again within this many seconds. The
/// timer counts single seconds instead of reading a clock: a stopped program (SIGSTOP, a suspended
/// machine) does not count as hung.
inline std::atomic<int> hang_timer_seconds{0};

inline void StartHangTimer(int seconds) {
  hang_timer_seconds = seconds;
  static const bool started = [] {
    struct sigaction action = {};
    action.sa_flags = SA_RESTART;
    action.sa_handler = [](int) {
      if (--hang_timer_seconds > 0) return;
      ::signal(SIGALRM, SIG_DFL);
      ::raise(SIGALRM);
    };
    const itimerval each_second = {{1, 0}, {1, 0}};
    return ::sigaction(SIGALRM, &action, nullptr) == 0 &&
           ::setitimer(ITIMER_REAL, &each_second, nullptr) == 0;
  }();
  (void)started;
}

}  // namespace tilewright
