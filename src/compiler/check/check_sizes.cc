#include "src/compiler/check/check_sizes.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "src/compiler/plan/plan.h"

namespace tilewright {
namespace {

/// Step whose kernel needs the most memory in addition to its tensors, and its size.
struct LargestWorkspace {
  int node = -1;
  std::int64_t bytes = 0;
};

/// Errors: those of WorkspaceOf.
Result<LargestWorkspace> FindLargestWorkspace(const Plan& plan, int threads) {
  LargestWorkspace largest;
  const auto add = [&](const PlanStep& step, const Program& kernel) -> Status {
    TW_ASSIGN_OR_RETURN(const auto workspace, WorkspaceOf(kernel));
    const std::int64_t bytes = workspace.bytes + threads * workspace.bytes_per_thread;
    if (bytes > largest.bytes) largest = {step.node, bytes};
    return Status();
  };
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.kernel() == nullptr) continue;
    if (!plan.open) {
      TW_RETURN_IF_ERROR(add(step, plan.KernelOf(*step.kernel())));
      continue;
    }
    for (const int kernel : plan.open->steps[i].kernels) {
      TW_RETURN_IF_ERROR(add(step, plan.open->kernels[static_cast<std::size_t>(kernel)]));
    }
  }
  return largest;
}

// Range of a pointer of 32 bits, and the part of 4 GiB of addresses that Linux leaves to a program.
constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxBytesTogether = std::int64_t{3} << 30;

Status CheckBytes(const std::string& what, std::int64_t bytes, std::int64_t most = kMaxBytes) {
  if (bytes <= most) return Status();
  return Unsupported(
      fmt::format("{}: {} bytes, a 32-bit target has at most {}", what, bytes, most));
}

}  // namespace

Status CheckSizes(const Plan& plan, const Target& target, const CodeTraits& traits) {
  if (traits.pointer_bits > 32) return Status();
  for (const PlanStep& step : plan.steps) {
    for (const int buffer : step.buffers) {
      const auto number = static_cast<std::size_t>(buffer);
      const bool grows = plan.open && plan.open->has_entries[number];
      TW_RETURN_IF_ERROR(
          CheckBytes("a tensor of " + plan.graph.OriginOrName(step.node),
                     plan.buffers[number].bytes * (grows ? plan.open->range.most : 1)));
    }
  }
  TW_RETURN_IF_ERROR(CheckBytes("the constants", plan.constant_bytes));
  TW_RETURN_IF_ERROR(CheckBytes("working memory", plan.MostArenaBytes()));
  TW_ASSIGN_OR_RETURN(const auto workspace, FindLargestWorkspace(plan, target.num_threads()));
  const std::string owner =
      workspace.node < 0 ? "" : " of " + plan.graph.OriginOrName(workspace.node);
  TW_RETURN_IF_ERROR(CheckBytes("the workspace" + owner, workspace.bytes));
  return CheckBytes("constants, working memory and the workspace" + owner,
                    plan.constant_bytes + plan.MostArenaBytes() + workspace.bytes,
                    kMaxBytesTogether);
}

}  // namespace tilewright
