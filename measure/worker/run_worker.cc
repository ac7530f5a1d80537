// The runner: reads orders line by line, lays out the tensors of each, and starts one process for
// each candidate or contender, which calls the kernel. The runner itself does all other steps. Its
// interference probes determine which samples are clean.

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/calibration.h"
#include "measure/device/device_runner.h"
#include "measure/device/grid_candidate.h"
#include "measure/device/vta_candidate.h"
#include "measure/kernel_message.h"
#include "measure/messages.h"
#include "measure/probe_baselines.h"
#include "measure/sandbox/read_allowlist.h"
#include "measure/sandbox/sandbox.h"
#include "measure/worker/file_receiver.h"
#include "measure/worker/forked_kernel.h"
#include "measure/worker/probe.h"
#include "measure/worker/race.h"
#include "measure/worker/shared_memory_pool.h"
#include "measure/worker/worker_loop.h"
#include "measure/workers.h"
#include "src/base/clock.h"
#include "src/target/cpu.h"

namespace tilewright::measure {
namespace {

/// Returns the meaning of `native` for a program on another machine.
std::string OwnTarget() {
  auto target = Target::Parse("native");
  if (!target.ok()) return {};
#if defined(__aarch64__)
  target->SetOption("mtriple", "aarch64-linux-gnu");
#elif defined(__arm__)
  target->SetOption("mtriple", "armv7l-linux-gnueabihf");
#endif
  return target->ToString();
}

/// Rejects devices and pipes as files of an order, because they may never end. A missing file is
/// its candidate's failure. Errors: kCorrupt.
Status CheckPlain(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
  return Corrupt("message: " + path + " is not a plain file");
}

/// Memory level that determines a kernel's time, and the bytes that it reads there.
struct Reading {
  int level = 0;
  std::int64_t bytes = 0;
};

std::array<NoiseFilter, MemoryInterferenceProbe::kLevels> MemoryGates() {
  std::array<NoiseFilter, MemoryInterferenceProbe::kLevels> gates;
  for (int level = 1; level < MemoryInterferenceProbe::kLevels; ++level) {
    NoiseFilter::Settings settings;
    settings.tolerance = MemoryInterferenceProbe::ToleranceOf(level);
    gates[static_cast<std::size_t>(level)] = NoiseFilter(settings);
  }
  return gates;
}

/// Processes of candidates inherit the heap. Freed memory is overwritten or returned to the system,
/// so that no copy of the fresh check remains.
void KeepNoTraces() {
#if defined(__GLIBC__)
  constexpr int kLargeBytes = 64 << 10;
  (void)::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  (void)::mallopt(M_PERTURB, 0x5A);
#endif
}

class Runner {
 public:
  explicit Runner(const WorkerPipes& pipes) : pipes_(pipes) {}
  Status Handle(const Json& message);

 private:
  Status Configure(const Json& message);
  Status Run(const RunOrder& order);
  Result<std::vector<RunReply>> RepliesTo(const RunOrder& order);
  DeviceRunner* DeviceOf(const RunOrder& order);
  static std::vector<RunReply> AllFailed(const RunOrder& order, const Status& reason);
  std::vector<RunReply> OutOfMemory(const RunOrder& order);
  RunReply RunAlone(const RunOrder::Item& item);
  Status OpenEnergy();
  Status MakeColdWeights(const RunOrder& order);
  void BlameCounter(RunReply& reply);
  /// WeightOf, if cold weights are enabled.
  std::optional<std::size_t> ColdWeightOf(const KernelSpec& kernel) const {
    return settings_.cold_weights ? WeightOf(kernel) : std::nullopt;
  }
  Reading ReadingOf(const KernelSpec& kernel) const;
  std::unique_ptr<CandidateRun> MakeRun(const RunOrder::Item& item,
                                        OperandCache::KernelOperands kernel_operands);
  void LearnFrom(const RunReply& reply, int level);
  MemoryDelayEstimator WatchOf(const KernelSpec& kernel) const;
  RoundInterference RunProbes(const KernelSpec& kernel);
  void LoadProbeBaselines();
  void SaveProbeBaselines();

