#include "src/compiler/open/open_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/base/math.h"
#include "src/ir/open_loop.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

/// Tensor of a kernel for any number of entries that takes the place of one of a block.
struct OpenTensor {
  Buffer buffer;
  std::int64_t entry_extent = 0;  ///< elements of the outermost dimension; 0: it has no entries
};
/// By the tensor of the block.
using OpenTensors = std::map<const BufferNode*, OpenTensor>;

/// Replaces the tensors, and moves every access to one with entries by `first` entries.
class AccessMover {
 public:
  AccessMover(OpenTensors tensors, Expr first)
      : tensors_(std::move(tensors)), first_(std::move(first)) {}

  Stmt Move(const Stmt& stmt) const {
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Move(part));
    StmtNode node = *MapOwnExprs(stmt, [&](const Expr& expr) { return MoveLoads(expr); });
    if (node.buffer != nullptr && !node.indices.empty())
      node.buffer = Moved(node.buffer, node.indices);
    for (Region& region : node.regions) region.buffer = Moved(region.buffer, region.min);
    node.body = std::move(body);
    return Stmt(std::make_shared<const StmtNode>(std::move(node)));
  }

 private:
  Expr MoveLoads(const Expr& expr) const {
    return Rewrite(expr, [&](const Expr& node) {
      if (node->kind != ExprKind::kLoad || !tensors_.contains(node->buffer.get())) return Expr();
      std::vector<Expr> indices = node->args;
      const Buffer buffer = Moved(node->buffer, indices);
      return MakeLoad(buffer, std::move(indices));
    });
  }

  /// Returns the buffer to access, and moves the indices.
  Buffer Moved(const Buffer& buffer, std::vector<Expr>& indices) const {
    const auto found = tensors_.find(buffer.get());
    if (found == tensors_.end()) return buffer;
    if (found->second.entry_extent > 0) {
      indices[0] = indices[0] + first_ * Expr(found->second.entry_extent);
    }
    return found->second.buffer;
  }

  OpenTensors tensors_;
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

/// Pairs the tensors of a block with those of the largest block.
Result<OpenTensors> TensorsOf(const Program& block, std::int64_t entries, const Program& largest,
                              const OpenLoop& loop) {
  OpenTensors tensors;
  if (block.parameters.size() != largest.parameters.size()) return Internal("other parameters");
  for (std::size_t i = 0; i < block.parameters.size(); ++i) {
    const BufferNode& buffer = *block.parameters[i];
    OpenTensor tensor{largest.parameters[i]};
    if (loop.has_entries[i]) {
      if (buffer.shape.empty() || buffer.shape[0] % entries != 0) {
        return Unsupported("tensor " + buffer.name + " has no outermost dimension of entries");
      }
      tensor.entry_extent = buffer.shape[0] / entries;
    }
    tensors.emplace(&buffer, std::move(tensor));
  }
  return tensors;
}

/// Returns true for a loop whose iterations are parts of the result.
bool HasParts(const Stmt& body) {
  return body->kind == StmtKind::kFor && body->extent > 1 && !body->value &&
         (body->loop == LoopKind::kParallel || body->loop == LoopKind::kSerial);
}

/// Variables of the loops around a block.
struct BlockVars {
  Expr number = MakeVar("block"), first = MakeVar("entry"), entries = MakeVar("entries");
};

/// Returns a choice among the bodies by the number of entries.
Stmt ChooseBody(std::vector<Stmt> bodies, const Expr& entries) {
  Stmt chosen = std::move(bodies[0]);
  for (std::size_t i = 1; i < bodies.size(); ++i) {
    const Expr fits = Eq(entries, Expr(static_cast<std::int64_t>(i) + 1));
    chosen = MakeIf(fits, std::move(bodies[i]), std::move(chosen));
  }
  return chosen;
}

}  // namespace

Result<Program> OpenProgram(std::span<const Program> bodies, const OpenLoop& loop) {
  const auto most_entries = static_cast<std::int64_t>(bodies.size());
  const Program& largest = bodies.back();
  const Buffer size = MakeBuffer("entries", kInt64, {1});
  const Expr count = MakeLoad(size, {Expr(0)});
  const BlockVars vars;
  const std::int64_t most_blocks = CeilDiv(loop.most, most_entries);
  Expr blocks = count, begin = vars.number, share(1);
  if (most_entries > 1) {
    blocks = FloorDiv(count + Expr(most_entries - 1), Expr(most_entries));
    // The first blocks have one entry more than the others.
    const Expr each = FloorDiv(count, blocks), more = FloorMod(count, blocks);
    begin = vars.number * each + Min(vars.number, more);
    share = each + Min(vars.number + Expr(1), more) - Min(vars.number, more);
  }

  std::vector<Stmt> moved;
  for (std::int64_t entries = 1; entries <= most_entries; ++entries) {
    const Program& body = bodies[static_cast<std::size_t>(entries) - 1];
    if (!LibraryCallsOf(body.body).empty()) return Unsupported("it calls a library");
    TW_ASSIGN_OR_RETURN(auto tensors, TensorsOf(body, entries, largest, loop));
    moved.push_back(AccessMover(std::move(tensors), vars.first).Move(body.body));
  }
  const auto in_block = [&](std::vector<Stmt> parts) {
    Stmt body = ChooseBody(std::move(parts), vars.entries);
    if (most_entries > 1) body = MakeLet(vars.entries, share, most_entries + 1, std::move(body));
    return MakeLet(vars.first, begin, loop.most, std::move(body));
  };

  Program open = largest;
  open.parameters.insert(open.parameters.begin(), size);
  BlockLoop blocks_of;
  blocks_of.number = vars.number;
  blocks_of.count = blocks;
  blocks_of.most = most_blocks;
  blocks_of.parallel = loop.parallel;
  blocks_of.blocks_innermost = loop.blocks_innermost;
  open.body = LoopOverBlocks(std::move(moved), blocks_of, in_block);
  return open;
}

Stmt LoopOverBlocks(std::vector<Stmt> bodies, const BlockLoop& loop,
                    const std::function<Stmt(std::vector<Stmt>)>& around) {
  for (Stmt& body : bodies) body = StripBlock(std::move(body));
  const Stmt front = bodies.front();
  const bool splits = std::ranges::all_of(bodies, [&](const Stmt& body) {
    return HasParts(body) && body->extent == front->extent && body->loop == front->loop;
  });
  if (!splits) {
    const bool outer = loop.parallel && std::ranges::none_of(bodies, ContainsParallelLoop);
    return MakeOpenFor(loop.number, loop.count, loop.most,
                       outer ? LoopKind::kParallel : LoopKind::kSerial, around(std::move(bodies)));
  }
  // One loop over the parts of all blocks, so that threads share them evenly.
  const Expr both = MakeVar("part");
  const Expr parts(front->extent);
  const Expr part = loop.blocks_innermost ? FloorDiv(both, loop.count) : FloorMod(both, parts);
  const Expr of_block = loop.blocks_innermost ? FloorMod(both, loop.count) : FloorDiv(both, parts);
  for (Stmt& body : bodies) body = MakeLet(body->var, part, front->extent, body->body[0]);
  return MakeOpenFor(both, loop.count * parts, loop.most * front->extent,
                     loop.parallel ? LoopKind::kParallel : front->loop,
                     MakeLet(loop.number, of_block, loop.most, around(std::move(bodies))),
                     front->attributes);
}

}  // namespace tilewright
