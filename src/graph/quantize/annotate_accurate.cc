// Rules `accurate`. A value is rounded once, and only if it is stored for several readers or read
// by a product. Operators between a product and such a value (bias, activation function, gate,
// residual) are computed from the product's int32 sums if they have an integer implementation, else
// in float32, in the product's kernel. Values that no product reads later are not rounded.

#include <algorithm>
#include <map>

#include "src/graph/ir/output_channels.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/quantize/annotate_accurate.h"
#include "src/graph/quantize/part_emitter.h"
#include "src/graph/quantize/value_flow.h"

namespace tilewright::quantize {
namespace {

/// Arithmetic from which a value is computed.
enum class Form : std::uint8_t {
  kPlain,   ///< floats, not computed from integers
  kFloat,   ///< floats computed from integers
  kSum,     ///< int32
  kStored,  ///< rounded to dtype_input
};

struct FormedValue {
  int old_id = -1, id = -1;
  Form form = Form::kPlain;
  bool Unstored() const { return form == Form::kFloat || form == Form::kSum; }
};

class AccurateAnnotator {
 public:
  AccurateAnnotator(Graph graph, const Config& config, std::vector<FloatLayer>* left)
      : config_(config),
        flow_(FlowOf(graph, config)),
        rewriter_(std::move(graph)),
        emitter_(rewriter_.result(), "round"),
        uses_(rewriter_.source().nodes().size(), 0),
        forms_(uses_.size(), Form::kPlain) {
    if (left != nullptr) *left = flow_.left;
  }

  Result<Graph> Run() {
    for (const Node& node : rewriter_.source().nodes()) {
      for (int input : node.inputs) ++uses_[static_cast<std::size_t>(input)];
    }
    for (int id : rewriter_.source().outputs()) ++uses_[static_cast<std::size_t>(id)];
    for (int id : PostOrder(rewriter_.source())) {
      const bool op = Old(id).kind == NodeKind::kOperator;
      TW_RETURN_IF_ERROR(op ? AddOperator(id) : rewriter_.Copy(id));
    }
    return rewriter_.Finish();
  }

 private:
  using Values = std::vector<FormedValue>;

  const Node& Old(int id) const { return rewriter_.source().node(id); }
  bool IsConstant(const FormedValue& value) const {
    return Old(value.old_id).kind == NodeKind::kConstant;
  }
  static bool Test(const std::vector<bool>& flags, int id) {
    return flags[static_cast<std::size_t>(id)];
  }

  Result<int> Annotation(const FormedValue& value, ValueKind kind) {
    tilewright::Annotation annotation{AnnotationKind::kQuantize, config_.Type(kind), kind, {}};
    if (kind == ValueKind::kInput && config_.unsigned_inputs &&
        Test(flow_.non_negative, value.old_id)) {
      annotation.dtype = kUInt8;
    }
    return emitter_.EmitAnnotation(Old(value.old_id).name, std::move(annotation), value.id);
  }

  /// Rounds a float value, once for all its readers.
  Status Store(FormedValue& value) {
    if (value.form == Form::kStored || Old(value.old_id).type.dtype != kFloat32) return Status();
    auto stored = stored_.find(value.id);
    if (stored == stored_.end()) {
      TW_ASSIGN_OR_RETURN(
          auto annotation,
          Annotation(value, IsConstant(value) ? ValueKind::kWeight : ValueKind::kInput));
      stored = stored_.emplace(value.id, annotation).first;
    }
    value.id = stored->second;
    value.form = Form::kStored;
    return Status();
  }
  Status StoreIfLeading(FormedValue& value) {
    return value.Unstored() && Test(flow_.reaches_quantized, value.old_id) ? Store(value)
                                                                           : Status();
  }

  Result<FormedValue> Argument(int old_id, int reader) {
    FormedValue value{old_id, rewriter_.At(old_id), forms_[static_cast<std::size_t>(old_id)]};
    if (uses_[static_cast<std::size_t>(old_id)] < 2 || Test(flow_.inside, old_id)) return value;
    if (value.form == Form::kPlain) {  // rounded for a product; other readers use it too
      if (Test(flow_.feeds_quantized, old_id) && Test(flow_.reaches_quantized, reader))
        TW_RETURN_IF_ERROR(Store(value));
    } else {
      TW_RETURN_IF_ERROR(StoreIfLeading(value));
    }
    return value;
  }

  Status Finish(int id, const Values& args, Form form) {
    std::vector<int> inputs;
    for (const FormedValue& arg : args) inputs.push_back(arg.id);
    TW_ASSIGN_OR_RETURN(auto copy, rewriter_.CopyAs(id, Old(id).op, std::move(inputs)));
    rewriter_.Map(id, copy);
    const bool floats = Old(id).type.dtype == kFloat32;
    forms_[static_cast<std::size_t>(id)] = floats ? form : Form::kPlain;
    return Status();
  }

