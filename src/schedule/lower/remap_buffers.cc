#include "src/schedule/lower/remap_buffers.h"

namespace tilewright {
namespace {

template <typename T>
void Prepend(const std::vector<T>& prefix, std::vector<T>* list) {
  list->insert(list->begin(), prefix.begin(), prefix.end());
}

void RenewAllocated(const Stmt& stmt, BufferRemaps* buffers) {
  if (stmt->kind == StmtKind::kAllocate) {
    const Buffer& own = stmt->buffer;
    (*buffers)[own.get()] = {MakeBuffer(own->name, own->dtype, own->shape, own->scope)};
  }
  for (const Stmt& part : stmt->body) RenewAllocated(part, buffers);
}

}  // namespace

Stmt RemapBuffers(const Stmt& stmt, const Substitution& vars, const BufferRemaps& buffers) {
  StmtNode node = *MapOwnExprs(stmt, [&](const Expr& expr) {
    return Rewrite(Substitute(expr, vars), [&](const Expr& load) {
      const auto found =
          load->kind == ExprKind::kLoad ? buffers.find(load->buffer.get()) : buffers.end();
      if (found == buffers.end()) return Expr();
      std::vector<Expr> indices = load->args;
      Prepend(found->second.prefix, &indices);
      return MakeLoad(found->second.buffer, std::move(indices));
    });
  });
  if (const auto found = buffers.find(node.buffer.get()); found != buffers.end()) {
    node.buffer = found->second.buffer;
    if (node.kind != StmtKind::kAllocate) Prepend(found->second.prefix, &node.indices);
  }
  for (Region& region : node.regions) {
    const auto found = buffers.find(region.buffer.get());
    if (found == buffers.end()) continue;
    const auto& [buffer, prefix] = found->second;
    region.buffer = buffer;
    Prepend(prefix, &region.min);
    Prepend(std::vector<std::int64_t>(prefix.size(), 1), &region.extent);
  }
  for (Stmt& part : node.body) part = RemapBuffers(part, vars, buffers);
  return Stmt(std::make_shared<const StmtNode>(std::move(node)));
}

Stmt Duplicate(const Stmt& stmt, const Substitution& vars, BufferRemaps buffers) {
  RenewAllocated(stmt, &buffers);
  return RemapBuffers(stmt, vars, buffers);
}

}  // namespace tilewright
