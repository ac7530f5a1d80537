#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measure/fleet/connect.h"
#include "measure/fleet/dispatcher.h"
#include "measure/fleet/fake_executor.h"
#include "measure/fleet/worker_core.h"
#include "src/base/process/subprocess.h"

namespace tilewright::measure::fleet {

/// Separate nats-server process, with its storage in a temporary directory.
class NatsServerProcess {
 public:
  static std::unique_ptr<NatsServerProcess> Start(const std::string& program, int port);
  explicit NatsServerProcess(std::string folder, int port)
      : folder_(std::move(folder)), port_(port) {}
  ~NatsServerProcess();
  Address address(const std::string& user) const {
    return {"nats://127.0.0.1:" + std::to_string(port_), user, "", ""};
  }
  int pid() const { return process_->pid(); }

 private:
  std::string folder_;
  int port_;
  std::optional<Subprocess> process_;
};

/// Workers with fake devices, with a thread and a connection each.
class FakeWorkers {
 public:
  FakeWorkers(const Address& address, int count, double seconds, int slots);
  ~FakeWorkers();

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

DispatcherSettings BenchJob(const std::string& user, const std::string& job, double weight);
Request BenchRequest(std::uint64_t ticket);

/// Settings of a simulation that runs the product's scheduling with a simulated clock; see
/// fleet_bench_simulation.cc.
struct SimulationSettings {
  int devices = 64;
  double trial_seconds = 0.05, hours = 0.02;
  double churn_per_hour = 0;  ///< share of the devices that fail without a message
  double drift_share = 0;     ///< share that becomes 8 % slower at some time
  bool probes = true;         ///< devices have an interference probe, which shows that
};
struct SimulationResult {
  double trials_per_second = 0;
  /// Shares of the devices' time online: baselines, and no work.
  double baseline_share = 0, idle_share = 0;
  std::int64_t trials = 0, lost_trials = 0, duplicate_trials = 0, messages = 0, leases_lost = 0,
               baselines = 0, revised = 0, deaths = 0, drifted = 0, wrongly_excluded = 0;
  std::int64_t unnoticed = 0;          ///< slower at the end, online, and not excluded
  double unnoticed_seconds = 0;        ///< longest time of these
  std::vector<double> excluded_after;  ///< seconds from slowdown to exclusion, ascending
};
SimulationResult Simulate(const SimulationSettings& settings);

}  // namespace tilewright::measure::fleet
