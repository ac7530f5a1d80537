#include "src/graph/relay/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/base/strings.h"
#include "src/graph/relay/metadata.h"
#include "src/graph/relay/operators.h"
#include "src/graph/relay/syntax.h"
#include "src/tensor/layout.h"

namespace tilewright::relay {
namespace {

using Attributes = std::vector<Attribute>;

template <typename Range>
std::string List(const Range& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string TypeComment(const TensorType& type) { return " ty=" + ToString(TypeOf(type)) + " "; }

/// The layout of images as this project's importer completes it: dimensions behind NCHW are blocks.
std::string ImageLayout(const std::string& layout) {
  return layout.starts_with("NCHW") ? "NCHW" : layout;
}

/// A reshape to a matrix that keeps the first dimension has a name of its own.
bool IsBatchFlatten(const Node& node, const TensorType& data) {
  return node.op.kind == OpKind::kReshape && node.type.shape.size() == 2 && data.shape.size() > 2 &&
         data.shape[0] == node.type.shape[0];
}

class AttributeWriter {
 public:
  AttributeWriter(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  /// Attributes in the order in which Relay declares them, defaults left out.
  Attributes Write() {
    const OpAttributes& a = node_.op.attributes;
    switch (node_.op.kind) {
      case OpKind::kConv2d:
        WriteConv2d();
        break;
      case OpKind::kConv2dTranspose:
        WriteConv2dTranspose();
        break;
      case OpKind::kDense:
        Add("units", std::to_string(KernelSize('N')));
        AddOutDtype();
        break;
      case OpKind::kBatchMatmul:
        AddOutDtype();
        break;
      case OpKind::kMaxPool2d:
      case OpKind::kAvgPool2d:
        WritePool();
        break;
      case OpKind::kGlobalAvgPool2d:
      case OpKind::kGlobalMaxPool2d:
        AddUnless("layout", Quoted(ImageLayout(a.data_layout)), Quoted("NCHW"));
        break;
      case OpKind::kClip:
        Add("a_min", ShortestDouble(a.a_min) + "f");
        Add("a_max", ShortestDouble(a.a_max) + "f");
        break;
      case OpKind::kLeakyRelu:
        Add("alpha", ShortestDouble(a.alpha));
        break;
      case OpKind::kHardSigmoid:
        Add("alpha", ShortestDouble(a.alpha));
        Add("beta", ShortestDouble(a.beta));
        break;
      case OpKind::kLrn:
        Add("size", std::to_string(a.size));
        Add("bias", ShortestDouble(a.bias));
        Add("alpha", ShortestDouble(a.alpha));
        Add("beta", ShortestDouble(a.beta));
        break;
      case OpKind::kCast:
      case OpKind::kSaturateCast:
        Add("dtype", Quoted(DataTypeName(node_.type.dtype)));
        break;
      case OpKind::kFixedPointMultiply:
        Add("multiplier", std::to_string(a.multiplier));
        Add("shift", std::to_string(a.shift));
        break;
      case OpKind::kReduceMean:
      case OpKind::kReduceSum:
      case OpKind::kReduceMax:
      case OpKind::kReduceMin:
        if (!a.axes.empty()) Add("axis", List(a.axes));
        AddUnless("keepdims", a.keepdims ? "True" : "False", "False");
        break;
      case OpKind::kIdentity:
        WriteMark();
        break;
      default:
        WriteMoves();
    }
    return std::move(attributes_);
  }

 private:
  const TensorType& InputType(std::size_t i) const { return graph_.node(node_.inputs[i]).type; }
  void Add(std::string name, std::string value) {
    attributes_.push_back({std::move(name), std::move(value)});
  }
  void AddUnless(std::string name, const std::string& value, const std::string& standard) {
    if (value != standard) Add(std::move(name), value);
  }
  void AddOutDtype() {
    if (node_.type.dtype != InputType(0).dtype) {
      Add("out_dtype", Quoted(DataTypeName(node_.type.dtype)));
    }
  }

  void WriteMark() {
    const Mark& mark = node_.mark;
    if (mark.kind == MarkKind::kCastHint) Add("dtype", Quoted(DataTypeName(mark.dtype)));
    if (mark.kind != MarkKind::kQuantize) return;
    Add("kind", Quoted(ValueKindName(mark.value)));
    if (mark.scales.empty()) return;
    std::vector<std::string> scales;
    for (double scale : mark.scales) scales.push_back(ShortestDouble(scale));
    Add("scale", List(scales));
  }

  /// Of a dimension of an anchor's weight, in scalars.
  std::int64_t KernelSize(char dimension) const {
    const std::string& text = node_.op.attributes.kernel_layout;
    if (text.empty()) return InputType(1).shape[0];  // a matrix product's, NK
    const auto layout = Layout::Parse(text);
    TW_CHECK(layout.ok(), text);  // its type was inferred with it
    return layout->Unpack(InputType(1).shape)[layout->primal().find(dimension)];
  }

  void WriteConv2d() {
    AddSteps();
    AddUnless("groups", std::to_string(node_.op.attributes.groups), "1");
    AddKernelSizes();
    AddLayouts("OIHW");
  }

  void WriteConv2dTranspose() {
    AddKernelSizes();
    AddSteps();
    AddUnless("output_padding", List(node_.op.attributes.output_padding), "[0, 0]");
    AddUnless("groups", std::to_string(node_.op.attributes.groups), "1");
    AddLayouts("IOHW");
  }

  void AddSteps() {
    const OpAttributes& a = node_.op.attributes;
    AddUnless("strides", List(a.strides), "[1, 1]");
    Add("padding", List(a.padding));
    AddUnless("dilation", List(a.dilation), "[1, 1]");
  }
  void AddKernelSizes() {
    Add("channels", std::to_string(KernelSize('O')));
    Add("kernel_size", fmt::format("[{}, {}]", KernelSize('H'), KernelSize('W')));
  }
  void AddLayouts(std::string_view kernel) {
    const OpAttributes& a = node_.op.attributes;
    AddUnless("data_layout", Quoted(a.data_layout), Quoted("NCHW"));
    AddUnless("kernel_layout", Quoted(a.kernel_layout), Quoted(kernel));
    AddOutDtype();
  }

  void WritePool() {
    const OpAttributes& a = node_.op.attributes;
    Add("pool_size", List(a.pool_size));
    AddUnless("strides", List(a.strides), "[1, 1]");
    AddUnless("dilation", List(a.dilation), "[1, 1]");
    Add("padding", List(a.padding));
    AddUnless("layout", Quoted(ImageLayout(a.data_layout)), Quoted("NCHW"));
    AddUnless("ceil_mode", a.ceil_mode ? "True" : "False", "False");
    if (node_.op.kind == OpKind::kAvgPool2d) {
      AddUnless("count_include_pad", a.count_include_pad ? "True" : "False", "False");
    }
  }

  void WriteMoves() {
    const OpAttributes& a = node_.op.attributes;
    switch (node_.op.kind) {
      case OpKind::kSoftmax:
      case OpKind::kLogSoftmax:
      case OpKind::kConcat:
      case OpKind::kGather:
        Add("axis", std::to_string(a.axis));
        break;
      case OpKind::kReshape:
        if (!IsBatchFlatten(node_, InputType(0))) Add("newshape", List(a.new_shape));
        break;
      case OpKind::kBroadcastTo:
        Add("shape", List(a.new_shape));
        break;
      case OpKind::kTranspose:
        Add("axes", List(a.axes));
        break;
      case OpKind::kSlice:
        Add("begin", List(a.begin));
        Add("end", List(a.end));
        Add("strides", List(a.steps));
        break;
      case OpKind::kPad: {
        std::vector<std::string> pairs;
        for (std::size_t i = 0; i + 1 < a.pad_width.size(); i += 2) {
          pairs.push_back(fmt::format("[{}, {}]", a.pad_width[i], a.pad_width[i + 1]));
        }
        Add("pad_width", List(pairs));
        break;
      }
      case OpKind::kLayoutTransform:
        Add("src_layout", Quoted(a.src_layout));
        Add("dst_layout", Quoted(a.dst_layout));
        break;
      default:
        break;
    }
  }

  const Graph& graph_;
  const Node& node_;
  Attributes attributes_;
};

/// The spelling of one number; empty if literals cannot have its type.
std::string Literal(double value, DataType dtype) {
  if (dtype == kFloat32 && std::isfinite(value)) return ShortestDouble(value) + "f";
  if (!dtype.is_integer() || dtype.bits > 32) return {};
  const std::string digits = std::to_string(static_cast<std::int64_t>(value));
  if (dtype == kInt32) return digits;
  return fmt::format("{}{}{}", digits, dtype.code == TypeCode::kInt ? "i" : "u", dtype.bits);
}

/// A name that the text can have: letters, digits, "_" and ".".
std::string VariableName(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '_';
  }
  const bool digit = name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0;
  return digit ? "v" + name : name;
}

class Exporter {
 public:
  explicit Exporter(const Graph& graph) : graph_(graph), exprs_(graph.nodes().size(), -1) {}

  Result<std::string> Run() {
    TW_RETURN_IF_ERROR(CheckOperators());
    TW_RETURN_IF_ERROR(CheckConstants());
    module_.version = "0.0.5";
    Build();
    module_.metadata = "\n\n" + WriteMetadata(contents_, values_);
    return Print(module_, Numbering::kKeep);
  }

  Result<std::string> List() {
    TW_RETURN_IF_ERROR(CheckOperators());
    typed_twice_ = graph_.style.parameters_typed_twice;
    module_.ends_in_newline = graph_.style.ends_in_newline;
    Build();
    module_.definitions.front().comments = graph_.style.notes;
    return Print(module_, Numbering::kRecompute);
  }

 private:
  void Build() {
    for (int id = 0; id < graph_.size(); ++id) AddNode(id);
    AddResult();
    module_.functions.push_back(std::move(main_));
    module_.definitions.push_back({"main", {}, 0});
  }

  /// Whether the operator has a name, one result, and numbers that literals can have.
  static bool HasText(const Node& node) {
    const OpAttributes& a = node.op.attributes;
    switch (node.op.kind) {
      case OpKind::kBatchNorm:
        return false;
      case OpKind::kSoftmax:
      case OpKind::kLogSoftmax:
        return !a.flatten || a.axis + 1 == std::ssize(node.type.shape);
      case OpKind::kClip:
        return std::isfinite(a.a_min) && std::isfinite(a.a_max);
      case OpKind::kPad:
        return std::isfinite(a.pad_value);
      case OpKind::kLeakyRelu:
      case OpKind::kHardSigmoid:
      case OpKind::kLrn:
        return std::isfinite(a.alpha) && std::isfinite(a.beta) && std::isfinite(a.bias);
      default:
        return !RelayName(node.op.kind).empty();
    }
  }

  Status CheckOperators() const {
    std::map<std::string, int> unknown;
    for (const Node& node : graph_.nodes()) {
      if (node.type.shape.size() > kMaxRank) {
        return Unsupported(
            fmt::format("value {} of type {}: Relay text takes at most {} dimensions", node.name,
                        node.type.ToString(), kMaxRank));
      }
      if (node.kind != NodeKind::kOperator) continue;
      if (!HasText(node)) ++unknown[std::string(OpName(node.op.kind))];
    }
    if (unknown.empty()) return Status();
    std::string list;
    for (const auto& [name, count] : unknown) {
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, count);
    }
    return Unsupported("Relay text has no operator for: " + list);
  }

  Status CheckConstants() const {
    for (int id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::kConstant) continue;
      if (!graph_.HasContents(id)) {
        return InvalidArgument("constant " + node.name + " has no contents");
      }
      if (node.type.dtype.code == TypeCode::kBool) {
        return Unsupported("constant " + node.name + " of type bool");
      }
    }
    return Status();
  }

