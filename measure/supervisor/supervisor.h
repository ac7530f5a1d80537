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

/// What the caller's thread and the supervising thread share. Everything is guarded by `mutex`.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> incoming;
  std::deque<Reply> finished;
  std::vector<Job> race;  ///< to be raced; taken by the supervisor
  RaceSettings race_settings;
  bool cancel_requested = false;       ///< what waits is to be dropped
  std::vector<std::uint64_t> dropped;  ///< tickets, once it is
  std::optional<std::vector<Trial>> race_result;
  std::map<std::uint64_t, KernelSpec> built;  ///< by ticket, of what was only to be built
  std::optional<RunnerHandshake> handshake;
  double probe_seconds = 0;  ///< see ProcessMeasurer
  TimeLedger ledger{0};
  std::vector<int> worker_pids;
  Status broken;  ///< not ok: nothing more will come
  bool stop = false;
};

/// Between the mailbox and the pools: wakes them when there is something to hear or to do. Runs in
/// a thread of its own (workers that are processes die with that thread).
class Supervisor {
 public:
  /// wake_fd: becomes readable when the mailbox has something new.
  Supervisor(const ProcessMeasurerSettings& settings, Mailbox& mailbox, std::string folder,
             DeviceFingerprint device, const CoreAssignment& cores, int wake_fd);
  void Run();

 private:
  /// False once the mailbox says stop.
  bool DrainMailbox();
  /// Puts into the mailbox what has come of it.
  void Deliver();
  void Dispatch();
  void Wait();
  /// Books what the workers do now, as begun at `since` (monotonic seconds).
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