  const WorkerPipes& pipes_;
  RunWorkerSettings settings_;
  OperandCache operand_cache_{settings_.cache_bytes};
  std::int64_t cold_bytes_ = 0;
  std::optional<ColdWeights> cold_weights_;
  InterferenceProbe probe_;
  MemoryInterferenceProbe memory_probe_;
  MachinePeaks peaks_;  // none are known before calibration
  SharedMemoryPool live_;
  ReadAllowlistBuilder read_lists_;
  const std::uint64_t place_seed_ = std::random_device()();
  NoiseFilter gate_;
  std::array<NoiseFilter, MemoryInterferenceProbe::kLevels> memory_gates_ =
      MemoryGates();  // 0 is unused
  std::optional<PowercapCounter> energy_;
  std::string device_;
  double began_ = 0, kept_at_ = 0;  // unix seconds
  bool configured_ = false;
  std::map<std::string_view, std::unique_ptr<DeviceRunner>> devices_;  // by name
  TaskTable tasks_;
  FileReceiver files_;
  SystemClock clock_;
};

Status Runner::Configure(const Json& message) {
  TW_ASSIGN_OR_RETURN(auto settings, RunWorkerSettingsFrom(message));
  const std::string missing = MissingSystemFeatures();
  if (!missing.empty()) return Unavailable(missing);
  const DeviceFingerprint own = ProbeHostCpu();
  cold_bytes_ = ColdWeights::BytesFor(std::max(own.l2_bytes, own.l3_bytes));
  settings_ = settings;
  energy_.reset();
  operand_cache_ = OperandCache(settings_.cache_bytes);
  configured_ = true;
  devices_.clear();
  RunnerHandshake handshake;
  handshake.device = own.ToString();
  handshake.target = OwnTarget();
  device_ = handshake.device;
  if (settings_.calibrate) {  // candidates run in processes here
    handshake.unprotected = TestSandbox().Unprotected();
    LoadProbeBaselines();
    handshake.resolution = MeasureResolution(probe_, gate_, settings_.sampling);
    peaks_ = MeasurePeaks();
    handshake.probe_seconds = gate_.uncontended_seconds();
  }
  return SendMessage(pipes_, ToJson(handshake));
}

/// Returns the bytes of all its tensors, or of its weight if that is a large part of them and comes
/// from a farther level.
Reading Runner::ReadingOf(const KernelSpec& kernel) const {
  constexpr std::int64_t kGoodPart = 4;
  const std::int64_t bytes = kernel.signature.bytes();
  const Reading all{MemoryInterferenceProbe::LevelOf(bytes), bytes};
  const auto weight = ColdWeightOf(kernel);
  if (!weight.has_value()) return all;
  const Reading far{MemoryInterferenceProbe::LevelOf(cold_bytes_),
                    kernel.signature.parameters[*weight].type.bytes()};
  return far.level > all.level && kGoodPart * far.bytes >= all.bytes ? far : all;
}

/// Before the candidates that need them.
Status Runner::MakeColdWeights(const RunOrder& order) {
  const bool needed = std::ranges::any_of(order.items, [&](const RunOrder::Item& item) {
    return ColdWeightOf(item.kernel).has_value();
  });
  if (needed && !cold_weights_.has_value()) {
    TW_ASSIGN_OR_RETURN(auto made, ColdWeights::Create(cold_bytes_));
    cold_weights_.emplace(std::move(made));
  }
  if (cold_weights_.has_value()) cold_weights_->SetInherited(needed);
  return {};
}

std::unique_ptr<CandidateRun> Runner::MakeRun(const RunOrder::Item& item,
                                              OperandCache::KernelOperands kernel_operands) {
  const KernelSpec& kernel = item.kernel;
  ForkedKernelParams terms;
  terms.probe = &probe_;
  terms.memory_probe = &memory_probe_;
  terms.memory_level = ReadingOf(kernel).level;
  terms.live = &live_;
  terms.readable = read_lists_.Of(kernel.artifact, kernel.target);
  if (const auto weight = ColdWeightOf(kernel)) {
    cold_weights_->Fill(kernel.signature.parameters[*weight].type.dtype);
    terms.cold_weights = &*cold_weights_;
    terms.weight = *weight;
    const auto random = static_cast<std::size_t>(InputSet::kRandom);
    const GuardedMemory& real = *kernel_operands.inputs[random][*weight];
    // One window for each weight: then it need not be copied for the next candidate.
    terms.real_window = cold_weights_->Place(
        real, place_seed_ ^ reinterpret_cast<std::uintptr_t>(real.data()) >> 6);
  }
  terms.memory_bytes = settings_.memory_bytes;
  terms.times = {MinCallSeconds(kernel, peaks_), kernel.threads};
  terms.kernel_operands = std::move(kernel_operands);
  SamplingSettings sampling = settings_.sampling;
  sampling.min_sampling_seconds = item.min_sampling_seconds;
  return std::make_unique<CandidateRun>(item, std::move(terms), sampling, gate_, WatchOf(kernel),
                                        energy_.has_value() ? &*energy_ : nullptr);
}

/// Before the first candidate is run.
Status Runner::OpenEnergy() {
  if (!settings_.joules || energy_.has_value()) return {};
  TW_ASSIGN_OR_RETURN(auto opened, PowercapCounter::Open(settings_.powercap));
  energy_.emplace(std::move(opened));
  return {};
}

/// An unavailable energy counter would become a failure of every candidate.
void Runner::BlameCounter(RunReply& reply) {
  if (!energy_.has_value() || reply.outcome != Outcome::kRunFailed) return;
  if (reply.fault_domain != FaultDomain::kUndetermined) return;
  const Status counts = CheckCounterAdvances(*energy_, clock_);
  if (counts.ok()) return;
  reply.fault_domain = FaultDomain::kMachine;
  reply.reason = counts.message();
}

/// Interference probes that run between candidates update the baseline, too. They run in this
/// process: it uses no time that a candidate's process reports.
void Runner::LearnFrom(const RunReply& reply, int level) {
  const double now = clock_.UnixSeconds();
  for (double probe : reply.probe_times) gate_.Add(now, probe);
  NoiseFilter& memory = memory_gates_[static_cast<std::size_t>(level)];
  for (double probe : reply.memory_probe_times) memory.Add(now, probe);
  constexpr double kKeepSeconds = 2;
  if (now - kept_at_ > kKeepSeconds) SaveProbeBaselines();
}

MemoryDelayEstimator Runner::WatchOf(const KernelSpec& kernel) const {
  const Reading reading = ReadingOf(kernel);
  return {reading.level, memory_gates_[static_cast<std::size_t>(reading.level)], reading.bytes};
}

/// Between the rounds of a race.
RoundInterference Runner::RunProbes(const KernelSpec& kernel) {
  const double core = probe_.Run();
  gate_.Add(clock_.UnixSeconds(), core);
  RoundInterference probe_times;
  probe_times.core_clean = gate_.IsClean(core);
  const int level = ReadingOf(kernel).level;
  const double memory = memory_probe_.Run(level);
  memory_gates_[static_cast<std::size_t>(level)].Add(clock_.UnixSeconds(), memory);
  probe_times.memory_delay_seconds = WatchOf(kernel).DelaySeconds(memory);
  return probe_times;
}

void Runner::LoadProbeBaselines() {
  began_ = kept_at_ = clock_.UnixSeconds();
  if (settings_.probe_baseline_file.empty()) return;
  const ProbeBaselines known = ReadProbeBaselines(settings_.probe_baseline_file, device_, kept_at_);
  gate_.SetReference(known[0]);
  for (std::size_t i = 1; i < known.size(); ++i) memory_gates_[i].SetReference(known[i]);
}

void Runner::SaveProbeBaselines() {
  kept_at_ = clock_.UnixSeconds();
  if (settings_.probe_baseline_file.empty() || !settings_.calibrate) return;
  ProbeBaselines seconds{};
  seconds[0] = gate_.observed_seconds();
  for (std::size_t i = 1; i < seconds.size(); ++i) seconds[i] = memory_gates_[i].observed_seconds();
  UpdateProbeBaselines(settings_.probe_baseline_file, device_, began_, kept_at_, seconds);
}

/// If the verified run disagrees with the samples, interference is possible: a new process repeats
/// the whole evaluation.
RunReply Runner::RunAlone(const RunOrder::Item& item) {
  for (int timings = 1;; ++timings) {
    auto kernel_operands = operand_cache_.Prepare(item.kernel, item.reference);
    if (!kernel_operands.ok()) return FailureReply(item, kernel_operands.status());
    const auto run = MakeRun(item, *std::move(kernel_operands));
    run->evaluation.Load();
    run->evaluation.VerifyBeforeTiming(/*may_stop=*/true);
    if (run->evaluation.needs_timing()) run->evaluation.SampleUntilConverged();
    RunReply reply = run->evaluation.End();
    if (!run->kernel.times_disagree() || timings == kMaxTimingAttempts) return reply;
  }
}

Status Runner::Handle(const Json& message) {
  if (MessageType(message) == "configure") return Configure(message);
  if (MessageType(message) == "task") return ReceiveTask(message, tasks_);
  if (MessageType(message) == "probe") {
    TW_ASSIGN_OR_RETURN(auto order, ProbeOrderFrom(message));
    TW_RETURN_IF_ERROR(CheckPlain(order.path));
    return SendMessage(pipes_, ToJson(ProbeReply{LoadProbe(order)}));
  }
  if (MessageType(message) == "file") {
    TW_ASSIGN_OR_RETURN(auto part, FileChunkFrom(message));
    return files_.Receive(part);
  }
  if (MessageType(message) != "run") {
    return Corrupt("message: unknown type '" + MessageType(message) + "'");
  }
  if (!configured_) return Corrupt("message: run before configure");
  TW_ASSIGN_OR_RETURN(auto order, RunOrderFrom(message, tasks_));
  std::vector<std::string> received;
  for (RunOrder::Item& item : order.items) {
    KernelSpec& kernel = item.kernel;
    if (kernel.artifact.empty()) {
      received.push_back(kernel.artifact_name);
      kernel.artifact = files_.PathOf(kernel.artifact_name);
    }
    item.reference = files_.PathOf(item.reference);
    TW_RETURN_IF_ERROR(CheckPlain(kernel.artifact));
    TW_RETURN_IF_ERROR(CheckArtifact(kernel.artifact, kernel.artifact_name));
    TW_RETURN_IF_ERROR(CheckPlain(item.reference));
  }
  const Status ran = Run(order);
  for (const std::string& artifact : received) files_.Remove(artifact);
  return ran;
}

/// Returns the runner of the order's device; null if its candidates run in subprocesses. All items
/// of an order are for one device.
DeviceRunner* Runner::DeviceOf(const RunOrder& order) {
  if (order.items.empty()) return nullptr;
  const Target& target = order.items[0].kernel.target;
  const auto [found, added] = devices_.try_emplace(target.device());
  if (added) found->second = MakeDeviceRunner(target, settings_);
  return found->second.get();
}

Result<std::vector<RunReply>> Runner::RepliesTo(const RunOrder& order) {
  operand_cache_.Begin();
  if (cold_weights_.has_value()) cold_weights_->Begin();
  if (DeviceRunner* device = DeviceOf(order)) return device->Run(order, operand_cache_);
  std::vector<RunReply> replies;
  if (order.items.empty()) return replies;  // no probes to run
  TW_RETURN_IF_ERROR(OpenEnergy());
  // Without memory for them the order fails, as without memory for its tensors.
  if (const Status made = MakeColdWeights(order); !made.ok()) return AllFailed(order, made);
  if (order.items.size() == 1) {
    replies.push_back(RunAlone(order.items[0]));
  } else {
    replies = RunRace(
        order, operand_cache_,
        [this](const RunOrder::Item& item, OperandCache::KernelOperands kernel_operands) {
          return MakeRun(item, std::move(kernel_operands));
        },
        [&] { return RunProbes(order.items[0].kernel); });
  }
  for (RunReply& reply : replies) BlameCounter(reply);
  return replies;
}

std::vector<RunReply> Runner::AllFailed(const RunOrder& order, const Status& reason) {
  std::vector<RunReply> replies;
  for (const RunOrder::Item& item : order.items) {
    replies.push_back(FailureReply(item, reason));
    replies.back().fault_domain = FaultDomain::kUndetermined;
  }
  return replies;
}

/// The runner itself has too little memory for a candidate: that is not a device loss.
std::vector<RunReply> Runner::OutOfMemory(const RunOrder& order) {
  operand_cache_ = OperandCache(settings_.cache_bytes);
  cold_weights_.reset();
  return AllFailed(order, Unavailable("out of memory: the runner has none left"));
}

Status Runner::Run(const RunOrder& order) {
  const double start = clock_.MonotonicSeconds();
  std::vector<RunReply> replies;
  try {
    TW_ASSIGN_OR_RETURN(replies, RepliesTo(order));
  } catch (const std::bad_alloc&) {
    replies = OutOfMemory(order);
  }
  const bool on_processor = DeviceOf(order) == nullptr;
  for (RunReply& reply : replies) {
    reply.run_seconds = clock_.MonotonicSeconds() - start;
    reply.device = device_;
    if (on_processor) LearnFrom(reply, ReadingOf(order.items[0].kernel).level);
    TW_RETURN_IF_ERROR(SendMessage(pipes_, ToJson(reply)));
  }
  const bool over = std::ranges::any_of(replies, &RunReply::runner_ends);
  if (over) ::_exit(0);  // the driver would hang in destructors
  return {};
}

}  // namespace

int RunWorkerMain(int in_fd, int out_fd) {
  KeepNoTraces();
  const WorkerPipes pipes = TakePipes(in_fd, out_fd);
  HideMemory();
  HideEnvironment();
  Runner runner(pipes);
  return ServeMessages(pipes, [&](const Json& message) { return runner.Handle(message); });
}

}  // namespace tilewright::measure