  int Append(Expr expr) {
    expr.owner = 0;
    module_.exprs.push_back(std::move(expr));
    return static_cast<int>(module_.exprs.size()) - 1;
  }

  int AddLiteral(const std::string& spelling, DataType dtype) {
    Expr literal;
    literal.kind = ExprKind::kLiteral;
    literal.text = spelling;
    literal.comments = {TypeComment({{}, dtype})};
    return Append(std::move(literal));
  }

  int AddConstant(int id) {
    const TensorType& type = graph_.node(id).type;
    const Tensor* contents = graph_.Contents(id);
    if (type.shape.empty() && contents != nullptr) {
      const std::string spelling = Literal(contents->At(0), type.dtype);
      if (!spelling.empty()) return AddLiteral(spelling, type.dtype);
    }
    Expr constant;
    constant.kind = ExprKind::kConstant;
    constant.text = "relay.Constant";
    constant.comments = {TypeComment(type)};
    constant.index = std::ssize(contents_);
    contents_.push_back(contents);
    return Append(std::move(constant));
  }

  /// What the text calls a value that has a name of its own or stands for other numbers.
  void Remember(int id, const std::string& in_text) {
    Quantization meaning;
    const auto known = graph_.quantization.find(graph_.node(id).name);
    if (known != graph_.quantization.end()) meaning = known->second;
    meaning.value = graph_.FloatName(id);
    if (meaning.value == in_text) meaning.value.clear();
    if (meaning != Quantization()) values_.emplace(in_text, std::move(meaning));
  }

