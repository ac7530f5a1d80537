// Transposed convolutions whose windows do not overlap (the kernel is the stride, without padding)
// as 1x1 convolutions. Each of the A x B positions inside a window is a phase: a pixel of the data
// makes one pixel of each phase. With one channel for each phase and source channel, the result is
//   conv2d(data [N,C,H,W], weight [A*B*K,C,1,1]): [N,A*B*K,H,W]
// followed by a transposition of [N,A,B,K,H,W] to [N,K,H,A,W,B]. The pass delays this transposition
// as far as possible: operators on single elements, with at most one constant per channel, work on
// the phases. Another such convolution works on the phases too, with a weight that is zero between
// different phases, if its channels would leave most of a vector empty anyway.

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Maximum number of result channels for which zeros are multiplied: a vector of them takes as long
// as one channel.
constexpr std::int64_t kFewChannels = 16;

// Returns true if a node is a transposed convolution of this kind.
bool HasPhases(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kConv2dTranspose) return false;
  const OpAttributes& a = node.op.attributes;
  const Shape& weight = graph.node(node.inputs[1]).type.shape;
  if (weight.size() != 4 || node.type.shape.size() != 4) return false;
  return (a.data_layout.empty() || a.data_layout == "NCHW") &&
         (a.kernel_layout.empty() || a.kernel_layout == "IOHW") && a.groups == 1 &&
         a.padding == std::array<std::int64_t, 4>{} &&
         a.output_padding == std::array<std::int64_t, 2>{} &&
         a.dilation == std::array<std::int64_t, 2>{1, 1} && weight[2] == a.strides[0] &&
         weight[3] == a.strides[1];
}

// Value of the source represented by its phases: [N,rows*columns*K,H,W] represents
// [N,K,H*rows,W*columns].
struct Phases {
  int value = -1;  // in the new graph
  std::int64_t rows = 1, columns = 1;
  std::int64_t count() const { return rows * columns; }
};

class Splitter {
 public:
  explicit Splitter(Graph graph)
      : rewriter_(std::move(graph)), constant_(rewriter_.source().nodes().size()) {}

  Result<Graph> Run() {
    const Graph& source = rewriter_.source();
    for (int id = 0; id < source.size(); ++id) {
      const Node& node = source.node(id);
      constant_[static_cast<std::size_t>(id)] =
          node.kind == NodeKind::kConstant ||
          (node.kind == NodeKind::kOperator && std::ranges::all_of(node.inputs, [&](int input) {
             return constant_[static_cast<std::size_t>(input)];
           }));
      TW_RETURN_IF_ERROR(Add(id));
    }
    for (int id : source.outputs()) TW_RETURN_IF_ERROR(Place(id));
    return rewriter_.Finish();
  }

 private:
  const Node& At(int id) const { return rewriter_.source().node(id); }
  Graph& result() { return rewriter_.result(); }

  Status Add(int id) {
    const Node& node = At(id);
    if (HasPhases(rewriter_.source(), node)) return Split(id);
    if (WorksOnPhases(node)) return AddOnPhases(id);
    for (int input : node.inputs) TW_RETURN_IF_ERROR(Place(input));
    return rewriter_.Copy(id);
  }

  Result<int> Emit(const std::string& name, OpKind kind, OpAttributes attributes,
                   std::vector<int> inputs) {
    return result().AddOperator(name, Operator{kind, std::move(attributes)}, std::move(inputs));
  }
  Result<int> Reshape(const std::string& name, int value, Shape shape) {
    OpAttributes attributes;
    attributes.new_shape = std::move(shape);
    return Emit(name, OpKind::kReshape, std::move(attributes), {value});
  }
  Result<int> Transpose(const std::string& name, int value, Shape axes) {
    OpAttributes attributes;
    attributes.axes = std::move(axes);
    return Emit(name, OpKind::kTranspose, std::move(attributes), {value});
  }

  // Converts a value that exists only as phases to the layout of the source.
  Status Place(int id) {
    if (rewriter_.At(id) >= 0) return Status();
    const Phases& phases = phases_.at(id);
    const Node& node = At(id);
    const std::string part(SourceName(node.name));
    const Shape& s = node.type.shape;
    TW_ASSIGN_OR_RETURN(auto split, Reshape(part + "#phases", phases.value,
                                            {s[0], phases.rows, phases.columns, s[1],
                                             s[2] / phases.rows, s[3] / phases.columns}));
    TW_ASSIGN_OR_RETURN(auto moved, Transpose(part + "#pixels", split, {0, 3, 4, 1, 5, 2}));
    TW_ASSIGN_OR_RETURN(auto whole, Reshape(node.name, moved, s));
    rewriter_.Map(id, whole);
    return Status();
  }

  Status Split(int id) {
    const Node& node = At(id);
    const Shape& weight = At(node.inputs[1]).type.shape;  // [C,K,rows,columns]
    const std::int64_t rows = weight[2], columns = weight[3];
    Phases before;
    std::optional<int> kernel;
    if (const auto found = phases_.find(node.inputs[0]); found != phases_.end()) {
      const std::int64_t count = found->second.count() * rows * columns;
      const bool few = count * weight[1] <= kFewChannels;
      if (few && At(node.inputs[1]).kind == NodeKind::kConstant) {
        before = found->second;
        kernel = AddSparseWeight(id, before);
      }
    }
    if (!kernel) {
      TW_RETURN_IF_ERROR(Place(node.inputs[0]));
      before.value = rewriter_.At(node.inputs[0]);
      TW_ASSIGN_OR_RETURN(kernel, AddWeight(id));
    }
    OpAttributes attributes;
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "OIHW";
    attributes.dtype = node.op.attributes.dtype;
    TW_ASSIGN_OR_RETURN(auto value,
                        rewriter_.CopyAs(id, Operator{OpKind::kConv2d, std::move(attributes)},
                                         {before.value, *kernel}));
    result().Rename(value, std::string(SourceName(node.name)) + "#anchor");
    phases_[id] = {value, before.rows * rows, before.columns * columns};
    return Status();
  }

