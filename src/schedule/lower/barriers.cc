#include <algorithm>

#include "src/ir/visit.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/lower/gpu_passes.h"

namespace tilewright {
namespace {

using Buffers = std::vector<const BufferNode*>;

void AddTo(Buffers* buffers, const BufferNode* buffer) {
  if (std::ranges::find(*buffers, buffer) == buffers->end()) buffers->push_back(buffer);
}

bool Intersect(const Buffers& a, const Buffers& b) {
  return std::ranges::any_of(
      a, [&](const BufferNode* buffer) { return std::ranges::find(b, buffer) != b.end(); });
}

void AddAll(Buffers* buffers, const Buffers& others) {
  for (const BufferNode* buffer : others) AddTo(buffers, buffer);
}

/// Accesses of a statement to shared memory.
struct Accesses {
  Buffers written, read;   // by the stages that compute it, and by readers
  Buffers started, ahead;  // by an asynchronous copy, and by one for a later step
  Buffers arrived;         // by the end of a wait for such copies

  void Add(const Accesses& other) {
    for (Buffers Accesses::*list : {&Accesses::written, &Accesses::read, &Accesses::started,
                                    &Accesses::ahead, &Accesses::arrived}) {
      AddAll(&(this->*list), other.*list);
    }
  }
  bool empty() const {
    return written.empty() && read.empty() && started.empty() && ahead.empty() && arrived.empty();
  }
};

/// Shared memory accessed since the last barrier. An asynchronous copy counts as a write at the
/// wait for it, because no thread accesses its data before. A copy for a later step writes memory
/// that the previous step read last, that is, before the last wait.
struct Pending {
  Buffers written, read;
  Buffers read_before;  // before the last wait

  void Follow(const Accesses& next) {
    for (const BufferNode* buffer : next.arrived) {
      if (Intersect(read, {buffer})) AddTo(&read_before, buffer);
    }
    AddAll(&written, next.arrived);
    AddAll(&written, next.written);
    AddAll(&read, next.read);
  }
  void Merge(const Pending& other) {
    AddAll(&written, other.written);
    AddAll(&read, other.read);
    AddAll(&read_before, other.read_before);
  }
  std::size_t count() const { return written.size() + read.size() + read_before.size(); }
  bool ConflictsWith(const Accesses& later) const {
    return Intersect(written, later.read) || Intersect(read, later.written) ||
           Intersect(read, later.started) || Intersect(read_before, later.ahead);
  }
};

Accesses AccessesOf(const Stmt& stmt) {
  Accesses accesses;
  if (IsAsyncWait(*stmt)) {
    for (const Region& region : stmt->regions) AddTo(&accesses.arrived, region.buffer.get());
    return accesses;
  }
  const BufferNode* target = stmt->kind == StmtKind::kStore ? stmt->buffer.get()
                             : stmt->regions.empty()        ? nullptr
                                                            : stmt->regions[0].buffer.get();
  const auto read = [&](const BufferNode* buffer) {
    if (buffer->scope == Scope::kShared && buffer != target) AddTo(&accesses.read, buffer);
  };
  Buffers* change = &accesses.written;
  if (IsAsyncCopy(*stmt)) change = IsAhead(*stmt) ? &accesses.ahead : &accesses.started;
  if (target != nullptr && target->scope == Scope::kShared) AddTo(change, target);
  for (const Region& region : stmt->regions) read(region.buffer.get());
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    ForEachNode(expr, [&](const Expr& node) {
      if (node->kind == ExprKind::kLoad) read(node->buffer.get());
    });
  });
  for (const Stmt& part : stmt->body) accesses.Add(AccessesOf(part));
  return accesses;
}

class BarrierPlacer {
 public:
  /// Returns the statement with barriers, for the accesses in `*pending` since the last barrier.
  Stmt Place(const Stmt& stmt, Pending* pending) {
    const Accesses own = AccessesOf(stmt);
    if (own.empty()) {
      if (stmt->kind == StmtKind::kFor && IsThreadLoop(stmt->loop)) AddThread(stmt->var);
      return stmt;
    }
    switch (stmt->kind) {
      case StmtKind::kBlock: {
        std::vector<Stmt> body;
        for (const Stmt& part : stmt->body) {
          if (pending->ConflictsWith(AccessesOf(part))) body.push_back(Barrier(pending));
          body.push_back(Place(part, pending));
        }
        return MakeBlock(std::move(body));
      }
      case StmtKind::kFor:
        return PlaceInLoop(stmt, pending);
      case StmtKind::kIf:
        return PlaceInIf(stmt, pending);
      case StmtKind::kAllocate:
        return WithBody(stmt, {Place(stmt->body[0], pending)});
      default: {
        const bool conflict = pending->ConflictsWith(own);
        Stmt barrier = conflict ? Barrier(pending) : Stmt();
        pending->Follow(own);
        return conflict ? MakeBlock({std::move(barrier), stmt}) : stmt;
      }
    }
  }
  const Status& status() const { return status_; }

 private:
  void AddThread(const Expr& var) { threads_.push_back(var.get()); }

  Stmt Barrier(Pending* pending) {
    *pending = Pending();
    if (divergent_ && status_.ok()) {
      status_ =
          InvalidArgument("a barrier is needed under a condition that differs between threads");
    }
    return MakeBarrier();
  }

  Stmt PlaceInLoop(const Stmt& stmt, Pending* pending) {
    const bool bound = IsThreadLoop(stmt->loop) || IsBlockLoop(stmt->loop);
    if (IsThreadLoop(stmt->loop)) AddThread(stmt->var);
    if (bound || stmt->extent == 1) return WithBody(stmt, {Place(stmt->body[0], pending)});
    // An iteration begins with the accesses of the previous one: iterate to a fixed point.
    for (;;) {
      Pending entry = *pending;
      Pending end = *pending;
      Stmt body = Place(stmt->body[0], &end);
      entry.Merge(end);
      if (entry.count() == pending->count()) {
        *pending = std::move(end);
        return WithBody(stmt, {std::move(body)});
      }
      *pending = std::move(entry);
    }
  }

  Stmt PlaceInIf(const Stmt& stmt, Pending* pending) {
    const bool differs = AnyNode(stmt->condition, [&](const Expr& node) {
      return node->kind == ExprKind::kLoad ||
             std::ranges::find(threads_, node.get()) != threads_.end();
    });
    const bool outer = divergent_;
    divergent_ = divergent_ || differs;
    std::vector<Stmt> body;
    Pending after;
    for (const Stmt& part : stmt->body) {
      Pending branch = *pending;
      body.push_back(Place(part, &branch));
      after.Merge(branch);
    }
    if (stmt->body.size() == 1) after.Merge(*pending);
    *pending = std::move(after);
    divergent_ = outer;
    return WithBody(stmt, std::move(body));
  }

  std::vector<const ExprNode*> threads_;
  bool divergent_ = false;
  Status status_;
};

}  // namespace

Result<Stmt> PlaceBarriers(const Stmt& stmt) {
  BarrierPlacer placer;
  Pending pending;
  Stmt placed = placer.Place(stmt, &pending);
  TW_RETURN_IF_ERROR(placer.status());
  return placed;
}

}  // namespace tilewright
