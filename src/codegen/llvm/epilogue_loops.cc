// Converts a loop nest that only reads small private buffers to
//
//   allocate memory: ... in_memory
//     NEST { memory[...] = tile[...] }       unrolled as before
//     nest { out[...] = exp(memory[...]) }   loops
//
// If the vectors of the tile are stored along another dimension than the tile's, generates
//
//     for u unrolled { for v lanes { out[.., u, v] = tile[.., v, u] } }
//
// around each such pair of loops (TransposedLoad transposes inside of them).

#include "src/codegen/llvm/epilogue_loops.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/ir/visit.h"

namespace tilewright::emit {
namespace {

bool IsLong(const Expr& expr) {
  constexpr std::array<std::string_view, 8> kShort = {"sqrt", "floor", "ceil", "round",
                                                      "rint", "abs",   "fma",  "mulhi_s64"};
  return expr->kind == ExprKind::kCall && std::ranges::find(kShort, expr->name) == kShort.end();
}

class Roller {
 public:
  Roller(const StoragePlan& plan, std::int64_t register_bytes)
      : plan_(plan), register_bytes_(register_bytes) {}

  Stmt Roll(const Stmt& stmt) {
    if (IsUnrolled(*stmt)) {
      if (const Stmt rolled = RollNest(stmt)) return rolled;
    }
    std::vector<Stmt> body;
    bool changed = false;
    for (const Stmt& part : stmt->body) {
      body.push_back(part ? Roll(part) : part);
      changed = changed || body.back().get() != part.get();
    }
    return changed ? WithBody(stmt, std::move(body)) : stmt;
  }

 private:
  /// Properties of one loop nest.
  struct Nest {
    bool plain = true;  // elementwise stores to other buffers than those in registers
    bool has_long = false;
    bool turns = false;         // pairs of loops that transpose vectors of a tile
    std::int64_t copies = 1;    // copies of the code if fully unrolled
    std::int64_t turned = 1;    // copies within such pairs
    std::vector<Buffer> tiles;  // small private buffers that it reads
  };

  bool IsUnrolled(const StmtNode& stmt) const {
    return stmt.kind == StmtKind::kFor &&
           (stmt.loop == LoopKind::kUnrolled || plan_.unrolled.contains(&stmt));
  }

  /// Returns true for a loop that contains only a lane loop, with a store that reads a tile whose
  /// vectors extend along the outer loop.
  bool IsTurn(const StmtNode& stmt) const {
    if (!IsUnrolled(stmt)) return false;
    const StmtNode& inner = *stmt.body[0];
    if (inner.kind != StmtKind::kFor || inner.loop != LoopKind::kVectorized ||
        inner.body[0]->kind != StmtKind::kStore) {
      return false;
    }
    return AnyNode(inner.body[0]->value, [&](const Expr& node) {
      return node->kind == ExprKind::kLoad && !node->args.empty() && IsInRegisters(*node->buffer) &&
             Contains(node->args.back(), stmt.var) && !Contains(node->args.back(), inner.var);
    });
  }

  bool IsInRegisters(const BufferNode& buffer) const {
    return IsTile(&buffer) && buffer.bytes() <= register_bytes_ &&
           !plan_.in_memory.contains(&buffer);
  }

  bool IsTile(const BufferNode* buffer) const {
    return buffer->scope == Scope::kLocal && plan_.storage.at(buffer).place == StorageClass::kStack;
  }

  /// Collects the loads of tiles that execute independent of conditions.
  void CollectCertain(const Expr& value, std::vector<Expr>* loads) const {
    if (value->kind == ExprKind::kLoad && IsTile(value->buffer.get())) loads->push_back(value);
    const std::size_t certain = value->kind == ExprKind::kSelect ? 1 : value->args.size();
    for (std::size_t i = 0; i < certain; ++i) CollectCertain(value->args[i], loads);
  }

  void Inspect(const Stmt& stmt, Nest* nest) const {
    switch (stmt->kind) {
      case StmtKind::kBlock:
        break;
      case StmtKind::kIf:
        InspectValue(stmt->condition, nest);
        break;
      case StmtKind::kFor:
        nest->plain = nest->plain && stmt->loop != LoopKind::kParallel;
        if (IsUnrolled(*stmt)) nest->copies *= stmt->extent;
        if (IsTurn(*stmt)) {
          nest->turns = true;
          nest->turned = stmt->extent;
        }
        break;
      case StmtKind::kStore:
        nest->plain = nest->plain && !IsTile(stmt->buffer.get());
        for (const Expr& index : stmt->indices) InspectValue(index, nest);
        InspectValue(stmt->value, nest);
        break;
      default:
        nest->plain = false;
    }
    for (const Stmt& part : stmt->body) {
      if (part) Inspect(part, nest);
    }
  }

