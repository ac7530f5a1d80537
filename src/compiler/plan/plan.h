#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/compiler/compile.h"
#include "src/compiler/plan/form.h"
#include "src/graph/ir/graph.h"
#include "src/ir/stmt.h"

namespace tilewright {

enum class BufferSpace : std::uint8_t { kArena, kConstant, kInput, kOutput };

/// Memory of one or more values of a model (values that share bytes share a buffer).
struct PlanBuffer {
  BufferSpace space = BufferSpace::kArena;
  std::int64_t bytes = 0;
  int index = 0;            ///< of the constant, input or output
  std::int64_t offset = 0;  ///< into the arena or the constants, set by PlanMemory
};

/// One operator in the order of execution.
struct PlanStep {
  int kernel = -1;                 ///< position in Plan::kernels; -1: copies buffers[0]
  std::vector<int> buffers;        ///< of the kernel's parameters; the last one is the result
  std::vector<int> may_overwrite;  ///< buffers read element by element where the result is written
  int node = -1;                   ///< whose value it makes
  Form form;                       ///< of the result
  std::int64_t result_bytes = 0;   ///< in memory
  bool int8 = false;
  OperatorReport report;
};

/// A model as kernels, memory and a list of steps; what is left is to make machine code of it.
struct Plan {
  std::vector<Program> kernels;
  std::vector<PlanBuffer> buffers;
  std::vector<Tensor> constants;  ///< packed
  std::vector<PlanStep> steps;
  std::int64_t arena_bytes = 0, constant_bytes = 0;
  std::uint64_t constant_hash = 0;  ///< of the constants; 0 while they are part of the library
  int transforms = 0;
};

/// Chooses kernels and layouts for an optimized graph.
/// Errors: those of Compile.
Result<Plan> MakePlan(const Graph& graph, const CompileOptions& options);

/// Gives every buffer of the arena an offset such that no two that are alive at the same time
/// overlap, a step's result the place of an operand it may overwrite where that operand dies, and
/// every constant its offset.
void PlanMemory(Plan& plan);

/// Alignment of every tensor in memory, in bytes.
inline constexpr std::int64_t kTensorAlignment = 64;

}  // namespace tilewright
