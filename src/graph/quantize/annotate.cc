// One walk in post-order. Each value of the new graph is plain or has a kind. Rules decide by the
// kinds of an operator's inputs and add quantization annotations before it. A value with a kind and
// several users is annotated as an input for all of them before any rule applies.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "src/graph/ir/rewrite.h"
#include "src/graph/quantize/annotate_accurate.h"
#include "src/graph/quantize/part_emitter.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/relay/operators.h"

namespace tilewright::quantize {
namespace {

using Kind = std::optional<ValueKind>;

struct Value {
  int id = -1;
  Kind kind;
};

class Annotator {
 public:
  Annotator(Graph graph, const Config& config, std::vector<FloatLayer>* left)
      : config_(config),
        left_(left),
        rewriter_(std::move(graph)),
        emitter_(rewriter_.result(), "round"),
        uses_(rewriter_.source().nodes().size(), 0),
        kinds_(uses_.size()) {}

  Result<Graph> Run() {
    CountUses();
    for (int id : PostOrder(rewriter_.source())) {
      const bool op = rewriter_.source().node(id).kind == NodeKind::kOperator;
      TW_RETURN_IF_ERROR(op ? AddOperator(id) : rewriter_.Copy(id));
    }
    return rewriter_.Finish();
  }

 private:
  const Node& New(int id) const { return rewriter_.result().node(id); }
  bool IsConstant(const Value& value) const { return New(value.id).kind == NodeKind::kConstant; }

  void CountUses() {
    const Graph& source = rewriter_.source();
    for (const Node& node : source.nodes()) {
      for (int input : node.inputs) ++uses_[static_cast<std::size_t>(input)];
    }
    for (int id : source.outputs()) ++uses_[static_cast<std::size_t>(id)];
  }

  /// Adds the annotation after a value, once for each kind.
  Status Round(Value& value, ValueKind kind) {
    const Annotation& annotation = New(value.id).annotation;
    if (annotation.kind == AnnotationKind::kQuantize && annotation.value == kind) return Status();
    const auto key = std::pair(value.id, kind);
    auto marked = marked_.find(key);
    if (marked == marked_.end()) {
      Annotation quantize{AnnotationKind::kQuantize, config_.Type(kind), kind, {}};
      TW_ASSIGN_OR_RETURN(
          auto id, emitter_.EmitAnnotation(New(value.id).name, std::move(quantize), value.id));
      marked = marked_.emplace(key, id).first;
    }
    value.id = marked->second;
    return Status();
  }

  /// Returns an argument as the rules need it.
  Result<Value> Argument(int old_id) {
    Value value{rewriter_.At(old_id), kinds_[static_cast<std::size_t>(old_id)]};
    if (!value.kind || uses_[static_cast<std::size_t>(old_id)] < 2) return value;
    TW_RETURN_IF_ERROR(Round(value, ValueKind::kInput));
    value.kind = ValueKind::kInput;
    return value;
  }

  /// Returns true if no rule applies to an operator, either from here on or only here.
  bool IsSkipped(const Node& node) {
    if (stopped_) return true;
    const std::string_view name = node.op.kind == OpKind::kIdentity
                                      ? relay::RelayName(node.annotation.kind)
                                      : relay::RelayName(node.op.kind);
    const auto& enabled = config_.debug_enabled_ops;
    if (!enabled.empty() && std::ranges::find(enabled, name) == enabled.end()) return true;
    const bool convolution = node.op.kind == OpKind::kConv2d;
    const bool listed = std::ranges::find(config_.skip_conv_layers, convolutions_) !=
                        config_.skip_conv_layers.end();
    if (convolution) ++convolutions_;
    return listed && (convolution || config_.rules < kSkipCountsConvolutions);
  }

  /// Records the reason if an anchor stays float. Call before IsSkipped, which counts.
  void NoteIfFloat(const Node& node) const {
    if (left_ == nullptr || !IsAnchor(node.op.kind)) return;
    std::string reason = stopped_
                             ? "behind a global_avg_pool2d, where TVM's rules end"
                             : ReasonForFloat(rewriter_.source(), node, convolutions_, config_);
    if (!reason.empty()) left_->push_back({node.name, node.op.kind, std::move(reason)});
  }

  Status Finish(int id, const std::vector<Value>& args, Kind kind) {
    std::vector<int> inputs;
    for (const Value& arg : args) inputs.push_back(arg.id);
    TW_ASSIGN_OR_RETURN(auto copy,
                        rewriter_.CopyAs(id, rewriter_.source().node(id).op, std::move(inputs)));
    rewriter_.Map(id, copy);
    kinds_[static_cast<std::size_t>(id)] = kind;
    return Status();
  }

