#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "src/base/math.h"
#include "src/compiler/open/position_program.h"
#include "src/compiler/options/options.h"
#include "src/compiler/options/report.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/partition.h"
#include "src/ir/stmt.h"
#include "src/tensor/epilogue.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

enum class BufferSpace : std::uint8_t { kArena, kConstant, kInput, kOutput };

/// Memory of one or more values of a model (values that share bytes share a buffer).
struct PlanBuffer {
  BufferSpace space = BufferSpace::kArena;
  std::int64_t bytes = 0;
  int index = 0;            ///< of the constant, input or output
  std::int64_t offset = 0;  ///< into the arena or the constants, set by PlanMemory
  int whole = -1;           ///< buffer of the arena that contains this one; -1: none
  std::int64_t begin = 0;   ///< of a part: offset in `whole`, in bytes
};

/// Stream of a VTA for operators of equal shapes, attributes and epilogues.
struct StreamKernel {
  OperatorReport report;  ///< workload_key, template_key, config and the reason for it
  Epilogue epilogue;
  vta::Stream stream;
  /// One value for each tensor operand of the ALU's steps, in order: added to the operand's
  /// elements before the launch.
  std::vector<std::int32_t> operand_addends;
};

/// Kernels of an operator for blocks of one, two, … entries of an open dimension. Their constants
/// have the layouts of the kernel for one.
struct BlockKernel {
  std::vector<Program> bodies;
};

/// Machine code or a grid computes the value.
struct KernelStep {
  int kernel = -1;  ///< position in Plan::kernels
  bool int8 = false;
  bool bfloat16 = false;                 ///< multiplies pairs of bfloat16 at once (vdpbf16ps)
  std::int64_t winograd_tile = 0;        ///< as KernelLayouts has it
  std::int64_t winograd_kernel = 0;      ///< rows of the convolution's kernel, with tiles
  std::vector<BlockKernel> blocks = {};  ///< for MakeOpenPlan
  std::vector<std::uint8_t> block_choice = {};  ///< by size - 1: position in `blocks`
  /// For MakeOpenPlan: the kernel for any length of a sequence, which is its first parameter.
  std::optional<Program> any_length = {};
  /// Positions of a block that this kernel reads and writes as a whole.
  std::int64_t block_of_length = 1;
};
/// A device that leaves operators to the host computes the value.
struct StreamStep {
  int stream = -1;         ///< position in Plan::streams
  std::vector<int> nodes;  ///< the operators, in topological order
  /// Values that the operators take; those that are no constants are in PlanStep::buffers.
  std::vector<int> reads;
};
/// The host evaluates the operators. Members: as StreamStep has them.
struct HostStep {
  std::vector<int> nodes, reads;
};
/// The value is a copy of buffers[0].
struct CopyStep {};

/// One operator in the order of execution.
struct PlanStep {
  std::variant<CopyStep, KernelStep, StreamStep, HostStep> action;  ///< what computes the value
  std::vector<int> buffers;        ///< operands, then the result; of a kernel: its parameters
  std::vector<int> may_overwrite;  ///< buffers read element by element where the result is written
  int node = -1;                   ///< the value that the step computes
  PhysicalLayout layouts;          ///< of the result
  std::int64_t result_bytes = 0;   ///< in memory
  OperatorReport report;

  /// Null unless the step is of that kind.
  const KernelStep* kernel() const { return std::get_if<KernelStep>(&action); }
  const StreamStep* stream() const { return std::get_if<StreamStep>(&action); }
  const HostStep* host() const { return std::get_if<HostStep>(&action); }
  bool copies() const { return std::holds_alternative<CopyStep>(action); }
};

