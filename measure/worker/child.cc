// Process of a candidate: it loads the artifact inside the sandbox and then executes the runner's
// steps. Variable inputs and the result are in memory that it shares with the runner, which
// verifies them. This process verifies nothing, because the kernel could manipulate the
// verification.

#include "measure/worker/child.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "measure/line_io.h"
#include "measure/sandbox/sandbox.h"
#include "measure/worker/crash.h"
#include "measure/worker/fault_hooks.h"
#include "measure/worker/parallel.h"
#include "src/base/clock.h"
#include "src/base/sanitizer.h"
#include "src/runtime/loader.h"

namespace tilewright::measure {
namespace {

/// Answer with up to two numbers.
struct StepAnswer {
  StepResult answer = StepResult::kOk;
  std::int64_t first = 0, second = 0;
  std::uint64_t words = 0;
};

/// Counts the threads of this process. The folder is opened before the sandbox.
class ThreadCounter {
 public:
  int Count() const {
    if (tasks_ == nullptr) return 1;
    ::rewinddir(tasks_.get());
    int count = 0;
    while (const dirent* entry = ::readdir(tasks_.get())) count += entry->d_name[0] != '.' ? 1 : 0;
    return count;
  }

 private:
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  std::unique_ptr<DIR, Close> tasks_{::opendir("/proc/self/task")};
};

/// The kernel with its memory.
class Kernel {
 public:
  explicit Kernel(const ChildParams& work) : work_(work), kernel_(work.item->kernel) {}

  StepAnswer Load();
  StepAnswer RunStep(StepKind kind);

 private:
  StepAnswer Open();
  StepAnswer Allocate(const TwKernelInfo& info);
  StepAnswer Prepare();
  StepAnswer PrepareCall();
  void SelectInputs(InputSet set);
  /// Selects the next cold weight for the next call.
  void TakeNextWeight() { TakeWindow(window_ + 1 < windows_.count ? window_ + 1 : 0); }
  void TakeWindow(std::int64_t window) {
    window_ = window;
    arguments_[work_.weight] = const_cast<std::byte*>(windows_.first + windows_.stride * window_);
  }
  /// Returns the seconds of `calls` calls; the last one takes the real weight if requested.
  double Call(std::int64_t calls, bool rotate_weights, bool ends_with_real_weight);
  StepAnswer Run(const StepRequest& order);
  StepAnswer CollectSlice(const StepRequest& order);
  StepAnswer LookAtTraces() const;
  StepAnswer Returned() const {
    return code_ == 0 ? StepAnswer() : StepAnswer{StepResult::kKernelError, code_};
  }

  const TwParallel* parallel() const {
    return pool_ == nullptr ? nullptr : TwPoolParallel(pool_.get());
  }

