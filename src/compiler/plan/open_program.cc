#include "src/compiler/plan/open_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/math.h"
#include "src/ir/open_loop.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

/// Elements of the outermost dimension for each entry, by tensor.
using EntryExtents = std::map<const BufferNode*, std::int64_t>;

/// Moves every access to a tensor with entries by `first` entries.
class AccessMover {
 public:
  AccessMover(EntryExtents extents, Expr first)
      : extents_(std::move(extents)), first_(std::move(first)) {}

  Stmt Move(const Stmt& stmt) const {
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Move(part));
    StmtNode node = *MapOwnExprs(stmt, [&](const Expr& expr) { return MoveLoads(expr); });
    if (node.buffer != nullptr && !node.indices.empty()) Shift(*node.buffer, node.indices);
    for (Region& region : node.regions) Shift(*region.buffer, region.min);
    node.body = std::move(body);
    return Stmt(std::make_shared<const StmtNode>(std::move(node)));
  }

 private:
  Expr MoveLoads(const Expr& expr) const {
    return Rewrite(expr, [&](const Expr& node) {
      if (node->kind != ExprKind::kLoad || !extents_.contains(node->buffer.get())) return Expr();
      std::vector<Expr> indices = node->args;
      Shift(*node->buffer, indices);
      return MakeLoad(node->buffer, std::move(indices));
    });
  }

  void Shift(const BufferNode& buffer, std::vector<Expr>& indices) const {
    const auto found = extents_.find(&buffer);
    if (found == extents_.end()) return;
    indices[0] = indices[0] + first_ * Expr(found->second);
  }

  EntryExtents extents_;
  Expr first_;
};

bool ContainsParallelLoop(const Stmt& stmt) {
  return (stmt->kind == StmtKind::kFor && stmt->loop == LoopKind::kParallel) ||
         std::ranges::any_of(stmt->body, ContainsParallelLoop);
}

Stmt StripBlock(Stmt stmt) {
  while (stmt->kind == StmtKind::kBlock && stmt->body.size() == 1) stmt = Stmt(stmt->body[0]);
  return stmt;
}

Result<EntryExtents> ExtentsOf(const Program& block, const OpenLoop& loop) {
  EntryExtents extents;
  for (std::size_t i = 0; i < block.parameters.size(); ++i) {
    if (!loop.has_entries[i]) continue;
    const BufferNode& buffer = *block.parameters[i];
    if (buffer.shape.empty() || buffer.shape[0] % loop.entries != 0) {
      return Unsupported("tensor " + buffer.name + " has no outermost dimension of entries");
    }
    extents.emplace(&buffer, buffer.shape[0] / loop.entries);
  }
  return extents;
}

}  // namespace

Result<Program> OpenProgram(const Program& block, const OpenLoop& loop) {
  if (!LibraryCallsOf(block.body).empty()) return Unsupported("it calls a library");
  TW_ASSIGN_OR_RETURN(auto extents, ExtentsOf(block, loop));
  const Buffer size = MakeBuffer("entries", kInt64, {1});
  const Expr count = MakeLoad(size, {Expr(0)});
  const Expr number = MakeVar("block"), first = MakeVar("entry");
  const std::int64_t most_blocks = CeilDiv(loop.most, loop.entries);
  const Expr blocks =
      loop.entries == 1 ? count : FloorDiv(count + Expr(loop.entries - 1), Expr(loop.entries));
  const Expr begin =
      loop.entries == 1 ? number : Min(number * Expr(loop.entries), count - Expr(loop.entries));

  Program open = block;
  open.parameters.insert(open.parameters.begin(), size);
  BlockLoop blocks_of;
  blocks_of.number = number;
  blocks_of.count = blocks;
  blocks_of.most = most_blocks;
  blocks_of.parallel = loop.parallel;
  blocks_of.blocks_innermost = loop.blocks_innermost;
  open.body = LoopOverBlocks(
      AccessMover(std::move(extents), first).Move(block.body), blocks_of,
      [&](Stmt inside) { return MakeLet(first, begin, loop.most, std::move(inside)); });
  return open;
}

Stmt LoopOverBlocks(const Stmt& block, const BlockLoop& loop,
                    const std::function<Stmt(Stmt)>& around) {
  const Stmt body = StripBlock(block);
  const bool splits = body->kind == StmtKind::kFor && body->extent > 1 && !body->value &&
                      (body->loop == LoopKind::kParallel || body->loop == LoopKind::kSerial);
  if (!splits) {
    const bool outer = loop.parallel && !ContainsParallelLoop(body);
    return MakeOpenFor(loop.number, loop.count, loop.most,
                       outer ? LoopKind::kParallel : LoopKind::kSerial, around(body));
  }
  // One loop over the parts of all blocks, so that threads share them evenly.
  const Expr both = MakeVar("part");
  const Expr parts(body->extent);
  const Expr part = loop.blocks_innermost ? FloorDiv(both, loop.count) : FloorMod(both, parts);
  const Expr of_block = loop.blocks_innermost ? FloorMod(both, loop.count) : FloorDiv(both, parts);
  Stmt inside = around(MakeLet(body->var, part, body->extent, body->body[0]));
  inside = MakeLet(loop.number, of_block, loop.most, std::move(inside));
  return MakeOpenFor(both, loop.count * parts, loop.most * body->extent,
                     loop.parallel ? LoopKind::kParallel : body->loop, std::move(inside),
                     body->attributes);
}

}  // namespace tilewright
