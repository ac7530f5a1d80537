// Attention for any number of positions: programs for a few padded lengths, made into one.

#include "src/compiler/plan/open_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/base/math.h"
#include "src/base/printable.h"
#include "src/graph/ir/data_movement.h"
#include "src/ir/open_loop.h"
#include "src/ir/visit.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/attention_schedule.h"
#include "src/tensor/compute/define_list.h"

namespace tilewright {
namespace {

/// Joins two programs of the same structure into one for any number of blocks.
class BlockJoiner {
 public:
  BlockJoiner(std::int64_t few, std::int64_t many, Expr blocks)
      : few_(few), many_(many), blocks_(std::move(blocks)) {}

  /// Requires that the buffers are in the same place of both programs.
  void Pair(const Buffer& few, const Buffer& many) {
    const auto [known, added] = buffers_.emplace(few.get(), many.get());
    const bool same = added || known->second == many.get();
    Require(same && few->dtype == many->dtype && few->scope == many->scope &&
                few->shape.size() == many->shape.size(),
            "other tensors");
  }

  Stmt Join(const Stmt& few, const Stmt& many) {
    StmtNode made = *many;
    const bool same = few->kind == many->kind && few->loop == many->loop &&
                      few->name == many->name && few->attributes == many->attributes &&
                      few->body.size() == many->body.size() &&
                      few->indices.size() == many->indices.size() &&
                      few->regions.size() == many->regions.size() && few->library == nullptr &&
                      many->library == nullptr &&
                      static_cast<bool>(few->value) == static_cast<bool>(many->value) &&
                      (few->buffer == nullptr) == (many->buffer == nullptr);
    if (!Require(same, "other statements")) return many;
    if (many->buffer != nullptr) Pair(few->buffer, many->buffer);
    if (many->kind == StmtKind::kFor) JoinLoop(*few, made);
    for (std::size_t i = 0; i < many->indices.size(); ++i) {
      made.indices[i] = Join(few->indices[i], many->indices[i]);
    }
    if (many->value) made.value = Join(few->value, many->value);
    made.condition = Join(few->condition, many->condition);
    for (std::size_t i = 0; i < many->regions.size(); ++i)
      JoinRegion(few->regions[i], made.regions[i]);
    for (std::size_t i = 0; i < many->body.size(); ++i) {
      made.body[i] = Join(few->body[i], many->body[i]);
    }
    return Stmt(std::make_shared<const StmtNode>(std::move(made)));
  }

  const Status& status() const { return status_; }

 private:
  bool Require(bool holds, const char* what) {
    if (!holds && status_.ok()) {
      status_ = Unsupported(fmt::format("has kernels with {} for other lengths", what));
    }
    return holds;
  }

  /// Returns the number on the line through both, at the number of blocks.
  Expr Between(std::int64_t few, std::int64_t many) {
    const std::int64_t slope = (many - few) / (many_ - few_);
    if (!Require(many - few == slope * (many_ - few_), "no linear extents")) return Expr(many);
    return blocks_ * Expr(slope) + Expr(many - slope * many_);
  }

  void JoinLoop(const StmtNode& few, StmtNode& made) {
    vars_.emplace(few.var.get(), made.var.get());
    if (few.extent == made.extent) return;
    const bool counts = made.loop == LoopKind::kSerial || made.loop == LoopKind::kParallel;
    const std::int64_t slope = (made.extent - few.extent) / (many_ - few_);
    // A loop has at least one iteration.
    if (!Require(counts && few.extent - slope * (few_ - 1) >= 1, "unrolled loops")) return;
    made.value = Between(few.extent, made.extent);
  }

  void JoinRegion(const Region& few, Region& made) {
    Pair(few.buffer, made.buffer);
    if (!Require(few.extent == made.extent, "regions of other extents")) return;
    for (std::size_t i = 0; i < made.min.size(); ++i) made.min[i] = Join(few.min[i], made.min[i]);
  }

