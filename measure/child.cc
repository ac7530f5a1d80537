#include "measure/child.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "measure/channel.h"
#include "measure/crash.h"
#include "measure/fault_hooks.h"
#include "measure/parallel.h"
#include "src/base/clock.h"
#include "src/base/sanitizer.h"
#include "src/base/strings.h"
#include "src/runtime/loader.h"
#include "src/tensor/layout.h"
#include "src/tensor/reference.h"

namespace tilewright::measure {
namespace {

/// Fewest samples whose noise means anything in a race.
constexpr std::size_t kRaceSamples = 12;

/// A candidate that went wrong, in the child's own words.
struct Failure {
  Outcome outcome = Outcome::kRunFailed;
  std::string reason;
};

/// Threads of this process.
int CountThreads() {
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return 1;
  int count = 0;
  while (const dirent* entry = ::readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(tasks);
  return count;
}

/// Largest error of a float32 or integer result that surely passes Compare, without its cost;
/// nullopt where Compare must decide.
std::optional<double> QuickCompare(const std::byte* result, const Tensor& expected) {
  const auto bytes = static_cast<std::size_t>(expected.bytes());
  if (bytes == 0 || std::memcmp(result, expected.data(), bytes) == 0) return 0.0;
  if (expected.dtype() != kFloat32) return std::nullopt;
  const auto wanted = expected.As<float>();
  float largest = 0;
  double squares = 0;
  bool comparable = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    float value;
    std::memcpy(&value, result + i * sizeof(float), sizeof(float));
    const float error = std::fabs(value - wanted[i]);
    comparable &= error <= std::numeric_limits<float>::max();  // false for NaN and infinity
    largest = std::max(largest, error);
    squares += static_cast<double>(wanted[i]) * wanted[i];
  }
  const double rms = std::sqrt(squares / static_cast<double>(wanted.size()));
  // Half the bound of Compare: no doubt about rounding in the sums above.
  if (!comparable || largest > 0.5e-4 * rms) return std::nullopt;
  return largest;
}

/// The candidate's kernel with its memory, and what is checked about it.
class Kernel final : public Subject {
 public:
  explicit Kernel(const ChildWork& work) : work_(work), kernel_(work.item->kernel) {}

  std::optional<Failure> Load();
  std::optional<Failure> Verify(InputSet set, Phase phase, RunReply& reply);
  /// Prepares timing: inputs of the random set.
  void SelectInputs(InputSet set);
  double last_call_seconds() const { return last_call_seconds_; }
  int return_code() const { return code_; }

  bool Run(std::int64_t calls) override;
  void Flush(std::int64_t bytes) override;
  double CanarySeconds() override { return work_.canary->Run(); }
  /// Threads, red zones, return code: what shows on any call.
  std::optional<Failure> CheckTraces() const;
  std::optional<Failure> CheckOutput(InputSet set, RunReply& reply) const;
  void Poison(InputSet set);

 private:
  std::optional<Failure> Open();
  std::optional<Failure> Allocate(const TwKernelInfo& info);
  Result<Tensor> ResultTensor() const;

