// Transposed convolutions as convolutions of their stride phases (transposed_phases.h). If the
// phases of all rows and columns need one convolution, the result is
//   conv2d(data [N,C,H,W], weight [A*B*K,C,R,S]): [N,A*B*K,H,W]
// followed by a transposition of [N,A,B,K,H,W] to [N,K,H,A,W,B]. Otherwise the results of the
// convolutions are concatenated first. The pass delays this data movement as far as possible:
// operators on single elements, with at most one constant per channel, work on the phases. A
// transposed convolution whose windows do not overlap works on the phases too, with a weight that
// is zero between different phases, if its channels would leave most of a vector empty anyway.

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"
#include "src/graph/passes/transposed_phases.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Maximum number of result channels for which zeros are multiplied: a vector of them takes as long
// as one channel.
constexpr std::int64_t kFewChannels = 16;

std::optional<TransposedPhases> PhasesOfNode(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kConv2dTranspose) return {};
  return PhasesOf(node.op, graph.node(node.inputs[0]).type, graph.node(node.inputs[1]).type,
                  node.type);
}

// Returns true if one convolution without padding and with one tap computes all phases.
bool IsPointwise(const TransposedPhases& phases) {
  return std::ranges::all_of(std::array{&phases.rows, &phases.columns}, [](const auto* d) {
    return d->crop == 0 && d->ranges == std::vector{PhaseRange{0, d->stride, 1, 0, 0}};
  });
}

// Returns true if interleaving moves the phases of both to the same positions.
bool InterleavesAlike(const PhaseDimension& a, const PhaseDimension& b) {
  return a.stride == b.stride && a.outputs == b.outputs && a.crop == b.crop &&
         std::ranges::equal(a.ranges, b.ranges, {}, &PhaseRange::count, &PhaseRange::count);
}

// Returns the shape of a sequence [N,K,W] as an image of one row; that of an image is unchanged.
Shape ImageShape(Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
  return shape;
}

// Value of the source (images or sequences) represented by its phases, one value of the new graph
// for each part: [N,phases*K,H,W].
struct Phases {
  std::vector<int> values;
  TransposedPhases split;

  const PhaseRange& RowsOf(std::size_t part) const {
    return split.rows.ranges[part / split.columns.ranges.size()];
  }
  const PhaseRange& ColumnsOf(std::size_t part) const {
    return split.columns.ranges[part % split.columns.ranges.size()];
  }
  std::int64_t CountOf(std::size_t part) const {
    return RowsOf(part).count * ColumnsOf(part).count;
  }
};

// Integers minus their zero point, as the importers of quantized operators emit them.
struct CentredData {
  int integers = -1;  // in the source: int8 or uint8
  std::int64_t zero_point = 0;
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
  const Shape& ShapeOf(int value) const { return rewriter_.result().node(value).type.shape; }

