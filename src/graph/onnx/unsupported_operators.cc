#include "src/graph/onnx/unsupported_operators.h"

#include "src/graph/onnx/node.h"
#include "src/graph/onnx/node_kinds.h"
#include "src/graph/onnx/sequences.h"

namespace tilewright {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

// Returns a hint how to fix an export with operators that converters leave in the file; "" for
// others.
std::string_view HintFor(std::string_view op_type) {
  if (op_type.find("ake_quantize") != op_type.npos || op_type.find("akeQuant") != op_type.npos) {
    return "; fake quantization is for training: export it as QuantizeLinear and DequantizeLinear "
           "(operator set 13 or later for one scale per channel), or convert the model before "
           "exporting";
  }
  if (op_type.find(".QLinear") != op_type.npos) {
    return "; quantize the model in the QDQ format (QuantFormat.QDQ) instead of QOperator";
  }
  if (op_type.find("DynamicQuantize") != op_type.npos) {
    return "; export it without ONNX Runtime's fusions, as DynamicQuantizeLinear and "
           "MatMulInteger, or quantize statically, with calibration data";
  }
  if (op_type.starts_with("com.microsoft.") &&
      (op_type.find("NBits") != op_type.npos || op_type.find("Bnb4") != op_type.npos)) {
    return "; its weights of a few bits exist in ONNX Runtime only, and another operator set does "
           "not help: take the model as it was before that weight quantization, and quantize it "
           "to 8 bits (tilewright quantize, or ONNX Runtime in the QDQ format)";
  }
  if (op_type.starts_with("com.microsoft.")) {
    return "; ONNX Runtime's optimizer and its model exporters make such operators, and another "
           "operator set does not help: take the model as it was before that, as torch.onnx.export "
           "writes it";
  }
  if (op_type == "ai.onnx.ml.ZipMap") {
    return "; ZipMap returns maps of class names, which are not tensors: convert the classifier "
           "without it (skl2onnx: options={'zipmap': False}), so that its probabilities are one "
           "tensor";
  }
  return "";
}

void AddNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
              const LocalFunctions& functions, std::set<const void*>& seen,
              ImportDiagnostics& diagnostics) {
  for (const NodeProto& node : nodes) {
    if (const onnx::FunctionProto* function = functions.Find(node)) {
      if (seen.insert(function).second) AddNodes(function->node(), functions, seen, diagnostics);
      continue;
    }
    const bool repeats = IsScan(node) || IsLoop(node) || IsSequenceOperator(node);
    if (const GraphProto* body = repeats ? GraphOf(node, "body") : nullptr) {
      AddUnsupported(*body, functions, seen, diagnostics);
      continue;
    }
    if (!IsUnsupported(node, functions)) continue;
    const std::string domain = DomainOf(node);
    const std::string op = domain.empty() ? node.op_type() : domain + "." + node.op_type();
    diagnostics.AddOperator(op, HintFor(op));
  }
}

}  // namespace

bool IsUnsupported(const NodeProto& node, const LocalFunctions& functions) {
  if (functions.Find(node) != nullptr || IsIf(node) || IsSequenceOperator(node)) return false;
  const bool repeats = IsScan(node) || IsLoop(node);
  if (repeats && GraphOf(node, "body") != nullptr) return false;
  return FindOnnxHandler(DomainOf(node), node.op_type()) == nullptr;
}

void AddUnsupported(const GraphProto& graph, const LocalFunctions& functions,
                    std::set<const void*>& seen, ImportDiagnostics& diagnostics) {
  if (seen.insert(&graph).second) AddNodes(graph.node(), functions, seen, diagnostics);
}

}  // namespace tilewright