  // Returns the weight of the 1x1 convolution: rows for each phase and channel.
  Result<int> AddWeight(int id) {
    const int weight = At(id).inputs[1];
    const Shape& s = At(weight).type.shape;
    const std::string part = std::string(SourceName(At(id).name)) + "#weight";
    TW_ASSIGN_OR_RETURN(auto moved, Transpose(part + "_moved", rewriter_.At(weight), {2, 3, 1, 0}));
    return Reshape(part, moved, {s[1] * s[2] * s[3], s[0], 1, 1});
  }

  // The same for data in phases: zero between different phases.
  int AddSparseWeight(int id, const Phases& before) {
    const int weight = At(id).inputs[1];
    const TensorType& type = At(weight).type;
    const Shape& s = type.shape;
    const std::int64_t rows = before.rows * s[2], columns = before.columns * s[3];
    const TensorType sparse{{rows * columns * s[1], before.count() * s[0], 1, 1}, type.dtype};
    const std::string part = std::string(SourceName(At(id).name)) + "#weight";
    const Tensor* contents = result().Contents(rewriter_.At(weight));
    if (contents == nullptr) return result().AddConstant(part, sparse);
    Tensor values(sparse);
    for (std::int64_t out = 0; out < sparse.shape[0]; ++out) {
      const std::int64_t k = out % s[1], column = out / s[1] % columns, row = out / s[1] / columns;
      const std::int64_t phase = row / s[2] * before.columns + column / s[3];
      for (std::int64_t c = 0; c < s[0]; ++c) {
        const std::int64_t from = ((c * s[1] + k) * s[2] + row % s[2]) * s[3] + column % s[3];
        values.Set(out * sparse.shape[1] + phase * s[0] + c, contents->At(from));
      }
    }
    return result().AddConstant(part, std::move(values));
  }

  // Returns true if all inputs of an operator are values with equal phases and its own shape, or
  // constants with one element or one element per channel.
  bool WorksOnPhases(const Node& node) const {
    if (node.kind != NodeKind::kOperator || node.type.shape.size() != 4) return false;
    const bool norm = node.op.kind == OpKind::kBatchNorm;
    if (!norm && !IsElementwise(node.op.kind) && node.op.kind != OpKind::kIdentity) return false;
    if (norm && node.op.attributes.axis != 1) return false;
    const Phases* found = nullptr;
    for (int input : node.inputs) {
      const auto phases = phases_.find(input);
      if (phases == phases_.end()) {
        if (!constant_[static_cast<std::size_t>(input)]) return false;
        const TensorType& type = At(input).type;
        if (norm ? type.shape.size() != 1 : !LinesUp(type, node.type)) return false;
        continue;
      }
      if (At(input).type.shape != node.type.shape) return false;
      if (found != nullptr &&
          (found->rows != phases->second.rows || found->columns != phases->second.columns)) {
        return false;
      }
      found = &phases->second;
    }
    return found != nullptr;
  }
  static bool LinesUp(const TensorType& operand, const TensorType& value) {
    const auto kind = OperandKindOf(operand, value, {false, true, false, false});
    return kind == OperandKind::kScalar || kind == OperandKind::kChannel;
  }

  Status AddOnPhases(int id) {
    const Node& node = At(id);
    Phases phases;
    for (int input : node.inputs) {
      if (const auto found = phases_.find(input); found != phases_.end()) phases = found->second;
    }
    const std::string part = std::string(SourceName(node.name)) + "#operand";
    std::vector<int> inputs;
    for (int input : node.inputs) {
      const auto found = phases_.find(input);
      TW_ASSIGN_OR_RETURN(
          auto value, found != phases_.end()
                          ? Result<int>(found->second.value)
                          : Repeat(part + std::to_string(inputs.size()), input, phases.count()));
      inputs.push_back(value);
    }
    TW_ASSIGN_OR_RETURN(auto value, rewriter_.CopyAs(id, node.op, std::move(inputs)));
    result().Rename(value, std::string(SourceName(node.name)) + "#inphases");
    phases.value = value;
    phases_[id] = phases;
    return Status();
  }

  // Repeats a constant per channel for each phase.
  Result<int> Repeat(const std::string& name, int constant, std::int64_t count) {
    const int value = rewriter_.At(constant);
    const Shape& shape = At(constant).type.shape;
    const auto channel = std::ranges::find_if(shape, [](auto extent) { return extent != 1; });
    if (channel == shape.end() || count == 1) return value;
    OpAttributes attributes;
    attributes.axis = channel - shape.begin();
    return Emit(name, OpKind::kConcat, std::move(attributes),
                std::vector<int>(static_cast<std::size_t>(count), value));
  }

  Rewriter rewriter_;
  std::vector<bool> constant_;    // in the source: depends only on constants
  std::map<int, Phases> phases_;  // by value of the source
};

}  // namespace

Result<Graph> SplitTransposed(Graph graph) {
  const bool any =
      std::ranges::any_of(graph.nodes(), [&](const Node& node) { return HasPhases(graph, node); });
  if (!any) return graph;
  return Splitter(std::move(graph)).Run();
}

}  // namespace tilewright