  int AddParameter(int id) {
    const Node& node = graph_.node(id);
    Expr parameter;
    parameter.kind = ExprKind::kParameter;
    std::string name = VariableName(node.name);
    while (!names_.insert(name).second) name += "_";
    parameter.text = name;
    Remember(id, name);
    parameter.type = TypeOf(node.type);
    if (typed_twice_) parameter.comments = {TypeComment(node.type)};
    const int expr = Append(std::move(parameter));
    main_.parameters.push_back(expr);
    return expr;
  }

  std::string NameOf(const Node& node) const {
    if (node.op.kind == OpKind::kIdentity) return std::string(RelayName(node.mark.kind));
    const bool flat = IsBatchFlatten(node, graph_.node(node.inputs[0]).type);
    return flat ? "nn.batch_flatten" : std::string(RelayName(node.op.kind));
  }

  int AddCall(int id) {
    const Node& node = graph_.node(id);
    Expr call;
    call.text = NameOf(node);
    for (int input : node.inputs) call.args.push_back(exprs_[static_cast<std::size_t>(input)]);
    if (node.op.kind == OpKind::kConcat) {
      Expr tuple;
      tuple.kind = ExprKind::kTuple;
      tuple.args = std::move(call.args);
      call.args = {Append(std::move(tuple))};
    }
    if (node.op.kind == OpKind::kPad) {  // converted by whoever reads it
      const double value = node.op.attributes.pad_value;
      const bool whole = value == std::trunc(value) && std::abs(value) < 0x1.0p31;
      const DataType dtype = whole ? kInt32 : kFloat32;
      call.args.push_back(AddLiteral(Literal(node.op.attributes.pad_value, dtype), dtype));
    }
    call.attributes = AttributeWriter(graph_, node).Write();
    if (!node.source.empty()) call.comments.push_back(" " + node.source + " ");
    call.comments.push_back(TypeComment(node.type));
    call.bound_name = std::to_string(main_.statements.size());
    Remember(id, call.bound_name);
    const int expr = Append(std::move(call));
    main_.statements.push_back(expr);
    return expr;
  }

