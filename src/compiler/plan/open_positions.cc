// A library with an open spatial dimension: the plan of a block of positions, with loops over
// blocks around each kernel. Every tensor in the arena has room for the most positions, so strides
// are constants.

#include "src/compiler/plan/open_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/compiler/open/position_mean.h"
#include "src/compiler/open/position_program.h"
#include "src/compiler/plan/position_blocks.h"
#include "src/graph/open/resize.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

/// Tensor with positions that has memory of its own.
struct PositionBase {
  int buffer = -1, node = -1;
  PositionRows rows;
  int bytes = 4;  ///< of an element
  PositionFill fill;
  bool filled = false;
  std::int64_t before = 0;  ///< elements of a row that are read before the first position
  std::int64_t end = 0;     ///< elements of a row that are read or written after its begin
  int given = -1;           ///< of an input of the model: its buffer
};

/// Buffer of a plan as a part of a base.
struct PositionView {
  int base = -1;           ///< position in the list of bases; -1: no positions
  std::int64_t shift = 0;  ///< elements of a row before the base's first position
};

/// Kernel of a smaller block.
struct SmallProgram {
  std::int64_t unit = 1;
  Program program;
};

class PositionPlanner {
 public:
  PositionPlanner(Plan& plan, const CompileOptions& options)
      : plan_(plan),
        options_(options),
        network_(*PositionsOf(options)),
        large_(network_.LargeUnit()) {
    open_.range = options.open->range;
    open_.fixed_arena = true;
  }