  const ChildParams& work_;
  const KernelSpec& kernel_;
  std::optional<LoadedKernel> loaded_;
  GuardedMemory workspace_;
  std::vector<ParameterMemory> known_;
  std::vector<void*> arguments_;
  Pool pool_;
  ColdWeights::Windows windows_;
  std::int64_t window_ = 0;
  ThreadCounter threads_;
  int threads_before_ = 1;
  int code_ = 0;
  SystemClock clock_;
};

StepAnswer Kernel::Load() {
  std::int64_t limit = 0;
  if (work_.memory_bytes > 0 && !kHasShadowMemory) {
    limit = AddressSpaceBytes() + work_.memory_bytes;
    const rlimit bound{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
    ::setrlimit(RLIMIT_AS, &bound);
  }
  for (const auto& set : work_.kernel_operands->inputs) {
    for (std::size_t i = 0; i < set.size(); ++i) known_.push_back({set[i], static_cast<int>(i)});
  }
  for (std::size_t i = 0; i < work_.live.size(); ++i) {
    if (work_.live[i] == nullptr) continue;
    work_.live[i]->SetReadOnly(true);  // in this process
    known_.push_back({work_.live[i], static_cast<int>(i)});
  }
  known_.push_back({work_.output, static_cast<int>(kernel_.signature.parameters.size()) - 1});
  if (work_.cold_weights != nullptr) {
    known_.push_back({&work_.cold_weights->memory(), static_cast<int>(work_.weight)});
    windows_ =
        work_.cold_weights->WindowsFor(kernel_.signature.parameters[work_.weight].type.bytes());
  }
  InstallCrashHandler(work_.report, &known_, limit);
  (void)DropPrivileges(*work_.readable);
  if (kernel_.threads > 1) {
    TwPoolOptions options = TwPoolDefaults(kernel_.threads);
    options.widen = 1;  // the runner itself is bound to the cores that are measured on
    pool_.reset(TwPoolCreate(&options));
    if (pool_ == nullptr) return {StepResult::kNoThreads};
  }
  (void)InstallSyscallFilter();  // the runner has already reported a failure
  for (const auto step : {&Kernel::Open, &Kernel::Prepare}) {
    const StepAnswer said = (this->*step)();
    if (said.answer != StepResult::kOk) return said;
  }
  threads_before_ = threads_.Count();
  return {StepResult::kOk, workspace_.bytes()};
}

StepAnswer Kernel::Open() {
  auto library = SharedLibrary::Open(kernel_.artifact);
  if (!library.ok())
    return {StepResult::kLoadFailed, 0, 0, EncodeKnownWords(library.status().message())};
  const auto entry = FindKernel(*library, kernel_.symbol);
  if (!entry.ok()) {
    const auto* info = static_cast<const TwKernelInfo*>(library->Symbol(kernel_.symbol + "_info"));
    const bool other = entry.status().code() == StatusCode::kUnsupported && info != nullptr;
    return other ? StepAnswer{StepResult::kVersionMismatch, info->abi_version}
                 : StepAnswer{StepResult::kSymbolMissing};
  }
  loaded_.emplace(LoadedKernel{*std::move(library), *entry});
  const TwKernelInfo& info = loaded_->entry.info;
  if (info.parameters != kernel_.signature.parameters.size()) {
    return {StepResult::kParameterCountMismatch, info.parameters};
  }
  return Allocate(info);
}

/// Preparation that a compiled model does once: it loads a library, and packs weights into its
/// layout.
StepAnswer Kernel::Prepare() {
  if (loaded_->entry.prepare == nullptr) return {};
  for (InputSet set : kInputSets) {
    SelectInputs(set);
    if (const StepAnswer said = PrepareCall(); said.answer != StepResult::kOk) return said;
  }
  windows_.count = std::min(windows_.count, kMaxPreparedWindows);
  for (std::int64_t i = 0; windows_.count > 1 && i < windows_.count; ++i) {
    TakeNextWeight();
    if (const StepAnswer said = PrepareCall(); said.answer != StepResult::kOk) return said;
  }
  return {};
}

StepAnswer Kernel::PrepareCall() {
  const char* problem = loaded_->entry.prepare(arguments_.data(), parallel());
  if (problem == nullptr) return {};
  return {StepResult::kPrepareFailed, 0, 0, EncodeKnownWords(problem)};
}

StepAnswer Kernel::Allocate(const TwKernelInfo& info) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  if (info.workspace_bytes < 0 || info.workspace_bytes > kMax ||
      info.workspace_bytes_per_thread < 0 || info.workspace_bytes_per_thread > kMax) {
    return {StepResult::kWorkspace, info.workspace_bytes, info.workspace_bytes_per_thread};
  }
  const std::int64_t workspace =
      info.workspace_bytes + info.workspace_bytes_per_thread * kernel_.threads;
  const std::int64_t needed = work_.kernel_operands->output.bytes() + workspace;
  if (work_.memory_bytes > 0 && needed > work_.memory_bytes)
    return {StepResult::kOverLimit, needed};
  auto scratch = GuardedMemory::Create(workspace);
  if (!scratch.ok()) return {StepResult::kNoMemory};
  workspace_ = *std::move(scratch);
  known_.push_back({&workspace_, kWorkspaceParameter});
  return {};
}

void Kernel::SelectInputs(InputSet set) {
  const bool live = set == InputSet::kRandom;
  const auto& inputs = work_.kernel_operands->inputs[static_cast<std::size_t>(set)];
  arguments_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const GuardedMemory* memory = inputs[i];
    if (live && i < work_.live.size() && work_.live[i] != nullptr) memory = work_.live[i];
    // Kernels take pointers to data they do not write; the pages are read-only.
    arguments_.push_back(const_cast<std::byte*>(memory->data()));
  }
  arguments_.push_back(work_.output->data());
}

double Kernel::Call(std::int64_t calls, bool rotate_weights, bool ends_with_real_weight) {
  const bool rotate = rotate_weights && windows_.count > 1;
  const std::int64_t last = ends_with_real_weight && rotate ? calls - 1 : calls;
  const double start = clock_.MonotonicSeconds();
  for (std::int64_t i = 0; i < calls && code_ == 0; ++i) {
    if (rotate) i == last ? TakeWindow(work_.real_window) : TakeNextWeight();
    code_ = loaded_->entry.run(arguments_.data(), workspace_.data(), parallel());
  }
  return clock_.MonotonicSeconds() - start;
}

StepAnswer Kernel::Run(const StepRequest& order) {
  SelectInputs(order.set);
  work_.exchange->seconds = Call(order.calls, order.rotate_weights, order.ends_with_real_weight);
  return Returned();
}

StepAnswer Kernel::CollectSlice(const StepRequest& order) {
  const SliceLimits terms = order.slice;
  SelectInputs(order.set);
  int count = 0, left = terms.samples;
  double spent = 0;
  do {
    const double elapsed =
        Call(terms.batch, /*rotate_weights=*/true, /*ends_with_real_weight=*/false);
    if (code_ != 0) break;
    work_.exchange->sample_seconds[static_cast<std::size_t>(count++)] =
        elapsed / static_cast<double>(terms.batch);
    spent += elapsed;
  } while (SliceContinues(terms, spent, --left) && count < kMaxSamplesOfSlice);
  work_.exchange->samples = count;
  return Returned();
}

StepAnswer Kernel::LookAtTraces() const {
  if (threads_.Count() > threads_before_) return {StepResult::kThreadLeaked};
  for (const ParameterMemory& known : known_) {
    const std::int64_t damage = known.memory->FindDamage();
    if (damage == GuardedMemory::kIntact) continue;
    const std::int64_t distance = damage < 0 ? damage : damage - known.memory->bytes();
    return {StepResult::kOutOfBoundsWrite, distance, known.parameter};
  }
  return {};
}

StepAnswer Kernel::RunStep(StepKind kind) {
  const StepRequest order = work_.exchange->order;
  switch (kind) {
    case StepKind::kRun:
      return Run(order);
    case StepKind::kSlice:
      return CollectSlice(order);
    case StepKind::kPoison:
      workspace_.Poison(0xFF);
      return {};
    case StepKind::kSideEffects:
      return LookAtTraces();
  }
  return {};
}

void Tell(const ChildParams& work, const StepAnswer& said) {
  Exchange& exchange = *work.exchange;
  exchange.numbers[0] = said.first;
  exchange.numbers[1] = said.second;
  exchange.words = said.words;
  exchange.answer = said.answer;
  while (::write(work.answer_fd, &kStepDone, 1) < 0 && errno == EINTR) {
  }
}

void Serve(const ChildParams& work) {
  InjectRunnerFault(work.item->fault.runner);
  // On the heap and never destroyed: at the end the process just ends, whatever the kernel did to
  // it.
  Kernel& kernel = *std::make_unique<Kernel>(work).release();
  Tell(work, kernel.Load());
  char command = 0;
  while (true) {
    const ssize_t count = ::read(work.command_fd, &command, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1) return;
    Tell(work, kernel.RunStep(StepKind{command}));
  }
}

/// The runner's allocator overwrites freed memory and maps every large block again (run_worker.cc).
/// That cost does not exist in a network, so it must not affect a kernel or library that allocates
/// in its calls.
void UseUsualAllocator() {
#if defined(__GLIBC__)
  // The largest values that the C library would choose by itself.
  constexpr int kLargeBytes = sizeof(void*) == 8 ? 32 << 20 : 512 << 10;
  (void)::mallopt(M_PERTURB, 0);
  (void)::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  (void)::mallopt(M_TRIM_THRESHOLD, 2 * kLargeBytes);
#endif
}

}  // namespace

void RunChild(const ChildParams& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != work.runner_pid) ::_exit(1);  // it ended before the line above
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  DetachFromTerminal();
  UseUsualAllocator();
  try {
    Serve(work);
  } catch (const std::bad_alloc&) {
    Tell(work, {StepResult::kNoMemory});
  }
  ::_exit(0);
}

}  // namespace tilewright::measure
