// One walk in post-order. A value is open while it is inside a low-precision section. Closing it
// adds a cast_hint and a stop_fusion after it. Operators with a rule close their inputs or continue
// the section. All others close every open input, each value once.

#include <array>
#include <map>

#include "src/graph/ir/rewrite.h"
#include "src/graph/quantize/part_emitter.h"
#include "src/graph/quantize/passes.h"

namespace tilewright::quantize {
namespace {

class Partitioner {
 public:
  Partitioner(Graph graph, const Config& config)
      : config_(config), rewriter_(std::move(graph)), emitter_(rewriter_.result(), "hint") {}

  Result<Graph> Run() {
    for (int id : PostOrder(rewriter_.source())) {
      const bool op = rewriter_.source().node(id).kind == NodeKind::kOperator;
      TW_RETURN_IF_ERROR(op ? AddOperator(id) : rewriter_.Copy(id));
    }
    for (int id : rewriter_.source().outputs()) TW_RETURN_IF_ERROR(CloseOutput(id));
    return rewriter_.Finish();
  }

 private:
  const Node& New(int id) const { return rewriter_.result().node(id); }
  bool IsOpen(int id) const {
    return static_cast<std::size_t>(id) < open_.size() && open_[static_cast<std::size_t>(id)];
  }
  void SetOpen(int id) {
    open_.resize(static_cast<std::size_t>(rewriter_.result().size()), false);
    open_[static_cast<std::size_t>(id)] = true;
  }

  /// Adds the annotations after a value, even if it was closed before.
  Status Close(int& value) {
    const std::string name = New(value).name;
    for (AnnotationKind kind : {AnnotationKind::kCastHint, AnnotationKind::kStopFusion}) {
      TW_ASSIGN_OR_RETURN(
          value, emitter_.EmitAnnotation(
                     name, Annotation{kind, config_.dtype_input, ValueKind::kInput, {}}, value));
    }
    return Status();
  }

  Status CloseOnce(int& value) {
    if (!IsOpen(value)) return Status();
    const int opened = value;
    if (const auto closed = closed_.find(opened); closed != closed_.end()) {
      value = closed->second;
      return Status();
    }
    TW_RETURN_IF_ERROR(Close(value));
    closed_.emplace(opened, value);
    return Status();
  }

  Status CloseOutput(int id) {
    const int opened = rewriter_.At(id);
    int value = opened;
    TW_RETURN_IF_ERROR(CloseOnce(value));
    if (value == opened) return Status();
    Graph& graph = rewriter_.result();
    const std::string name = New(opened).name;
    graph.Rename(opened, emitter_.NameFor(name));
    graph.Rename(value, name);
    rewriter_.Map(id, value);
    return Status();
  }

  Status Finish(int id, std::vector<int> args, bool open) {
    TW_ASSIGN_OR_RETURN(auto copy,
                        rewriter_.CopyAs(id, rewriter_.source().node(id).op, std::move(args)));
    if (config_.rules < kSourceNamesStay)
      rewriter_.result().Annotate(copy, {}, New(copy).annotation);
    rewriter_.Map(id, copy);
    if (open) SetOpen(copy);
    return Status();
  }

  Status Fallback(int id, std::vector<int> args) {
    for (int& arg : args) TW_RETURN_IF_ERROR(CloseOnce(arg));
    return Finish(id, std::move(args), false);
  }

  Status AddOperator(int id) {
    const Node& node = rewriter_.source().node(id);
    std::vector<int> args;
    for (int input : node.inputs) args.push_back(rewriter_.At(input));
    switch (node.op.kind) {
      case OpKind::kConv2d:
        return AddConvolution(id, std::move(args));
      case OpKind::kRelu:
      case OpKind::kClip:
      case OpKind::kMaxPool2d: {
        const bool open = IsOpen(args[0]);
        return Finish(id, std::move(args), open);
      }
      case OpKind::kAdd:
        return AddSum(id, std::move(args));
      case OpKind::kMul:
        return AddProduct(id, std::move(args));
      case OpKind::kGlobalAvgPool2d:
        TW_RETURN_IF_ERROR(Close(args[0]));
        return Finish(id, std::move(args), false);
      default:
        return Fallback(id, std::move(args));
    }
  }

  Status AddConvolution(int id, std::vector<int> args) {
    if (IsOpen(args[1])) {
      return Unsupported(rewriter_.source().DescribeOrigin(id) +
                         ": its kernel is computed by quantized operators, expected a constant");
    }
    if (IsOpen(args[0])) TW_RETURN_IF_ERROR(Close(args[0]));
    return Finish(id, std::move(args), true);
  }

  Status AddSum(int id, std::vector<int> args) {
    const std::array<bool, 2> open = {IsOpen(args[0]), IsOpen(args[1])};
    const bool constant = New(args[1]).kind == NodeKind::kConstant;
    if (open[0] && !open[1] && constant) return Finish(id, std::move(args), true);
    for (std::size_t i = 0; i < 2; ++i) {
      if (open[i]) TW_RETURN_IF_ERROR(Close(args[i]));
    }
    return Finish(id, std::move(args), open[0] && open[1]);
  }

  Status AddProduct(int id, std::vector<int> args) {
    const std::array<bool, 2> open = {IsOpen(args[0]), IsOpen(args[1])};
    if (!open[0] && open[1] && config_.rules < kMultiplyClosesRight) {
      return Unsupported(rewriter_.source().DescribeOrigin(id) +
                         ": only the right side of a product is quantized; rules of 2023-03 or "
                         "later take it");
    }
    if (open[0] || open[1]) TW_RETURN_IF_ERROR(Close(args[open[0] ? 0 : 1]));
    return Finish(id, std::move(args), open[0] || open[1]);
  }

  const Config& config_;
  Rewriter rewriter_;
  PartEmitter emitter_;
  std::vector<bool> open_;     // of the new graph's values; false after the end of a section
  std::map<int, int> closed_;  // by CloseOnce
};

}  // namespace

Result<Graph> Partition(Graph graph, const Config& config) {
  if (config.rules >= kAccurateRules) return graph;
  return Partitioner(std::move(graph), config).Run();
}

}  // namespace tilewright::quantize
