#include "src/compiler/check/check_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tilewright {
namespace {

/// Walk over the steps that tracks the contents of the arena's bytes.
class PlanCheck {
 public:
  explicit PlanCheck(const Plan& plan)
      : graph_(plan.graph),
        plan_(plan),
        written_(plan.buffers.size(), false),
        has_parts_(plan.buffers.size(), false) {}

  Status Run() {
    TW_RETURN_IF_ERROR(CheckParts());
    for (const PlanStep& step : plan_.steps) {
      if (Status status = CheckStep(step); !status.ok()) {
        return status.WithContext("the plan for " + NameOfStep(graph_, step));
      }
    }
    return CheckOutputs();
  }

 private:
  /// Bytes of the arena that hold a buffer.
  struct InitializedRange {
    std::int64_t begin, end;
    int buffer;
  };

  const PlanBuffer& At(int buffer) const { return plan_.buffers[static_cast<std::size_t>(buffer)]; }

  /// Checks that parts are inside of their wholes, and that no buffer is a part of itself.
  Status CheckParts() {
    const auto count = static_cast<int>(plan_.buffers.size());
    for (int buffer = 0; buffer < count; ++buffer) {
      const PlanBuffer& part = At(buffer);
      if (part.whole < 0) continue;
      int top = buffer;
      for (int steps = 0; top >= 0 && top < count && steps <= count; ++steps) top = At(top).whole;
      if (top != -1) {
        return Internal(fmt::format("buffer {} is a part of itself or nothing", buffer));
      }
      const PlanBuffer& whole = At(part.whole);
      if (part.space != BufferSpace::kArena || whole.space != BufferSpace::kArena ||
          part.offset != whole.offset + part.begin || part.begin < 0 ||
          part.begin + part.bytes > whole.bytes) {
        return Internal(fmt::format("buffer {} is not part of buffer {}", buffer, part.whole));
      }
      has_parts_[static_cast<std::size_t>(part.whole)] = true;
    }
    return Status();
  }

  Status CheckStep(const PlanStep& step) {
    if (step.buffers.size() < 2 && step.copies())
      return Internal("a copy step without source and destination");
    if (step.buffers.empty()) return Internal("a kernel without a result");
    for (int buffer : step.buffers) {
      if (buffer < 0 || buffer >= static_cast<int>(plan_.buffers.size())) {
        return Internal(fmt::format("no buffer {}", buffer));
      }
      TW_RETURN_IF_ERROR(CheckPlace(At(buffer)));
    }
    TW_RETURN_IF_ERROR(CheckSizes(step));
    for (std::size_t i = 0; i + 1 < step.buffers.size(); ++i) {
      TW_RETURN_IF_ERROR(CheckRead(step.buffers[i], i));
    }
    TW_RETURN_IF_ERROR(CheckOverwriting(step));
    Write(step.buffers.back());
    return Status();
  }

  /// Checks that a buffer is inside of its memory.
  Status CheckPlace(const PlanBuffer& buffer) const {
    const auto expect = [](std::int64_t bytes, std::int64_t wanted, const char* what) {
      if (bytes == wanted) return Status();
      return Internal(fmt::format("{} of {} bytes, expected {}", what, bytes, wanted));
    };
    const auto inside = [&](std::size_t count) {
      return buffer.index >= 0 && static_cast<std::size_t>(buffer.index) < count;
    };
    switch (buffer.space) {
      case BufferSpace::kArena:
        if (buffer.offset >= 0 && buffer.offset + buffer.bytes <= plan_.arena_bytes) return {};
        return Internal(fmt::format("bytes {} to {} of an arena of {}", buffer.offset,
                                    buffer.offset + buffer.bytes, plan_.arena_bytes));
      case BufferSpace::kConstant: {
        if (!inside(plan_.constants.size())) return Internal("no such constant");
        if (buffer.offset < 0 || buffer.offset + buffer.bytes > plan_.constant_bytes) {
          return Internal("a constant buffer out of range");
        }
        const Tensor& constant = plan_.constants[static_cast<std::size_t>(buffer.index)];
        return expect(constant.bytes(), buffer.bytes, "a constant");
      }
      case BufferSpace::kInput: {
        const std::vector<int> inputs = graph_.inputs();
        if (!inside(inputs.size())) return Internal("no such input");
        const int node = inputs[static_cast<std::size_t>(buffer.index)];
        return expect(graph_.node(node).type.bytes(), buffer.bytes, "an input");
      }
      case BufferSpace::kOutput: {
        if (!inside(graph_.outputs().size())) return Internal("no such output");
        const int node = graph_.outputs()[static_cast<std::size_t>(buffer.index)];
        return expect(graph_.node(node).type.bytes(), buffer.bytes, "an output");
      }
    }
    return Internal("a buffer of unknown space");
  }