  void InspectValue(const Expr& value, Nest* nest) const {
    std::vector<Expr> certain;
    CollectCertain(value, &certain);
    ForEachNode(value, [&](const Expr& node) {
      nest->has_long = nest->has_long || IsLong(node);
      if (node->kind != ExprKind::kLoad || !IsTile(node->buffer.get())) return;
      // A load in only one arm may be outside of the tile, so it cannot be copied.
      const auto same = [&](const Expr& other) { return SameExpr(other, node); };
      nest->plain = nest->plain && std::ranges::any_of(certain, same);
      if (std::ranges::find(nest->tiles, node->buffer) == nest->tiles.end()) {
        nest->tiles.push_back(node->buffer);
      }
    });
  }

  /// Returns null if the nest stays unrolled.
  Stmt RollNest(const Stmt& stmt) {
    Nest nest;
    Inspect(stmt, &nest);
    const bool long_code = nest.has_long && nest.copies > 1;
    const bool turns = nest.turns && nest.copies > nest.turned;
    if (!nest.plain || nest.tiles.empty() || (!long_code && !turns)) return {};
    std::vector<Buffer> memories;
    for (const Buffer& tile : nest.tiles) {
      memories.push_back(MakeBuffer(tile->name + ".m", tile->dtype, tile->shape, Scope::kLocal));
    }
    const auto memory_of = [&](const Buffer& tile) -> Buffer {
      const auto found = std::ranges::find(nest.tiles, tile);
      return found == nest.tiles.end()
                 ? nullptr
                 : memories[static_cast<std::size_t>(found - nest.tiles.begin())];
    };
    const auto from_memory = [&](const Expr& expr) {
      return Rewrite(expr, [&](const Expr& node) -> Expr {
        if (node->kind != ExprKind::kLoad) return {};
        Buffer memory = memory_of(node->buffer);
        return memory ? MakeLoad(std::move(memory), node->args) : Expr{};
      });
    };
    Stmt rolled = MakeBlock(
        {Copies(stmt, memory_of), MapExprs(AsLoops(stmt, /*keep_turns=*/!long_code), from_memory)});
    for (Buffer& memory : memories) {
      StmtNode allocation = *MakeAllocate(std::move(memory), std::move(rolled));
      allocation.attributes[kInMemory] = 1;
      rolled = Stmt(std::make_shared<const StmtNode>(std::move(allocation)));
    }
    return rolled;
  }

  /// Returns the nest with copies of the tile elements that its stores read, along the vectors of
  /// the tile. Keeps guards: excluded elements may be outside of the tile.
  template <typename MemoryOf>
  Stmt Copies(const Stmt& stmt, const MemoryOf& memory_of) const {
    if (IsTurn(*stmt)) {
      const Stmt& inner = stmt->body[0];
      return MakeFor(inner->var, inner->extent, LoopKind::kUnrolled,
                     MakeFor(stmt->var, stmt->extent, LoopKind::kVectorized,
                             Copies(inner->body[0], memory_of)));
    }
    std::vector<Stmt> parts;
    if (stmt->kind == StmtKind::kStore) {
      std::vector<Expr> copied;
      const auto copy = [&](const Expr& node) {
        if (node->kind != ExprKind::kLoad) return;
        const Buffer memory = memory_of(node->buffer);
        const auto same = [&](const Expr& other) { return SameExpr(other, node); };
        if (!memory || std::ranges::any_of(copied, same)) return;
        copied.push_back(node);
        parts.push_back(MakeStore(memory, node->args, node));
      };
      for (const Expr& index : stmt->indices) ForEachNode(index, copy);
      ForEachNode(stmt->value, copy);
      return MakeBlock(std::move(parts));
    }
    for (const Stmt& part : stmt->body) {
      parts.push_back(part ? Copies(part, memory_of) : part);
    }
    return WithBody(stmt, std::move(parts));
  }

  /// Converts every loop except lane loops to a loop of the code; transposing ones may stay
  /// unrolled.
  Stmt AsLoops(const Stmt& stmt, bool keep_turns) const {
    StmtNode node = *stmt;
    if (node.kind == StmtKind::kFor) {
      if (keep_turns && IsTurn(*stmt)) {
        node.loop = LoopKind::kUnrolled;
        return Stmt(std::make_shared<const StmtNode>(std::move(node)));
      }
      if (node.loop == LoopKind::kUnrolled) node.loop = LoopKind::kSerial;
      node.attributes["auto_unroll_max_step"] = 0;
    }
    for (Stmt& part : node.body) {
      if (part) part = AsLoops(part, keep_turns);
    }
    return Stmt(std::make_shared<const StmtNode>(std::move(node)));
  }

  const StoragePlan& plan_;
  std::int64_t register_bytes_;
};

}  // namespace

Stmt RollEpilogues(const Stmt& stmt, const StoragePlan& plan, std::int64_t register_bytes) {
  return Roller(plan, register_bytes).Roll(stmt);
}

}  // namespace tilewright::emit
