// Load of a fleet's broker and tuner, on this machine with a real nats-server and fake devices:
//   fleet_bench scaling [SECONDS [DEVICES...]]   trials of 50 ms, 1 to 256 devices, against the
//                          devices' limit, and the use of processor time
//   fleet_bench throughput devices that reply at once: trials per second, without a search
//   fleet_bench queueing   1,000 orders per second: from Submit to the result
//   fleet_bench shares     20 jobs of three priorities on 64 devices
//   fleet_bench simulate [DEVICES HOURS SECONDS CHURN DRIFT PROBES]
//                          the same code with a simulated clock: SECONDS a trial, CHURN the share
//                          of devices that fail in an hour, DRIFT the share that slow down once,
//                          PROBES 0: without interference
//                          probes
#include "bench/fleet_bench.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {

std::unique_ptr<NatsServerProcess> NatsServerProcess::Start(const std::string& program, int port) {
  static std::vector<ScopedTempDir> folders;
  folders.push_back(*ScopedTempDir::Create("tw_fleet_bench"));
  auto server = std::make_unique<NatsServerProcess>(folders.back().path(), port);
  SubprocessOptions options;
  options.command = {program, "-a",  "127.0.0.1",     "-p", std::to_string(port),
                     "-js",   "-sd", server->folder_, "-l", server->folder_ + "/log"};
  auto process = Subprocess::Start(options);
  TW_CHECK(process.ok(), process.status().message());
  server->process_ = *std::move(process);
  SystemClock clock;
  for (int i = 0; i < 100; ++i) {
    if (Connect(server->address("probe"), "probe").ok()) return server;
    clock.SleepSeconds(0.1);
  }
  return nullptr;
}

NatsServerProcess::~NatsServerProcess() {
  if (process_) process_->KillGroup();
}

FakeWorkers::FakeWorkers(const Address& address, int count, double seconds, int slots) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this, address, i, seconds, slots] {
      SystemClock clock;
      auto broker = Connect(address, "bench worker");
      TW_CHECK(broker.ok(), broker.status().message());
      FakeExecutor::Settings made_up;
      made_up.seconds = seconds;
      made_up.device = FakeExecutor::Device();
      FakeExecutor bench(made_up, clock);
      WorkerSettings settings;
      settings.name = {"w" + std::to_string(i), "d0"};
      settings.device_class = ClassOf(made_up.device);
      settings.announcement.instance = "i" + std::to_string(i);
      settings.announcement.fingerprint = made_up.device.ToString();
      settings.announcement.target = "llvm";
      settings.announcement.builds = settings.announcement.measures = true;
      settings.announcement.measure_slots = slots;
      WorkerCore core(settings, bench, **broker, clock);
      TW_CHECK(core.Open().ok());
      while (!stop_.load()) core.Poll(0.1);
      core.Close();
    });
  }
}

FakeWorkers::~FakeWorkers() {
  stop_.store(true);
  for (std::thread& thread : threads_) thread.join();
}

DispatcherSettings BenchJob(const std::string& user, const std::string& job, double weight) {
  DispatcherSettings settings;
  settings.job = {user, job};
  settings.epoch = static_cast<std::uint64_t>(SystemClock().UnixSeconds() * 1e3);
  settings.device_class = ClassOf(FakeExecutor::Device());
  settings.device = FakeExecutor::Device();
  settings.weight = weight;
  settings.on_note = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  return settings;
}

Request BenchRequest(std::uint64_t ticket) {
  static const Task task = {
      *Workload::Parse("dense(float32[16,256]MK,float32[512,256]NK)->float32"),
      *Target::Parse("llvm")};
  Request request;
  request.ticket = ticket;
  request.candidate.task = task;
  request.candidate.template_key = "dense_packed.cpu";
  request.candidate.template_version = 1;
  request.candidate.config.index = static_cast<std::int64_t>(ticket);
  return request;
}

namespace {

constexpr int kPort = 14777;

double ProcessorShare(double wall, double before) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return (seconds(used.ru_utime) + seconds(used.ru_stime) - before) / wall;
}

