// One run of a compiled library, step by step, with each result poisoned first. Every element must
// be written, and sampled elements of every distinct kernel must equal the reference.
#include "src/compiler/check/check_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "src/base/clock.h"
#include "src/base/math.h"
#include "src/compiler/check/check_entries.h"
#include "src/compiler/check/check_plan.h"
#include "src/compiler/check/check_positions.h"
#include "src/compiler/check/coverage.h"
#include "src/compiler/check/sample.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/recurrence.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 22;  // half a second of a kernel
constexpr std::int64_t kMaxReads = std::int64_t{1} << 22;   // for a single element
constexpr std::int64_t kReadsOfStep = std::int64_t{1} << 15;
constexpr std::int64_t kMaxElements = 24, kElementsOfKnownKernels = 4;
// Minimum of elements if each is computed from many, up to this number of reads.
constexpr std::int64_t kFewestElements = 4, kReadsOfFewest = std::int64_t{1} << 17;

/// Byte patterns of unwritten memory. Arithmetic never produces a float of the first pattern.
/// Integers can have such values, so two runs with different patterns must agree that an element is
/// unwritten.
constexpr int kPoison = 0xff, kIntegerPoison = 0xa5, kOtherPoison = 0x5a;

/// Returns elements of a recurrence's steps within reach, all at once: one takes as long as many.
/// Its last steps have the code of the first. most: number of steps.
std::vector<std::int64_t> ChooseSteps(const Node& node, std::int64_t count, std::int64_t most) {
  const Recurrence& recurrence = *node.op.attributes.recurrence;
  const bool behind = recurrence.results == StepResults::kThenLastStates;
  const std::int64_t steps = node.type.shape[0] - (behind ? std::ssize(recurrence.next) : 0);
  const std::int64_t first = most < steps && recurrence.backwards ? steps - most : 0;
  TensorType type = node.type;
  if (most < steps) type.shape[0] = most;
  std::vector<std::int64_t> positions = ChoosePositions(type, node.name, count);
  const std::int64_t each = node.type.elements() / node.type.shape[0];
  for (std::int64_t& position : positions) position += first * each;
  return positions;
}