  /// Checks the sizes of the kernel's tensors, and of the result by its type and layouts.
  Status CheckSizes(const PlanStep& step) const {
    const TensorType& type = graph_.node(step.node).type;
    TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(type, step.layouts));
    const std::int64_t result = TensorType{std::move(shape), type.dtype}.bytes();
    if (step.result_bytes != result || At(step.buffers.back()).bytes != result) {
      return Internal(fmt::format(
          "{} in layout '{}' has {} bytes, the step makes {} in memory of {}", type.ToString(),
          step.layouts.layout, result, step.result_bytes, At(step.buffers.back()).bytes));
    }
    if (step.copies()) {
      if (At(step.buffers.front()).bytes == result) return Status();
      return Internal(fmt::format("copies {} bytes of {}", result, At(step.buffers.front()).bytes));
    }
    if (const StreamStep* stream = step.stream()) return CheckReadSizes(step, stream->reads);
    if (const HostStep* host = step.host()) return CheckReadSizes(step, host->reads);
    const Program& kernel = plan_.KernelOf(*step.kernel());
    if (kernel.parameters.size() != step.buffers.size()) {
      return Internal(fmt::format("a kernel of {} tensors is given {}", kernel.parameters.size(),
                                  step.buffers.size()));
    }
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      if (kernel.parameters[i]->bytes() == At(step.buffers[i]).bytes) continue;
      return Internal(fmt::format("tensor {} of kernel {} has {} bytes, its memory {}", i,
                                  kernel.name, kernel.parameters[i]->bytes(),
                                  At(step.buffers[i]).bytes));
    }
    return Status();
  }

  /// Checks the sizes of the values that a stream or the host reads.
  Status CheckReadSizes(const PlanStep& step, const std::vector<int>& reads) const {
    std::size_t next = 0;
    for (const int id : reads) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::kConstant) continue;
      if (next + 1 >= step.buffers.size()) return Internal("no memory for " + node.name);
      const std::int64_t bytes = At(step.buffers[next++]).bytes;
      if (bytes == node.type.bytes()) continue;
      return Internal(
          fmt::format("{} has {} bytes, its memory {}", node.name, node.type.bytes(), bytes));
    }
    return next + 1 == step.buffers.size() ? Status() : Internal("an extra buffer");
  }

  Status CheckRead(int buffer, std::size_t position) const {
    const BufferSpace space = At(buffer).space;
    if (space == BufferSpace::kConstant || space == BufferSpace::kInput) return Status();
    const bool related = At(buffer).whole >= 0 || has_parts_[static_cast<std::size_t>(buffer)];
    if (!related && !written_[static_cast<std::size_t>(buffer)]) {
      return Internal(fmt::format("operand {} is read before anything writes it", position));
    }
    if (space == BufferSpace::kOutput || IsInitialized(buffer)) return Status();
    return Internal(fmt::format("operand {} was written over", position));
  }

  /// Returns the outermost buffer that contains this one.
  int TopOf(int buffer) const {
    while (At(buffer).whole >= 0) buffer = At(buffer).whole;
    return buffer;
  }

  /// Returns true if all bytes of the buffer were last written by it, its parts or its wholes.
  bool IsInitialized(int buffer) const {
    const PlanBuffer& own = At(buffer);
    std::int64_t held = 0;
    for (const InitializedRange& other : initialized_) {
      if (TopOf(other.buffer) != TopOf(buffer)) continue;
      held += std::max<std::int64_t>(
          0, std::min(other.end, own.offset + own.bytes) - std::max(other.begin, own.offset));
    }
    return held == own.bytes;  // initialized ranges do not overlap
  }

  /// Checks that a result overwrites an operand only if the step reads it elementwise.
  Status CheckOverwriting(const PlanStep& step) const {
    const int result = step.buffers.back();
    const PlanBuffer& made = At(result);
    for (std::size_t i = 0; i + 1 < step.buffers.size(); ++i) {
      const int operand = step.buffers[i];
      const PlanBuffer& read = At(operand);
      const bool same_memory = made.space == read.space &&
                               (made.space == BufferSpace::kArena || made.index == read.index);
      const bool apart = !same_memory || read.offset + read.bytes <= made.offset ||
                         made.offset + made.bytes <= read.offset;
      if (apart) continue;
      const bool allowed =
          std::ranges::find(step.may_overwrite, operand) != step.may_overwrite.end() &&
          read.offset == made.offset && read.bytes == made.bytes;
      if (!allowed) return Internal(fmt::format("the result is written over operand {}", i));
    }
    return Status();
  }

  void Write(int buffer) {
    const PlanBuffer& made = At(buffer);
    written_[static_cast<std::size_t>(buffer)] = true;
    if (made.space != BufferSpace::kArena) return;
    const std::int64_t begin = made.offset, end = made.offset + made.bytes;
    std::erase_if(initialized_, [&](const InitializedRange& held) {
      return held.begin < end && begin < held.end;
    });
    initialized_.push_back({begin, end, buffer});
  }

  Status CheckOutputs() const {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      bool written = false;
      for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
        const PlanBuffer& buffer = plan_.buffers[b];
        written |= buffer.space == BufferSpace::kOutput && written_[b] &&
                   buffer.index == static_cast<int>(i);
      }
      if (!written) return Internal(fmt::format("the plan: nothing writes output {}", i));
    }
    return Status();
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<bool> written_, has_parts_;
  std::vector<InitializedRange> initialized_;
};

}  // namespace

std::string NameOfStep(const Graph& graph, const PlanStep& step) {
  return fmt::format("{} ({})", graph.OriginOrName(step.node), step.report.op);
}

Status CheckPlan(const Plan& plan) { return PlanCheck(plan).Run(); }

}  // namespace tilewright
