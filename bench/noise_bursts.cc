// Intermittent load: noise_bursts SECONDS [SEED]. For SECONDS, bursts of 0.1 to 5 s with pauses of
// 0.3 to 4 s between them, of random lengths (uniform in their logarithms), on every core at once.
// Each computes, and reads memory beyond its caches. Writes "begin SECONDS LENGTH" to standard
// output for each. For bench/noise_test.sh.
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/process/subprocess.h"
#include "src/base/random.h"

namespace tilewright {
namespace {

constexpr double kMinBurst = 0.1, kMaxBurst = 5;
constexpr double kMinPause = 0.3, kMaxPause = 4;
constexpr std::size_t kDoubles = std::size_t{4} << 20;  // 32 MiB

double Between(Random& random, double least, double most) {
  return least * std::pow(most / least, random.Uniform());
}

/// Generates load while `on`, until `over`.
void Disturb(int core, const std::atomic<bool>& on, const std::atomic<bool>& over) {
  (void)SetCpuAffinity({core});
  std::vector<double> data(kDoubles, 1.0);
  SystemClock clock;
  std::size_t at = 0;
  while (!over) {
    if (!on) {
      clock.SleepSeconds(1e-3);
      continue;
    }
    for (int i = 0; i < 1 << 14; ++i) {
      data[at] = data[at] * 0.5 + 0.5;
      at = (at + 8) % kDoubles;
    }
  }
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: noise_bursts SECONDS [SEED]\n");
    return 2;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no load after the test
  const double seconds = std::atof(argv[1]);
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  std::atomic<bool> on{false}, over{false};
  std::vector<std::thread> threads;
  for (const int core : AllowedCores()) {
    threads.emplace_back([core, &on, &over] { Disturb(core, on, over); });
  }
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  const auto left = [&] { return seconds - (clock.MonotonicSeconds() - start); };
  while (left() > 0) {
    clock.SleepSeconds(std::min(left(), Between(random, kMinPause, kMaxPause)));
    if (left() <= 0) break;
    const double burst = std::min(left(), Between(random, kMinBurst, kMaxBurst));
    std::printf("begin %.2f %.2f\n", clock.MonotonicSeconds() - start, burst);
    std::fflush(stdout);
    on = true;
    clock.SleepSeconds(burst);
    on = false;
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) { return tilewright::Main(argc, argv); }