/// Runs of the library, step by step.
class CheckedRun {
 public:
  /// graph: of plan.graph's nodes, with `entries` entries of the open dimension, if there is one:
  /// the library has that size.
  CheckedRun(const Graph& graph, const Plan& plan, std::int64_t entries,
             const ModelLibrary& library, double seconds, CheckProgress& progress)
      : graph_(graph),
        plan_(plan),
        entries_(entries),
        places_(plan.open ? RoundUp(entries, plan.open->padded_to) : 1),
        library_(library),
        progress_(progress),
        start_(clock_.MonotonicSeconds()),
        seconds_left_(seconds),
        seconds_for_known_(seconds / 2) {
    for (const ModelValue& value : library.inputs()) {
      inputs_.push_back(MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
    }
    for (const ModelValue& value : library.outputs()) outputs_.emplace_back(value.type);
    for (const PlanStep& step : plan.steps) made_[step.buffers.back()] = &step;
  }

  Result<CompileCheck> Run() {
    check_.ran = true;
    check_.operators = static_cast<std::int64_t>(plan_.steps.size());
    if (plan_.steps.empty()) return check_;
    TW_RETURN_IF_ERROR(RunLibrary(FindArena));
    candidates_.resize(plan_.steps.size());
    Prepare(0);
    TW_RETURN_IF_ERROR(RunLibrary(Observe));
    const bool doubtful = std::ranges::any_of(
        candidates_, [](const std::vector<std::int64_t>& found) { return !found.empty(); });
    if (doubtful) {
      again_ = true;
      Poison(0);
      TW_RETURN_IF_ERROR(RunLibrary(Observe));
    }
    TW_RETURN_IF_ERROR(ProveOverwriting());
    check_.seconds = clock_.MonotonicSeconds() - start_;
    return check_;
  }

 private:
  Status RunLibrary(TwObserver observer) {
    progress_.Begin(0);
    const Status status = library_.RunRaw(inputs_, outputs_, observer, this);
    progress_.End();
    return status.ok() ? status_ : status;
  }

  static std::int32_t FindArena(void* context, std::int64_t index, const void* result, double) {
    auto* run = static_cast<CheckedRun*>(context);
    run->progress_.Begin(index + 1);
    const PlanStep& step = run->plan_.steps[static_cast<std::size_t>(index)];
    const PlanBuffer& buffer = run->BufferAt(step.buffers.back());
    if (buffer.space != BufferSpace::kArena) return 0;
    // The runtime's own memory, which it passes out for reading.
    run->arena_ = static_cast<std::byte*>(const_cast<void*>(result)) - run->places_ * buffer.offset;
    return ModelLibrary::kStopped;
  }

  static std::int32_t Observe(void* context, std::int64_t index, const void* result, double) {
    auto* run = static_cast<CheckedRun*>(context);
    const auto step = static_cast<std::size_t>(index);
    run->progress_.End();
    run->status_ = run->again_ ? run->LookAgain(step, result) : run->Look(step, result);
    if (!run->status_.ok()) return ModelLibrary::kStopped;
    if (step + 1 < run->plan_.steps.size()) {
      if (run->again_) {
        run->Poison(step + 1);
      } else {
        run->Prepare(step + 1);
      }
    }
    run->progress_.Begin(index + 1);
    return 0;
  }

  const PlanBuffer& BufferAt(int id) const { return plan_.buffers[static_cast<std::size_t>(id)]; }

  /// Returns null for constants, which have the kernels' layouts in the library.
  std::byte* AddressOf(int id) {
    const PlanBuffer& buffer = BufferAt(id);
    const auto index = static_cast<std::size_t>(buffer.index);
    switch (buffer.space) {
      case BufferSpace::kArena:
        return arena_ + places_ * buffer.offset;
      case BufferSpace::kInput:
        return inputs_[index].data() + buffer.offset;
      case BufferSpace::kOutput:
        return outputs_[index].data() + buffer.offset;
      case BufferSpace::kConstant:
        return nullptr;
    }
    return nullptr;
  }

  /// Returns true if the result takes the place of an operand, whose bytes are there before.
  bool Overwrites(const PlanStep& step) {
    const std::byte* result = AddressOf(step.buffers.back());
    for (std::size_t i = 0; i + 1 < step.buffers.size(); ++i) {
      if (AddressOf(step.buffers[i]) == result) return true;
    }
    return false;
  }

  int PoisonOf(const PlanStep& step) const {
    const bool real = graph_.node(step.node).type.dtype.is_float();
    return real ? kPoison : again_ ? kOtherPoison : kIntegerPoison;
  }

  void Poison(std::size_t index) {
    const PlanStep& step = plan_.steps[index];
    if (Overwrites(step)) return;
    std::memset(AddressOf(step.buffers.back()), PoisonOf(step),
                static_cast<std::size_t>(BytesOf(step)));
  }

  /// Returns the bytes of the result.
  std::int64_t BytesOf(const PlanStep& step) const {
    const auto result = static_cast<std::size_t>(step.buffers.back());
    return step.result_bytes * (plan_.open && plan_.open->has_entries[result] ? entries_ : 1);
  }

  /// Prepares a step: its operands are in memory, its result is not.
  void Prepare(std::size_t index) {
    Poison(index);
    expected_.reset();
    const PlanStep& step = plan_.steps[index];
    const KernelStep* kernel = step.kernel();
    const bool known = kernel == nullptr || compared_kernels_.contains(kernel->kernel);
    if (seconds_left_ <= 0 || (known && seconds_left_ < seconds_for_known_)) {
      if (!known) skipped_.emplace(kernel->kernel, std::pair(index, std::string("time was up")));
      return;
    }
    const double begun = clock_.MonotonicSeconds();
    const Status status = Sample(step, known);
    seconds_left_ -= clock_.MonotonicSeconds() - begun;
    if (!status.ok() && !known) {
      skipped_.emplace(kernel->kernel, std::pair(index, status.message()));
    }
  }

  /// Computes the expected values of some elements.
  Status Sample(const PlanStep& step, bool known) {
    const FindValue find = [&](int node) { return Find(step, node); };
    const TensorType& type = graph_.node(step.node).type;
    const std::string& name = graph_.node(step.node).name;
    if (type.elements() == 0) return Status();  // nothing to compare
    if (graph_.node(step.node).op.kind == OpKind::kRecurrence) return SampleSteps(step, find);
    SampledReference one(graph_, find, kMaxReads);
    const std::int64_t last = type.elements() - 1;
    auto sample = one.At(step.node, std::span(&last, 1));
    const std::int64_t reads = std::max<std::int64_t>(kMaxReads - one.reads_left(), 1);
    const std::int64_t fewest = !known && reads <= kReadsOfFewest ? kFewestElements : 1;
    const std::int64_t count =
        std::clamp(kReadsOfStep / reads, fewest, known ? kElementsOfKnownKernels : kMaxElements);
    positions_ = {last};
    half_ = one.rounded_to_half();
    if (sample.ok() && count > 1) {
      positions_ = ChoosePositions(type, name, count);
      SampledReference more(graph_, find, kMaxReads);
      sample = more.At(step.node, positions_);
    }
    TW_RETURN_IF_ERROR(sample);
    expected_ = *std::move(sample);
    return Status();
  }

  /// Samples fewer steps if later ones amplify roundings too much for a comparison.
  Status SampleSteps(const PlanStep& step, const FindValue& find) {
    const Node& node = graph_.node(step.node);
    half_ = false;
    for (std::int64_t most = StepsWithinReach(graph_, node); most > 0; most /= 2) {
      positions_ = ChooseSteps(node, kMaxElements, most);
      SampledReference reference(graph_, find, kMaxReads);
      TW_ASSIGN_OR_RETURN(auto sample, reference.At(step.node, positions_));
      if (sample->clamped) continue;
      expected_ = std::move(sample);
      return Status();
    }
    return Unsupported("a step multiplies what is rounded until nothing can be told");
  }

  std::optional<TensorView> Find(const PlanStep& step, int node) {
    if (graph_.node(node).kind == NodeKind::kInput) {
      const std::vector<int> inputs = graph_.inputs();
      const auto position = std::ranges::find(inputs, node) - inputs.begin();
      return TensorView{inputs_[static_cast<std::size_t>(position)].data(), PhysicalLayout()};
    }
    for (std::size_t i = 0; i + 1 < step.buffers.size(); ++i) {
      const auto made = made_.find(step.buffers[i]);
      if (made == made_.end() || made->second->node != node) continue;
      return TensorView{AddressOf(step.buffers[i]), made->second->layouts};
    }
    return FindOverlappingValue(step, node);
  }

  int TopOf(int buffer) const {
    while (BufferAt(buffer).whole >= 0) buffer = BufferAt(buffer).whole;
    return buffer;
  }

  /// Finds a value that is a part of an operand, or that contains an operand.
  std::optional<TensorView> FindOverlappingValue(const PlanStep& step, int node) {
    for (const auto& [buffer, made] : made_) {
      if (made->node != node || made >= &step) continue;  // steps are stored in order
      const bool related =
          std::any_of(step.buffers.begin(), step.buffers.end() - 1,
                      [&](int operand) { return TopOf(operand) == TopOf(buffer); });
      if (related) return TensorView{AddressOf(buffer), made->layouts};
    }
    return std::nullopt;
  }

  /// Returns the elements of the result that are still poisoned.
  std::vector<std::int64_t> Poisoned(const PlanStep& step, const void* result) const {
    const int bytes = graph_.node(step.node).type.dtype.bytes();
    const std::int64_t count = BytesOf(step) / bytes;
    if (bytes == 1) return EqualTo<std::uint8_t>(result, count, PoisonOf(step));
    if (bytes == 2) return EqualTo<std::uint16_t>(result, count, PoisonOf(step));
    if (bytes == 4) return EqualTo<std::uint32_t>(result, count, PoisonOf(step));
    return EqualTo<std::uint64_t>(result, count, PoisonOf(step));
  }

  /// Returns the positions of elements whose bytes are all `byte`.
  template <typename T>
  static std::vector<std::int64_t> EqualTo(const void* memory, std::int64_t count, int byte) {
    T pattern;
    std::memset(&pattern, byte, sizeof pattern);
    const auto* elements = static_cast<const T*>(memory);
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < count; ++i) {
      if (elements[i] == pattern) found.push_back(i);
    }
    return found;
  }

