// Structure-aware mutation of ONNX models: protobuf can read the result, which has other
// attributes, shapes, types, contents, names, opsets, functions and branches. Bytes that are not a
// model are not changed.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "src/base/random.h"
#include "tests/fuzz/mutator.h"

namespace tilewright {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr std::array<std::int64_t, 20> kNumbers = {0,
                                                   1,
                                                   2,
                                                   3,
                                                   4,
                                                   5,
                                                   7,
                                                   8,
                                                   16,
                                                   -1,
                                                   -2,
                                                   -3,
                                                   1000,
                                                   65536,
                                                   1LL << 31,
                                                   -(1LL << 31),
                                                   1LL << 40,
                                                   std::numeric_limits<std::int64_t>::max(),
                                                   std::numeric_limits<std::int64_t>::min(),
                                                   6};
constexpr std::array<float, 10> kFloats = {0, 1, -1, 0.5F, 1e-30F, 1e30F, -0.0F, 3e38F, 2, 1e-5F};
constexpr std::array<const char*, 90> kOperators = {"Add",
                                                    "And",
                                                    "ArgMax",
                                                    "AveragePool",
                                                    "BatchNormalization",
                                                    "Cast",
                                                    "CastLike",
                                                    "Clip",
                                                    "Concat",
                                                    "ConcatFromSequence",
                                                    "Constant",
                                                    "ConstantOfShape",
                                                    "Conv",
                                                    "ConvInteger",
                                                    "ConvTranspose",
                                                    "CumSum",
                                                    "DepthToSpace",
                                                    "DequantizeLinear",
                                                    "Div",
                                                    "Dropout",
                                                    "Einsum",
                                                    "Equal",
                                                    "Expand",
                                                    "Flatten",
                                                    "GRU",
                                                    "Gather",
                                                    "GatherElements",
                                                    "GatherND",
                                                    "Gemm",
                                                    "GlobalAveragePool",
                                                    "GridSample",
                                                    "GroupNormalization",
                                                    "Identity",
                                                    "If",
                                                    "InstanceNormalization",
                                                    "LRN",
                                                    "LSTM",
                                                    "LayerNormalization",
                                                    "LogSoftmax",
                                                    "Loop",
                                                    "LpNormalization",
                                                    "MatMul",
                                                    "MatMulInteger",
                                                    "Max",
                                                    "MaxPool",
                                                    "Mean",
                                                    "Mod",
                                                    "Mul",
                                                    "OneHot",
                                                    "Optional",
                                                    "OptionalGetElement",
                                                    "OptionalHasElement",
                                                    "PRelu",
                                                    "Pad",
                                                    "QLinearConv",
                                                    "QLinearMatMul",
                                                    "QuantizeLinear",
                                                    "RNN",
                                                    "Range",
                                                    "ReduceLogSumExp",
                                                    "ReduceMax",
                                                    "ReduceProd",
                                                    "ReduceSum",
                                                    "Relu",
                                                    "Reshape",
                                                    "Resize",
                                                    "RoiAlign",
                                                    "STFT",
                                                    "Scan",
                                                    "ScatterElements",
                                                    "ScatterND",
                                                    "SequenceAt",
                                                    "SequenceConstruct",
                                                    "SequenceErase",
                                                    "SequenceInsert",
                                                    "SequenceLength",
                                                    "SequenceMap",
                                                    "Shape",
                                                    "Slice",
                                                    "Softmax",
                                                    "SpaceToDepth",
                                                    "Split",
                                                    "SplitToSequence",
                                                    "Squeeze",
                                                    "Tile",
                                                    "TopK",
                                                    "Transpose",
                                                    "Trilu",
                                                    "Unsqueeze",
                                                    "Where"};
constexpr std::array<const char*, 45> kAttributes = {"axis",
                                                     "axes",
                                                     "pads",
                                                     "paddings",
                                                     "strides",
                                                     "dilations",
                                                     "group",
                                                     "alpha",
                                                     "beta",
                                                     "epsilon",
                                                     "to",
                                                     "perm",
                                                     "keepdims",
                                                     "mode",
                                                     "shape",
                                                     "split",
                                                     "starts",
                                                     "ends",
                                                     "broadcast",
                                                     "is_test",
                                                     "spatial",
                                                     "blocksize",
                                                     "allowzero",
                                                     "auto_pad",
                                                     "ceil_mode",
                                                     "transA",
                                                     "block_size",
                                                     "reduction",
                                                     "kernel_shape",
                                                     "value",
                                                     "clip",
                                                     "layout",
                                                     "direction",
                                                     "num_heads",
                                                     "hidden_size",
                                                     "activation",
                                                     "antialias",
                                                     "training_mode",
                                                     "sampling_ratio",
                                                     "output_shape",
                                                     "new_axis",
                                                     "n_targets",
                                                     "nodes_truenodeids",
                                                     "equation",
                                                     "onesided"};

constexpr std::array<const char*, 20> kTexts = {
    "SAME_UPPER", "VALID", "linear",   "cubic", "reflect",   "wrap",    "none",
    "add",        "CRD",   "FLOAT",    "ij,jk", "",          "Affine",  "bidirectional",
    "reverse",    "Elu",   "...ij,jk", "ii->i", "BRANCH_EQ", "LOGISTIC"};

class Mutator {
 public:
  Mutator(ModelProto& model, std::uint64_t seed) : model_(model), random_(seed) {}