/// Runs one job that always has enough work. Returns trials per second over `seconds`, after a
/// warm-up of two seconds.
double RateOf(Dispatcher& tuner, int in_flight, double seconds) {
  SystemClock clock;
  std::uint64_t ticket = 1;
  std::int64_t done = 0;
  double begin = clock.MonotonicSeconds() + 2;
  bool counting = false;
  while (clock.MonotonicSeconds() < begin + seconds) {
    while (tuner.in_flight() < in_flight) {
      TW_CHECK(tuner.Submit(BenchRequest(ticket++)).ok());
    }
    tuner.Poll(0.02);
    while (auto reply = tuner.Take()) {
      tuner.MarkStored(reply->ticket);
      ++done;
    }
    if (!counting && clock.MonotonicSeconds() >= begin) {
      counting = true;
      begin = clock.MonotonicSeconds();
      done = 0;
    }
  }
  return static_cast<double>(done) / (clock.MonotonicSeconds() - begin);
}

/// Returns the processor time of a process, in seconds.
double ProcessorSecondsOf(int pid) {
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!text.ok()) return 0;
  // After the name in parentheses, user and system time are the 12th and 13th word.
  const auto words = Split(text->substr(text->rfind(')') + 2), ' ');
  constexpr std::size_t kUser = 11;
  const double ticks = *ParseDouble(words.at(kUser)) + *ParseDouble(words.at(kUser + 1));
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double ProcessorOfThread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Scaling(const std::string& server_program, int argc, char** argv) {
  const double trial = argc > 2 ? *ParseDouble(argv[2]) : 0.05;
  std::vector<int> counts;
  for (int i = 3; i < argc; ++i) counts.push_back(static_cast<int>(*ParseInt64(argv[i])));
  if (counts.empty()) counts = {1, 2, 4, 8, 16, 32, 64, 128, 192, 256};
  constexpr double kSeconds = 6;
  fmt::print(
      "trials of {:g} s; cores used by the broker, by the tuner's own thread, and by the rest"
      " of the members' process\n{:>8} {:>12} {:>10} {:>8} {:>8} {:>8}\n",
      trial, "devices", "trials/s", "of linear", "broker", "tuner", "rest");
  for (const int count : counts) {
    auto server = NatsServerProcess::Start(server_program, kPort);
    TW_CHECK(server != nullptr);
    FakeWorkers workers(server->address("bench"), count, trial, 2);
    auto broker = Connect(server->address("bench"), "bench tuner");
    SystemClock clock;
    Dispatcher tuner(BenchJob("bench", "scaling", 1), **broker, clock);
    TW_CHECK(tuner.Open().ok());
    const double wall = clock.MonotonicSeconds();
    const double before = ProcessorShare(1, 0), broker_before = ProcessorSecondsOf(server->pid()),
                 tuner_before = ProcessorOfThread();
    const double rate = RateOf(tuner, 3 * count + 8, kSeconds);
    const double passed = clock.MonotonicSeconds() - wall;
    const double tuned = (ProcessorOfThread() - tuner_before) / passed;
    fmt::print("{:>8} {:>12.1f} {:>10.3f} {:>8.2f} {:>8.2f} {:>8.2f}\n", count, rate,
               rate * trial / count, (ProcessorSecondsOf(server->pid()) - broker_before) / passed,
               tuned, ProcessorShare(passed, before) - tuned);
    std::fflush(stdout);
    tuner.Close();
  }
}

void Throughput(const std::string& server_program) {
  auto server = NatsServerProcess::Start(server_program, kPort);
  TW_CHECK(server != nullptr);
  for (const int count : {1, 2, 4}) {
    FakeWorkers workers(server->address("bench"), count, 0, 64);
    auto broker = Connect(server->address("bench"), "bench tuner");
    SystemClock clock;
    Dispatcher tuner(BenchJob("bench", "throughput" + std::to_string(count), 1), **broker, clock);
    TW_CHECK(tuner.Open().ok());
    fmt::print("{} devices that answer at once: {:.0f} trials/s\n", count, RateOf(tuner, 512, 8));
    std::fflush(stdout);
    tuner.Close();
  }
}

