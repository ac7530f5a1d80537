// Runs of a library for a range of positions, with several sizes. Memory is poisoned before, every
// float must be written, and samples of every result must equal the reference at that size.
#include "src/compiler/check/check_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/clock.h"
#include "src/compiler/check/check_plan.h"
#include "src/compiler/check/sample.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Byte of unwritten memory: no float of only these bytes is the result of arithmetic.
constexpr int kUnwritten = 0xff;

/// Returns the sizes to check, the most important ones first.
std::vector<std::int64_t> SizesOfBlocks(const PositionNetwork& network) {
  const std::int64_t small = network.SmallUnit(), large = network.LargeUnit();
  const std::int64_t least = network.range.least, most = network.range.most;
  std::vector<std::int64_t> sizes = {least};
  const auto add = [&](std::int64_t size) {
    if (size < least || size > most) return;
    if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  };
  const std::int64_t many = (least + large - 1) / large * large;  // the first size of large blocks
  add(many + small + network.UnitStep() + 1);
  add(many);
  add(many + large - 1);
  add(least + 1);
  add(many + 1);
  add(many + 2 * large + 3 * small - 1);
  add(std::min(most, many + 4 * large));
  return sizes;
}

std::int64_t CountUnwritten(const void* memory, std::int64_t elements, int bytes) {
  const auto* bytes_of = static_cast<const unsigned char*>(memory);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    bool all = true;
    for (int b = 0; b < bytes && all; ++b) all = bytes_of[i * bytes + b] == kUnwritten;
    count += all ? 1 : 0;
  }
  return count;
}

/// One run with one size.
class PositionRun {
 public:
  /// graph: the network of this size, with the plan's nodes.
  PositionRun(const Graph& graph, const Plan& plan, const ModelLibrary& library, double seconds,
              CheckProgress& progress)
      : graph_(graph), plan_(plan), library_(library), seconds_(seconds), progress_(progress) {
    const std::vector<int> ids = graph.inputs();
    for (std::size_t i = 0; i < library.inputs().size(); ++i) {
      const ModelValue& value = library.inputs()[i];
      values_.emplace(ids[i],
                      MakeSyntheticInput(value.name, value.type, SyntheticInputRule::kRandom));
      inputs_.push_back(values_.at(ids[i]).Clone());
    }
    for (const ModelValue& value : library.outputs()) outputs_.emplace_back(value.type);
  }