  Status AddOperator(int id) {
    const Node& node = Old(id);
    Values args;
    for (int input : node.inputs) {
      TW_ASSIGN_OR_RETURN(auto value, Argument(input, id));
      args.push_back(value);
    }
    if (IsAnchor(node.op.kind)) {
      return Test(flow_.quantized, id) ? AddAnchor(id, std::move(args))
                                       : Finish(id, args, Form::kPlain);
    }
    if (std::ranges::all_of(args, [](const auto& arg) { return arg.form == Form::kPlain; })) {
      return Finish(id, args, Form::kPlain);
    }
    if (IsFirstInputDataMovement(node.op)) return AddMove(id, std::move(args));
    switch (node.op.kind) {
      case OpKind::kRelu:
      case OpKind::kClip:
        return Finish(id, args, args[0].form);
      case OpKind::kAdd:
        return AddSum(id, std::move(args));
      case OpKind::kMul:
        return AddProduct(id, std::move(args));
      case OpKind::kMaxPool2d:
      case OpKind::kGlobalMaxPool2d:
        return AddMove(id, std::move(args));
      case OpKind::kAvgPool2d:
      case OpKind::kGlobalAvgPool2d:
        TW_RETURN_IF_ERROR(Store(args[0]));
        return Finish(id, args, Form::kSum);
      case OpKind::kReduceMean:
        if (IsMeanOfImage(node)) TW_RETURN_IF_ERROR(Store(args[0]));
        return Finish(id, args, Form::kFloat);
      case OpKind::kConcat:
        return AddConcat(id, std::move(args));
      default:
        break;
    }
    if (!IsElementwise(node.op.kind)) return Finish(id, args, Form::kPlain);
    if (args.size() == 2) TW_RETURN_IF_ERROR(StoreEarlier(id, args));
    return Finish(id, args, Form::kFloat);
  }

  Status AddAnchor(int id, Values args) {
    TW_RETURN_IF_ERROR(Store(args[0]));
    TW_ASSIGN_OR_RETURN(args[1].id, Annotation(args[1], ValueKind::kWeight));
    return Finish(id, args, Form::kSum);
  }

  Status AddMove(int id, Values args) {
    TW_RETURN_IF_ERROR(StoreIfLeading(args[0]));
    return Finish(id, args, args[0].form);
  }

  bool IsMeanOfImage(const Node& mean) const {
    const std::size_t rank = Old(mean.inputs[0]).type.shape.size();
    return rank == 4 && mean.op.attributes.axes == std::vector<std::int64_t>{2, 3};
  }

  /// Stores one of two values of the result's size if each follows its own product, because one
  /// kernel can compute only one of them.
  Status StoreEarlier(int id, Values& args) {
    for (const FormedValue& arg : args) {
      const Node& node = Old(arg.old_id);
      if (!arg.Unstored() || node.type.shape != Old(id).type.shape) return Status();
    }
    if (RootOf(args[0].old_id) == RootOf(args[1].old_id)) return Status();
    return StoreIfLeading(args[args[0].old_id < args[1].old_id ? 0 : 1]);
  }
  int RootOf(int id) const { return flow_.root[static_cast<std::size_t>(id)]; }

  Status AddProduct(int id, Values args) {
    TW_RETURN_IF_ERROR(StoreEarlier(id, args));
    const bool stored =
        std::ranges::all_of(args, [](const auto& arg) { return arg.form == Form::kStored; });
    return Finish(id, args, stored ? Form::kSum : Form::kFloat);
  }

  Status AddSum(int id, Values args) {
    if (IsConstant(args[1])) {
      if (args[0].form != Form::kSum || !IsBias(rewriter_.source(), id, args[1].old_id)) {
        return Finish(id, args, Form::kFloat);
      }
      TW_ASSIGN_OR_RETURN(args[1].id, Annotation(args[1], ValueKind::kWeight));
      return Finish(id, args, Form::kSum);
    }
    TW_RETURN_IF_ERROR(StoreEarlier(id, args));
    const bool integers = std::ranges::all_of(
        args, [](const auto& arg) { return arg.form == Form::kSum || arg.form == Form::kStored; });
    return Finish(id, args, integers ? Form::kSum : Form::kFloat);
  }

  Status AddConcat(int id, Values args) {
    if (!Test(flow_.reaches_quantized, id)) return Finish(id, args, Form::kFloat);
    for (FormedValue& arg : args) TW_RETURN_IF_ERROR(Store(arg));
    return Finish(id, args, Form::kSum);
  }

  const Config& config_;
  ValueFlow flow_;
  Rewriter rewriter_;
  PartEmitter emitter_;
  std::vector<int> uses_;      // of the source's values
  std::vector<Form> forms_;    // of the source's values
  std::map<int, int> stored_;  // new value -> its annotation
};

}  // namespace

Result<Graph> AnnotateAccurately(Graph graph, const Config& config, std::vector<FloatLayer>* left) {
  return AccurateAnnotator(std::move(graph), config, left).Run();
}

}  // namespace tilewright::quantize