  void AddNode(int id) {
    const NodeKind kind = graph_.node(id).kind;
    exprs_[static_cast<std::size_t>(id)] = kind == NodeKind::kInput      ? AddParameter(id)
                                           : kind == NodeKind::kConstant ? AddConstant(id)
                                                                         : AddCall(id);
  }

  void AddResult() {
    Type type;
    std::vector<int> results;
    for (int id : graph_.outputs()) {
      results.push_back(exprs_[static_cast<std::size_t>(id)]);
      type.parts.push_back(TypeOf(graph_.node(id).type));
    }
    if (results.size() == 1) {
      main_.body = results[0];
      main_.result = type.parts[0];
      return;
    }
    type.kind = TypeKind::kTuple;
    Expr tuple;
    tuple.kind = ExprKind::kTuple;
    tuple.args = std::move(results);
    main_.body = Append(std::move(tuple));
    main_.result = std::move(type);
  }

  const Graph& graph_;
  std::vector<int> exprs_;  // of nodes
  bool typed_twice_ = false;
  Module module_;
  Function main_;
  std::set<std::string> names_;
  std::vector<const Tensor*> contents_;  // of constants
  ValueTable values_;                    // of parameters and operators
};

}  // namespace
}  // namespace tilewright::relay

namespace tilewright {

Result<std::string> ExportRelay(const Graph& graph) { return relay::Exporter(graph).Run(); }

Result<std::string> ListRelay(const Graph& graph) { return relay::Exporter(graph).List(); }

}  // namespace tilewright
