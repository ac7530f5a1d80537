#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "measure/supervisor/build_pool.h"
#include "measure/supervisor/core_assignment.h"
#include "measure/supervisor/runner_pool.h"
#include "measure/supervisor/time_ledger.h"

namespace tilewright::measure {

/// State shared by the caller's thread and the supervising thread. `mutex` guards everything.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> incoming;
  std::deque<Reply> finished;
  std::vector<Job> race;  ///< contenders; taken by the supervisor
  RaceSettings race_settings;
  bool cancel_requested = false;       ///< drop the waiting jobs
  std::vector<std::uint64_t> dropped;  ///< tickets, after a cancel
  std::optional<std::vector<Trial>> race_result;
  std::map<std::uint64_t, KernelSpec> built;  ///< kernels of build-only jobs, by ticket
  std::optional<RunnerHandshake> handshake;
  double probe_seconds = 0;  ///< see ProcessMeasurer
  TimeLedger ledger{0};
  std::vector<int> worker_pids;
  Status broken;  ///< not ok: no further replies
  bool stop = false;
};

/// Event loop between the mailbox and the pools. Runs in its own thread (worker processes die with
/// that thread).
class Supervisor {
 public:
  /// wake_fd: becomes readable when the mailbox changes.
  Supervisor(const ProcessMeasurerSettings& settings, Mailbox& mailbox, std::string folder,
             DeviceFingerprint device, const CoreAssignment& cores, int wake_fd);
  void Run();

 private:
  /// Returns false once the mailbox requests a stop.
  bool DrainMailbox();
  /// Moves results into the mailbox.
  void Deliver();
  void Dispatch();
  void Wait();
  /// Accounts the workers' current activity, as begun at `since` (monotonic seconds).
  void UpdateLedger(double since);

  const ProcessMeasurerSettings settings_;
  Mailbox& mailbox_;
  const int wake_fd_;
  SystemClock clock_;
  JobTable jobs_;
  MachineHealth health_;
  BuildPool builders_;
  RunnerPool runners_;
  const std::array<WorkerPool*, 2> pools_{&builders_, &runners_};
};

}  // namespace tilewright::measure