void Queueing(const std::string& server_program) {
  auto server = NatsServerProcess::Start(server_program, kPort);
  TW_CHECK(server != nullptr);
  FakeWorkers workers(server->address("bench"), 4, 0, 32);
  auto broker = Connect(server->address("bench"), "bench tuner");
  SystemClock clock;
  DispatcherSettings settings = BenchJob("bench", "queueing", 1);
  settings.baseline_kernels = 0;
  Dispatcher tuner(settings, **broker, clock);
  TW_CHECK(tuner.Open().ok());
  constexpr double kRate = 1000, kSeconds = 20;
  std::map<std::uint64_t, double> submitted;
  std::vector<double> waited;
  std::uint64_t ticket = 1;
  const double begin = clock.MonotonicSeconds() + 1;
  while (clock.MonotonicSeconds() < begin + kSeconds) {
    const double now = clock.MonotonicSeconds();
    while (static_cast<double>(ticket) < (now - begin) * kRate) {
      submitted[ticket] = clock.MonotonicSeconds();
      TW_CHECK(tuner.Submit(BenchRequest(ticket++)).ok());
    }
    tuner.Poll(0.001);
    while (auto reply = tuner.Take()) {
      tuner.MarkStored(reply->ticket);
      waited.push_back(clock.MonotonicSeconds() - submitted.at(reply->ticket));
    }
  }
  std::ranges::sort(waited);
  const auto at = [&](double share) {
    return 1e3 * waited[static_cast<std::size_t>(share * static_cast<double>(waited.size() - 1))];
  };
  fmt::print(
      "{:.0f} orders/s for {:.0f} s, from Submit to the result: median {:.2f} ms, p99 {:.2f} ms, "
      "largest {:.2f} ms ({} trials)\n",
      kRate, kSeconds, at(0.5), at(0.99), at(1), waited.size());
}

void Shares(const std::string& server_program) {
  constexpr int kDevices = 64, kJobs = 20;
  constexpr double kTrial = 0.1, kSeconds = 40;
  auto server = NatsServerProcess::Start(server_program, kPort);
  TW_CHECK(server != nullptr);
  FakeWorkers workers(server->address("bench"), kDevices, kTrial, 2);
  auto broker = Connect(server->address("bench"), "bench tuner");
  SystemClock clock;
  std::vector<std::unique_ptr<Broker>> brokers;
  std::vector<std::unique_ptr<Dispatcher>> tuners;
  std::vector<double> weights, done(kJobs, 0);
  double sum = 0;
  for (int i = 0; i < kJobs; ++i) {
    weights.push_back(i < 8 ? 1 : i < 15 ? 2 : 4);
    sum += weights.back();
    const std::string user = "user" + std::to_string(i % 4);
    brokers.push_back(*Connect(server->address(user), "bench tuner"));
    DispatcherSettings settings = BenchJob(user, "job" + std::to_string(i), weights.back());
    settings.baseline_kernels = 0;
    settings.check_share = 0;
    tuners.push_back(std::make_unique<Dispatcher>(settings, *brokers.back(), clock));
    TW_CHECK(tuners.back()->Open().ok());
  }
  std::uint64_t ticket = 1;
  // Until all jobs are open, each device takes more orders of the open jobs than their share. The
  // first three rounds (of 4.2 s) compensate.
  constexpr double kSettleSeconds = 14;
  const double begin = clock.MonotonicSeconds() + kSettleSeconds;
  double all = 0;
  while (clock.MonotonicSeconds() < begin + kSeconds) {
    const bool counting = clock.MonotonicSeconds() >= begin;
    for (int i = 0; i < kJobs; ++i) {
      Dispatcher& tuner = *tuners[static_cast<std::size_t>(i)];
      while (tuner.in_flight() < 3 * kDevices) {
        TW_CHECK(tuner.Submit(BenchRequest(ticket++)).ok());
      }
      tuner.Poll(0);
      while (auto reply = tuner.Take()) {
        tuner.MarkStored(reply->ticket);
        if (!counting) continue;
        done[static_cast<std::size_t>(i)] += 1;
        all += 1;
      }
    }
    clock.SleepSeconds(0.002);
  }
  double worst = 0;
  for (int i = 0; i < kJobs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double asked = weights[at] / sum, had = done[at] / all;
    worst = std::max(worst, std::abs(had / asked - 1));
    fmt::print("job {:>2} weight {:.0f}: asked {:.4f}, had {:.4f} ({:+.1f} %)\n", i, weights[at],
               asked, had, 100 * (had / asked - 1));
  }
  fmt::print(
      "{} jobs on {} devices, {:.0f} trials in {:.0f} s ({:.3f} of what the devices could), worst "
      "share {:.1f} % off\n",
      kJobs, kDevices, all, kSeconds, all * kTrial / kSeconds / kDevices, 100 * worst);
  for (auto& tuner : tuners) tuner->Close();
}

