#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/device/device_lock.h"
#include "measure/measurer.h"
#include "measure/workers.h"

namespace tilewright::measure {

struct Fault;
struct KernelSpec;

/// See ProcessMeasurerSettings::on_lost.
inline constexpr double kNoReconnect = -1;

struct ProcessMeasurerSettings {
  /// How to start the workers: this program, then the words that make it call BuildWorkerMain(0, 1)
  /// and RunWorkerMain(0, 1).
  std::vector<std::string> build_command;
  /// One for each runner; more than one only on other machines, all of one device.
  std::vector<std::vector<std::string>> run_commands;
  int builders = 0;  ///< 0: one per core that is not the runner's, at most 8, and a guest
  /// The last builder is a guest on the runner's core: it stands still while the runner works, and
  /// begins only where nothing waits to be run and the other builders are behind. What it has begun
  /// is not kept waiting for long: the runner waits for it then.
  bool opportunistic_builder = false;
  int queue_limit = 4;  ///< built kernels waiting for each runner, builds under way included
  double build_limit_seconds = 10;
  double reference_limit_seconds = 900;  ///< for the reference results of one workload
  std::int64_t builder_memory_bytes = std::int64_t{6} << 30;  ///< address space; 0 = no limit
  int builds_per_worker =
      2000;  ///< then the builder is started anew, so that its memory stays flat
  /// Where the machine lacks something (room, descriptors, memory), it is tried again after this,
  /// and so on up to four times with pauses that are each three times as long.
  double machine_backoff_seconds = 0.1;
  /// What trials are said to be measured on: the simulator, for VTA targets. Empty: this CPU.
  std::optional<DeviceFingerprint> device;
  /// What is measured is counted by a simulator, whoever else works: no core is kept for the
  /// runner.
  bool counts = false;
  /// The runners are on other machines: run_commands connect to them, and they are sent the files
  /// they need. A connection that is lost costs the candidate under way (device_lost) and is made
  /// again.
  bool remote = false;
  /// With `remote`: between two calls of the runner at most.
  double reconnect_backoff_seconds = 30;
  /// With `remote`: so long without a connection, and the measurer gives up.
  double reconnect_limit_seconds = 3600;
  /// With `remote`: called, on a thread of the measurer's, each time a runner is lost: why, and in
  /// how many seconds it is called again, or kNoReconnect where others go on without it. May be
  /// empty.
  std::function<void(const std::string& why, double seconds)> on_lost;
  /// Called, on the caller's thread, if the runner's core is measured on by another process, too.
  /// May be empty.
  std::function<void(const std::string& note)> on_core_shared;
  /// Called once, on a thread of the measurer's, which parts of the sandbox the runner's system
  /// lacks, and why: candidates may then do what their user may. May be empty.
  std::function<void(const std::string& why)> on_unprotected;
  /// Called, on a thread of the measurer's, that Next or TakeRace has something now. It must not
  /// call the measurer. May be empty.
  std::function<void()> on_finished;
  /// Where the cores of this machine can be reserved, see DeviceLock::TakeCore.
  std::string core_folder = DeviceLock::kCoreFolder;
  /// The same among this user's processes, see DeviceLock::TakeCoreOfUser.
  std::vector<std::string> user_lock_folders = {"/dev/shm", "/tmp", "/var/tmp"};
  /// Where reference results are kept between jobs; empty: in the measurer's own temporary folder.
  std::string reference_folder;
  RunWorkerSettings runner;
};

/// Compiles and times on the CPU of this machine, in supervised worker processes; candidates for
/// VTA targets run on the simulator there. A thread of its
/// own keeps builders and runner busy while the caller does other things.
///
/// The runner has the last core that no other process measures on, builders the others, and one of
/// them the runner's too while that has nothing to do; for kernels of several threads all builders
/// stop while the runner works.
class ProcessMeasurer final : public Measurer {
  struct Impl;

 public:
  /// Starts the thread; workers start at once and calibrate while the first builds go on.
  /// Errors: kUnavailable without temporary folder or thread.
  static Result<std::unique_ptr<ProcessMeasurer>> Create(ProcessMeasurerSettings settings);
  explicit ProcessMeasurer(std::unique_ptr<Impl> impl);  ///< use Create
  ~ProcessMeasurer() override;

  Status Submit(Request request) override;
  Result<std::optional<Reply>> Next(double timeout_seconds) override;
  std::vector<std::uint64_t> CancelPending() override;
  int in_flight() const override;
  int capacity() const override;
  TimeSplit time_split() const override;
  const DeviceFingerprint& device() const override;
  bool measures_energy() const override;
  /// Waits for the A/A test where it is not done yet (a second or two after Create).
  double resolution() const override;
  /// What the runner's canary took in quiet moments of the last ten seconds in which it ran; 0:
  /// unknown.
  double probe_seconds() const;
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms) override;

  /// As Submit, for a candidate that is only built here: its reply says whether it was.
  Status SubmitBuild(Request request);
  /// The kernel of a ticket of SubmitBuild whose reply was ok, once: its file is the caller's now.
  /// Errors: kNotFound.
  Result<KernelSpec> TakeBuilt(std::uint64_t ticket);
  /// As Submit, for one that was built elsewhere: its artifact's file is the measurer's now.
  Status SubmitBuilt(Request request, KernelSpec kernel);
  /// Race in two parts: it goes on while the caller does other things. kernels: one for each
  /// finalist where they were built elsewhere, else empty.
  Status BeginRace(const std::vector<Candidate>& finalists, const RaceSettings& terms,
                   std::vector<KernelSpec> kernels);
  /// nullopt: it is not over yet. Errors: kUnavailable if the measurer can not go on.
  Result<std::optional<std::vector<Trial>>> TakeRace();

  /// As Submit, with something going wrong on purpose. For tests.
  Status SubmitWithFault(Request request, const Fault& fault);
  /// Process ids of the workers that run now. For tests and memory checks.
  std::vector<int> worker_pids() const;

 private:
  std::unique_ptr<Impl> impl_;
};

/// One command line that measures the trial's candidate again, for a shell.
std::string ReproduceCommand(const Candidate& candidate);

}  // namespace tilewright::measure
