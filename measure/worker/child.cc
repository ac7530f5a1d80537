// What runs in the candidate's own process: its code is loaded, its memory laid out between guards,
// the course (verify, time, verify again) run, and one line written to the runner.

#include "measure/worker/child.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "measure/worker/channel.h"
#include "measure/worker/course.h"
#include "measure/worker/crash.h"
#include "measure/worker/fault_hooks.h"
#include "measure/worker/parallel.h"
#include "measure/worker/race.h"
#include "measure/worker/sandbox.h"
#include "src/base/clock.h"
#include "src/base/sanitizer.h"
#include "src/base/strings.h"
#include "src/runtime/loader.h"

namespace tilewright::measure {
namespace {

/// Threads of this process.
int CountThreads() {
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return 1;
  int count = 0;
  while (const dirent* entry = ::readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(tasks);
  return count;
}

/// The candidate's kernel with its memory, and what is checked about it.
class Kernel final : public CandidateKernel {
 public:
  explicit Kernel(const ChildWork& work) : work_(work), kernel_(work.item->kernel) {}

  std::optional<Failure> Load() override;
  void SetPhase(Phase phase) override {
    work_.report->phase = phase;
    timing_ = phase == Phase::kTiming;
  }
  std::optional<Failure> SelectInputs(InputSet set) override;
  std::optional<Failure> Poison(InputSet set) override;
  bool Run(std::int64_t calls) override;
  void Flush(std::int64_t bytes) override;
  double CanarySeconds() override { return work_.canary->Run(); }
  double MemoryCanarySeconds() override {
    return work_.memory_canary == nullptr ? 0 : work_.memory_canary->Run(work_.memory_level);
  }
  /// Threads, red zones, return code.
  std::optional<Failure> CheckTraces() override;
  std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) override {
    return CheckResult(*work_.setup, set, output_.data(), poison_, &reply.max_abs_error);
  }
  double last_call_seconds() const override { return last_call_seconds_; }

 private:
  std::optional<Failure> Open();
  std::optional<Failure> Prepare();
  std::optional<Failure> PrepareCall();
  std::optional<Failure> Allocate(const TwKernelInfo& info);
  /// The next call reads another weight.
  void TakeNextWeight();

  const TwParallel* parallel() const {
    return pool_ == nullptr ? nullptr : TwPoolParallel(pool_.get());
  }

  const ChildWork& work_;
  const KernelSpec& kernel_;
  std::optional<LoadedKernel> loaded_;
  GuardedMemory output_, workspace_;
  std::vector<KnownMemory> known_;
  std::vector<void*> arguments_;
  Pool pool_;
  std::vector<char> flush_;
  bool timing_ = false;
  FarWeights::Windows windows_;
  std::int64_t window_ = 0;
  int threads_before_ = 1;
  int code_ = 0;
  std::uint8_t poison_ = 0;
  double last_call_seconds_ = 0;
  SystemClock clock_;
};

std::optional<Failure> Kernel::Load() {
  std::int64_t limit = 0;
  if (work_.memory_bytes > 0 && !kHasShadowMemory) {
    limit = AddressSpaceBytes() + work_.memory_bytes;
    const rlimit bound{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
    ::setrlimit(RLIMIT_AS, &bound);
  }
  for (const auto& set : work_.setup->inputs) {
    for (std::size_t i = 0; i < set.size(); ++i) known_.push_back({set[i], static_cast<int>(i)});
  }
  if (work_.far_weights != nullptr) {
    known_.push_back({&work_.far_weights->memory(), static_cast<int>(work_.weight)});
    windows_ =
        work_.far_weights->WindowsFor(kernel_.signature.parameters[work_.weight].type.bytes());
  }
  CatchCrashes(work_.report, &known_, limit);
  (void)LimitRights();
  if (kernel_.threads > 1) {
    TwPoolOptions options = TwPoolDefaults(kernel_.threads);
    options.widen = 1;  // the runner itself is bound to the cores that are measured on
    pool_.reset(TwPoolCreate(&options));
    if (pool_ == nullptr) {
      return Failure{Outcome::kRunFailed, "no threads can be started", Blame::kMachine};
    }
  }
  (void)ForbidSystemCalls();  // the runner has said whether it can
  if (auto failure = Open()) return failure;
  if (auto failure = Prepare()) return failure;
  threads_before_ = CountThreads();
  return std::nullopt;
}

std::optional<Failure> Kernel::Open() {
  auto loaded = LoadKernel(kernel_.artifact, kernel_.symbol);
  if (!loaded.ok()) {
    return Failure{Outcome::kRunFailed, "artifact cannot be used: " + loaded.status().message(),
                   Blame::kUnclear};
  }
  loaded_.emplace(*std::move(loaded));
  const TwKernelInfo& info = loaded_->entry.info;
  if (info.parameters != kernel_.signature.parameters.size()) {
    return Failure{Outcome::kRunFailed, "artifact takes " + std::to_string(info.parameters) +
                                            " parameters, expected " +
                                            std::to_string(kernel_.signature.parameters.size())};
  }
  return Allocate(info);
}

/// What a compiled model does once: a library is found, and weights are brought to its layout.
std::optional<Failure> Kernel::Prepare() {
  if (loaded_->entry.prepare == nullptr) return std::nullopt;
  for (InputSet set : kInputSets) {
    if (auto failure = SelectInputs(set)) return failure;
    if (auto failure = PrepareCall()) return failure;
  }
  // The library makes its own of each weight, which takes time: of those below some KiB not as many
  // as would come from beyond all caches.
  constexpr std::int64_t kMostPrepared = 8192;
  windows_.count = std::min(windows_.count, kMostPrepared);
  for (std::int64_t i = 0; windows_.count > 1 && i < windows_.count; ++i) {
    TakeNextWeight();
    if (auto failure = PrepareCall()) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> Kernel::PrepareCall() {
  const char* problem = loaded_->entry.prepare(arguments_.data(), parallel());
  if (problem == nullptr) return std::nullopt;
  return Failure{Outcome::kRunFailed, problem};
}

std::optional<Failure> Kernel::Allocate(const TwKernelInfo& info) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (info.workspace_bytes < 0 || info.workspace_bytes > kMost ||
      info.workspace_bytes_per_thread < 0 || info.workspace_bytes_per_thread > kMost) {
    return Failure{Outcome::kRunFailed, "out of memory: the artifact asks for " +
                                            std::to_string(info.workspace_bytes) + " + " +
                                            std::to_string(info.workspace_bytes_per_thread) +
                                            " bytes of workspace"};
  }
  const std::int64_t workspace =
      info.workspace_bytes + info.workspace_bytes_per_thread * kernel_.threads;
  const std::int64_t needed = work_.setup->output.bytes() + workspace;
  if (work_.memory_bytes > 0 && needed > work_.memory_bytes) {
    return Failure{Outcome::kRunFailed,
                   "out of memory: result and workspace take " + std::to_string(needed) +
                       " bytes, a candidate may allocate " + std::to_string(work_.memory_bytes)};
  }
  auto output = GuardedMemory::Create(work_.setup->output.bytes());
  auto scratch = GuardedMemory::Create(workspace);
  for (const auto* made : {&output, &scratch}) {
    if (!made->ok()) return Failure{Outcome::kRunFailed, made->status().message()};
  }
  output_ = *std::move(output);
  workspace_ = *std::move(scratch);
  known_.push_back({&output_, static_cast<int>(kernel_.signature.parameters.size()) - 1});
  known_.push_back({&workspace_, kWorkspaceParameter});
  return std::nullopt;
}

std::optional<Failure> Kernel::SelectInputs(InputSet set) {
  arguments_.clear();
  for (const GuardedMemory* memory : work_.setup->inputs[static_cast<std::size_t>(set)]) {
    // Kernels take pointers to data they do not write; the pages are read-only.
    arguments_.push_back(const_cast<std::byte*>(memory->data()));
  }
  arguments_.push_back(output_.data());
  return std::nullopt;
}

std::optional<Failure> Kernel::Poison(InputSet set) {
  poison_ = PoisonFor(kernel_.signature.result().type.dtype, set);
  output_.Poison(poison_);
  workspace_.Poison(0xFF);
  return std::nullopt;
}

void Kernel::TakeNextWeight() {
  window_ = window_ + 1 < windows_.count ? window_ + 1 : 0;
  arguments_[work_.weight] = const_cast<std::byte*>(windows_.first + windows_.stride * window_);
}

bool Kernel::Run(std::int64_t calls) {
  const double start = clock_.MonotonicSeconds();
  work_.report->call_started = start;
  const bool other_weights = timing_ && windows_.count > 1;
  for (std::int64_t i = 0; i < calls && code_ == 0; ++i) {
    if (other_weights) TakeNextWeight();
    code_ = loaded_->entry.run(arguments_.data(), workspace_.data(), parallel());
  }
  work_.report->call_started = 0;
  last_call_seconds_ = (clock_.MonotonicSeconds() - start) / static_cast<double>(calls);
  return code_ == 0;
}

void Kernel::Flush(std::int64_t bytes) {
  flush_.resize(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < flush_.size(); i += 64) ++flush_[i];
}

std::optional<Failure> Kernel::CheckTraces() {
  if (code_ != 0) {
    return Failure{Outcome::kRunFailed, "the kernel returned code " + std::to_string(code_)};
  }
  if (CountThreads() > threads_before_) {
    return Failure{Outcome::kRunFailed, "a thread of the kernel still ran after it had returned"};
  }
  for (const KnownMemory& known : known_) {
    const std::int64_t damage = known.memory->FindDamage();
    if (damage == GuardedMemory::kIntact) continue;
    const std::string what = known.parameter == kWorkspaceParameter
                                 ? std::string("the workspace")
                                 : "parameter " + std::to_string(known.parameter);
    const std::int64_t distance = damage < 0 ? -damage : damage - known.memory->bytes();
    return Failure{Outcome::kRunFailed,
                   "wrote out of bounds of " + what + ": " + std::to_string(distance) +
                       (damage < 0 ? " bytes before its start" : " bytes past its end")};
  }
  return std::nullopt;
}

void Send(const ChildWork& work, const std::string& line) {
  (void)WriteAll(work.result_fd, line, 60);
}

/// A race: the runner says when this candidate takes its next slice.
void ServeSlices(const ChildWork& work, Course& course) {
  course.BeginSlices();
  Send(work, "1\n");
  char command = 0;
  while (::read(work.command_fd, &command, 1) == 1 && command == 's') {
    const std::vector<double> samples = course.TakeSlice();
    if (!course.alive()) return;
    std::string line;
    for (const double sample : samples) {
      line += (line.empty() ? "" : " ") + ShortestDouble(sample);
    }
    Send(work, line + "\n");
  }
}

/// Everything a candidate needs, kept to the end of the process.
struct Running {
  explicit Running(const ChildWork& work)
      : kernel(work),
        course(kernel, *work.item, work.sampling, work.gate, clock, work.memory, work.energy) {}
  Kernel kernel;
  SystemClock clock;
  Course course;
};

RunReply RunCourse(const ChildWork& work) {
  // On the heap and never destroyed: at the end the process just ends, whatever the kernel did to
  // it.
  Course& course = std::make_unique<Running>(work).release()->course;
  InjectRunnerFault(work.item->fault.runner);
  course.Load();
  const bool alone = work.command_fd < 0;
  course.Prove(/*may_stop=*/alone);
  if (course.alive()) alone ? course.TakeAll() : ServeSlices(work, course);
  return course.End();
}

}  // namespace

void RunChild(const ChildWork& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != work.runner_pid) ::_exit(1);  // it went before the line above
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  RunReply reply;
  try {
    reply = RunCourse(work);
  } catch (const std::bad_alloc&) {
    reply = FailedWith(*work.item, Unavailable("out of memory" + PhaseText(work.report->phase)));
    reply.blame = Blame::kCandidate;
  }
  Send(work, LineOf(ToJson(reply)));
  ::_exit(0);
}

}  // namespace tilewright::measure