  Status AddOperator(int id) {
    const Node& node = rewriter_.source().node(id);
    std::vector<Value> args;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto value, Argument(input));
      args.push_back(value);
    }
    NoteIfFloat(node);
    const bool skipped = IsSkipped(node);
    const bool hint = node.annotation.kind == AnnotationKind::kCastHint;
    const bool any =
        std::ranges::any_of(args, [](const Value& arg) { return arg.kind.has_value(); });
    if (hint && (skipped || !any)) {  // removes the annotation
      rewriter_.Map(id, args[0].id);
      return Status();
    }
    if (skipped) return Finish(id, args, std::nullopt);
    switch (node.op.kind) {
      case OpKind::kConv2d:
        return AddAnchor(id, std::move(args));
      case OpKind::kDense:
        return config_.skip_dense_layer ? Finish(id, args, std::nullopt)
                                        : AddAnchor(id, std::move(args));
      default:
        return any ? AddFollower(id, std::move(args)) : Finish(id, args, std::nullopt);
    }
  }

  /// Adds an operator with at least one input that has a kind.
  Status AddFollower(int id, std::vector<Value> args) {
    const Node& node = rewriter_.source().node(id);
    switch (node.op.kind) {
      case OpKind::kMul:
        return AddProduct(id, std::move(args));
      case OpKind::kAdd:
        return AddSum(id, std::move(args));
      case OpKind::kIdentity:
        if (node.annotation.kind != AnnotationKind::kCastHint)
          return Finish(id, args, args[0].kind);
        [[fallthrough]];
      case OpKind::kMaxPool2d:
        if (args[0].kind == ValueKind::kActivation) {
          TW_RETURN_IF_ERROR(Round(args[0], ValueKind::kInput));
        }
        return Finish(id, args, ValueKind::kInput);
      case OpKind::kRelu:
      case OpKind::kClip:
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kSlice:
      case OpKind::kAvgPool2d:
        return Finish(id, args, args[0].kind);
      case OpKind::kConcat:
        for (Value& arg : args) {
          if (!arg.kind) TW_RETURN_IF_ERROR(Round(arg, ValueKind::kActivation));
        }
        return Finish(id, args, ValueKind::kActivation);
      case OpKind::kGlobalAvgPool2d:
        stopped_ = true;
        return Finish(id, args, std::nullopt);
      default:
        return Finish(id, args, std::nullopt);
    }
  }

  Status AddAnchor(int id, std::vector<Value> args) {
    if (args[0].kind != ValueKind::kInput) TW_RETURN_IF_ERROR(Round(args[0], ValueKind::kInput));
    TW_RETURN_IF_ERROR(Round(args[1], ValueKind::kWeight));
    return Finish(id, args, ValueKind::kActivation);
  }

  /// Annotates a factor that is plain or has a kind other than input.
  Status MarkFactor(Value& value) {
    if (value.kind == ValueKind::kInput) return Status();
    return Round(value, IsConstant(value) ? ValueKind::kWeight : ValueKind::kInput);
  }

  Status AddProduct(int id, std::vector<Value> args) {
    for (Value& arg : args) TW_RETURN_IF_ERROR(MarkFactor(arg));
    return Finish(id, args, ValueKind::kActivation);
  }

  Status AddSum(int id, std::vector<Value> args) {
    const bool late = config_.rules >= kSumIsActivation;
    const ValueKind input_sum = late ? ValueKind::kActivation : ValueKind::kInput;
    if (!args[0].kind) {
      TW_RETURN_IF_ERROR(Round(args[0], ValueKind::kInput));
      return Finish(id, args, input_sum);
    }
    if (!args[1].kind) {
      TW_RETURN_IF_ERROR(MarkFactor(args[1]));
      return Finish(id, args, ValueKind::kActivation);
    }
    if (args[0].kind == args[1].kind) {
      if (args[0].kind == ValueKind::kInput) return Finish(id, args, input_sum);
      TW_RETURN_IF_ERROR(Round(args[1], ValueKind::kInput));
    }
    return Finish(id, args, ValueKind::kActivation);
  }

  const Config& config_;
  std::vector<FloatLayer>* left_;
  Rewriter rewriter_;
  PartEmitter emitter_;
  std::vector<int> uses_;                            // of the source's values
  std::vector<Kind> kinds_;                          // of the source's values
  std::map<std::pair<int, ValueKind>, int> marked_;  // new value and kind -> its annotation
  std::int64_t convolutions_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<Graph> Annotate(Graph graph, const Config& config, std::vector<FloatLayer>* left) {
  if (config.rules >= kAccurateRules) return AnnotateAccurately(std::move(graph), config, left);
  return Annotator(std::move(graph), config, left).Run();
}

}  // namespace tilewright::quantize