  Status Add(int id) {
    const Node& node = At(id);
    if (auto phases = PhasesOfNode(rewriter_.source(), node)) return Split(id, *std::move(phases));
    if (IsSameImage(node)) {
      phases_[id] = phases_.at(node.inputs[0]);
      return Status();
    }
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
  Result<int> Slice(const std::string& name, int value, Shape begin, Shape end) {
    if (end == ShapeOf(value) && std::ranges::all_of(begin, [](auto b) { return b == 0; })) {
      return value;
    }
    OpAttributes attributes;
    attributes.steps.assign(begin.size(), 1);
    attributes.begin = std::move(begin);
    attributes.end = std::move(end);
    return Emit(name, OpKind::kSlice, std::move(attributes), {value});
  }
  Result<int> Pad(const std::string& name, int value, Shape widths, double fill) {
    if (std::ranges::all_of(widths, [](auto width) { return width == 0; })) return value;
    OpAttributes attributes;
    attributes.pad_width = std::move(widths);
    attributes.pad_value = fill;
    return Emit(name, OpKind::kPad, std::move(attributes), {value});
  }

  // Transposes [row range,column range,N,row phase,column phase,K,H,W] to [N,K,H,row range,row
  // phase,W,column range,column phase], without the dimensions of one element.
  Result<int> Interleave(int id, int value, const Shape& extents) {
    Shape shape, axes, position;
    for (std::int64_t extent : extents) {
      position.push_back(std::ssize(shape));
      if (extent != 1) shape.push_back(extent);
    }
    for (std::size_t axis : {2, 5, 6, 0, 3, 7, 1, 4}) {
      if (extents[axis] != 1) axes.push_back(position[axis]);
    }
    TW_ASSIGN_OR_RETURN(auto split, Reshape(Named(id, "phases"), value, std::move(shape)));
    return Transpose(Named(id, "pixels"), split, std::move(axes));
  }

  // Converts a value that exists only as phases to the layout of the source.
  Status Place(int id) {
    if (rewriter_.At(id) >= 0) return Status();
    const Phases& phases = phases_.at(id);
    const PhaseDimension &rows = phases.split.rows, &columns = phases.split.columns;
    const Node& node = At(id);
    const Shape s = ImageShape(node.type.shape);
    const bool sequence = s != node.type.shape;
    // Parts of equal size are concatenated along the images, where that moves nothing.
    bool equal = true;
    for (std::size_t i = 1; i < phases.values.size(); ++i) {
      equal &= phases.CountOf(i) == phases.CountOf(0);
    }
    int value = phases.values[0];
    if (phases.values.size() > 1) {
      OpAttributes attributes;
      attributes.axis = equal ? 0 : 1;
      TW_ASSIGN_OR_RETURN(
          value, Emit(Named(id, "parts"), OpKind::kConcat, std::move(attributes), phases.values));
    }
    const std::int64_t row_ranges = equal ? std::ssize(rows.ranges) : 1;
    const std::int64_t column_ranges = equal ? std::ssize(columns.ranges) : 1;
    TW_ASSIGN_OR_RETURN(
        auto moved,
        Interleave(id, value,
                   {row_ranges, column_ranges, s[0], rows.stride / row_ranges,
                    columns.stride / column_ranges, s[1], rows.outputs, columns.outputs}));
    const Shape all = {s[0], s[1], rows.outputs * rows.stride, columns.outputs * columns.stride};
    TW_ASSIGN_OR_RETURN(auto whole,
                        Reshape(sequence || all != s ? Named(id, "whole") : node.name, moved, all));
    TW_ASSIGN_OR_RETURN(auto placed, Slice(sequence ? Named(id, "image") : node.name, whole,
                                           {0, 0, rows.crop, columns.crop},
                                           {s[0], s[1], rows.crop + s[2], columns.crop + s[3]}));
    if (sequence) {
      TW_ASSIGN_OR_RETURN(placed, Reshape(node.name, placed, node.type.shape));
    }
    rewriter_.Map(id, placed);
    return Status();
  }

  Status Split(int id, TransposedPhases split) {
    const Node& node = At(id);
    const Shape& weight = At(node.inputs[1]).type.shape;
    const bool whole = weight[2] == split.rows.stride && weight[3] == split.columns.stride;
    const bool follows = whole && node.op.attributes.groups == 1 && IsPointwise(split);
    if (follows && At(node.inputs[1]).kind == NodeKind::kConstant) {
      const auto found = phases_.find(node.inputs[0]);
      const std::int64_t channels = weight[1];
      if (found != phases_.end() && IsPointwise(found->second.split) &&
          found->second.split.count() * split.count() * channels <= kFewChannels) {
        return SplitOnPhases(id, split, found->second);
      }
    }
    const CentredData data = DataOf(node.inputs[0]);
    TW_RETURN_IF_ERROR(Place(data.integers));
    TW_ASSIGN_OR_RETURN(auto taps, Taps(id, split));
    Phases phases{{}, std::move(split)};
    for (std::size_t part = 0; part < phases.split.parts(); ++part) {
      TW_ASSIGN_OR_RETURN(auto value, AddPart(id, phases, part, data, taps));
      phases.values.push_back(value);
    }
    if (phases.split.count() == 1) {  // a convolution as any other
      result().Rename(phases.values[0], node.name);
      rewriter_.Map(id, phases.values[0]);
      return Status();
    }
    phases_[id] = std::move(phases);
    return Status();
  }

  // A convolution without padding that reads the phases of the one before.
  Status SplitOnPhases(int id, const TransposedPhases& split, const Phases& before) {
    Phases phases{{}, before.split};
    for (const auto& [from, to] : {std::pair(&split.rows, &phases.split.rows),
                                   std::pair(&split.columns, &phases.split.columns)}) {
      to->stride *= from->stride;
      to->ranges[0].count = to->stride;
    }
    const int weight = AddSparseWeight(id, split, before.split);
    TW_ASSIGN_OR_RETURN(auto value,
                        AddConvolution(id, 0, OpAttributes(), before.values[0], weight));
    phases.values.push_back(value);
    phases_[id] = std::move(phases);
    return Status();
  }

  Result<int> AddConvolution(int id, std::size_t part, OpAttributes attributes, int data,
                             int weight) {
    const Node& node = At(id);
    attributes.data_layout = "NCHW";
    attributes.kernel_layout = "OIHW";
    attributes.dtype = node.op.attributes.dtype;
    TW_ASSIGN_OR_RETURN(
        auto value,
        rewriter_.CopyAs(id, Operator{OpKind::kConv2d, std::move(attributes)}, {data, weight}));
    result().Rename(value, Named(id, "anchor", part));
    return value;
  }

  // Returns a unique name for a value that the source does not have.
  std::string Named(int id, const std::string& what, std::size_t part = 0) const {
    return NameOfPart(At(id).name, what + (part == 0 ? "" : std::to_string(part)));
  }

  // Returns the integers that a value is made of, if padding with their zero point and a correction
  // of the sums replace the subtraction; otherwise the value itself with zero point 0.
  CentredData DataOf(int id) const {
    const Node* node = &At(id);
    const auto is = [&](OpKind kind) {
      return node->kind == NodeKind::kOperator && node->op.kind == kind;
    };
    if (is(OpKind::kCast) && node->type.dtype == kInt8) node = &At(node->inputs[0]);
    std::int64_t zero_point = 0;
    if (is(OpKind::kSub) && node->type.dtype == kInt16) {
      const int zero = rewriter_.At(node->inputs[1]);  // its contents moved with it
      if (zero < 0 || rewriter_.result().node(zero).type.elements() != 1) return {id, 0};
      const Tensor* contents = rewriter_.result().Contents(zero);
      if (contents == nullptr) return {id, 0};
      zero_point = static_cast<std::int64_t>(contents->At(0));
      node = &At(node->inputs[0]);
    }
    if (!is(OpKind::kCast) || node->type.dtype != kInt16) return {id, 0};
    const DataType dtype = At(node->inputs[0]).type.dtype;
    const bool holds = dtype == kInt8 ? zero_point >= -128 && zero_point <= 127
                                      : dtype == kUInt8 && zero_point >= 0 && zero_point <= 255;
    return holds ? CentredData{node->inputs[0], zero_point} : CentredData{id, 0};
  }

  // Returns the weight with zeros between its taps.
  Result<int> SpreadTaps(int id, std::int64_t rows, std::int64_t columns) {
    const int weight = At(id).inputs[1];
    if (rows == 1 && columns == 1) return rewriter_.At(weight);
    const Shape& s = At(weight).type.shape;
    const std::string name = Named(id, "spread");
    TW_ASSIGN_OR_RETURN(
        auto split, Reshape(name + "_split", rewriter_.At(weight), {s[0], s[1], s[2], 1, s[3], 1}));
    TW_ASSIGN_OR_RETURN(auto padded, Pad(name + "_padded", split,
                                         {0, 0, 0, 0, 0, 0, 0, rows - 1, 0, 0, 0, columns - 1}, 0));
    TW_ASSIGN_OR_RETURN(
        auto joined, Reshape(name + "_joined", padded, {s[0], s[1], s[2] * rows, s[3] * columns}));
    return Slice(name, joined, {0, 0, 0, 0},
                 {s[0], s[1], (s[2] - 1) * rows + 1, (s[3] - 1) * columns + 1});
  }

  // Returns the weight as [group,channel of the data,channel of the result,tap,row phase,tap,column
  // phase].
  Result<int> Taps(int id, const TransposedPhases& split) {
    const Operator& op = At(id).op;
    TW_ASSIGN_OR_RETURN(auto weight, SpreadTaps(id, TapDistance(op, 0), TapDistance(op, 1)));
    const Shape s = ShapeOf(weight);  // [C,K,rows,columns]
    const std::int64_t groups = op.attributes.groups;
    const PhaseDimension &rows = split.rows, &columns = split.columns;
    const std::string part = Named(id, "weight");
    TW_ASSIGN_OR_RETURN(auto padded, Pad(part + "_padded", weight,
                                         {0, 0, 0, 0, 0, rows.taps * rows.stride - s[2], 0,
                                          columns.taps * columns.stride - s[3]},
                                         0));
    return Reshape(
        part + "_taps", padded,
        {groups, s[0] / groups, s[1], rows.taps, rows.stride, columns.taps, columns.stride});
  }

  // Returns the weight of one part as OIHW. Its taps are reversed.
  Result<int> WeightOf(int id, const Phases& phases, std::size_t part, int taps) {
    const PhaseRange &rows = phases.RowsOf(part), &columns = phases.ColumnsOf(part);
    const Shape s = ShapeOf(taps);  // the graph grows below
    const std::string name = Named(id, "weight", part);
    OpAttributes attributes;
    attributes.steps = {1, 1, 1, rows.taps > 1 ? -1 : 1, 1, columns.taps > 1 ? -1 : 1, 1};
    attributes.begin = {
        0, 0, 0, rows.taps - 1, rows.first_tap, columns.taps - 1, columns.first_tap};
    attributes.end = {s[0],
                      s[1],
                      s[2],
                      rows.taps > 1 ? -1 : 1,
                      rows.first_tap + rows.count,
                      columns.taps > 1 ? -1 : 1,
                      columns.first_tap + columns.count};
    TW_ASSIGN_OR_RETURN(auto own,
                        Emit(name + "_part", OpKind::kSlice, std::move(attributes), {taps}));
    TW_ASSIGN_OR_RETURN(auto moved, Transpose(name + "_moved", own, {4, 6, 0, 2, 1, 3, 5}));
    return Reshape(name, moved,
                   {rows.count * columns.count * s[0] * s[2], s[1], rows.taps, columns.taps});
  }

  // Returns the part's rows and columns of the data. Removes its padding from the attributes if it
  // is added here.
  Result<int> WindowOf(int id, std::size_t part, const CentredData& data,
                       OpAttributes& attributes) {
    const Shape& s = At(data.integers).type.shape;
    auto& p = attributes.padding;
    const auto unused = [&](std::size_t side) { return std::max<std::int64_t>(-p[side], 0); };
    TW_ASSIGN_OR_RETURN(auto used, Slice(Named(id, "data", part), rewriter_.At(data.integers),
                                         {0, 0, unused(0), unused(1)},
                                         {s[0], s[1], s[2] - unused(2), s[3] - unused(3)}));
    for (std::int64_t& side : p) side = std::max<std::int64_t>(side, 0);
    if (data.zero_point == 0) return used;
    const Shape widths = {0, 0, 0, 0, p[0], p[2], p[1], p[3]};
    p = {};
    return Pad(Named(id, "padded", part), used, widths, static_cast<double>(data.zero_point));
  }

  Result<int> AddPart(int id, const Phases& phases, std::size_t part, const CentredData& data,
                      int taps) {
    const PhaseRange &rows = phases.RowsOf(part), &columns = phases.ColumnsOf(part);
    TW_ASSIGN_OR_RETURN(auto weight, WeightOf(id, phases, part, taps));
    OpAttributes attributes;
    attributes.groups = At(id).op.attributes.groups;
    attributes.dilation = {phases.split.rows.dilation, phases.split.columns.dilation};
    attributes.padding = {rows.before, columns.before, rows.after, columns.after};
    TW_ASSIGN_OR_RETURN(auto window, WindowOf(id, part, data, attributes));
    TW_ASSIGN_OR_RETURN(auto sum, AddConvolution(id, part, std::move(attributes), window, weight));
    if (data.zero_point == 0) return sum;
    return CorrectZeroPoint(Named(id, "centred", part), sum, weight, data.zero_point);
  }

  // Subtracts the products of the zero point and all weights of each channel.
  Result<int> CorrectZeroPoint(const std::string& name, int sum, int weight,
                               std::int64_t zero_point) {
    OpAttributes wide, all;
    wide.dtype = kInt32;
    all.axes = {1, 2, 3};
    TW_ASSIGN_OR_RETURN(auto widened, Emit(name + "_wide", OpKind::kCast, wide, {weight}));
    TW_ASSIGN_OR_RETURN(auto totals, Emit(name + "_sums", OpKind::kReduceSum, all, {widened}));
    Tensor zero(TensorType{{}, kInt32});
    zero.Set(0, static_cast<double>(zero_point));
    const int factor = result().AddConstant(name + "_zero", std::move(zero));
    TW_ASSIGN_OR_RETURN(auto scaled, Emit(name + "_scaled", OpKind::kMul, {}, {totals, factor}));
    TW_ASSIGN_OR_RETURN(auto shaped,
                        Reshape(name + "_channels", scaled, {ShapeOf(scaled)[0], 1, 1}));
    return Emit(name, OpKind::kSub, {}, {sum, shaped});
  }

  // Returns the weight of a 1x1 convolution of data in phases: zero between different phases.
  int AddSparseWeight(int id, const TransposedPhases& own, const TransposedPhases& before) {
    const int weight = At(id).inputs[1];
    const TensorType& type = At(weight).type;
    const Shape& s = type.shape;
    const std::int64_t rows = before.rows.stride * own.rows.stride;
    const std::int64_t columns = before.columns.stride * own.columns.stride;
    const TensorType sparse{{rows * columns * s[1], before.count() * s[0], 1, 1}, type.dtype};
    const std::string part = Named(id, "weight");
    const Tensor* contents = result().Contents(rewriter_.At(weight));
    if (contents == nullptr) return result().AddConstant(part, sparse);
    Tensor values(sparse);
    for (std::int64_t out = 0; out < sparse.shape[0]; ++out) {
      const std::int64_t k = out % s[1], column = out / s[1] % columns, row = out / s[1] / columns;
      const std::int64_t phase = row / s[2] * before.columns.stride + column / s[3];
      for (std::int64_t c = 0; c < s[0]; ++c) {
        const std::int64_t from = ((c * s[1] + k) * s[2] + row % s[2]) * s[3] + column % s[3];
        values.Set(out * sparse.shape[1] + phase * s[0] + c, contents->At(from));
      }
    }
    return result().AddConstant(part, std::move(values));
  }

  // Returns true for a reshape of a value with phases from an image to a sequence or back.
  bool IsSameImage(const Node& node) const {
    return node.kind == NodeKind::kOperator && node.op.kind == OpKind::kReshape &&
           phases_.contains(node.inputs[0]) &&
           ImageShape(node.type.shape) == ImageShape(At(node.inputs[0]).type.shape);
  }

  // Returns true if all inputs of an operator are values with equal phases and its own shape, or
  // constants with one element or one element per channel.
  bool WorksOnPhases(const Node& node) const {
    if (node.kind != NodeKind::kOperator || ImageShape(node.type.shape).size() != 4) return false;
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
          !(InterleavesAlike(found->split.rows, phases->second.split.rows) &&
            InterleavesAlike(found->split.columns, phases->second.split.columns))) {
        return false;
      }
      found = &phases->second;
    }
    return found != nullptr;
  }
  static bool LinesUp(const TensorType& operand, const TensorType& value) {
    std::vector<bool> channel(value.shape.size(), false);
    channel[1] = true;
    const auto kind = OperandKindOf(operand, value, channel);
    return kind == OperandKind::kScalar || kind == OperandKind::kChannel;
  }

  Status AddOnPhases(int id) {
    const Node& node = At(id);
    Phases phases;
    for (int input : node.inputs) {
      if (const auto found = phases_.find(input); found != phases_.end()) phases = found->second;
    }
    for (std::size_t part = 0; part < phases.values.size(); ++part) {
      TW_ASSIGN_OR_RETURN(phases.values[part], AddOnPart(id, part, phases.CountOf(part)));
    }
    phases_[id] = std::move(phases);
    return Status();
  }

  // Adds an operator on one part of its inputs.
  Result<int> AddOnPart(int id, std::size_t part, std::int64_t count) {
    const Node& node = At(id);
    const std::string name = Named(id, "operand", part);
    std::vector<int> inputs;
    for (int input : node.inputs) {
      const auto found = phases_.find(input);
      const std::string operand = name + "_" + std::to_string(inputs.size());
      TW_ASSIGN_OR_RETURN(auto value, found != phases_.end()
                                          ? Result<int>(found->second.values[part])
                                          : Repeat(operand, input, node, count));
      inputs.push_back(value);
    }
    TW_ASSIGN_OR_RETURN(auto value, rewriter_.CopyAs(id, node.op, std::move(inputs)));
    result().Rename(value, Named(id, "inphases", part));
    return value;
  }

  // Repeats a constant per channel of operator `node` for each phase.
  Result<int> Repeat(const std::string& name, int constant, const Node& node, std::int64_t count) {
    int value = rewriter_.At(constant);
    Shape shape = At(constant).type.shape;
    if (At(constant).type.elements() == 1) return value;
    if (shape.size() > 1 && node.type.shape.size() == 3) {  // a column for each row of the image
      shape.push_back(1);
      TW_ASSIGN_OR_RETURN(value, Reshape(name + "_image", value, shape));
    }
    if (count == 1) return value;
    OpAttributes attributes;
    attributes.axis =
        std::ranges::find_if(shape, [](auto extent) { return extent != 1; }) - shape.begin();
    return Emit(name, OpKind::kConcat, std::move(attributes),
                std::vector<int>(static_cast<std::size_t>(count), value));
  }

  Rewriter rewriter_;
  std::vector<bool> constant_;    // in the source: depends only on constants
  std::map<int, Phases> phases_;  // by value of the source
};

}  // namespace

Result<Graph> SplitTransposed(Graph graph) {
  const bool any = std::ranges::any_of(
      graph.nodes(), [&](const Node& node) { return PhasesOfNode(graph, node).has_value(); });
  if (!any) return graph;
  return Splitter(std::move(graph)).Run();
}

}  // namespace tilewright
