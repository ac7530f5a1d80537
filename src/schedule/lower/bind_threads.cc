#include <algorithm>
#include <array>
#include <unordered_map>

#include "src/ir/visit.h"
#include "src/schedule/lower/gpu_passes.h"

namespace tilewright {
namespace {

struct Index {
  LoopKind kind;
  const char* name;
  Expr var = {};  // null: no loop is bound to it
  std::int64_t extent = 1;
  std::map<std::string, std::int64_t> attributes = {};
};

/// Returns the indices from the outermost to the innermost.
std::array<Index, 6> AllIndices() {
  return {Index{LoopKind::kBlockZ, "block.z"},   Index{LoopKind::kBlockY, "block.y"},
          Index{LoopKind::kBlockX, "block.x"},   Index{LoopKind::kThreadZ, "thread.z"},
          Index{LoopKind::kThreadY, "thread.y"}, Index{LoopKind::kThreadX, "thread.x"}};
}

class ThreadBinder {
 public:
  Stmt Run(const Stmt& stmt) {
    Collect(stmt);
    const Stmt inside = Visit(stmt);
    Stmt bound = MapExprs(inside, [&](const Expr& expr) { return Substitute(expr, vars_); });
    for (auto index = indices_.rbegin(); index != indices_.rend(); ++index) {
      if (!index->var) continue;
      bound = MakeFor(index->var, index->extent, index->kind, std::move(bound), index->attributes);
    }
    return bound;
  }

 private:
  Index* Find(LoopKind kind) {
    auto* found = std::ranges::find(indices_, kind, &Index::kind);
    return found == indices_.end() ? nullptr : found;
  }

  void Collect(const Stmt& stmt) {
    if (Index* index = stmt->kind == StmtKind::kFor ? Find(stmt->loop) : nullptr) {
      if (!index->var) index->var = MakeVar(index->name);
      index->extent = std::max(index->extent, stmt->extent);
      index->attributes.insert(stmt->attributes.begin(), stmt->attributes.end());
    }
    for (const Stmt& part : stmt->body) Collect(part);
  }

  Stmt Visit(const Stmt& stmt) {
    if (stmt->kind == StmtKind::kAllocate) entered_at_[stmt->buffer.get()] = entered_.size();
    if (Index* index = stmt->kind == StmtKind::kFor ? Find(stmt->loop) : nullptr) {
      vars_.emplace_back(stmt->var.get(), index->var);
      entered_.push_back(index->kind);
      Stmt body = Visit(stmt->body[0]);
      entered_.pop_back();
      if (stmt->extent == index->extent) return body;
      return MakeIf(Lt(index->var, Expr(stmt->extent)), std::move(body));
    }
    if (stmt->body.empty()) return OnlyOnce(stmt);
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Visit(part));
    return WithBody(stmt, std::move(body));
  }

  /// Restricts a statement with a common result to one thread.
  Stmt OnlyOnce(const Stmt& stmt) {
    const bool writes = stmt->kind == StmtKind::kStore || !stmt->regions.empty();
    if (!writes) return stmt;
    const BufferNode& buffer = stmt->regions.empty() ? *stmt->buffer : *stmt->regions[0].buffer;
    if (buffer.scope == Scope::kLocal) return stmt;
    // Loops around the allocation of shared memory distribute the work of other stages.
    const auto found = entered_at_.find(&buffer);
    const auto first = entered_.begin() +
                       static_cast<std::ptrdiff_t>(found == entered_at_.end() ? 0 : found->second);
    Expr condition = MakeInt(kBool, 1);
    for (const Index& index : indices_) {
      if (index.extent == 1 || (buffer.scope == Scope::kShared && IsBlockLoop(index.kind)))
        continue;
      if (std::find(first, entered_.end(), index.kind) != entered_.end()) continue;
      condition = And(condition, Eq(index.var, Expr(0)));
    }
    return MakeIf(condition, stmt);
  }

  std::array<Index, 6> indices_ = AllIndices();
  Substitution vars_;
  std::vector<LoopKind> entered_;
  std::unordered_map<const BufferNode*, std::size_t> entered_at_;
};

}  // namespace

Stmt BindThreads(const Stmt& stmt) { return ThreadBinder().Run(stmt); }

}  // namespace tilewright