  Expr Join(const Expr& few, const Expr& many) {
    if (!Require(static_cast<bool>(few) == static_cast<bool>(many), "other expressions") || !many) {
      return many;
    }
    const auto [known, added] = joined_.try_emplace({few.get(), many.get()});
    if (!added) return known->second;
    Expr made = JoinNodes(few, many);
    joined_[{few.get(), many.get()}] = made;
    return made;
  }

  Expr JoinNodes(const Expr& few, const Expr& many) {
    const bool same = few->kind == many->kind && few->dtype == many->dtype &&
                      few->args.size() == many->args.size() &&
                      (few->kind != ExprKind::kCall || few->name == many->name) &&
                      (few->buffer == nullptr) == (many->buffer == nullptr);
    if (!Require(same, "other expressions")) return many;
    if (many->kind == ExprKind::kVar) {
      const auto var = vars_.find(few.get());
      Require(var != vars_.end() && var->second == many.get(), "other variables");
      return many;
    }
    if (many->kind == ExprKind::kFloat) {
      const double a = few->float_value, b = many->float_value;
      if (a == b || (a != a && b != b)) return many;
      // The divisor of a mean is a multiple of the number.
      const bool counted = a >= 1 && a < 0x1p53;
      const std::int64_t each = counted ? static_cast<std::int64_t>(a) / few_ : 0;
      const bool counts = counted && a == static_cast<double>(each * few_) &&
                          b == static_cast<double>(each * many_);
      if (!Require(counts, "other numbers")) return many;
      return MakeCast(many->dtype, blocks_ * Expr(each));
    }
    if (many->kind == ExprKind::kInt) {
      if (few->int_value == many->int_value) return many;
      return MakeCast(many->dtype, Between(few->int_value, many->int_value));
    }
    if (many->buffer != nullptr) Pair(few->buffer, many->buffer);
    ExprNode made = *many;
    for (std::size_t i = 0; i < many->args.size(); ++i) {
      made.args[i] = Join(few->args[i], many->args[i]);
    }
    return Expr(std::make_shared<const ExprNode>(std::move(made)));
  }

