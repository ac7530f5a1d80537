#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

// Larger results stay operators (limit: 1 GiB of floats). A broadcast could be of any size.
constexpr std::int64_t kMaxFoldedElements = std::int64_t{1} << 28;
// Limit for the sum of all results, which stay in memory until the end of the pass.
constexpr std::int64_t kMaxElementsInAll = std::int64_t{1} << 30;

}  // namespace

Result<Graph> FoldConstants(Graph graph, FoldExtent extent) {
  Rewriter rewriter(std::move(graph));
  std::int64_t elements = 0;
  for (int id = 0; id < rewriter.source().size(); ++id) {
    const Node& node = rewriter.source().node(id);
    Graph& result = rewriter.result();
    bool constant = node.kind == NodeKind::kOperator;
    bool known = true;
    for (int input : node.inputs) {
      const int mapped = rewriter.At(input);
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
    if (!known) {
      rewriter.Map(id, result.AddConstant(node.name, node.type));
      continue;
    }
    std::vector<const Tensor*> inputs;
    for (int input : node.inputs) inputs.push_back(result.Contents(rewriter.At(input)));
    auto value = Evaluate(node.op, inputs);
    if (!value.ok()) return value.status().WithContext(rewriter.source().DescribeOrigin(id));
    elements += more;
    rewriter.Map(id, result.AddConstant(node.name, *std::move(value)));
  }
  return rewriter.Finish();
}

}  // namespace tilewright