  Status Run() {
    TW_RETURN_IF_ERROR(AddInputs());
    std::vector<PlanStep> kept;
    for (PlanStep& step : plan_.steps) {
      TW_ASSIGN_OR_RETURN(const bool keep, About(step, ViewsOf(step)));
      if (keep) kept.push_back(std::move(step));
    }
    plan_.steps = std::move(kept);
    TW_RETURN_IF_ERROR(MoveOutputs());
    std::vector<SmallBlocks> smaller;
    const std::vector<std::int64_t> units = network_.Units();
    for (std::size_t i = 1; i < units.size(); ++i) {
      smaller.emplace_back(network_, units[i], plan_, options_);
    }
    small_programs_.resize(plan_.steps.size());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      for (SmallBlocks& blocks : smaller) {
        if (auto program = blocks.ProgramOf(plan_.steps[i])) {
          small_programs_[i].push_back({blocks.unit(), *std::move(program)});
        }
      }
      TW_RETURN_IF_ERROR(About(plan_.steps[i], Measure(plan_.steps[i])));
    }
    PlaceRows();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      TW_RETURN_IF_ERROR(About(plan_.steps[i], AddKernel(i)));
    }
    open_.has_entries.assign(plan_.buffers.size(), false);
    PlanMemory(plan_);
    plan_.open = std::move(open_);
    return Status();
  }

 private:
  template <typename Answer>
  Answer About(const PlanStep& step, Answer answer) const {
    const Status& status = ToStatus(answer);
    if (status.code() != StatusCode::kUnsupported) return answer;
    return Answer(Unsupported(
        fmt::format("--dim {}: {} ({}): {}; give one size, or several", open_.range.ToString(),
                    plan_.graph.DescribeOrigin(step.node), step.report.op, status.message())));
  }

  const std::optional<PositionAxis>& AxisOf(int node) const {
    return network_.axes[static_cast<std::size_t>(node)];
  }
  PlanBuffer& BufferAt(int id) { return plan_.buffers[static_cast<std::size_t>(id)]; }
  PositionView ViewOf(int buffer) const {
    const auto found = views_.find(buffer);
    return found == views_.end() ? PositionView() : found->second;
  }
  PositionBase& BaseOf(const PositionView& view) {
    return bases_[static_cast<std::size_t>(view.base)];
  }

  /// Adds a tensor with positions. layouts: of `node` in memory.
  Status AddBase(int buffer, int node, const PhysicalLayout& layouts) {
    const TensorType& type = plan_.graph.node(node).type;
    const std::size_t axis = AxisOf(node)->axis;
    PositionBase base;
    base.buffer = buffer;
    base.node = node;
    base.bytes = type.dtype.bytes();
    TW_ASSIGN_OR_RETURN(const auto memory, MemoryShape(type, layouts));
    std::size_t outside = axis;
    if (!layouts.is_logical()) {
      TW_ASSIGN_OR_RETURN(const auto layout, Layout::Parse(layouts.layout));
      const char letter = layouts.logical_layout[axis];
      const auto& parts = layout.parts();
      outside = static_cast<std::size_t>(
          std::ranges::find(parts, letter, &Layout::Part::dimension) - parts.begin());
      if (layout.BlockOf(letter) != 1) return Unsupported("blocks of positions in memory");
    }
    base.rows.rows = 1;
    for (std::size_t i = 0; i < outside; ++i) base.rows.rows *= memory[i];
    base.rows.element = 1;
    for (std::size_t i = outside + 1; i < memory.size(); ++i) base.rows.element *= memory[i];
    views_[buffer] = {static_cast<int>(bases_.size()), 0};
    bases_.push_back(base);
    return Status();
  }

  /// Gives each input of the model with positions a buffer in the arena, in place of its own.
  Status AddInputs() {
    const std::vector<int> inputs = plan_.graph.inputs();
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].space != BufferSpace::kInput) continue;
      const int node = inputs[static_cast<std::size_t>(plan_.buffers[i].index)];
      if (!AxisOf(node)) continue;
      TW_RETURN_IF_ERROR(AddBase(static_cast<int>(i), node, PhysicalLayout()));
    }
    for (PositionBase& base : bases_) {
      base.given = base.buffer;
      base.buffer = static_cast<int>(plan_.buffers.size());
      PlanBuffer given = BufferAt(base.given);
      BufferAt(base.given).bytes =
          OpenTypeOf(plan_.graph, options_, base.node, open_.range.most).bytes();
      given.space = BufferSpace::kArena;
      plan_.buffers.push_back(given);
      views_[base.buffer] = views_[base.given];
    }
    return Status();
  }

  /// Finds the tensor that a step writes. Returns false for a pad, which has no step.
  Result<bool> ViewsOf(PlanStep& step) {
    for (int& buffer : step.buffers) {
      const PositionView view = ViewOf(buffer);
      if (view.base >= 0 && BaseOf(view).given == buffer) buffer = BaseOf(view).buffer;
    }
    const auto pad = network_.pads.find(step.node);
    if (pad != network_.pads.end()) {
      if (ChangesLayout(step)) return Unsupported("pads positions, and has several layouts");
      return AddPad(step, pad->second);
    }
    if (!AxisOf(step.node)) return true;
    if (step.copies()) return true;  // MoveOutputs
    if (step.kernel() == nullptr) return Unsupported("computed by the host");
    TW_RETURN_IF_ERROR(AddBase(step.buffers.back(), step.node, step.layouts));
    return true;
  }

  /// Returns true for a step that only changes the layout of the value.
  static bool ChangesLayout(const PlanStep& step) { return step.report.op == "layout_transform"; }

  /// Returns the elements of a row from one position of a value to the next. A reshape may have
  /// given it another number of positions than the tensor has in memory.
  Result<std::int64_t> ElementOf(const PositionBase& base, int node) const {
    const std::int64_t all = base.rows.element * network_.PositionsOf(base.node, large_);
    const std::int64_t own = network_.PositionsOf(node, large_);
    if (all % own != 0) return Unsupported("has positions of no whole number of elements");
    return all / own;
  }

  Result<bool> AddPad(const PlanStep& step, const PositionPadding& pad) {
    if (step.kernel() == nullptr || step.buffers.size() != 2) {
      return Unsupported("pads positions in another form");
    }
    PositionView view = ViewOf(step.buffers[0]);
    if (view.base < 0) return Unsupported("pads a value without positions");
    PositionBase& base = BaseOf(view);
    const int padded = plan_.graph.node(step.node).inputs[0];
    TW_ASSIGN_OR_RETURN(const std::int64_t element, ElementOf(base, padded));
    view.shift += pad.before * element;
    views_[step.buffers.back()] = view;
    base.before = std::max(base.before, view.shift);
    const std::int64_t after = AfterOf(step.buffers[0]) + pad.after * element;
    after_[step.buffers.back()] = after;
    if (pad.before == 0 && pad.after == 0) return false;
    const double value = plan_.graph.node(step.node).op.attributes.pad_value;
    if (base.filled && base.fill.value != value) {
      return Unsupported("pads with another number than other operators on this value");
    }
    base.filled = true;
    base.fill.value = value;
    base.fill.before = std::max(base.fill.before, view.shift);
    base.fill.after = std::max(base.fill.after, after);
    return false;
  }
  std::int64_t AfterOf(int buffer) const {
    const auto found = after_.find(buffer);
    return found == after_.end() ? 0 : found->second;
  }

  /// Results of the model with positions are copied out of the arena.
  Status MoveOutputs() {
    std::vector<PlanStep> kept;
    for (PlanStep& step : plan_.steps) {
      if (step.copies() && AxisOf(step.node)) {
        TW_RETURN_IF_ERROR(About(step, CopyOut(step.buffers[0], step.buffers[1])));
        continue;
      }
      kept.push_back(std::move(step));
    }
    plan_.steps = std::move(kept);
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const int id = static_cast<int>(i);
      if (plan_.buffers[i].space != BufferSpace::kOutput || ViewOf(id).base < 0) continue;
      PlanBuffer result = plan_.buffers[i];
      plan_.buffers[i].space = BufferSpace::kArena;
      const int out = static_cast<int>(plan_.buffers.size());
      plan_.buffers.push_back(result);
      TW_RETURN_IF_ERROR(CopyOut(id, out));
    }
    return Status();
  }

  Status CopyOut(int from, int to) {
    const PositionView view = ViewOf(from);
    if (view.base < 0) return Unsupported("copies a value without positions");
    const PositionBase& base = BaseOf(view);
    const int node = plan_.graph.outputs()[static_cast<std::size_t>(BufferAt(to).index)];
    if (base.given >= 0 || view.shift != 0 || AfterOf(from) != 0) {
      return AboutValue(plan_.graph, node, open_.range,
                        Unsupported("is an output that is an input or a pad"));
    }
    BufferAt(to).bytes = OpenTypeOf(plan_.graph, options_, node, open_.range.most).bytes();
    outputs_.emplace(base.buffer, to);
    return Status();
  }

  /// Elements of a row between neighbouring blocks of a parameter.
  std::int64_t StepOf(int buffer, std::int64_t unit) {
    const PositionView view = ViewOf(buffer);
    if (view.base < 0) return 0;
    const PositionBase& base = BaseOf(view);
    return network_.PositionsOf(base.node, unit) * base.rows.element;
  }

  std::int64_t MostPositions(int node) const { return AxisOf(node)->count.At(open_.range.most); }

  /// Measures what the kernel of a step reads and writes with the largest size.
  Status Measure(const PlanStep& step) {
    const KernelStep* call = step.kernel();
    if (call == nullptr || !AxisOf(step.node)) return Status();
    const Program& program = plan_.KernelOf(*call);
    const std::int64_t most = MostPositions(step.node);
    const std::int64_t blocks = CeilDiv(most, network_.PositionsOf(step.node, large_));
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      const PositionView view = ViewOf(step.buffers[i]);
      if (view.base < 0) continue;
      PositionBase& base = BaseOf(view);
      const std::int64_t row = program.parameters[i]->elements() / base.rows.rows;
      base.end =
          std::max(base.end, (blocks - 1) * StepOf(step.buffers[i], large_) + row - view.shift);
    }
    return call->winograd_tile > 0 ? FillTiles(step, call->winograd_tile) : Status();
  }

  /// A tile with a position of the result reads positions beyond the end, too, and sums and
  /// differences with them cancel only if they are numbers of the same magnitude.
  Status FillTiles(const PlanStep& step, std::int64_t tile) {
    PositionBase& base = BaseOf(ViewOf(step.buffers[0]));
    if (base.filled && base.fill.value != 0) {
      return Unsupported("tiles of a value that is padded with another number than zero");
    }
    TW_ASSIGN_OR_RETURN(const std::int64_t element,
                        ElementOf(base, plan_.graph.node(step.node).inputs[0]));
    const std::int64_t after = AfterOf(step.buffers[0]) + (tile - 1) * element;
    base.fill.after = std::max(base.fill.after, after);
    base.filled = true;
    return Status();
  }

  /// Places the positions of each tensor in its rows.
  void PlaceRows() {
    constexpr std::int64_t kPage = 4096, kNear = 320;
    for (PositionBase& base : bases_) {
      PositionRows& rows = base.rows;
      const std::int64_t alignment = std::lcm(
          rows.element, kTensorAlignment / std::gcd<std::int64_t>(kTensorAlignment, base.bytes));
      rows.begin = RoundUp(base.before, alignment);
      const std::int64_t positions = MostPositions(base.node) * rows.element + base.fill.after;
      rows.pitch = RoundUp(rows.begin + std::max(base.end, positions), alignment);
      // Neighbouring rows a multiple of a page apart would be in the same places of caches.
      if (rows.rows > 1 && (rows.pitch * base.bytes + kNear) % kPage < 2 * kNear) {
        rows.pitch += RoundUp(CeilDiv(2 * kNear, base.bytes), alignment);
      }
      BufferAt(base.buffer).bytes = rows.rows * rows.pitch * base.bytes;
    }
  }

  Status AddKernel(std::size_t number) {
    PlanStep& step = plan_.steps[number];
    OpenStep open;
    const KernelStep* call = step.kernel();
    if (call == nullptr && !step.copies()) return Unsupported("computed by the host");
    if (call == nullptr || !AxisOf(step.node)) {
      const bool is_mean = network_.means.contains(step.node) && !ChangesLayout(step);
      if (call != nullptr && is_mean) return AddMean(step);
      for (int buffer : step.buffers) {
        if (ViewOf(buffer).base >= 0) return Unsupported("joins positions");
      }
      if (call != nullptr) open.kernels.push_back(AddProgram(step, plan_.KernelOf(*call)));
      open_.steps.push_back(std::move(open));
      return Status();
    }
    PositionKernel kernel;
    TW_RETURN_IF_ERROR(FillKernel(step, kernel));
    kernel.blocks = {BlockOf(step, plan_.KernelOf(*call), large_)};
    std::vector<int> order;
    TW_ASSIGN_OR_RETURN(auto program, MakePositionProgram(kernel, order));
    for (const SmallProgram& few : small_programs_[number]) {
      kernel.blocks.push_back(BlockOf(step, few.program, few.unit));
      auto made = MakePositionProgram(kernel, order);
      if (made.ok()) {
        program = *std::move(made);
      } else {
        kernel.blocks.pop_back();
      }
    }
    open.has_entries = true;
    open.takes_count = true;
    open.rows = BaseOf(ViewOf(step.buffers.back())).rows;
    Describe(step, kernel.blocks[0].positions, open);
    Reorder(step, kernel, order);
    open.kernels.push_back(AddProgram(step, std::move(program)));
    open_.steps.push_back(std::move(open));
    return Status();
  }

  PositionBlock BlockOf(const PlanStep& step, const Program& program, std::int64_t unit) {
    PositionBlock block;
    block.program = &program;
    block.positions = network_.PositionsOf(step.node, unit);
    for (int buffer : step.buffers) block.steps.push_back(StepOf(buffer, unit));
    return block;
  }

  Status AddMean(PlanStep& step) {
    const PositionView view = ViewOf(step.buffers[0]);
    if (step.buffers.size() != 2 || view.base < 0 || BaseOf(view).given >= 0) {
      return Unsupported("a mean of an input of the model");
    }
    const PositionBase& base = BaseOf(view);
    const int operand = plan_.graph.node(step.node).inputs[0];
    PositionMean mean;
    mean.rows = base.rows;
    mean.begin = base.rows.begin - view.shift;
    mean.joined = network_.means.at(step.node);
    mean.count = AxisOf(operand)->count;
    mean.most = MostPositions(operand);
    mean.parallel = plan_.target.num_threads() > 1;
    const std::int64_t results = base.rows.rows / mean.joined * base.rows.element;
    if (results * base.bytes != BufferAt(step.buffers[1]).bytes) {
      return Unsupported("a mean in another layout");
    }
    step.buffers[0] = base.buffer;
    step.may_overwrite.clear();
    OpenStep open;
    open.takes_count = true;
    open.kernels.push_back(AddProgram(step, MakePositionMean(mean)));
    open_.steps.push_back(std::move(open));
    return Status();
  }

  Status FillKernel(const PlanStep& step, PositionKernel& kernel) {
    std::int64_t with = 0, without = 0;
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      const int buffer = step.buffers[i];
      const PositionView view = ViewOf(buffer);
      PositionParameter parameter;
      if (view.base < 0) {
        without += BufferAt(buffer).bytes;
        kernel.parameters.push_back(parameter);
        continue;
      }
      PositionBase& base = BaseOf(view);
      parameter.open = true;
      parameter.rows = base.rows;
      parameter.begin = base.rows.begin - view.shift;
      with += StepOf(buffer, large_) * base.rows.rows * base.bytes;
      kernel.parameters.push_back(parameter);
      if (base.given >= 0 && read_.insert(view.base).second) {
        const auto reads = std::ranges::count_if(
            step.buffers, [&](int other) { return ViewOf(other).base == view.base; });
        // The kernel writes the copy by one pointer, which no other may overlap.
        if (reads > 1) return Unsupported("reads an input of the model twice");
        kernel.inputs.push_back({i, AxisOf(base.node)->count, base.fill});
        given_.push_back(base.given);
      }
    }
    const PositionBase& result = BaseOf(ViewOf(step.buffers.back()));
    kernel.count = AxisOf(step.node)->count;
    kernel.most = MostPositions(step.node);
    kernel.fill = result.fill;
    const auto [first, last] = outputs_.equal_range(result.buffer);
    for (auto it = first; it != last; ++it) {
      kernel.outputs.push_back({kernel.parameters.size() - 1, kernel.count, {}});
      given_.push_back(it->second);
    }
    constexpr std::int64_t kWorthThreads = 1 << 16;
    kernel.parallel = plan_.target.num_threads() > 1 &&
                      std::max(with, step.report.macs) * kernel.most >=
                          kWorthThreads * network_.PositionsOf(step.node, large_);
    kernel.blocks_innermost = without > with;
    return Status();
  }

  /// States work and bytes of one position.
  void Describe(PlanStep& step, std::int64_t positions, OpenStep& open) {
    std::int64_t fixed = 0;
    const std::set<int> distinct(step.buffers.begin(), step.buffers.end());
    for (int buffer : distinct) {
      const PositionView view = ViewOf(buffer);
      if (view.base < 0) {
        fixed += BufferAt(buffer).bytes;
        continue;
      }
      const PositionBase& base = BaseOf(view);
      open.bytes_of_entry += StepOf(buffer, large_) * base.rows.rows * base.bytes / positions;
    }
    step.report.bytes = fixed + open.bytes_of_entry;
    step.report.macs /= positions;
    step.result_bytes /= positions;
  }

  /// Puts the buffers of a step into the order of its open kernel's parameters.
  void Reorder(PlanStep& step, const PositionKernel& kernel, const std::vector<int>& order) {
    std::vector<int> buffers;
    for (const int number : order) {
      if (number == -1) continue;  // the size
      buffers.push_back(number >= 0 ? step.buffers[static_cast<std::size_t>(number)]
                                    : given_[static_cast<std::size_t>(-2 - number)]);
    }
    given_.clear();
    std::erase_if(step.may_overwrite, [&](int operand) {
      const PositionView view = ViewOf(operand);
      if (view.base < 0 || view.shift != 0) return true;
      const PositionRows &a = BaseOf(view).rows, &b = kernel.parameters.back().rows;
      return a.rows != b.rows || a.pitch != b.pitch || a.begin != b.begin || a.element != b.element;
    });
    for (int& operand : step.may_overwrite) {
      const PositionView view = ViewOf(operand);
      if (view.base >= 0) operand = BaseOf(view).buffer;
    }
    // A pad has no memory of its own.
    for (int& buffer : buffers) {
      const PositionView view = ViewOf(buffer);
      if (view.base >= 0 && BufferAt(buffer).space == BufferSpace::kArena) {
        buffer = BaseOf(view).buffer;
      }
    }
    step.buffers = std::move(buffers);
  }

  int AddProgram(const PlanStep& step, Program program) {
    program.name = "kernel";
    const auto [known, added] =
        numbers_.emplace(ToString(program), static_cast<int>(open_.kernels.size()));
    if (!added) return known->second;
    program.name = fmt::format("{}_open_{}", step.report.kernel, open_.kernels.size());
    open_.kernels.push_back(std::move(program));
    return known->second;
  }

  Plan& plan_;
  const CompileOptions& options_;
  const PositionNetwork& network_;
  const std::int64_t large_;
  OpenPlan open_;
  std::vector<PositionBase> bases_;
  std::map<int, PositionView> views_;   // by buffer
  std::map<int, std::int64_t> after_;   // of pads, by buffer: elements after the positions
  std::multimap<int, int> outputs_;     // tensors of the model that copy a base's buffer
  std::set<int> read_;                  // bases of inputs that a step has copied
  std::vector<int> given_;              // tensors of the model that the current step copies
  std::map<std::string, int> numbers_;  // of kernels, by code
  std::vector<std::vector<SmallProgram>> small_programs_;  // by step
};

}  // namespace

Status MakePositionPlan(Plan& plan, const CompileOptions& options) {
  return PositionPlanner(plan, options).Run();
}

TensorType OpenTypeOf(const Graph& graph, const CompileOptions& options, int node,
                      std::int64_t size) {
  const Node& value = graph.node(node);
  TensorType type = value.type;
  const auto known = options.open->axes.find(value.name);
  if (known == options.open->axes.end()) return type;
  if (const PositionNetwork* positions = PositionsOf(options)) {
    const auto& axis = positions->axes[static_cast<std::size_t>(node)];
    type.shape[axis->axis] = axis->count.At(size);
  } else {
    type.shape[known->second] *= size;
  }
  return type;
}

}  // namespace tilewright