  void Change() {
    switch (random_.Below(13)) {
      case 0:
        return ChangeOpset();
      case 1:
        return ChangeOperator();
      case 2:
      case 3:
        return ChangeInput();
      case 4:
      case 5:
      case 6:
        return ChangeAttribute();
      case 7:
      case 8:
        return ChangeTensor();
      case 9:
        return ChangeType();
      case 10:
        return ChangeNodes();
      case 11:
        return MakeFunction();
      default:
        return MakeBranch();
    }
  }

 private:
  std::uint64_t Below(int count) { return random_.Below(static_cast<std::uint64_t>(count)); }
  int Position(int count) { return static_cast<int>(Below(std::max(count, 1))); }
  template <typename List>
  auto One(const List& list) {
    return list[random_.Below(list.size())];
  }
  GraphProto& graph() { return *model_.mutable_graph(); }
  // Returns a node of the graph, of a function or of a branch; null if there is none.
  NodeProto* AnyNode() {
    std::vector<NodeProto*> nodes;
    for (NodeProto& node : *graph().mutable_node()) nodes.push_back(&node);
    for (auto& function : *model_.mutable_functions()) {
      for (NodeProto& node : *function.mutable_node()) nodes.push_back(&node);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (AttributeProto& attribute : *nodes[i]->mutable_attribute()) {
        if (!attribute.has_g()) continue;
        for (NodeProto& node : *attribute.mutable_g()->mutable_node()) nodes.push_back(&node);
      }
    }
    return nodes.empty() ? nullptr : One(nodes);
  }
  std::string AnyValue() {
    std::vector<std::string> names = {""};
    for (const auto& input : graph().input()) names.push_back(input.name());
    for (const auto& tensor : graph().initializer()) names.push_back(tensor.name());
    for (const auto& node : graph().node()) {
      names.insert(names.end(), node.output().begin(), node.output().end());
    }
    return One(names);
  }
  std::int64_t Number() { return Below(2) == 0 ? One(kNumbers) : Position(9) - 2; }