/// Kernels of a step for any number of entries (OpenProgram).
struct OpenStep {
  std::vector<int> kernels;           ///< positions in OpenPlan::kernels; empty if the step copies
  std::vector<std::uint8_t> choice;   ///< by size - 1: position in `kernels`; empty: the only one
  std::vector<std::int64_t> entries;  ///< by kernel: most entries of a block
  bool has_entries = false;           ///< its result
  bool takes_count = false;         ///< the number of entries is the first argument of the kernels
  std::int64_t bytes_of_entry = 0;  ///< part of the step's bytes that each entry has
  /// Of a result with positions, which are its entries.
  std::optional<PositionRows> rows = {};
};
/// A plan for one entry as a plan for any number of entries.
struct OpenPlan {
  SizeRange range;
  std::vector<Program> kernels;
  std::vector<OpenStep> steps;    ///< of the plan, in order
  std::vector<bool> has_entries;  ///< by buffer of the plan: it is larger by each entry
  /// Tensors in the arena have room for a multiple of this many entries.
  std::int64_t padded_to = 1;
  /// Kernels may be given tensors in the arena as if they had this many entries.
  std::int64_t least_room = 1;
  /// Entries are positions: every tensor in the arena has room for the most of them, at one offset.
  bool fixed_arena = false;
};

/// Returns sizes with which all kernels run with all numbers of entries of a block that occur: for
/// each the least one.
std::set<std::int64_t> SizesOfAllKernels(const OpenPlan& open);

/// A model as kernels, memory and a list of steps: the input of code generation.
struct Plan {
  Graph graph;  ///< optimized
  Target target;
  bool fuse_residuals = false;  ///< as CompileOptions has it
  std::vector<Program> kernels;
  std::vector<StreamKernel> streams;
  std::vector<PlanBuffer> buffers;
  std::vector<Tensor> constants;  ///< packed
  std::vector<PlanStep> steps;
  std::int64_t arena_bytes = 0, constant_bytes = 0;
  std::uint64_t constant_hash = 0;  ///< of the constants; 0 while they are part of the library
  int transforms = 0;
  LayoutReport layouts;
  std::map<int, int> tables;     ///< constants with entries: the node, by buffer
  std::optional<OpenPlan> open;  ///< set by MakeOpenPlan

  /// Returns the bytes of the arena for the largest size.
  std::int64_t MostArenaBytes() const {
    if (!open || open->fixed_arena) return arena_bytes;
    return arena_bytes * std::max(RoundUp(open->range.most, open->padded_to), open->least_room);
  }

  /// Returns the kernels that the library calls: those for any number of entries if a dimension is
  /// open.
  const std::vector<Program>& CalledKernels() const { return open ? open->kernels : kernels; }
  const Program& KernelOf(const KernelStep& step) const {
    return kernels[static_cast<std::size_t>(step.kernel)];
  }
  const StreamKernel& StreamOf(const StreamStep& step) const {
    return streams[static_cast<std::size_t>(step.stream)];
  }
};

/// Chooses kernels and layouts for a network. network: partitioned for options.target and
/// options.fuse_residuals. A VTA gets packed int8 convolutions with their followers, and groups
/// that its ALU alone can compute (src/graph/passes/alu_group.h). The host gets the rest, each with
/// the reason.
///
/// streams: if not null, the available streams of a VTA (of a bundle); nothing is chosen.
/// Errors: those of Compile; kInvalidArgument if a VTA's widths are not 8 bits, if a constant has
/// no contents, or if the records used exceed a preference's limit; those of the stores.
Result<Plan> MakePlan(PartitionedGraph network, const CompileOptions& options,
                      const std::vector<StreamKernel>* streams = nullptr);

/// Makes the kernels of plan.open for options.open: those of `plan`, each with a loop around it.
/// Errors: kUnsupported naming the operator whose kernel cannot have that loop.
Status MakeOpenPlan(Plan& plan, const CompileOptions& options);

/// Assigns offsets to the buffers of the arena and to the constants. Buffers that are alive at the
/// same time do not overlap. A step's result gets the place of an operand that it may overwrite, if
/// that operand dies there. A part is inside of its whole, which is alive as long as any part is.
void PlanMemory(Plan& plan);

/// Alignment of every tensor in memory, in bytes.
inline constexpr std::int64_t kTensorAlignment = 64;
/// Returns the alignment of offsets into the arena and into the workspace of a kernel. Kernels for
/// OpenCL get parts of one buffer, which begin at multiples of a number of the device: 128 bytes on
/// most, 512 on NVIDIA's.
std::int64_t AlignmentOf(const Target& target);

}  // namespace tilewright