  Status Unwritten(const PlanStep& step, std::size_t count) const {
    const std::int64_t bytes = graph_.node(step.node).type.dtype.bytes();
    return Internal(fmt::format("{}: nothing writes {} of the {} elements of its result",
                                NameOfStep(graph_, step), count, BytesOf(step) / bytes));
  }

  Status Look(std::size_t index, const void* result) {
    const PlanStep& step = plan_.steps[index];
    if (!Overwrites(step)) {
      std::vector<std::int64_t> found = Poisoned(step, result);
      const bool real = graph_.node(step.node).type.dtype.is_float();
      if (real && !found.empty()) return Unwritten(step, found.size());
      candidates_[index] = std::move(found);
    }
    if (expected_ == nullptr) return Status();
    SampledReference memory(
        graph_,
        [&](int) {
          return TensorView{result, step.layouts};
        },
        kMaxReads);
    TW_ASSIGN_OR_RETURN(auto seen, memory.At(step.node, positions_));
    const std::optional<double> tolerance =
        half_ ? std::optional(kToleranceOfFloat16) : std::nullopt;
    const Comparison comparison = CompareBounded(seen->value, *expected_, tolerance);
    if (!comparison.ok) {
      const auto bad = static_cast<std::size_t>(comparison.first_bad);
      return Internal(fmt::format(
          "{} differs from the reference: element {} is {:.9g}, expected {:.9g}",
          NameOfStep(graph_, step), positions_[bad], seen->value.At(comparison.first_bad),
          expected_->value.At(comparison.first_bad)));
    }
    ++check_.compared;
    check_.elements += static_cast<std::int64_t>(positions_.size());
    if (const KernelStep* kernel = step.kernel()) compared_kernels_.insert(kernel->kernel);
    return Status();
  }

