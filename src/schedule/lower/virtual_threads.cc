#include <algorithm>
#include <unordered_set>

#include "src/ir/visit.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/remap_buffers.h"
#include "src/schedule/workspace_images.h"

namespace tilewright {
namespace {

/// One loop over virtual threads that moves inwards.
class VirtualThread {
 public:
  explicit VirtualThread(const StmtNode& loop) : loop_(loop) {
    // Dependences pass from buffer to buffer: iterate to a fixed point.
    for (std::size_t known = 1; known > 0;) {
      const std::size_t before = touched_.size();
      FindTouched(loop.body[0], false);
      known = touched_.size() - before;
    }
  }

  Stmt Push(const Stmt& stmt) {
    switch (stmt->kind) {
      case StmtKind::kAllocate: {
        const Buffer buffer = Expand(stmt->buffer);
        return MakeAllocate(buffer, Push(stmt->body[0]));
      }
      case StmtKind::kIf:
        if (DependsOnThread(*stmt)) return Repeat(stmt);
        break;
      case StmtKind::kFor:
        if (stmt->attributes.contains(kWholeVectorAttribute) && DependsWithin(stmt)) {
          return Repeat(stmt);
        }
        break;
      case StmtKind::kBlock:
        break;
      default:
        return DependsOnThread(*stmt) ? Repeat(stmt) : stmt;
    }
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Push(part));
    return WithBody(stmt, std::move(body));
  }

 private:
  bool Touches(const Expr& expr) const {
    return AnyNode(expr, [&](const Expr& node) {
      return node.Same(loop_.var) ||
             (node->kind == ExprKind::kLoad && touched_.contains(node->buffer.get()));
    });
  }

  /// Returns true if the statement itself differs between virtual threads.
  bool DependsOnThread(const StmtNode& stmt) const {
    bool depends = stmt.buffer != nullptr && touched_.contains(stmt.buffer.get());
    for (const Region& region : stmt.regions) {
      depends = depends || touched_.contains(region.buffer.get());
    }
    ForEachOwnExpr(stmt, [&](const Expr& expr) { depends = depends || Touches(expr); });
    return depends;
  }

  bool DependsWithin(const Stmt& stmt) const {
    return DependsOnThread(*stmt) ||
           std::ranges::any_of(stmt->body, [&](const Stmt& part) { return DependsWithin(part); });
  }

  void FindTouched(const Stmt& stmt, bool conditional) {
    if (stmt->kind == StmtKind::kAllocate) private_.insert(stmt->buffer.get());
    bool depends = conditional;
    ForEachOwnExpr(*stmt, [&](const Expr& expr) { depends = depends || Touches(expr); });
    const bool writes = stmt->kind == StmtKind::kStore || !stmt->regions.empty();
    if (writes && depends) {
      const Buffer& buffer = stmt->regions.empty() ? stmt->buffer : stmt->regions[0].buffer;
      if (private_.contains(buffer.get())) touched_.insert(buffer.get());
    }
    const bool inside = stmt->kind == StmtKind::kIf && depends;
    for (const Stmt& part : stmt->body) FindTouched(part, inside || conditional);
  }

  Buffer Expand(const Buffer& buffer) {
    if (!touched_.contains(buffer.get())) return buffer;
    std::vector<std::int64_t> shape = {loop_.extent};
    shape.insert(shape.end(), buffer->shape.begin(), buffer->shape.end());
    Buffer expanded = MakeBuffer(buffer->name, buffer->dtype, std::move(shape), buffer->scope);
    expanded_[buffer.get()] = {expanded, {loop_.var}};
    return expanded;
  }

  Stmt Repeat(const Stmt& stmt) {
    return MakeFor(loop_.var, loop_.extent, LoopKind::kVirtualThread,
                   RemapBuffers(stmt, {}, expanded_));
  }

  const StmtNode& loop_;
  std::unordered_set<const BufferNode*> private_;  // allocated inside
  std::unordered_set<const BufferNode*> touched_;  // private and different between threads
  BufferRemaps expanded_;
};

}  // namespace

Stmt InjectVirtualThreads(const Stmt& stmt) {
  if (stmt->body.empty()) return stmt;
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) body.push_back(InjectVirtualThreads(part));
  const Stmt rebuilt = WithBody(stmt, std::move(body));
  if (rebuilt->kind != StmtKind::kFor || rebuilt->loop != LoopKind::kVirtualThread) return rebuilt;
  return VirtualThread(*rebuilt).Push(rebuilt->body[0]);
}

}  // namespace tilewright
