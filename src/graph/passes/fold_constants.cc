#include <algorithm>
#include <unordered_map>

#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/operator_hash.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

// Larger results stay operators (limit: 1 GiB of floats). A broadcast could be of any size.
constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 28;
// Limit for the sum of all results, which stay in memory until the end of the pass.
constexpr std::int64_t kMaxElementsInAll = std::int64_t{1} << 30;

// Finds operators that were folded with the same inputs: of unrolled steps that each move the same
// weight, for example.
class FoldedOperators {
 public:
  // Returns the constant of an equal operator; -1 if there is none.
  int Find(const Operator& op, const std::vector<int>& inputs) const {
    const auto [first, last] = by_hash_.equal_range(HashOf(op, inputs));
    for (auto entry = first; entry != last; ++entry) {
      const Folded& folded = entry->second;
      if (*folded.op == op && folded.inputs == inputs) return folded.constant;
    }
    return -1;
  }
  // op: outlives this. inputs: constants of the new graph.
  void Add(const Operator& op, std::vector<int> inputs, int constant) {
    const std::uint64_t hash = HashOf(op, inputs);
    by_hash_.emplace(hash, Folded{&op, std::move(inputs), constant});
  }

 private:
  struct Folded {
    const Operator* op;
    std::vector<int> inputs;
    int constant;
  };
  std::unordered_multimap<std::uint64_t, Folded> by_hash_;
};

}  // namespace

Result<Graph> FoldConstants(Graph graph, FoldExtent extent) {
  Rewriter rewriter(std::move(graph));
  FoldedOperators folded;
  std::int64_t elements = 0;
  for (int id = 0; id < rewriter.source().size(); ++id) {
    const Node& node = rewriter.source().node(id);
    Graph& result = rewriter.result();
    bool constant = node.kind == NodeKind::kOperator;
    bool known = true;
    std::vector<int> operands;
    for (int input : node.inputs) {
      const int mapped = rewriter.At(input);
      operands.push_back(mapped);
      constant &= result.node(mapped).kind == NodeKind::kConstant;
      known &= result.HasContents(mapped);
    }
    if (extent == FoldExtent::kSmall && node.type.elements() > kSmallConstant) known = false;
    const std::int64_t more = node.type.elements();
    if (!constant ||
        (known && (more > kMaxFoldedElements || elements + more > kMaxElementsInAll))) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    const bool output = std::ranges::count(rewriter.source().outputs(), id) > 0;  // keeps its name
    if (const int equal = folded.Find(node.op, operands); equal >= 0 && !output) {
      rewriter.Map(id, equal);
      continue;
    }
    if (!known) {
      rewriter.Map(id, result.AddConstant(node.name, node.type));
      folded.Add(node.op, std::move(operands), rewriter.At(id));
      continue;
    }
    std::vector<const Tensor*> inputs;
    for (int input : operands) inputs.push_back(result.Contents(input));
    auto value = Evaluate(node.op, inputs);
    if (!value.ok()) return value.status().WithContext(rewriter.source().DescribeOrigin(id));
    elements += more;
    rewriter.Map(id, result.AddConstant(node.name, *std::move(value)));
    folded.Add(node.op, std::move(operands), rewriter.At(id));
  }
  return rewriter.Finish();
}

}  // namespace tilewright