  std::int64_t few_, many_;
  Expr blocks_;
  Status status_;
  std::map<const BufferNode*, const BufferNode*> buffers_;
  std::map<const ExprNode*, const ExprNode*> vars_;
  std::map<std::pair<const ExprNode*, const ExprNode*>, Expr> joined_;
};

/// Puts the variables inside of the parallel loop, if there is one around all.
template <typename Lets>
Stmt WithLets(const Stmt& stmt, const Lets& lets) {
  const bool around = stmt->kind == StmtKind::kAllocate ||
                      (stmt->kind == StmtKind::kBlock && stmt->body.size() == 1);
  if (around) return WithBody(stmt, {WithLets(stmt->body[0], lets)});
  const bool parallel =
      stmt->kind == StmtKind::kFor && stmt->loop == LoopKind::kParallel && !stmt->value;
  return parallel ? WithBody(stmt, {lets(stmt->body[0])}) : lets(stmt);
}

/// Returns the dimensions that depend on the number of positions, by the types for two numbers.
std::vector<std::size_t> GrowingDimensions(const TensorType& small, const TensorType& large) {
  std::vector<std::size_t> growing;
  for (std::size_t i = 0; i < small.shape.size(); ++i) {
    if (small.shape[i] != large.shape[i]) growing.push_back(i);
  }
  return growing;
}

/// Returns true if a reshape or slice leaves each element at its positions. Its attributes are
/// linear in their number, so two numbers decide.
bool KeepsPositions(const Graph& small, const Graph& large, int id) {
  const Node &node = small.node(id), &more = large.node(id);
  const TensorType &from = small.node(node.inputs[0]).type, &to = node.type;
  const TensorType &more_from = large.node(more.inputs[0]).type, &more_to = more.type;
  const auto before = GrowingDimensions(from, more_from), after = GrowingDimensions(to, more_to);
  if (before.size() != after.size()) return false;
  const auto outside = [](const TensorType& type, std::size_t dimension) {
    return Product({type.shape.begin(), type.shape.begin() + static_cast<int>(dimension)});
  };
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t a = before[i], b = after[i];
    if (from.shape[a] != to.shape[b] || more_from.shape[a] != more_to.shape[b]) return false;
    if (node.op.kind == OpKind::kSlice) {
      if (a != b || node.op.attributes.steps[a] != 1) return false;
    } else if (outside(from, a) != outside(to, b)) {
      return false;
    }
  }
  return true;
}

/// Checks that an element of a position is at the index of the position in every tensor of the
/// group: the kernel computes more positions than there are.
Status CheckMoves(const SequenceNetwork& network, const FusedGroup& group) {
  const Graph &small = network.small.graph, &large = network.large.graph;
  for (int id : group.nodes) {
    const OpKind kind = small.node(id).op.kind;
    if (kind != OpKind::kReshape && kind != OpKind::kSlice) continue;
    if (KeepsPositions(small, large, id)) continue;
    return Unsupported(fmt::format("moves positions ({} of {})", OpName(kind),
                                   Printable(small.DescribeOrigin(id))));
  }
  return Status();
}

/// Checks that keys reach the result by a softmax along the last dimension alone, so that one with
/// a score of minus infinity has no influence.
Status CheckSoftmax(const Graph& graph, const FusedGroup& group) {
  int softmax = -1, product = -1;
  for (int id : group.nodes) {
    const Node& node = graph.node(id);
    const OpKind kind = node.op.kind;
    if (kind == OpKind::kBatchMatmul) product = id;
    if (kind == OpKind::kSoftmax && softmax >= 0) return Unsupported("has two softmaxes");
    if (kind == OpKind::kSoftmax) softmax = id;
    const bool known = kind == OpKind::kBatchMatmul || kind == OpKind::kSoftmax ||
                       IsElementwise(kind) || IsComparisonOrSelect(kind) || IsRearrangement(kind) ||
                       kind == OpKind::kBroadcastTo;
    if (!known) return Unsupported(fmt::format("has a {} in it", OpName(kind)));
  }
  if (softmax < 0 || product < 0) return Unsupported("has no softmax");
  const Node& node = graph.node(softmax);
  const auto rank = std::ssize(node.type.shape);
  if (node.op.attributes.axis != -1 && node.op.attributes.axis != rank - 1) {
    return Unsupported("has a softmax along another dimension than the last");
  }
  int chances = graph.node(product).inputs[0];
  while (chances != softmax) {
    const Node& move = graph.node(chances);
    if (move.kind != NodeKind::kOperator || !IsRearrangement(move.op.kind)) {
      return Unsupported("changes the result of its softmax");
    }
    chances = move.inputs[0];
  }
  return Status();
}

/// Programs of one attention for several lengths.
class LengthPrograms {
 public:
  LengthPrograms(const SequenceNetwork& network, const FusedGroup& group,
                 const std::vector<GroupInput>& inputs, const Target& target)
      : network_(network), group_(group), inputs_(inputs), target_(target) {}

  Result<Program> At(std::int64_t positions) {
    TW_ASSIGN_OR_RETURN(auto compute, DefineForLength(network_, group_, inputs_, positions));
    macs_ = compute.macs;
    const Buffer length = MakeBuffer("length", kInt64, {1});
    const auto schedule = OpenAttentionSchedule(std::move(compute), length, positions, target_);
    if (!schedule) {
      return Unsupported(
          "has no schedule for any length (it needs two products of float32, and a head whose "
          "scores of a few rows, keys and values fit caches with the largest length)");
    }
    return Lower(*schedule, "kernel");
  }
  /// Multiply-accumulates of the last program.
  std::int64_t macs() const { return macs_; }