  Status LookAgain(std::size_t index, const void* result) const {
    const PlanStep& step = plan_.steps[index];
    if (candidates_[index].empty()) return Status();
    const std::vector<std::int64_t> found = Poisoned(step, result);
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(found, candidates_[index], std::back_inserter(both));
    return both.empty() ? Status() : Unwritten(step, both.size());
  }

  /// Checks results in unpoisoned places by the kernel's code, and lists kernels without a compared
  /// step.
  Status ProveOverwriting() {
    std::map<int, Coverage> known;
    for (const PlanStep& step : plan_.steps) {
      const KernelStep* kernel = step.kernel();
      if (kernel == nullptr || !Overwrites(step)) continue;
      const auto [found, added] = known.try_emplace(kernel->kernel, Coverage::kUnknown);
      if (added) found->second = CoverageOf(plan_.KernelOf(*kernel), kMaxPlaces);
      if (found->second == Coverage::kPart) return Unwritten(step, 1);
      if (found->second == Coverage::kUnknown) {
        check_.not_proved.push_back(NameOfStep(graph_, step));
      }
    }
    for (const auto& [kernel, why] : skipped_) {
      if (compared_kernels_.contains(kernel)) continue;
      check_.not_compared.emplace_back(NameOfStep(graph_, plan_.steps[why.first]), why.second);
    }
    return Status();
  }

  const Graph& graph_;
  const Plan& plan_;
  const std::int64_t entries_, places_;  // of the open dimension; places have room in the arena
  const ModelLibrary& library_;
  CheckProgress& progress_;
  SystemClock clock_;
  double start_ = 0;
  double seconds_left_ = 0;       // for the reference; the run itself does not count
  double seconds_for_known_ = 0;  // reserve for kernels that were not compared yet
  std::vector<Tensor> inputs_, outputs_;
  std::map<int, const PlanStep*> made_;  // by the buffer of the result
  std::byte* arena_ = nullptr;
  bool again_ = false;
  std::vector<std::vector<std::int64_t>> candidates_;  // by step: integers like the poison
  // Of the next step.
  SampledReference::Sample expected_;
  std::vector<std::int64_t> positions_;
  bool half_ = false;
  std::set<int> compared_kernels_;
  std::map<int, std::pair<std::size_t, std::string>> skipped_;  // by kernel: step, reason
  Status status_;
  CompileCheck check_;
};

