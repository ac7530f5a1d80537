#include "src/schedule/lower/lower.h"

#include <cctype>

#include "src/schedule/check.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

using Attach = Schedule::Attach;

bool IsIdentifier(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

/// Returns the number of statements after unrolling; saturates well above any limit.
std::int64_t StatementsOf(const Stmt& stmt) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  std::int64_t count = stmt->kind == StmtKind::kBlock ? 0 : 1;
  for (const Stmt& part : stmt->body) count += StatementsOf(part);
  if (stmt->kind == StmtKind::kFor &&
      (stmt->loop == LoopKind::kUnrolled || stmt->loop == LoopKind::kVirtualThread)) {
    if (count > kMany / stmt->extent) return kMany;
    count *= stmt->extent;
  }
  return count;
}

}  // namespace

Lowering::Lowering(const Schedule& schedule, const LowerLimits& limits)
    : schedule_(schedule),
      limits_(limits),
      realized_(schedule.stages().size()),
      allowed_(schedule.stages().size()) {}

Stmt Lowering::Fail(const std::string& reason) {
  if (status_.ok()) status_ = InvalidArgument(reason);
  return MakeBlock({});
}

Stmt Lowering::FailStage(const Nest& nest, const std::string& reason) {
  return Fail("stage '" + nest.info->op.name + "': " + reason);
}

Result<Program> Lowering::Run(std::string name) {
  TW_RETURN_IF_ERROR(CheckSchedule(schedule_));
  if (!IsIdentifier(name))
    return InvalidArgument("program name '" + name + "' is not an identifier");
  const bool bound = IsBound(schedule_);
  std::vector<Stmt> code;
  std::vector<Buffer> workspace;
  const StageId result = schedule_.order().back();
  for (StageId id : schedule_.order()) {
    const auto& info = schedule_.stage(id);
    const bool kept = info.keep && schedule_.stage(info.consumer).attach == Attach::kRoot;
    if (info.attach != Attach::kRoot && !kept) continue;
    Part whole;
    for (const Axis& axis : info.op.axes) {
      whole.min.push_back(Expr(0));
      whole.extent.push_back(axis.extent);
    }
    Buffer buffer = info.op.output;
    if (bound && id != result && info.scope != Scope::kGlobal) {
      return InvalidArgument("stage '" + info.op.name +
                             "': not computed inside a launch, expected global memory");
    }
    if (id != result) {
      if (buffer->scope != info.scope) {
        buffer = MakeBuffer(buffer->name, buffer->dtype, buffer->shape, info.scope);
      }
      workspace.push_back(buffer);
      (info.scope == Scope::kLocal ? local_bytes_ : workspace_bytes_) += buffer->bytes();
    }
    realized_[static_cast<std::size_t>(id.index)] = {buffer, whole.min, buffer->shape};
    if (kept) continue;
    code.push_back(EmitStage(id, whole));
    TW_RETURN_IF_ERROR(status_);
    if (!bound || info.library) continue;
    auto dealt = DistributeFragments(BindThreads(code.back()));
    if (!dealt.ok()) return dealt.status().WithContext("stage '" + info.op.name + "'");
    auto pipelined = PipelineCopies(InjectVirtualThreads(*dealt), pipelined_);
    auto launch = pipelined.ok() ? PlaceBarriers(DoubleBuffers(*pipelined, doubled_)) : pipelined;
    if (!launch.ok()) return launch.status().WithContext("stage '" + info.op.name + "'");
    code.back() = *std::move(launch);
    pipelined_.clear();
  }
  if (!pipelined_.empty()) return InvalidArgument("asynchronous copies outside of a GPU's kernel");
  if (local_bytes_ > limits_.max_local_bytes) {
    return InvalidArgument("local buffers of " + std::to_string(local_bytes_) +
                           " bytes, expected at most " + std::to_string(limits_.max_local_bytes));
  }
  if (workspace_bytes_ > limits_.max_workspace_bytes) {
    return InvalidArgument("workspace of " + std::to_string(workspace_bytes_) +
                           " bytes, expected at most " +
                           std::to_string(limits_.max_workspace_bytes));
  }
  Program program;
  program.name = std::move(name);
  program.parameters = schedule_.compute().inputs;
  program.parameters.push_back(schedule_.stage(result).op.output);
  program.body = MakeBlock(std::move(code));
  for (auto buffer = workspace.rbegin(); buffer != workspace.rend(); ++buffer) {
    program.body = MakeAllocate(*buffer, std::move(program.body));
  }
  const std::int64_t statements = StatementsOf(program.body);
  if (statements > limits_.max_statements) {
    return InvalidArgument(std::to_string(statements) + " statements when unrolled, expected at " +
                           "most " + std::to_string(limits_.max_statements));
  }
  if (bound) {
    for (const Launch& launch : PlanLaunches(program).launches) {
      TW_RETURN_IF_ERROR(CheckLaunch(launch, limits_.launch));
    }
  }
  return program;
}

Result<Program> Lower(const Schedule& schedule, std::string name, const LowerLimits& limits) {
  return Lowering(schedule, limits).Run(std::move(name));
}

}  // namespace tilewright