  const ChildWork& work_;
  const KernelSpec& kernel_;
  std::optional<LoadedKernel> loaded_;
  GuardedMemory output_, workspace_;
  std::vector<KnownMemory> known_;
  std::vector<void*> arguments_;
  Pool pool_;
  std::vector<char> flush_;
  int threads_before_ = 1;
  int code_ = 0;
  std::uint8_t poison_ = 0;
  double last_call_seconds_ = 0;
  SystemClock clock_;
};

std::optional<Failure> Kernel::Load() {
  work_.report->phase = Phase::kLoading;
  std::int64_t limit = 0;
  if (work_.memory_bytes > 0 && !kHasShadowMemory) {
    limit = AddressSpaceBytes() + work_.memory_bytes;
    const rlimit bound{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
    ::setrlimit(RLIMIT_AS, &bound);
  }
  for (const auto& set : work_.setup->inputs) {
    for (std::size_t i = 0; i < set.size(); ++i) known_.push_back({set[i], static_cast<int>(i)});
  }
  CatchCrashes(work_.report, &known_, limit);
  if (auto failure = Open()) return failure;
  if (kernel_.threads > 1) {
    const TwPoolOptions options = TwPoolDefaults(kernel_.threads);
    pool_.reset(TwPoolCreate(&options));
    if (pool_ == nullptr) return Failure{Outcome::kRunFailed, "no threads can be started"};
  }
  threads_before_ = CountThreads();
  ForbidProcesses();
  return std::nullopt;
}

std::optional<Failure> Kernel::Open() {
  auto loaded = LoadKernel(kernel_.artifact, kernel_.symbol);
  if (!loaded.ok()) {
    return Failure{Outcome::kRunFailed, "artifact cannot be used: " + loaded.status().message()};
  }
  loaded_.emplace(*std::move(loaded));
  const TwKernelInfo& info = loaded_->entry.info;
  if (info.parameters != kernel_.parameters.size()) {
    return Failure{Outcome::kRunFailed, "artifact takes " + std::to_string(info.parameters) +
                                            " parameters, expected " +
                                            std::to_string(kernel_.parameters.size())};
  }
  return Allocate(info);
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
  auto output = GuardedMemory::Create(work_.setup->output.bytes());
  auto scratch = GuardedMemory::Create(workspace);
  for (const auto* made : {&output, &scratch}) {
    if (!made->ok()) return Failure{Outcome::kRunFailed, made->status().message()};
  }
  output_ = *std::move(output);
  workspace_ = *std::move(scratch);
  known_.push_back({&output_, static_cast<int>(kernel_.parameters.size()) - 1});
  known_.push_back({&workspace_, kWorkspaceParameter});
  return std::nullopt;
}

void Kernel::SelectInputs(InputSet set) {
  arguments_.clear();
  for (const GuardedMemory* memory : work_.setup->inputs[static_cast<std::size_t>(set)]) {
    // Kernels take pointers to data they do not write; the pages are read-only.
    arguments_.push_back(const_cast<std::byte*>(memory->data()));
  }
  arguments_.push_back(output_.data());
}

void Kernel::Poison(InputSet set) {
  // As float32 the first is NaN; two different ones, since either may be a right value by chance.
  poison_ = kernel_.parameters.back().dtype.is_float() ? 0xFF
            : set == InputSet::kExtreme                ? 0x5A
                                                       : 0xA5;
  output_.Poison(poison_);
  workspace_.Poison(0xFF);
}

bool Kernel::Run(std::int64_t calls) {
  const double start = clock_.MonotonicSeconds();
  work_.report->call_started = start;
  for (std::int64_t i = 0; i < calls && code_ == 0; ++i) {
    code_ = loaded_->entry.run(arguments_.data(), workspace_.data(),
                               pool_ == nullptr ? nullptr : TwPoolParallel(pool_.get()));
  }
  work_.report->call_started = 0;
  last_call_seconds_ = (clock_.MonotonicSeconds() - start) / static_cast<double>(calls);
  return code_ == 0;
}

void Kernel::Flush(std::int64_t bytes) {
  flush_.resize(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < flush_.size(); i += 64) ++flush_[i];
}

std::optional<Failure> Kernel::CheckTraces() const {
  if (code_ != 0) {
    return Failure{Outcome::kRunFailed, "the kernel returned code " + std::to_string(code_) +
                                            PhaseText(work_.report->phase)};
  }
  if (CountThreads() > threads_before_) {
    return Failure{Outcome::kRunFailed, "a thread of the kernel still ran after it had returned" +
                                            PhaseText(work_.report->phase)};
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
                       (damage < 0 ? " bytes before its start" : " bytes past its end") +
                       PhaseText(work_.report->phase)};
  }
  return std::nullopt;
}

Result<Tensor> Kernel::ResultTensor() const {
  Tensor result(work_.setup->output);
  std::memcpy(result.data(), output_.data(), static_cast<std::size_t>(result.bytes()));
  if (!work_.setup->padded) return result;
  // A kernel may see the image as one row (1x1 convolutions): the memory is that of the layout.
  auto layout = Layout::Parse(work_.setup->output_layout);
  TW_RETURN_IF_ERROR(layout);
  std::vector<std::int64_t> packed = layout->Pack(work_.setup->logical);
  if (Product(packed) == result.elements()) result.Reshape(std::move(packed));
  return TransformLayout(result, work_.setup->output_layout, work_.setup->result_layout,
                         work_.setup->logical);
}

std::optional<Failure> Kernel::CheckOutput(InputSet set, RunReply& reply) const {
  const Tensor& expected = *work_.setup->expected[static_cast<std::size_t>(set)];
  if (!work_.setup->padded) {
    const auto error = QuickCompare(output_.data(), expected);
    if (error) {
      reply.max_abs_error = std::max(reply.max_abs_error, *error);
      return std::nullopt;
    }
  }
  auto result = ResultTensor();
  if (!result.ok()) return Failure{Outcome::kRunFailed, result.status().message()};
  result->Reshape(expected.shape());
  const Comparison comparison = Compare(*result, expected);
  reply.max_abs_error = std::max(reply.max_abs_error, comparison.max_abs_error);
  if (comparison.ok) return std::nullopt;
  const std::int64_t at = std::max<std::int64_t>(comparison.first_bad, 0);
  const std::string where =
      "element " + std::to_string(at) + " of " + std::to_string(expected.elements());
  const std::byte* place = result->data() + at * result->dtype().bytes();
  const bool untouched = std::all_of(place, place + result->dtype().bytes(), [&](std::byte b) {
    return b == static_cast<std::byte>(poison_);
  });
  if (untouched) {
    return Failure{Outcome::kWrongResult,
                   where + " was not written" + PhaseText(work_.report->phase)};
  }
  char values[96];
  std::snprintf(values, sizeof(values), " is %.9g, expected %.9g", result->At(at), expected.At(at));
  return Failure{Outcome::kWrongResult, where + values + PhaseText(work_.report->phase)};
}

std::optional<Failure> Kernel::Verify(InputSet set, Phase phase, RunReply& reply) {
  work_.report->phase = phase;
  SelectInputs(set);
  Poison(set);
  (void)Run(1);
  if (auto failure = CheckTraces()) return failure;
  return CheckOutput(set, reply);
}

/// The whole course of one candidate.
class Course {
 public:
  explicit Course(const ChildWork& work) : work_(work), kernel_(work), gate_(work.gate) {
    reply_.ticket = work.item->ticket;
  }
  void Follow();

