// Copies to shared memory one step ahead of their use.
//
//   for k in 0..n:
//     allocate S; S = copy(k); use(S, k)
// becomes, with two buffers that take turns,
//   allocate S, T; S = copy(0)
//   for k in 0..n/2:
//     T = copy(2k + 1); use(S, 2k); S = copy(2k + 2); use(T, 2k + 1)
// and, for an odd n, a last use(S, n - 1). A step needs one barrier instead of two, and its loads
// run beside the arithmetic of the step before it. PlaceBarriers places the barriers, later.

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "src/ir/visit.h"
#include "src/schedule/gpu_passes.h"

namespace tilewright {
namespace {

using BufferMap = std::unordered_map<const BufferNode*, Buffer>;

/// A copy of a statement with one variable and some buffers replaced. Buffers allocated inside
/// become new ones, so that both copies can be part of one program.
class Duplicator {
 public:
  Duplicator(const Expr& var, Expr value, BufferMap buffers)
      : substitution_{{var.get(), std::move(value)}}, buffers_(std::move(buffers)) {}

  Stmt Copy(const Stmt& stmt) {
    if (stmt->kind == StmtKind::kAllocate) {
      const Buffer& own = stmt->buffer;
      buffers_[own.get()] = MakeBuffer(own->name, own->dtype, own->shape, own->scope);
    }
    StmtNode node = *MapOwnExprs(stmt, [&](const Expr& expr) {
      return Rewrite(Substitute(expr, substitution_), [&](const Expr& load) {
        const auto found =
            load->kind == ExprKind::kLoad ? buffers_.find(load->buffer.get()) : buffers_.end();
        return found == buffers_.end() ? Expr() : MakeLoad(found->second, load->args);
      });
    });
    Replace(&node.buffer);
    for (Region& region : node.regions) Replace(&region.buffer);
    for (Stmt& part : node.body) part = Copy(part);
    return Stmt(std::make_shared<const StmtNode>(std::move(node)));
  }

 private:
  void Replace(Buffer* buffer) const {
    const auto found = buffers_.find(buffer->get());
    if (found != buffers_.end()) *buffer = found->second;
  }