  void ChangeOpset() {
    if (model_.opset_import_size() == 0) model_.add_opset_import();
    model_.mutable_opset_import(Position(model_.opset_import_size()))->set_version(Position(31));
  }
  void ChangeOperator() {
    if (NodeProto* node = AnyNode()) node->set_op_type(One(kOperators));
  }
  void ChangeInput() {
    NodeProto* node = AnyNode();
    if (node == nullptr) return;
    const std::string value = AnyValue();
    if (node->input_size() == 0 || Below(5) == 0) {
      node->add_input(value);
    } else if (Below(5) == 0) {
      node->mutable_input()->RemoveLast();
    } else {
      *node->mutable_input(Position(node->input_size())) = value;
    }
  }
  void ChangeAttribute() {
    NodeProto* node = AnyNode();
    if (node == nullptr) return;
    if (node->attribute_size() == 0 || Below(4) == 0) {
      AttributeProto* added = node->add_attribute();
      added->set_name(One(kAttributes));
      const std::array<AttributeProto::AttributeType, 4> types = {
          AttributeProto::INT, AttributeProto::FLOAT, AttributeProto::INTS, AttributeProto::STRING};
      added->set_type(One(types));
      for (std::uint64_t i = Below(5); i > 0; --i) added->add_ints(Number());
    }
    AttributeProto& attribute = *node->mutable_attribute(Position(node->attribute_size()));
    switch (Below(6)) {
      case 0:
        return node->mutable_attribute()->RemoveLast();
      case 1:
        return attribute.set_name(One(kAttributes));
      default:
        break;
    }
    if (attribute.type() == AttributeProto::INT) return attribute.set_i(Number());
    if (attribute.type() == AttributeProto::FLOAT) return attribute.set_f(One(kFloats));
    if (attribute.type() == AttributeProto::STRING) {
      return attribute.set_s(One(kTexts));
    }
    if (attribute.type() == AttributeProto::STRINGS) return attribute.add_strings(One(kTexts));
    if (attribute.type() == AttributeProto::FLOATS) return attribute.add_floats(One(kFloats));
    if (attribute.has_t()) return Change(*attribute.mutable_t());
    if (attribute.ints_size() == 0 || Below(4) == 0) return attribute.add_ints(Number());
    if (Below(4) == 0) return attribute.mutable_ints()->RemoveLast();
    attribute.set_ints(Position(attribute.ints_size()), Number());
  }
  void ChangeTensor() {
    if (graph().initializer_size() == 0) return;
    Change(*graph().mutable_initializer(Position(graph().initializer_size())));
  }
  // Changes shape, type or numbers; the contents usually still fit.
  void Change(TensorProto& tensor) {
    switch (Below(4)) {
      case 0:
        if (tensor.dims_size() == 0 || Below(4) == 0) {
          tensor.add_dims(1);
        } else if (Below(4) == 0) {
          tensor.mutable_dims()->RemoveLast();
        } else {
          tensor.set_dims(Position(tensor.dims_size()), Number());
        }
        break;
      case 1:
        tensor.set_data_type(Position(30));
        break;
      default: {
        std::string& bytes = *tensor.mutable_raw_data();
        const std::int64_t number = Number();
        const float real = One(kFloats);
        if (bytes.size() >= 8 && Below(2) == 0) {
          std::memcpy(bytes.data() + random_.Below(bytes.size() / 8) * 8, &number, 8);
        } else if (bytes.size() >= 4) {
          std::memcpy(bytes.data() + random_.Below(bytes.size() / 4) * 4, &real, 4);
        }
        return;
      }
    }
    if (Below(4) != 0) Refill(tensor);
  }
  // Resizes the contents to the number of bytes that shape and type need.
  static void Refill(TensorProto& tensor) {
    constexpr std::array<int, 27> kBits = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                           64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
    const int code = tensor.data_type();
    if (code < 0 || code >= static_cast<int>(kBits.size())) return;
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.dims()) {
      if (extent < 0 || extent > 4096 || elements * extent > 65536) return;
      elements *= extent;
    }
    if (!tensor.has_raw_data()) return;
    const std::int64_t bits = elements * kBits[static_cast<std::size_t>(code)];
    tensor.mutable_raw_data()->resize(static_cast<std::size_t>((bits + 7) / 8), '\1');
  }
  void ChangeType() {
    if (graph().input_size() == 0) return;
    auto& input = *graph().mutable_input(Position(graph().input_size()));
    auto& type = *input.mutable_type()->mutable_tensor_type();
    if (Below(3) == 0) return type.set_elem_type(Position(28));
    auto& shape = *type.mutable_shape();
    if (shape.dim_size() == 0 || Below(5) == 0) {
      shape.add_dim()->set_dim_value(1);
    } else if (Below(5) == 0) {
      shape.mutable_dim()->RemoveLast();
    } else {
      shape.mutable_dim(Position(shape.dim_size()))->set_dim_value(Number());
    }
  }
  void ChangeNodes() {
    if (graph().node_size() == 0) return;
    const int at = Position(graph().node_size());
    switch (Below(3)) {
      case 0: {  // a node after another one
        NodeProto added;
        added.set_op_type(One(kOperators));
        added.add_input(AnyValue());
        added.add_output("made" + std::to_string(graph().node_size()));
        *graph().add_node() = added;
        graph().add_output()->set_name(added.output(0));
        return;
      }
      case 1:
        graph().mutable_node()->DeleteSubrange(at, 1);
        return;
      default:
        graph().mutable_node()->SwapElements(at, Position(graph().node_size()));
    }
  }
  // Replaces a node by a function of its inputs and attributes, some of them by reference.
  void MakeFunction() {
    if (graph().node_size() == 0 || model_.functions_size() > 8) return;
    NodeProto& node = *graph().mutable_node(Position(graph().node_size()));
    if (node.domain() == "local") return;
    auto& function = *model_.add_functions();
    function.set_name("f" + std::to_string(model_.functions_size()));
    function.set_domain("local");
    for (const auto& opset : model_.opset_import()) *function.add_opset_import() = opset;
    NodeProto& body = *function.add_node();
    body = node;
    for (int i = 0; i < node.input_size(); ++i) {
      function.add_input("i" + std::to_string(i));
      if (!node.input(i).empty()) body.set_input(i, function.input(i));
    }
    for (int i = 0; i < node.output_size(); ++i) {
      function.add_output("o" + std::to_string(i));
      body.set_output(i, function.output(i));
    }
    node.clear_attribute();
    for (AttributeProto& attribute : *body.mutable_attribute()) {
      if (Below(2) == 0) continue;
      *node.add_attribute() = attribute;
      function.add_attribute(attribute.name());
      AttributeProto reference;
      reference.set_name(attribute.name());
      reference.set_type(attribute.type());
      reference.set_ref_attr_name(attribute.name());
      attribute = reference;
    }
    node.set_op_type(function.name());
    node.set_domain("local");
    if (Below(8) == 0) body = node;  // calls itself
  }
  // Moves a node into the branch of an If.
  void MakeBranch() {
    if (graph().node_size() == 0) return;
    NodeProto& node = *graph().mutable_node(Position(graph().node_size()));
    GraphProto branch;
    *branch.add_node() = node;
    for (int i = 0; i < node.output_size(); ++i) {
      branch.mutable_node(0)->set_output(i, "b" + std::to_string(i));
      branch.add_output()->set_name("b" + std::to_string(i));
    }
    TensorProto& condition = *graph().add_initializer();
    condition.set_name("condition" + std::to_string(graph().initializer_size()));
    condition.set_data_type(TensorProto::BOOL);
    condition.set_raw_data(std::string(1, static_cast<char>(Below(2))));
    node.clear_input();
    node.add_input(condition.name());
    node.clear_attribute();
    node.set_op_type("If");
    node.clear_domain();
    for (const char* name : {"then_branch", "else_branch"}) {
      AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(AttributeProto::GRAPH);
      *attribute.mutable_g() = branch;
    }
  }

  ModelProto& model_;
  Random random_;
};

}  // namespace

std::string MutateStructure(const std::string& bytes, std::uint64_t seed) {
  ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph()) return bytes;
  Mutator mutator(model, seed);
  for (std::uint64_t i = 0; i <= seed % 4; ++i) mutator.Change();
  return model.SerializeAsString();
}

}  // namespace tilewright