void SimulateFleet(int argc, char** argv) {
  const auto number = [&](int at, double otherwise) {
    return argc > at ? *ParseDouble(argv[at]) : otherwise;
  };
  SimulationSettings settings;
  settings.devices = static_cast<int>(number(2, settings.devices));
  settings.hours = number(3, settings.hours);
  settings.trial_seconds = number(4, settings.trial_seconds);
  settings.churn_per_hour = number(5, 0);
  settings.drift_share = number(6, 0);
  settings.probes = number(7, 1) > 0;
  SystemClock clock;
  const double begin = clock.MonotonicSeconds(), before = ProcessorShare(1, 0);
  const SimulationResult s = Simulate(settings);
  fmt::print(
      "simulated: {} devices, {:g} h, trials of {:g} s, churn {:g} an hour: {} trials, {:.1f} "
      "trials/s ({:.3f} of linear), deaths {}, leases lost {}, trials lost {}, doubled {}\n",
      settings.devices, settings.hours, settings.trial_seconds, settings.churn_per_hour, s.trials,
      s.trials_per_second, s.trials_per_second * settings.trial_seconds / settings.devices,
      s.deaths, s.leases_lost, s.lost_trials, s.duplicate_trials);
  fmt::print(
      "  of the devices' time: idle {:.2f} %, baselines {:.2f} % ({}), both {:.2f} %; messages {} "
      "({:.0f}/s)\n",
      100 * s.idle_share, 100 * s.baseline_share, s.baselines,
      100 * (s.idle_share + s.baseline_share), s.messages,
      static_cast<double>(s.messages) / (settings.hours * 3600));
  if (s.drifted > 0 && !s.excluded_after.empty()) {
    fmt::print(
        "  {} devices became 8 % slower: {} were set aside, after {:.0f} s (median), {:.0f} s at "
        "most; {} trials measured again; set aside without reason {}; slower at the end and not "
        "set aside {} (for {:.0f} s at most)\n",
        s.drifted, s.excluded_after.size(), s.excluded_after[s.excluded_after.size() / 2],
        s.excluded_after.back(), s.revised, s.wrongly_excluded, s.unnoticed, s.unnoticed_seconds);
  }
  fmt::print("  took {:.1f} s, of them {:.1f} s of a processor\n", clock.MonotonicSeconds() - begin,
             ProcessorShare(1, before));
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::string program = "/usr/sbin/nats-server";
  if (what == "scaling") {
    Scaling(program, argc, argv);
  } else if (what == "throughput") {
    Throughput(program);
  } else if (what == "queueing") {
    Queueing(program);
  } else if (what == "shares") {
    Shares(program);
  } else if (what == "simulate") {
    SimulateFleet(argc, argv);
  } else {
    fmt::print(stderr,
               "fleet_bench: '{}', expected scaling, throughput, queueing, shares or simulate\n",
               what);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tilewright::measure::fleet

int main(int argc, char** argv) { return tilewright::measure::fleet::Main(argc, argv); }
