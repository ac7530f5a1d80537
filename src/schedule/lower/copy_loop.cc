#include "src/schedule/lower/copy_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/ir/visit.h"

namespace tilewright {
namespace {

/// Finds the buffers that a statement writes and reads, including nested statements.
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

bool ContainsBuffer(const std::vector<Buffer>& buffers, const BufferNode* buffer) {
  return std::ranges::any_of(buffers, [&](const Buffer& b) { return b.get() == buffer; });
}

/// Returns nullopt unless the loop's body copies to one of `marked` from memory that the rest of
/// the body does not write. The rest must not write the copies either.
std::optional<CopyLoop> MatchCopyLoop(const StmtNode& loop, const std::vector<Buffer>& marked) {
  if (loop.kind != StmtKind::kFor || loop.loop != LoopKind::kSerial || loop.extent < 2) return {};
  CopyLoop match;
  Stmt body = loop.body[0];
  while (body->kind == StmtKind::kAllocate) {
    match.allocated.push_back(body->buffer);
    if (ContainsBuffer(marked, body->buffer.get())) match.copied.push_back(body->buffer);
    body = body->body[0];
  }
  if (match.copied.empty() || body->kind != StmtKind::kBlock) return {};
  std::vector<const BufferNode*> changed, sources;
  for (const Stmt& part : body->body) {
    std::vector<const BufferNode*> written, read;
    FindAccesses(part, &written, &read);
    const bool copy = !written.empty() && std::ranges::all_of(written, [&](const BufferNode* b) {
      return ContainsBuffer(match.copied, b);
    });
    (copy ? match.copies : match.rest).push_back(part);
    if (copy) sources.insert(sources.end(), read.begin(), read.end());
    if (!copy) changed.insert(changed.end(), written.begin(), written.end());
  }
  const auto is_changed = [&](const BufferNode* buffer) {
    return std::ranges::find(changed, buffer) != changed.end();
  };
  const bool depends = std::ranges::any_of(sources, [&](const BufferNode* source) {
    return is_changed(source) || ContainsBuffer(match.allocated, source);
  });
  const bool rewritten = std::ranges::any_of(
      match.copied, [&](const Buffer& buffer) { return is_changed(buffer.get()); });
  if (depends || rewritten || match.copies.empty()) return {};
  return match;
}

}  // namespace

Stmt UnfoldCopyLoops(const Stmt& stmt, std::vector<Buffer>* marked,
                     const std::function<Stmt(const StmtNode&, const CopyLoop&)>& unfold) {
  if (stmt->body.empty()) return stmt;
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) body.push_back(UnfoldCopyLoops(part, marked, unfold));
  const Stmt rebuilt = WithBody(stmt, std::move(body));
  const auto match = MatchCopyLoop(*rebuilt, *marked);
  if (!match) return rebuilt;
  std::erase_if(*marked,
                [&](const Buffer& buffer) { return ContainsBuffer(match->copied, buffer.get()); });
  return unfold(*rebuilt, *match);
}

Stmt AllocateAll(const std::vector<Buffer>& buffers, Stmt body) {
  for (auto buffer = buffers.rbegin(); buffer != buffers.rend(); ++buffer) {
    body = MakeAllocate(*buffer, std::move(body));
  }
  return body;
}

}  // namespace tilewright