  Result<CompileCheck> Run() {
    check_.ran = true;
    check_.operators = static_cast<std::int64_t>(plan_.steps.size());
    for (Tensor& output : outputs_) {
      std::memset(output.data(), kUnwritten, static_cast<std::size_t>(output.bytes()));
    }
    TW_RETURN_IF_ERROR(RunOnce(FindMemory));
    if (arena_ != nullptr) {
      std::memset(arena_, kUnwritten, static_cast<std::size_t>(plan_.arena_bytes));
    }
    TW_RETURN_IF_ERROR(RunOnce(LookAt));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      TW_RETURN_IF_ERROR(CheckOutput(graph_.outputs()[i], outputs_[i]));
    }
    check_.seconds = spent_;
    return check_;
  }

 private:
  Status RunOnce(TwObserver observer) {
    progress_.Begin(0);
    const Status status = library_.RunRaw(inputs_, outputs_, observer, this);
    progress_.End();
    return status.ok() ? status_ : status;
  }

  /// Finds the library's memory by the first result, and stops.
  static std::int32_t FindMemory(void* context, std::int64_t index, const void* result, double) {
    auto* run = static_cast<PositionRun*>(context);
    const PlanStep& step = run->plan_.steps[static_cast<std::size_t>(index)];
    const PlanBuffer& buffer = run->plan_.buffers[static_cast<std::size_t>(step.buffers.back())];
    if (buffer.space != BufferSpace::kArena) return 0;
    run->arena_ = static_cast<std::byte*>(const_cast<void*>(result)) - buffer.offset;
    return ModelLibrary::kStopped;
  }

  static std::int32_t LookAt(void* context, std::int64_t index, const void* result, double) {
    auto* run = static_cast<PositionRun*>(context);
    run->progress_.End();
    const auto step = static_cast<std::size_t>(index);
    run->status_ = run->Look(step, result);
    if (!run->status_.ok()) return ModelLibrary::kStopped;
    if (step + 1 < run->plan_.steps.size()) run->PoisonResult(step + 1);
    run->progress_.Begin(index + 1);
    return 0;
  }

  std::byte* AddressOf(int id) {
    const PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(id)];
    return buffer.space == BufferSpace::kArena && arena_ != nullptr ? arena_ + buffer.offset
                                                                    : nullptr;
  }

  /// Poisons a result that takes the place of no operand.
  void PoisonResult(std::size_t index) {
    const PlanStep& step = plan_.steps[index];
    std::byte* result = AddressOf(step.buffers.back());
    if (result == nullptr) return;
    for (std::size_t i = 0; i + 1 < step.buffers.size(); ++i) {
      if (AddressOf(step.buffers[i]) == result) return;
    }
    const PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(step.buffers.back())];
    std::memset(result, kUnwritten, static_cast<std::size_t>(buffer.bytes));
  }

  Status Unwritten(const PlanStep& step, std::int64_t count) const {
    return Internal(fmt::format("{}: nothing writes {} elements of its result",
                                NameOfStep(graph_, step), count));
  }

  Status Look(std::size_t index, const void* result) {
    const PlanStep& step = plan_.steps[index];
    const ModelOperator& op = library_.operators()[index];
    std::vector<std::byte> copy;
    const void* compact = CompactResult(op, result, copy);
    const TensorType& type = graph_.node(step.node).type;
    const int bytes = type.dtype.bytes();
    if (type.dtype.is_float()) {
      const std::int64_t count = CountUnwritten(compact, op.result_bytes / bytes, bytes);
      if (count > 0) return Unwritten(step, count);
    }
    TW_ASSIGN_OR_RETURN(auto value, ToLogical(type, step.layouts, compact));
    TW_RETURN_IF_ERROR(Compare(step.node, value, &step));
    values_.insert_or_assign(step.node, std::move(value));
    return Status();
  }

  /// Compares samples of a value with the reference on the values before it.
  Status Compare(int node, const Tensor& value, const PlanStep* step) {
    if (spent_ > seconds_) return Status();
    constexpr std::int64_t kMaxReadsOfOne = std::int64_t{1} << 22, kElements = 24,
                           kReads = std::int64_t{1} << 15;
    SystemClock clock;
    const double begun = clock.MonotonicSeconds();
    const auto find = [&](int id) -> std::optional<TensorView> {
      const auto found = values_.find(id);
      if (found == values_.end() || (id == node && step != nullptr)) return std::nullopt;
      return TensorView{found->second.data(), PhysicalLayout()};
    };
    // As many elements as take about as long as others.
    const std::int64_t last = value.elements() - 1;
    SampledReference one(graph_, find, kMaxReadsOfOne);
    auto expected = one.At(node, std::span(&last, 1));
    const std::int64_t reads = std::max<std::int64_t>(kMaxReadsOfOne - one.reads_left(), 1);
    std::vector<std::int64_t> positions = {last};
    if (expected.ok() && kReads / reads > 1) {
      // Drawn ones beside the first and the last.
      positions = ChoosePositions(value.type(), graph_.node(node).name,
                                  std::min(kReads / reads, kElements) + 1);
      if (positions.front() != 0) positions.insert(positions.begin(), 0);
      expected = SampledReference(graph_, find, kMaxReadsOfOne).At(node, positions);
    }
    spent_ += clock.MonotonicSeconds() - begun;
    if (!expected.ok()) {
      if (step != nullptr) {
        check_.not_compared.emplace_back(NameOfStep(graph_, *step), expected.status().message());
      }
      return Status();
    }
    Tensor seen(TensorType{{static_cast<std::int64_t>(positions.size())}, value.dtype()});
    for (std::size_t i = 0; i < positions.size(); ++i) {
      seen.Set(static_cast<std::int64_t>(i), value.At(positions[i]));
    }
    const Comparison comparison = CompareBounded(seen, **expected);
    if (!comparison.ok) {
      const auto bad = static_cast<std::size_t>(comparison.first_bad);
      return Internal(fmt::format(
          "{} differs from the reference: element {} is {:.9g}, expected {:.9g}",
          step != nullptr ? NameOfStep(graph_, *step) : "output " + graph_.node(node).name,
          positions[bad], seen.At(comparison.first_bad),
          (*expected)->value.At(comparison.first_bad)));
    }
    if (step == nullptr) return Status();
    ++check_.compared;
    check_.elements += static_cast<std::int64_t>(positions.size());
    return Status();
  }

  Status CheckOutput(int node, const Tensor& output) {
    const int bytes = output.dtype().bytes();
    const std::int64_t count =
        output.dtype().is_float() ? CountUnwritten(output.data(), output.elements(), bytes) : 0;
    if (count > 0) {
      return Internal(fmt::format("output {}: nothing writes {} of its elements",
                                  graph_.node(node).name, count));
    }
    return Compare(node, output, nullptr);
  }

  const Graph& graph_;
  const Plan& plan_;
  const ModelLibrary& library_;
  double seconds_, spent_ = 0;
  CheckProgress& progress_;
  std::map<int, Tensor> values_;  // by node, in the graph's layout
  std::vector<Tensor> inputs_, outputs_;
  std::byte* arena_ = nullptr;
  Status status_;
  CompileCheck check_;
};

}  // namespace

Result<CompileCheck> CheckPositions(const PositionNetwork& network, const Plan& plan,
                                    ModelLibrary& library, double seconds,
                                    CheckProgress& progress) {
  constexpr std::size_t kFewestSizes = 3;
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  const std::vector<std::int64_t> sizes = SizesOfBlocks(network);
  CompileCheck all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i >= kFewestSizes && clock.MonotonicSeconds() - start > seconds) break;
    TW_ASSIGN_OR_RETURN(const auto sized, network.At(sizes[i]));
    TW_RETURN_IF_ERROR(library.Resize(sizes[i]));
    auto check = PositionRun(sized.graph, plan, library, seconds / kFewestSizes, progress).Run();
    if (!check.ok()) {
      return check.status().WithContext(fmt::format("with {} = {}", network.range.name, sizes[i]));
    }
    const std::int64_t elements = all.elements;
    const double spent = all.seconds;
    if (i == 0 || check->compared > all.compared) all = *std::move(check);
    all.elements += elements;
    all.seconds += spent;
  }
  return all;
}

}  // namespace tilewright