/// Returns lengths to check: few positions, a few more than whole blocks, and SizesOfAllKernels.
/// Other ones have the same kernels.
std::set<std::int64_t> LengthsToCheck(const OpenPlan& open) {
  const std::int64_t block = open.padded_to;
  std::set<std::int64_t> lengths = {1};
  for (const std::int64_t length :
       {std::int64_t{2}, std::int64_t{7}, block, block + 1, 2 * block + block / 2 + 1}) {
    if (length <= open.range.most) lengths.insert(length);
  }
  lengths.merge(SizesOfAllKernels(open));
  return lengths;
}

/// Checks a library for lengths of a sequence with several of them.
Result<CompileCheck> CheckLengths(const SequenceNetwork& network, const Plan& plan,
                                  ModelLibrary& library, double seconds, CheckProgress& progress) {
  const std::set<std::int64_t> lengths = LengthsToCheck(*plan.open);
  CompileCheck all;
  for (const std::int64_t length : lengths) {
    TW_ASSIGN_OR_RETURN(const auto sized, network.At(length));
    TW_RETURN_IF_ERROR(library.Resize(length));
    const double share = seconds / static_cast<double>(lengths.size());
    auto check = CheckedRun(sized.graph, plan, length, library, share, progress).Run();
    if (!check.ok()) {
      return check.status().WithContext(fmt::format("with {} = {}", network.range.name, length));
    }
    const std::int64_t elements = all.elements;
    const double spent = all.seconds;
    if (length == 1 || check->compared >= all.compared) all = *std::move(check);
    all.elements += elements;
    all.seconds += spent;
  }
  return all;
}

}  // namespace

Result<CompileCheck> CheckBySample(const Plan& plan, const CompileOptions& options,
                                   const std::string& library_path, int set,
                                   CheckProgress& progress) {
  const double seconds = options.check_seconds;
  auto library = ModelLibrary::Open(library_path, set);
  if (!library.ok()) {  // code for another machine, too much memory, a library that is not here
    std::string why = library.status().message();
    if (why.starts_with(library_path + ": ")) why.erase(0, library_path.size() + 2);
    return Unsupported(why);
  }
  if (!plan.open) {
    return CheckedRun(plan.graph, plan, 1, *library, seconds, progress).Run();
  }
  if (const PositionNetwork* positions = PositionsOf(options)) {
    return CheckPositions(*positions, plan, *library, seconds, progress);
  }
  if (const SequenceNetwork* sequence = SequenceOf(options)) {
    return CheckLengths(*sequence, plan, *library, seconds, progress);
  }
  TW_RETURN_IF_ERROR(library->Resize(1));
  TW_ASSIGN_OR_RETURN(auto check,
                      CheckedRun(plan.graph, plan, 1, *library, seconds, progress).Run());
  TW_RETURN_IF_ERROR(CheckEntries(*library, SizesOfAllKernels(*plan.open), progress));
  return check;
}

Result<CompileCheck> CheckByCode(const Plan& plan) {
  CompileCheck check;
  check.operators = static_cast<std::int64_t>(plan.steps.size());
  std::set<int> known;
  for (const PlanStep& step : plan.steps) {
    const KernelStep* call = step.kernel();
    if (call == nullptr || !known.insert(call->kernel).second) continue;
    const Program& kernel = plan.KernelOf(*call);
    const Coverage coverage = CoverageOf(kernel, kMaxPlaces);
    if (coverage == Coverage::kPart) {
      return Internal(fmt::format("{}: kernel {} does not write all of its result",
                                  NameOfStep(plan.graph, step), kernel.name));
    }
    if (coverage == Coverage::kUnknown) check.not_proved.push_back(NameOfStep(plan.graph, step));
    check.not_compared.emplace_back(NameOfStep(plan.graph, step), "not run");
  }
  return check;
}

}  // namespace tilewright
