// Rounding of Realize in floats: x becomes clip(round(x * (1 / scale))) * scale.

#include "src/graph/ir/output_channels.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/rescale.h"

namespace tilewright::quantize {

Result<Graph> Simulate(Graph graph, const Config& config) {
  const auto users = graph.Users();
  Rewriter rewriter(std::move(graph));
  Rescaler rescaler(rewriter.result(), config);
  const Graph& source = rewriter.source();
  for (int id : PostOrder(source)) {
    const Node& node = source.node(id);
    if (node.annotation.kind != AnnotationKind::kQuantize) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
      continue;
    }
    const int plain = rewriter.At(node.inputs[0]);
    TW_ASSIGN_OR_RETURN(auto trailing_dimensions, TrailingDimensionsOfScales(source, users, id));
    TW_ASSIGN_OR_RETURN(auto rounded, rescaler.Round(node, plain, trailing_dimensions));
    const int scale =
        rescaler.Constant(node.name, kFloat32, node.annotation.scales, trailing_dimensions);
    TW_ASSIGN_OR_RETURN(auto product, rescaler.emitter().Emit(node.name, Operator{OpKind::kMul, {}},
                                                              {rounded.id, scale}));
    rewriter.Map(id, product);
  }
  return FoldConstants(rewriter.Finish());
}

}  // namespace tilewright::quantize
