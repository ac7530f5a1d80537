#include "src/graph/onnx/handlers.h"

#include <algorithm>

#include "src/graph/onnx/operators/determinant.h"
#include "src/graph/onnx/operators/non_max_suppression.h"
#include "src/graph/onnx/operators/roi_align.h"

namespace tilewright {
namespace {

void ImportRightShift(OnnxNode& node) {
  node.Return(Operator{OpKind::kShiftRight, {}}, {node.Input(0), node.Input(1)});
}

constexpr OnnxHandlerEntry kOwn[] = {{"RightShift", &ImportRightShift}};

}  // namespace

std::span<const OnnxHandlerEntry> OwnDomainHandlers() { return kOwn; }

OnnxHandler FindOnnxHandler(std::string_view domain, std::string_view op_type) {
  const auto find = [&](std::span<const OnnxHandlerEntry> entries) -> OnnxHandler {
    const auto found = std::ranges::find(entries, op_type, &OnnxHandlerEntry::op_type);
    return found == entries.end() ? nullptr : found->handler;
  };
  if (domain == kOwnDomain) return find(OwnDomainHandlers());
  if (domain == kMlDomain) return find(MlHandlers());
  if (domain == kRuntimeDomain) {
    // The domain also contains two of ONNX's own operators, for types that ONNX did not support at
    // the time.
    const bool same = op_type == "QuantizeLinear" || op_type == "DequantizeLinear";
    if (same) return find(OnnxQuantizedHandlers());
    for (const auto entries :
         {RuntimeQLinearHandlers(), RuntimeFusedHandlers(), RuntimeEmbeddingHandlers(),
          RuntimeAttentionHandlers(), RuntimeBlockHandlers(), RuntimeDynamicHandlers(),
          RuntimeRecurrentHandlers()}) {
      if (OnnxHandler handler = find(entries)) return handler;
    }
    return nullptr;
  }
  if (!domain.empty()) return nullptr;
  for (const auto entries : {OnnxConvolutionHandlers(),
                             OnnxNormalizationHandlers(),
                             OnnxMatmulHandlers(),
                             OnnxElementwiseHandlers(),
                             OnnxActivationHandlers(),
                             OnnxComparisonHandlers(),
                             OnnxAttentionHandlers(),
                             OnnxTransformerHandlers(),
                             OnnxTrigonometryHandlers(),
                             OnnxBitwiseHandlers(),
                             OnnxSelectionHandlers(),
                             OnnxSignalHandlers(),
                             OnnxNonMaxSuppressionHandlers(),
                             OnnxRecurrentHandlers(),
                             OnnxReductionHandlers(),
                             OnnxShapeHandlers(),
                             OnnxIndexingHandlers(),
                             OnnxGatherScatterHandlers(),
                             OnnxTopKHandlers(),
                             OnnxGridSampleHandlers(),
                             OnnxRearrangementHandlers(),
                             OnnxResizeHandlers(),
                             OnnxLossHandlers(),
                             OnnxQuantizedHandlers(),
                             OnnxRoiHandlers(),
                             OnnxDeterminantHandlers(),
                             OnnxEinsumHandlers()}) {
    if (OnnxHandler handler = find(entries)) return handler;
  }
  return nullptr;
}

}  // namespace tilewright