  Substitution substitution_;
  BufferMap buffers_;
};

bool Contains(const std::vector<Buffer>& buffers, const BufferNode* buffer) {
  return std::ranges::any_of(buffers, [&](const Buffer& b) { return b.get() == buffer; });
}

/// The buffers a statement writes and reads, those inside included.
void FindAccesses(const Stmt& stmt, std::vector<const BufferNode*>* written,
                  std::vector<const BufferNode*>* read) {
  if (stmt->kind == StmtKind::kStore) written->push_back(stmt->buffer.get());
  for (std::size_t i = 0; i < stmt->regions.size(); ++i) {
    (i == 0 ? written : read)->push_back(stmt->regions[i].buffer.get());
  }
  ForEachOwnExpr(*stmt, [&](const Expr& expr) {
    ForEachNode(expr, [&](const Expr& node) {
      if (node->kind == ExprKind::kLoad) read->push_back(node->buffer.get());
    });
  });
  for (const Stmt& part : stmt->body) FindAccesses(part, written, read);
}

/// A loop that makes copies and uses them.
struct Pipeline {
  std::vector<Buffer> allocated;  // by the loop's body, outermost first
  std::vector<Buffer> doubled;    // those of them with two copies
  std::vector<Stmt> copies;       // what writes these
  std::vector<Stmt> rest;
};

/// None unless the loop's body copies to one of `marked`, from memory that the rest of the body
/// does not write, as it does not write the copies.
std::optional<Pipeline> Match(const StmtNode& loop, const std::vector<Buffer>& marked) {
  if (loop.kind != StmtKind::kFor || loop.loop != LoopKind::kSerial || loop.extent < 2) return {};
  Pipeline pipeline;
  Stmt body = loop.body[0];
  while (body->kind == StmtKind::kAllocate) {
    pipeline.allocated.push_back(body->buffer);
    if (Contains(marked, body->buffer.get())) pipeline.doubled.push_back(body->buffer);
    body = body->body[0];
  }
  if (pipeline.doubled.empty() || body->kind != StmtKind::kBlock) return {};
  std::vector<const BufferNode*> changed, sources;
  for (const Stmt& part : body->body) {
    std::vector<const BufferNode*> written, read;
    FindAccesses(part, &written, &read);
    const bool copy = !written.empty() && std::ranges::all_of(written, [&](const BufferNode* b) {
      return Contains(pipeline.doubled, b);
    });
    (copy ? pipeline.copies : pipeline.rest).push_back(part);
    if (copy) sources.insert(sources.end(), read.begin(), read.end());
    if (!copy) changed.insert(changed.end(), written.begin(), written.end());
  }
  const auto is_changed = [&](const BufferNode* buffer) {
    return std::ranges::find(changed, buffer) != changed.end();
  };
  const bool depends = std::ranges::any_of(sources, [&](const BufferNode* source) {
    return is_changed(source) || Contains(pipeline.allocated, source);
  });
  const bool rewritten = std::ranges::any_of(
      pipeline.doubled, [&](const Buffer& buffer) { return is_changed(buffer.get()); });
  if (depends || rewritten || pipeline.copies.empty()) return {};
  return pipeline;
}

Stmt Unfold(const StmtNode& loop, const Pipeline& pipeline) {
  BufferMap turns[2];  // where step 0 and step 1 of a pair keep their copies
  std::vector<Buffer> buffers = pipeline.allocated;
  for (const Buffer& buffer : pipeline.doubled) {
    turns[0][buffer.get()] = buffer;
    turns[1][buffer.get()] =
        MakeBuffer(buffer->name + ".next", buffer->dtype, buffer->shape, buffer->scope);
    buffers.push_back(turns[1][buffer.get()]);
  }
  const auto add = [&](const std::vector<Stmt>& parts, const Expr& step, int turn,
                       std::vector<Stmt>* out) {
    Duplicator duplicator(loop.var, step, turns[turn]);
    for (const Stmt& part : parts) out->push_back(duplicator.Copy(part));
  };
  const std::int64_t pairs = loop.extent / 2;
  const bool odd = loop.extent % 2 != 0;
  const Expr pair = pairs == 1 ? Expr(0) : MakeVar(loop.var->name);
  const Expr step = pair * Expr(2);
  std::vector<Stmt> body;
  add(pipeline.copies, step + Expr(1), 1, &body);
  add(pipeline.rest, step, 0, &body);
  std::vector<Stmt> next;
  add(pipeline.copies, step + Expr(2), 0, &next);
  if (odd) {
    body.insert(body.end(), next.begin(), next.end());
  } else if (pairs > 1) {
    body.push_back(MakeIf(Lt(pair, Expr(pairs - 1)), MakeBlock(std::move(next))));
  }
  add(pipeline.rest, step + Expr(1), 1, &body);

  std::vector<Stmt> code;
  add(pipeline.copies, Expr(0), 0, &code);
  Stmt steps = MakeBlock(std::move(body));
  if (pairs > 1 || !loop.attributes.empty()) {
    const Expr var = pairs > 1 ? pair : MakeVar(loop.var->name);
    steps = MakeFor(var, pairs, LoopKind::kSerial, std::move(steps), loop.attributes);
  }
  code.push_back(std::move(steps));
  if (odd) add(pipeline.rest, Expr(loop.extent - 1), 0, &code);
  Stmt all = MakeBlock(std::move(code));
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) {
    all = MakeAllocate(*buffer, std::move(all));
  }
  return all;
}

class Doubler {
 public:
  explicit Doubler(std::vector<Buffer> marked) : marked_(std::move(marked)) {}

  /// Innermost loops first; a buffer takes turns in one of them only.
  Stmt Visit(const Stmt& stmt) {
    if (stmt->body.empty()) return stmt;
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Visit(part));
    const Stmt rebuilt = WithBody(stmt, std::move(body));
    const auto pipeline = Match(*rebuilt, marked_);
    if (!pipeline) return rebuilt;
    std::erase_if(marked_,
                  [&](const Buffer& buffer) { return Contains(pipeline->doubled, buffer.get()); });
    return Unfold(*rebuilt, *pipeline);
  }

 private:
  std::vector<Buffer> marked_;
};

}  // namespace

Stmt DoubleBuffers(const Stmt& stmt, const std::vector<Buffer>& marked) {
  return marked.empty() ? stmt : Doubler(marked).Visit(stmt);
}

}  // namespace tilewright
