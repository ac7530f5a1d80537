// Writes the attributes of Relay calls as text: for each operator those that Relay declares, in its
// order, without defaults.

#include "src/graph/relay/attribute_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/strings.h"
#include "src/graph/relay/operators.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright::relay {
namespace {

using Attributes = std::vector<Attribute>;

template <typename Range>
std::string List(const Range& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

/// Returns the full layout of images, as the importer completes it: dimensions after NCHW are
/// blocks.
std::string ImageLayout(const std::string& layout) {
  return layout.starts_with("NCHW") ? "NCHW" : layout;
}

class AttributeWriter {
 public:
  AttributeWriter(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

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
      case OpKind::kBatchNorm:
        AddUnless("axis", std::to_string(a.axis), "1");
        AddUnless("epsilon", ShortestDouble(a.epsilon) + "f", ShortestDouble(1e-5) + "f");
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
      case OpKind::kIdentity:
        WriteAnnotation();
        break;
      default:
        WriteByFamily();
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

  void WriteByFamily() {
    const OpAttributes& a = node_.op.attributes;
    const OperatorRow& row = RowOf(node_.op.kind);
    if (row.family == OpFamily::kReduction) {
      if (!a.axes.empty()) Add("axis", List(a.axes));
      AddUnless("keepdims", a.keepdims ? "True" : "False", "False");
      return;
    }
    if (row.family == OpFamily::kAnchor) AddOutDtype();
    for (const OpArgument& argument : row.arguments) {
      std::visit([&](auto field) { AddArgument(argument.name, a.*field); }, argument.field);
    }
    WriteDataMovement();
  }
  void AddArgument(std::string_view name, double value) {
    Add(std::string(name), ShortestDouble(value));
  }
  void AddArgument(std::string_view name, std::int64_t value) {
    Add(std::string(name), std::to_string(value));
  }
  void AddArgument(std::string_view name, const std::optional<DataType>& dtype) {
    Add(std::string(name), Quoted(DataTypeName(dtype.value_or(node_.type.dtype))));
  }

  void WriteAnnotation() {
    const Annotation& annotation = node_.annotation;
    if (annotation.kind == AnnotationKind::kCastHint)
      Add("dtype", Quoted(DataTypeName(annotation.dtype)));
    if (annotation.kind != AnnotationKind::kQuantize) return;
    Add("kind", Quoted(ValueKindName(annotation.value)));
    if (annotation.dtype == kUInt8) Add("dtype", Quoted(DataTypeName(annotation.dtype)));
    if (annotation.scales.empty()) return;
    std::vector<std::string> scales;
    for (double scale : annotation.scales) scales.push_back(ShortestDouble(scale));
    Add("scale", List(scales));
  }

  /// Returns the size of a dimension of an anchor's weight, in scalars.
  std::int64_t KernelSize(char dimension) const {
    const std::string& text = node_.op.attributes.kernel_layout;
    if (text.empty()) return InputType(1).shape[0];  // weight NK of a matrix product
    const auto layout = Layout::Parse(text);
    TW_CHECK(layout.ok(), text);  // type inference has parsed it before
    return layout->Unpack(InputType(1).shape)[layout->primal().find(dimension)];
  }

  void WriteConv2d() {
    AddSteps();
    AddUnless("groups", std::to_string(node_.op.attributes.groups), "1");
    AddKernelSizes();
    AddLayouts("OIHW");
  }

  void WriteConv2dTranspose() {
    AddKernelSizes(node_.op.attributes.groups);  // the weight has the channels of one group
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
  void AddKernelSizes(std::int64_t groups = 1) {
    Add("channels", std::to_string(KernelSize('O') * groups));
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

  /// In Relay, -1 refers to the last element. Therefore an end before the first element is written
  /// as a position from the other end.
  std::vector<std::int64_t> SliceEnds() const {
    std::vector<std::int64_t> ends = node_.op.attributes.end;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] < 0) ends[i] = -1 - InputType(0).shape[i];
    }
    return ends;
  }

  void WriteDataMovement() {
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
        Add("end", List(SliceEnds()));
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

}  // namespace

std::vector<Attribute> WriteAttributes(const Graph& graph, const Node& node) {
  return AttributeWriter(graph, node).Write();
}

bool IsBatchFlatten(const Node& node, const TensorType& data) {
  return node.op.kind == OpKind::kReshape && node.type.shape.size() == 2 && data.shape.size() > 2 &&
         data.shape[0] == node.type.shape[0];
}

}  // namespace tilewright::relay