 private:
  const SequenceNetwork& network_;
  const FusedGroup& group_;
  const std::vector<GroupInput>& inputs_;
  const Target& target_;
  std::int64_t macs_ = 0;
};

}  // namespace

Result<Compute> DefineForLength(const SequenceNetwork& network, const FusedGroup& group,
                                const std::vector<GroupInput>& inputs, std::int64_t positions) {
  constexpr std::int64_t kScalar = 1;  // elements of constants that are part of the code
  TW_ASSIGN_OR_RETURN(const auto sized, network.At(positions, kScalar));
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(sized.graph, group, PhysicalLayout(), network.tables));
  const auto same = [](const GroupInput& a, const GroupInput& b) { return a.node == b.node; };
  if (!std::ranges::equal(kernel.inputs, inputs, same)) {
    return Unsupported("reads other values with other lengths");
  }
  return DefineUnsplitList(kernel.operators);
}

Result<Program> OpenBlocks(const Program& few, std::int64_t few_blocks, const Program& many,
                           std::int64_t many_blocks, std::int64_t block) {
  const Expr blocks = MakeVar("blocks"), positions = MakeVar("positions");
  BlockJoiner joiner(few_blocks, many_blocks, blocks);
  if (few.parameters.size() != many.parameters.size()) {
    return Unsupported("has kernels with other operands for other lengths");
  }
  for (std::size_t i = 0; i < many.parameters.size(); ++i) {
    joiner.Pair(few.parameters[i], many.parameters[i]);
  }
  Stmt body = joiner.Join(few.body, many.body);
  TW_RETURN_IF_ERROR(joiner.status());
  const Buffer length = many.parameters[0];
  const Expr load = MakeLoad(length, {Expr(0)});
  body = MapExprs(body, [&](const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) {
      return node->kind == ExprKind::kLoad && node->buffer == length ? positions : Expr();
    });
  });
  Program open = many;
  open.body = WithLets(body, [&](const Stmt& inside) {
    const Expr count = FloorDiv(positions + Expr(block - 1), Expr(block));
    return MakeLet(positions, load, many_blocks * block + 1,
                   MakeLet(blocks, count, many_blocks + 1, inside));
  });
  return open;
}

Result<OpenAttentionKernel> OpenAttention(const SequenceNetwork& network, const FusedGroup& group,
                                          const std::vector<GroupInput>& inputs,
                                          const Target& target) {
  constexpr std::int64_t kFewBlocks = 3, kChecked = 2, kMinLargest = kFewBlocks + kChecked + 2;
  TW_RETURN_IF_ERROR(CheckSoftmax(network.small.graph, group));
  TW_RETURN_IF_ERROR(CheckMoves(network, group));
  const std::int64_t block = OpenAttentionBlock(target);
  const std::int64_t largest = std::max(kMinLargest, CeilDiv(network.range.most, block));
  LengthPrograms programs(network, group, inputs, target);
  TW_ASSIGN_OR_RETURN(const auto many, programs.At(largest * block));
  OpenAttentionKernel kernel;
  kernel.macs_of_position = programs.macs() / (largest * block);
  TW_ASSIGN_OR_RETURN(const auto few, programs.At(kFewBlocks * block));
  TW_ASSIGN_OR_RETURN(kernel.program, OpenBlocks(few, kFewBlocks, many, largest, block));
  const std::string text = ToString(kernel.program);
  for (std::int64_t blocks = kFewBlocks + 1; blocks <= kFewBlocks + kChecked; ++blocks) {
    TW_ASSIGN_OR_RETURN(const auto other, programs.At(blocks * block));
    TW_ASSIGN_OR_RETURN(const auto same, OpenBlocks(other, blocks, many, largest, block));
    if (ToString(same) != text) return Unsupported("has kernels of no linear extents");
  }
  return kernel;
}

}  // namespace tilewright
