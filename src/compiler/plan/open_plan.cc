// A library with an open dimension: the plan of one entry, with a loop over entries around each
// kernel. Memory scales with their number: a tensor of n entries is n times as long, at n times the
// offset, so tensors that do not overlap for one entry never do.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "src/base/math.h"
#include "src/compiler/open/open_program.h"
#include "src/compiler/plan/open_positions.h"
#include "src/compiler/plan/plan.h"
#include "src/templates/attention_schedule.h"

namespace tilewright {
namespace {

class OpenPlanner {
 public:
  OpenPlanner(Plan& plan, const CompileOptions& options) : plan_(plan), options_(options) {
    open_.range = options.open->range;
  }

  Status Run() {
    FillTables();
    FindEntryBuffers();
    KeepSharedOperands();
    for (PlanStep& step : plan_.steps) {
      if (Status status = Add(step); !status.ok()) {
        return Unsupported(
            fmt::format("--dim {}: {} ({}): {}; give one size, or several", open_.range.ToString(),
                        plan_.graph.DescribeOrigin(step.node), step.report.op, status.message()));
      }
    }
    plan_.open = std::move(open_);
    return Status();
  }

 private:
  bool HasEntries(int buffer) const { return open_.has_entries[static_cast<std::size_t>(buffer)]; }

  void FindEntryBuffers() {
    open_.has_entries.assign(plan_.buffers.size(), false);
    const std::vector<int> inputs = plan_.graph.inputs();
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.space != BufferSpace::kInput) continue;
      const std::string& name =
          plan_.graph.node(inputs[static_cast<std::size_t>(buffer.index)]).name;
      open_.has_entries[i] = options_.open->axes.contains(name);
    }
    for (const auto& [buffer, node] : plan_.tables) {
      open_.has_entries[static_cast<std::size_t>(buffer)] = true;
    }
    for (const PlanStep& step : plan_.steps) {
      const bool any = std::any_of(step.buffers.begin(), step.buffers.end() - 1,
                                   [&](int buffer) { return HasEntries(buffer); });
      const KernelStep* call = step.kernel();
      const bool joins = call != nullptr && call->any_length.has_value();
      const bool grows = !joins || options_.open->axes.contains(plan_.graph.node(step.node).name);
      open_.has_entries[static_cast<std::size_t>(step.buffers.back())] = any && grows;
    }
  }

  /// Gives the tables the rows of all positions, and those that attention reads rows of zeros up to
  /// the positions that its kernel reads.
  void FillTables() {
    for (const auto& [buffer, node] : plan_.tables) {
      const Tensor& rows = *SequenceOf(options_)->large.graph.Contents(node);
      const PlanBuffer& memory = plan_.buffers[static_cast<std::size_t>(buffer)];
      const std::int64_t room = RoomOfAttention(buffer);
      Tensor& table = plan_.constants[static_cast<std::size_t>(memory.index)];
      if (room * memory.bytes <= rows.bytes()) {
        table = rows.Clone();
        continue;
      }
      TensorType type = plan_.graph.node(node).type;
      type.shape.insert(type.shape.begin(), room);
      table = Tensor(std::move(type));  // zeros
      std::memcpy(table.data(), rows.data(), static_cast<std::size_t>(rows.bytes()));
    }
  }

  /// Returns the positions that kernels of attention read of a buffer; 0 if none does.
  std::int64_t RoomOfAttention(int buffer) const {
    std::int64_t room = 0;
    for (const PlanStep& step : plan_.steps) {
      const KernelStep* call = step.kernel();
      if (call == nullptr || call->block_of_length == 1) continue;
      for (std::size_t i = 0; i < step.buffers.size(); ++i) {
        if (step.buffers[i] != buffer) continue;
        const Buffer& parameter = call->any_length->parameters[i + 1];
        room = std::max(room,
                        parameter->bytes() / plan_.buffers[static_cast<std::size_t>(buffer)].bytes);
      }
    }
    return room;
  }

  /// Every entry reads an operand without entries, so no result with entries may take its place.
  void KeepSharedOperands() {
    for (PlanStep& step : plan_.steps) {
      if (!HasEntries(step.buffers.back())) continue;
      std::erase_if(step.may_overwrite, [&](int operand) { return !HasEntries(operand); });
    }
    PlanMemory(plan_);
  }

  Status Add(PlanStep& step) {
    OpenStep open;
    open.has_entries = HasEntries(step.buffers.back());
    for (int buffer : std::set<int>(step.buffers.begin(), step.buffers.end())) {
      if (!HasEntries(buffer)) continue;
      open.bytes_of_entry += plan_.buffers[static_cast<std::size_t>(buffer)].bytes;
    }
    const auto* call = std::get_if<KernelStep>(&step.action);
    open.takes_count = call != nullptr && (open.has_entries || call->any_length.has_value());
    if (call != nullptr) TW_RETURN_IF_ERROR(AddKernels(step, *call, open));
    if (call == nullptr && !step.copies()) return Unsupported("computed by the host");
    open_.steps.push_back(std::move(open));
    return Status();
  }

