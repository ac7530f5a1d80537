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
  /// Command that starts a builder: this program with arguments that make it call
  /// BuildWorkerMain(0, 1), or RunWorkerMain(0, 1) for run_commands.
  std::vector<std::string> build_command;
  /// One command for each runner; more than one only on other machines, all of one device.
  std::vector<std::vector<std::string>> run_commands;
  /// 0: one per core that is not the runner's, at most 8, and an opportunistic one.
  int builders = 0;
  /// Makes the last builder opportunistic: it shares the runner's core. It pauses while the runner
  /// works, and begins a build only if no kernel waits for the runner and the builders are the
  /// bottleneck. After a limited pause, the runner waits for its build.
  bool opportunistic_builder = false;
  int queue_limit = 4;  ///< built kernels that wait for each runner, builds in progress included
  double build_limit_seconds = 10;
  double reference_limit_seconds = 900;  ///< for the reference results of one workload
  std::int64_t builder_memory_bytes = std::int64_t{6} << 30;  ///< address space; 0 = no limit
  int builds_per_worker =
      2000;  ///< after this number of builds the builder restarts, which bounds its memory
  /// Pause before a retry if the machine lacks a resource (space, descriptors, memory). Up to four
  /// retries follow, each after three times the previous pause.
  double machine_backoff_seconds = 0.1;
  /// Device fingerprint of the trials: the simulator, for VTA targets. Empty: this CPU.
  std::optional<DeviceFingerprint> device;
  /// The device is a simulator whose counts do not depend on other work: no core is reserved for
  /// the runner.
  bool counts = false;
  /// The runners are on other machines: run_commands connect to them, and the measurer sends them
  /// the files they need. A lost connection fails the candidate in progress (device_lost) and is
  /// restored.
  bool remote = false;
  /// With `remote`: maximum between two connection attempts.
  double reconnect_backoff_seconds = 30;
  /// With `remote`: the measurer gives up after this long without a connection.
  double reconnect_limit_seconds = 3600;
  /// With `remote`: called, on a thread of the measurer, each time a runner is lost. Arguments: the
  /// reason, and the seconds until the next connection attempt, or kNoReconnect if the others
  /// continue without it. May be empty.
  std::function<void(const std::string& why, double seconds)> on_lost;
  /// Called, on the caller's thread, if another process measures on the runner's core, too. May be
  /// empty.
  std::function<void(const std::string& note)> on_core_shared;
  /// Called once, on a thread of the measurer, with the parts of the sandbox that the runner's
  /// system lacks, and why: candidates then have those rights of their user. May be empty.
  std::function<void(const std::string& why)> on_unprotected;
  /// Called, on a thread of the measurer, when Next or TakeRace has a result. It must not call the
  /// measurer. May be empty.
  std::function<void()> on_finished;
  /// Folder of this machine's core locks, see DeviceLock::TakeCore.
  std::string core_folder = DeviceLock::kCoreFolder;
  /// Folders of this user's core locks, see DeviceLock::TakeCoreOfUser.
  std::vector<std::string> user_lock_folders = {"/dev/shm", "/tmp", "/var/tmp"};
  /// Folder that keeps reference results between jobs; empty: the measurer's temporary folder.
  std::string reference_folder;
  RunWorkerSettings runner;
};

/// Measurer that builds and times candidates on the CPU of this machine, in supervised worker
/// processes; candidates for VTA targets run on the simulator there. Its own thread keeps builders
/// and runner busy.
///
/// The runner has the last core that no other process measures on; builders have the others. One
/// builder also uses the runner's core while the runner is idle. For kernels of several threads all
/// builders pause while the runner works.
class ProcessMeasurer final : public Measurer {
  struct Impl;

 public:
  /// Starts the thread. Workers start at once and calibrate during the first builds. Errors:
  /// kUnavailable without temporary folder or thread.
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
  /// Blocks until the A/A test is done (a second or two after Create).
  double resolution() const override;
  /// Returns the uncontended time of the runner's probe in the last ten seconds in which it ran; 0:
  /// unknown.
  double probe_seconds() const;
  Result<std::vector<Trial>> Race(const std::vector<Candidate>& finalists,
                                  const RaceSettings& terms) override;

  /// Submits a candidate for a build only: its reply reports whether the build succeeded.
  Status SubmitBuild(Request request);
  /// Returns the kernel of a ticket of SubmitBuild whose reply was ok, once, with the ownership of
  /// its file. Errors: kNotFound.
  Result<KernelSpec> TakeBuilt(std::uint64_t ticket);
  /// Submits a kernel that another machine built; the measurer takes ownership of its artifact's
  /// file.
  Status SubmitBuilt(Request request, KernelSpec kernel);
  /// Starts a race, which runs in the background; TakeRace returns its result. kernels: one for
  /// each finalist if another machine built them, else empty.
  Status BeginRace(const std::vector<Candidate>& finalists, const RaceSettings& terms,
                   std::vector<KernelSpec> kernels);
  /// Returns nullopt while the race is in progress. Errors: kUnavailable if the measurer cannot
  /// continue.
  Result<std::optional<std::vector<Trial>>> TakeRace();

  /// Submits a candidate with an injected fault. For tests.
  Status SubmitWithFault(Request request, const Fault& fault);
  /// Returns the process ids of the running workers. For tests and memory checks.
  std::vector<int> worker_pids() const;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Returns a shell command line that measures a candidate again; empty for one of an open task.
std::string ReproduceCommand(const Candidate& candidate);

}  // namespace tilewright::measure