 private:
  std::optional<Failure> VerifyAll();
  void TakeAll();
  void ServeSlices();
  bool Worse() const;
  void Send(const std::string& line) const { (void)WriteAll(work_.result_fd, line, 60); }
  void Finish();

  const ChildWork& work_;
  Kernel kernel_;
  QuietGate gate_;
  SystemClock clock_;
  RunReply reply_;
  SampleSet samples_;
  double call_seconds_ = 0;
};

/// After the first call, which is slower than the others (cold caches): far above the best?
bool Course::Worse() const {
  constexpr double kColdSeconds = 3e-3;
  const double best = work_.item->best_seconds;
  return best > 0 && call_seconds_ > kColdSeconds + (work_.sampling.cutoff_factor + 1) * best;
}

std::optional<Failure> Course::VerifyAll() {
  if (auto failure = kernel_.Verify(InputSet::kRandom, Phase::kRandom, reply_)) return failure;
  call_seconds_ = kernel_.last_call_seconds();
  // A candidate that can never be served need not be proved right on every input; its first call
  // is its only sample.
  if (Worse() && work_.command_fd < 0) {
    samples_.all = {call_seconds_};
    samples_.clearly_worse = true;
    return std::nullopt;
  }
  if (auto failure = kernel_.Verify(InputSet::kExtreme, Phase::kExtreme, reply_)) return failure;
  if (auto failure = kernel_.Verify(InputSet::kZeroPoint, Phase::kZeroPoint, reply_)) {
    return failure;
  }
  call_seconds_ = kernel_.last_call_seconds();
  return std::nullopt;
}

void Course::TakeAll() {
  work_.report->phase = Phase::kTiming;
  kernel_.SelectInputs(InputSet::kRandom);
  (void)kernel_.Run(1);  // warm-up: the random set's tensors come back into the caches
  call_seconds_ = kernel_.last_call_seconds();
  samples_ =
      TakeSamples(kernel_, clock_, gate_, work_.sampling, call_seconds_, work_.item->best_seconds);
}

/// A race: the runner says when this candidate takes its next slice.
void Course::ServeSlices() {
  work_.report->phase = Phase::kTiming;
  kernel_.SelectInputs(InputSet::kRandom);
  Send("1\n");
  samples_.interleaved = true;
  char command = 0;
  while (::read(work_.command_fd, &command, 1) == 1 && command == 's') {
    (void)kernel_.Run(1);  // the others' tensors were in the caches
    call_seconds_ = kernel_.last_call_seconds();
    samples_.canaries.clear();
    TakeSlice(kernel_, clock_, gate_, work_.sampling, call_seconds_, samples_);
    reply_.canaries.insert(reply_.canaries.end(), samples_.canaries.begin(),
                           samples_.canaries.end());
    if (samples_.failed) return;
    const bool some = samples_.all.size() >= kRaceSamples;
    Send(ShortestDouble(some ? samples_.estimate().noise : 1) + "\n");
  }
}

void Course::Finish() {
  const Estimate estimate = samples_.estimate();
  reply_.samples = samples_.all;
  reply_.canaries.insert(reply_.canaries.end(), samples_.canaries.begin(), samples_.canaries.end());
  reply_.value = estimate.value;
  reply_.noise = estimate.noise;
  reply_.timing_seconds = samples_.seconds;
}

void Course::Follow() {
  std::optional<Failure> failure = kernel_.Load();
  InjectRunnerFault(work_.item->fault.runner);
  if (!failure) failure = VerifyAll();
  if (!failure && !samples_.clearly_worse) {
    if (work_.command_fd >= 0) {
      ServeSlices();
    } else {
      TakeAll();
    }
    failure = kernel_.CheckTraces();
    // Once more: a kernel that was right at first may have drifted, or may be written to late.
    if (!failure) failure = kernel_.Verify(InputSet::kRandom, Phase::kFinal, reply_);
    reply_.verified = !failure;
  }
  Finish();
  if (failure) {
    reply_.outcome = failure->outcome;
    reply_.reason = failure->reason;
  }
  Send(LineOf(ToJson(reply_)));
}

}  // namespace

void RunChild(const ChildWork& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != work.runner_pid) ::_exit(1);  // it went before the line above
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  // On the heap and never destroyed: at the end the process just ends, whatever the kernel did to
  // it.
  auto* course = std::make_unique<Course>(work).release();
  course->Follow();
  ::_exit(0);
}

}  // namespace tilewright::measure
