#include "src/schedule/launch.h"

#include <algorithm>

#include "src/base/math.h"

namespace tilewright {
namespace {

/// Returns the extent in the grid or block that a loop is bound to; null for an unbound loop.
std::int64_t* ExtentOf(Launch* launch, LoopKind kind) {
  switch (kind) {
    case LoopKind::kBlockX:
      return &launch->grid[0];
    case LoopKind::kBlockY:
      return &launch->grid[1];
    case LoopKind::kBlockZ:
      return &launch->grid[2];
    case LoopKind::kThreadX:
      return &launch->block[0];
    case LoopKind::kThreadY:
      return &launch->block[1];
    case LoopKind::kThreadZ:
      return &launch->block[2];
    default:
      return nullptr;
  }
}

void Measure(const Stmt& stmt, Launch* launch) {
  if (stmt->kind == StmtKind::kFor) {
    if (std::int64_t* extent = ExtentOf(launch, stmt->loop)) *extent = stmt->extent;
  }
  if (stmt->kind == StmtKind::kAllocate) {
    const std::int64_t bytes = stmt->buffer->bytes();
    if (stmt->buffer->scope == Scope::kShared) {
      launch->shared_bytes += RoundUp(bytes, kSharedAlignment);
    }
    if (stmt->buffer->scope == Scope::kLocal) {
      launch->largest_local_bytes = std::max(launch->largest_local_bytes, bytes);
    }
  }
  for (const Stmt& part : stmt->body) Measure(part, launch);
}

/// Returns the positions of a call's buffers among parameters and workspace.
std::array<int, 3> OperandsOf(const StmtNode& call, const Program& program,
                              const std::vector<Buffer>& workspace) {
  std::vector<Buffer> all = program.parameters;
  all.insert(all.end(), workspace.begin(), workspace.end());
  std::array<int, 3> operands{};
  for (std::size_t i = 0; i < std::min(operands.size(), call.regions.size()); ++i) {
    operands[i] = static_cast<int>(std::ranges::find(all, call.regions[i].buffer) - all.begin());
  }
  return operands;
}

Status TooMuch(std::int64_t value, const std::string& what, std::int64_t limit) {
  return InvalidArgument(std::to_string(value) + " " + what + ", expected at most " +
                         std::to_string(limit));
}

}  // namespace

LaunchPlan PlanLaunches(const Program& program) {
  LaunchPlan plan;
  Stmt rest = program.body;
  while (rest->kind == StmtKind::kAllocate && rest->buffer->scope == Scope::kGlobal) {
    plan.workspace.push_back(rest->buffer);
    rest = rest->body[0];
  }
  const std::vector<Stmt> parts =
      rest->kind == StmtKind::kBlock ? rest->body : std::vector<Stmt>{rest};
  for (const Stmt& part : parts) {
    Launch launch;
    launch.name = program.name;
    if (!plan.launches.empty()) launch.name += "_" + std::to_string(plan.launches.size());
    launch.body = part;
    Measure(part, &launch);
    if (launch.library() != nullptr) {
      launch.operands = OperandsOf(*part, program, plan.workspace);
    }
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

Status CheckLaunch(const Launch& launch, const LaunchLimits& limits) {
  constexpr std::int64_t kRegisterBytes = 4;
  constexpr const char* kAxes[] = {"x", "y", "z"};
  if (launch.threads() > limits.threads_per_block) {
    return TooMuch(launch.threads(), "threads per block", limits.threads_per_block);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string along = std::string(" along ") + kAxes[i];
    if (launch.grid[i] > limits.grid[i]) {
      return TooMuch(launch.grid[i], "blocks" + along, limits.grid[i]);
    }
    if (launch.block[i] > limits.block[i]) {
      return TooMuch(launch.block[i], "threads" + along, limits.block[i]);
    }
  }
  if (launch.shared_bytes > limits.shared_bytes) {
    return TooMuch(launch.shared_bytes, "bytes of shared memory", limits.shared_bytes);
  }
  const std::int64_t registers =
      std::min(limits.registers_per_thread, limits.registers_per_block / launch.threads());
  if (launch.largest_local_bytes > registers * kRegisterBytes) {
    return TooMuch(launch.largest_local_bytes, "bytes in the largest array of one thread",
                   registers * kRegisterBytes);
  }
  return {};
}

}  // namespace tilewright
