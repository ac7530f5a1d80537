#include "src/codegen/llvm/storage_plan.h"

#include <algorithm>

#include "src/base/math.h"
#include "src/ir/open_loop.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/launch.h"

namespace tilewright::emit {
namespace {

// Private buffers up to this size are acceptable on a stack of unknown size.
constexpr std::int64_t kMaxStackBytes = 4096;
constexpr std::int64_t kAlignment = 64;
// Limits of loops that are unrolled only to promote a buffer to registers.
constexpr std::int64_t kMaxForcedTrips = 64;
constexpr std::int64_t kMaxForcedSteps = 1024;

bool ContainsParallel(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kFor && stmt->loop == LoopKind::kParallel) return true;
  return std::any_of(stmt->body.begin(), stmt->body.end(), ContainsParallel);
}

class Planner {
 public:
  explicit Planner(const StorageRules& rules) : rules_(rules) {}

  Result<StoragePlan> Run(const Program& program) {
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const BufferNode* buffer = program.parameters[i].get();
      const Storage storage{StorageClass::kParameter, static_cast<std::int64_t>(i)};
      if (!plan_.storage.emplace(buffer, storage).second) {
        return InvalidArgument(program.name + ": parameter " + buffer->name + " is given twice");
      }
    }
    Visit(program.body, false);
    TW_RETURN_IF_ERROR(status_);
    return std::move(plan_);
  }

 private:
  void Visit(const Stmt& stmt, bool in_parallel) {
    if (!status_.ok()) return;
    switch (stmt->kind) {
      case StmtKind::kAllocate:
        Assign(stmt, in_parallel);
        break;
      case StmtKind::kFor:
        for (const Expr& value : stmt->indices) VisitExpr(value);
        if (stmt->value) VisitExpr(stmt->value);
        // Loops of unknown length are never unrolled.
        if (!stmt->value && !IsLet(*stmt)) loops_[stmt->var.get()] = stmt.get();
        in_parallel = in_parallel || stmt->loop == LoopKind::kParallel;
        break;
      case StmtKind::kStore:
      case StmtKind::kPrefetch:
        Access(*stmt->buffer, stmt->indices);
        if (stmt->value) VisitExpr(stmt->value);
        break;
      case StmtKind::kIf:
        VisitExpr(stmt->condition);
        break;
      case StmtKind::kCopy:
      case StmtKind::kIntrinsic:
      case StmtKind::kLibraryCall:
        if (stmt->condition) VisitExpr(stmt->condition);
        for (const Region& region : stmt->regions) Access(*region.buffer, region.min);
        break;
      default:
        break;
    }
    for (const Stmt& child : stmt->body) Visit(child, in_parallel);
  }

  void VisitExpr(const Expr& expr) {
    if (expr->kind == ExprKind::kLoad) Access(*expr->buffer, expr->args);
    for (const Expr& arg : expr->args) VisitExpr(arg);
  }

  void Assign(const Stmt& stmt, bool in_parallel) {
    const BufferNode* buffer = stmt->buffer.get();
    if (stmt->attributes.contains(kInMemory)) plan_.in_memory.insert(buffer);
    Storage storage;
    if (rules_.gpu) {
      if (buffer->scope == Scope::kShared) {
        storage = {StorageClass::kShared, plan_.shared_bytes};
        plan_.shared_bytes += RoundUp(buffer->bytes(), kSharedAlignment);
      }
      AddAllocated(buffer, storage);
      return;
    }
    const std::int64_t bytes = RoundUp(std::max<std::int64_t>(buffer->bytes(), 1), kAlignment);
    const bool shared = !in_parallel && (buffer->scope == Scope::kGlobal ||
                                         bytes > kMaxStackBytes || ContainsParallel(stmt->body[0]));
    if (shared) {
      storage = {StorageClass::kWorkspace, plan_.workspace_bytes};
      plan_.workspace_bytes += bytes;
      plan_.workspace_buffers.push_back(buffer);
    } else if (in_parallel && bytes > kMaxStackBytes) {
      storage = {StorageClass::kPerThread, plan_.workspace_bytes_per_thread};
      plan_.workspace_bytes_per_thread += bytes;
      plan_.worker_buffers.push_back(buffer);
    }
    AddAllocated(buffer, storage);
  }

  void AddAllocated(const BufferNode* buffer, Storage storage) {
    if (!plan_.storage.emplace(buffer, storage).second) {
      status_ = InvalidArgument("buffer " + buffer->name + " is allocated twice");
    }
  }

  /// Checks one access, and plans to unroll the loops that index a register-sized private buffer.
  void Access(const BufferNode& buffer, const std::vector<Expr>& indices) {
    const auto found = plan_.storage.find(&buffer);
    if (found == plan_.storage.end()) {
      status_ = InvalidArgument("buffer " + buffer.name + " is accessed outside of its allocation");
      return;
    }
    if (indices.size() != buffer.shape.size()) {
      status_ = InvalidArgument(
          "buffer " + buffer.name + " has " + std::to_string(buffer.shape.size()) +
          " dimensions, accessed with " + std::to_string(indices.size()) + " indices");
      return;
    }
    const bool promotable =
        found->second.place == StorageClass::kStack && buffer.scope == Scope::kLocal &&
        buffer.bytes() <= rules_.register_bytes && !plan_.in_memory.contains(&buffer);
    for (const Expr& index : indices) {
      VisitExpr(index);
      if (promotable) UnrollLoopsOf(index, buffer);
    }
  }

  void UnrollLoopsOf(const Expr& index, const BufferNode& buffer) {
    if (index->kind == ExprKind::kVar) {
      const auto loop = loops_.find(index.get());
      if (loop == loops_.end() || loop->second->loop != LoopKind::kSerial) return;
      const StmtNode* node = loop->second;
      const auto most = node->attributes.find("auto_unroll_max_step");
      if (!rules_.gpu && most != node->attributes.end() && most->second == 0) {
        plan_.in_memory.insert(&buffer);
        return;
      }
      if (node->extent > kMaxForcedTrips || plan_.unrolled.contains(node)) return;
      if (node->extent * CountSteps(node->body[0], kMaxForcedSteps) > kMaxForcedSteps) return;
      plan_.unrolled.insert(node);
    }
    for (const Expr& arg : index->args) UnrollLoopsOf(arg, buffer);
  }

  const StorageRules& rules_;
  StoragePlan plan_;
  Status status_;
  std::unordered_map<const ExprNode*, const StmtNode*> loops_;
};

}  // namespace

std::int64_t CountSteps(const Stmt& stmt, std::int64_t limit) {
  std::int64_t steps = 0;
  switch (stmt->kind) {
    case StmtKind::kStore:
    case StmtKind::kIntrinsic:
      return 1;
    case StmtKind::kCopy:
      return IsAsyncCopy(*stmt) ? 1 : limit;
    default:
      break;
  }
  for (const Stmt& child : stmt->body) {
    steps = std::min(limit, steps + CountSteps(child, limit));
  }
  if (stmt->kind == StmtKind::kFor && stmt->loop != LoopKind::kVectorized && !IsLet(*stmt)) {
    steps = stmt->extent > limit ? limit : std::min(limit, steps * stmt->extent);
  }
  return steps;
}

Result<StoragePlan> PlanStorage(const Program& program, const StorageRules& rules) {
  return Planner(rules).Run(program);
}

}  // namespace tilewright::emit