  Status AddKernels(const PlanStep& step, const KernelStep& call, OpenStep& open) {
    if (!open.takes_count) {
      open.kernels.push_back(AddProgram(step, plan_.KernelOf(call), 1));
      return Status();
    }
    if (call.block_of_length > 1) return AddAttention(step, *call.any_length, open);
    if (call.any_length) {
      open.kernels.push_back(AddProgram(step, *call.any_length, 1));
      return Status();
    }
    const bool fits = std::ranges::all_of(
        call.blocks, [&](const BlockKernel& block) { return Fits(step, block); });
    if (call.blocks.empty() || !fits) {
      TW_ASSIGN_OR_RETURN(const int kernel, AddKernel(step, std::span(&plan_.KernelOf(call), 1)));
      open.kernels.push_back(kernel);
      open.entries.push_back(1);
      return Status();
    }
    for (const BlockKernel& block : call.blocks) {
      TW_ASSIGN_OR_RETURN(const int kernel, AddKernel(step, block.bodies));
      open.kernels.push_back(kernel);
      open.entries.push_back(std::ssize(block.bodies));
    }
    open.choice = call.block_choice;
    return Status();
  }

  /// The kernel reads and writes whole blocks of positions, for which only the arena has room.
  Status AddAttention(const PlanStep& step, const Program& program, OpenStep& open) {
    const auto& parameters = program.parameters;  // the first is the number of positions
    const auto memory = [&](std::size_t i) -> const PlanBuffer& {
      return plan_.buffers[static_cast<std::size_t>(step.buffers[i])];
    };
    const std::int64_t positions =
        parameters.back()->bytes() / memory(step.buffers.size() - 1).bytes;
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      const bool entries = HasEntries(step.buffers[i]);
      const std::int64_t bytes = memory(i).bytes * (entries ? positions : 1);
      const bool room = memory(i).space == BufferSpace::kArena ||
                        (memory(i).space == BufferSpace::kConstant && i + 1 < step.buffers.size());
      if ((entries && !room) || parameters[i + 1]->bytes() != bytes) {
        return Unsupported("attention whose tensors have no room for whole blocks of positions");
      }
    }
    open_.padded_to = OpenAttentionBlock(plan_.target);
    open_.least_room = std::max(open_.least_room, positions);
    open.kernels.push_back(AddProgram(step, program, 1));
    return Status();
  }

  /// Returns true if the tensors of all blocks are those of the step, with entries in the outermost
  /// dimension.
  bool Fits(const PlanStep& step, const BlockKernel& block) const {
    for (std::size_t entries = 1; entries <= block.bodies.size(); ++entries) {
      const std::vector<Buffer>& parameters = block.bodies[entries - 1].parameters;
      if (parameters.size() != step.buffers.size()) return false;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::int64_t bytes = plan_.buffers[static_cast<std::size_t>(step.buffers[i])].bytes;
        const auto times = static_cast<std::int64_t>(HasEntries(step.buffers[i]) ? entries : 1);
        if (parameters[i]->bytes() != times * bytes) return false;
      }
    }
    return true;
  }

  Result<int> AddKernel(const PlanStep& step, std::span<const Program> bodies) {
    OpenLoop loop;
    loop.most = open_.range.most;
    std::int64_t with = 0, without = 0;
    for (int buffer : step.buffers) {
      loop.has_entries.push_back(HasEntries(buffer));
      (HasEntries(buffer) ? with : without) +=
          plan_.buffers[static_cast<std::size_t>(buffer)].bytes;
    }
    // Less work than this takes no longer on one thread than starting others.
    constexpr std::int64_t kWorthThreads = 1 << 16;
    loop.parallel = plan_.target.num_threads() > 1 &&
                    loop.most * std::max(with, step.report.macs) >= kWorthThreads;
    loop.blocks_innermost = without > with;
    TW_ASSIGN_OR_RETURN(auto program, OpenProgram(bodies, loop));
    return AddProgram(step, std::move(program), std::ssize(bodies));
  }

  int AddProgram(const PlanStep& step, Program program, std::int64_t entries) {
    program.name = "kernel";
    const auto [known, added] =
        numbers_.emplace(ToString(program), static_cast<int>(open_.kernels.size()));
    if (!added) return known->second;
    program.name = fmt::format("{}_by_{}_{}", step.report.kernel, entries, open_.kernels.size());
    open_.kernels.push_back(std::move(program));
    return known->second;
  }

  Plan& plan_;
  const CompileOptions& options_;
  OpenPlan open_;
  std::map<std::string, int> numbers_;  // of kernels, by code
};

}  // namespace

std::set<std::int64_t> SizesOfAllKernels(const OpenPlan& open) {
  std::set<std::int64_t> sizes;
  std::set<std::pair<int, std::int64_t>> known;  // kernels with entries of a block
  for (const OpenStep& step : open.steps) {
    for (std::int64_t size = 1; size <= std::ssize(step.choice); ++size) {
      const std::size_t kernel = step.choice[static_cast<std::size_t>(size) - 1];
      const std::int64_t blocks = CeilDiv(size, step.entries[kernel]);
      for (const std::int64_t entries : {size / blocks, CeilDiv(size, blocks)}) {
        if (known.emplace(step.kernels[kernel], entries).second) sizes.insert(size);
      }
    }
  }
  return sizes;
}

Status MakeOpenPlan(Plan& plan, const CompileOptions& options) {
  if (PositionsOf(options) != nullptr) return MakePositionPlan(plan, options);
  return OpenPlanner(plan, options).Run();
}

}  // namespace tilewright
