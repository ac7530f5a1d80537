// Positions along an open spatial dimension. The network is optimized with two sizes; the dimension
// of a tensor in which they differ is that of its positions. Their number follows from the
// operators, and both sizes must have it.

#include "src/graph/open/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "src/base/math.h"
#include "src/base/printable.h"
#include "src/graph/open/position_rules.h"
#include "src/graph/open/resize.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Returns the dimension in which two shapes differ; none if they are equal.
Result<std::optional<std::size_t>> OpenAxisOf(const Shape& small, const Shape& large) {
  if (small == large) return std::optional<std::size_t>();
  if (small.size() != large.size()) return Unsupported("has a rank that depends on it");
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < small.size(); ++i) {
    if (small[i] == large[i]) continue;
    if (axis) return Unsupported("has it in two dimensions");
    axis = i;
  }
  return axis;
}

bool SameContents(const Graph& a, const Graph& b, int id) {
  const double *fill = a.Fill(id), *filled = b.Fill(id);
  if (fill != nullptr && filled != nullptr) return *fill == *filled;
  if (a.node(id).type != b.node(id).type) return false;
  const Tensor *one = a.Contents(id), *other = b.Contents(id);
  if (one == nullptr || other == nullptr) return one == other;
  return std::memcmp(one->data(), other->data(), static_cast<std::size_t>(one->bytes())) == 0;
}

Operator WithoutExtents(Operator op) {
  op.attributes.new_shape.clear();
  op.attributes.end.clear();
  return op;
}

/// Checks that two graphs of one file have the same operators on tensors of other sizes.
Status CheckAlike(const Graph& small, const Graph& large, const SizeRange& range) {
  if (small.size() != large.size() || small.outputs() != large.outputs()) {
    return Unsupported("--dim " + range.ToString() +
                       ": the network has other operators at other sizes");
  }
  for (int id = 0; id < large.size(); ++id) {
    const Node &a = small.node(id), &b = large.node(id);
    const bool same = a.kind == b.kind && a.name == b.name && a.inputs == b.inputs &&
                      a.type.dtype == b.type.dtype && WithoutExtents(a.op) == WithoutExtents(b.op);
    Status status = same ? ToStatus(OpenAxisOf(a.type.shape, b.type.shape))
                         : Unsupported("is another operator at other sizes");
    if (status.ok() && b.kind == NodeKind::kConstant && !SameContents(small, large, id)) {
      status = Unsupported("is a constant that depends on it");
    }
    TW_RETURN_IF_ERROR(AboutValue(large, id, range, status));
  }
  return Status();
}

/// Builder of the network with pads in front of the operators that padded positions themselves.
class PadSeparator {
 public:
  PadSeparator(const Graph& small, std::int64_t small_size, PartitionedGraph large,
               const SizeRange& range)
      : small_(small), small_size_(small_size), large_(std::move(large)) {
    found_.range = range;
  }

  Result<PositionNetwork> Run() {
    TW_RETURN_IF_ERROR(CheckAlike(small_, large_.graph, found_.range));
    for (int id = 0; id < large_.graph.size(); ++id) {
      TW_RETURN_IF_ERROR(AboutValue(large_.graph, id, found_.range, Add(id)));
    }
    if (!has_input_) {
      return InvalidArgument("--dim " + found_.range.ToString() + ": no input has this dimension");
    }
    made_.SetOutputs(Renumbered(large_.graph.outputs()));
    made_.CopyDescription(large_.graph);
    for (int id = 0; id < made_.size(); ++id) {
      const auto& axis = found_.axes[static_cast<std::size_t>(id)];
      if (axis) found_.names.emplace(made_.node(id).name, axis->axis);
    }
    found_.network.graph = std::move(made_);
    found_.network.fuse = large_.fuse;
    TW_RETURN_IF_ERROR(AddGroups());
    AddSites();
    return std::move(found_);
  }

 private:
  std::vector<int> Renumbered(std::vector<int> ids) const {
    for (int& id : ids) id = ids_[static_cast<std::size_t>(id)];
    return ids;
  }
  void Place(int made, std::optional<PositionAxis> axis) {
    found_.axes.resize(static_cast<std::size_t>(made) + 1);
    found_.axes.back() = axis;
  }

  Status Add(int id) {
    const Node& node = large_.graph.node(id);
    TW_ASSIGN_OR_RETURN(const auto axis, OpenAxisOf(small_.node(id).type.shape, node.type.shape));
    if (node.kind == NodeKind::kOperator) return AddOperator(id, axis);
    std::optional<PositionAxis> own;
    if (axis) own = PositionAxis{*axis, {}};
    int made = 0;
    if (node.kind == NodeKind::kInput) {
      has_input_ = has_input_ || axis;
      made = made_.AddInput(node.name, node.type);
    } else {
      if (axis) return Unsupported("is a constant that depends on it");
      made = CopyConstant(id);
    }
    ids_.push_back(made);
    Place(made, own);
    return own ? CheckCount(id, *own) : Status();
  }

  int CopyConstant(int id) {
    Graph& from = large_.graph;
    const Node& node = from.node(id);
    if (const double* fill = from.Fill(id)) {
      return made_.AddFilledConstant(node.name, node.type, *fill);
    }
    if (!from.HasContents(id)) return made_.AddConstant(node.name, node.type);
    return made_.AddConstant(node.name, from.TakeContents(id));
  }

  /// Checks the number of positions with both sizes.
  Status CheckCount(int id, const PositionAxis& axis) const {
    const std::pair<const Graph*, std::int64_t> graphs[] = {{&small_, small_size_},
                                                            {&large_.graph, found_.range.most}};
    for (const auto& [graph, size] : graphs) {
      const std::int64_t positions = graph->node(id).type.shape[axis.axis];
      if (axis.count.At(size) == positions) continue;
      return Unsupported(fmt::format("has {} positions with {}, expected {}", positions, size,
                                     axis.count.At(size)));
    }
    return Status();
  }

  Status AddOperator(int id, std::optional<std::size_t> axis) {
    const Node& node = large_.graph.node(id);
    PositionedNode read{&large_.graph, &node, {}};
    bool any = false;
    for (int input : node.inputs) {
      read.axes.push_back(
          found_.axes[static_cast<std::size_t>(ids_[static_cast<std::size_t>(input)])]);
      any = any || read.axes.back();
    }
    if (!any && axis) return Unsupported("depends on no input that has it");
    std::vector<int> inputs = Renumbered(node.inputs);
    Operator op = node.op;
    std::optional<PositionAxis> own;
    PositionPadding padding;
    std::int64_t joined = 0;
    if (any && !axis) {
      TW_ASSIGN_OR_RETURN(joined, JoinedByMean(read));
    } else if (any) {
      TW_ASSIGN_OR_RETURN(const auto rule, PositionRuleOf(read, *axis));
      own = PositionAxis{*axis, rule.count};
      padding = rule.padding;
      op = rule.op;
      if (padding.extent > 0) {
        TW_ASSIGN_OR_RETURN(inputs[0], AddPad(node, inputs[0], rule));
      }
    }
    TW_ASSIGN_OR_RETURN(const int made, made_.AddOperator(node.name, std::move(op), inputs));
    if (made_.node(made).type != node.type) return Unsupported("has another size without its pads");
    made_.Annotate(made, node.source, node.annotation);
    made_.SetSite(made, node.site);
    ids_.push_back(made);
    Place(made, own);
    if (joined > 0) found_.means.emplace(made, joined);
    if (own && padding.extent == 0 && (padding.before != 0 || padding.after != 0)) {
      found_.pads.emplace(made, padding);
    }
    return own ? CheckCount(id, *own) : Status();
  }

  Result<int> AddPad(const Node& reader, int value, const PositionRule& rule) {
    const PositionAxis from = *found_.axes[static_cast<std::size_t>(value)];
    Operator pad{OpKind::kPad, {}};
    pad.attributes.pad_width.assign(2 * made_.node(value).type.shape.size(), 0);
    pad.attributes.pad_width[2 * from.axis] = rule.padding.before;
    pad.attributes.pad_width[2 * from.axis + 1] = rule.padding.after;
    pad.attributes.pad_value = rule.pad_value;
    TW_ASSIGN_OR_RETURN(const int made, made_.AddOperator(NameOfPart(reader.name, "padded"),
                                                          std::move(pad), {value}));
    Place(made, PositionAxis{from.axis, from.count.Plus(rule.padding.before + rule.padding.after)});
    found_.pads.emplace(made, rule.padding);
    return made;
  }

  /// Copies the groups; each pad is a group of its own, in front of its reader's.
  Status AddGroups() {
    const Graph& graph = found_.network.graph;
    for (const FusedGroup& from : large_.groups) {
      FusedGroup group = from;
      group.nodes = Renumbered(from.nodes);
      if (from.anchor) group.anchor = ids_[static_cast<std::size_t>(*from.anchor)];
      group.output = ids_[static_cast<std::size_t>(from.output)];
      group.inputs = Renumbered(from.inputs);
      std::vector<FusedGroup> pads;
      TW_RETURN_IF_ERROR(SplitPad(group));
      if (group.nodes.empty()) continue;
      for (int id : group.nodes) {
        if (graph.node(id).inputs.empty()) continue;
        const int pad = graph.node(id).inputs[0];
        if (!found_.pads.contains(pad) || found_.pads.at(pad).extent == 0) continue;
        FusedGroup own;
        own.nodes = {pad};
        own.inputs = graph.node(pad).inputs;
        own.output = pad;
        if (std::ranges::find(group.nodes, own.inputs[0]) != group.nodes.end()) {
          return AboutValue(graph, id, found_.range,
                            Unsupported("reads windows of a value in the same kernel"));
        }
        if (group.anchor) group.inputs[0] = pad;
        pads.push_back(std::move(own));
      }
      if (!group.anchor && !pads.empty()) {
        std::vector<int> sorted = group.nodes;
        std::ranges::sort(sorted);
        group.inputs = InputsOf(graph, sorted);
      }
      for (FusedGroup& pad : pads) found_.network.groups.push_back(std::move(pad));
      found_.network.groups.push_back(std::move(group));
    }
    return Status();
  }

  /// Makes a pad of the model, or a mean of positions, at the begin of a group a group of its own.
  Status SplitPad(FusedGroup& group) {
    const Graph& graph = found_.network.graph;
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      const int id = group.nodes[i];
      if (!found_.pads.contains(id) && !found_.means.contains(id)) continue;
      if (i > 0) {
        return AboutValue(graph, id, found_.range,
                          Unsupported("pads or joins positions of a value of the same kernel"));
      }
      FusedGroup pad;
      pad.nodes = {id};
      pad.inputs = graph.node(id).inputs;
      pad.output = id;
      found_.network.groups.push_back(std::move(pad));
      group.nodes.erase(group.nodes.begin());
      std::vector<int> sorted = group.nodes;
      std::ranges::sort(sorted);
      group.inputs = InputsOf(graph, sorted);
      --i;
    }
    return Status();
  }

  void AddSites() {
    found_.network.sites = std::move(large_.sites);
    for (PartitionSite& site : found_.network.sites) {
      if (site.node >= 0) site.node = ids_[static_cast<std::size_t>(site.node)];
    }
  }

  const Graph& small_;
  std::int64_t small_size_;
  PartitionedGraph large_;
  Graph made_;
  std::vector<int> ids_;  // by node of large_
  bool has_input_ = false;
  PositionNetwork found_;
};

/// Builder of the network with other numbers of positions.
class PositionSizer {
 public:
  /// counts: by node. Pads get all positions after those of their operands with `block`.
  PositionSizer(const PositionNetwork& network, std::vector<std::int64_t> counts, bool block)
      : from_(network), graph_(network.network.graph), counts_(std::move(counts)), block_(block) {}

  Result<PartitionedGraph> Run() {
    for (int id = 0; id < graph_.size(); ++id) {
      TW_RETURN_IF_ERROR(AboutValue(graph_, id, from_.range, Add(id)));
    }
    made_.SetOutputs(graph_.outputs());
    made_.CopyDescription(graph_);
    PartitionedGraph network;
    network.groups = from_.network.groups;
    network.fuse = from_.network.fuse;
    for (const PartitionSite& site : from_.network.sites) {
      PartitionSite own = site;
      if (site.node >= 0) {
        const Node& node = made_.node(site.node);
        own.workload = Workload::FromOperator(node.op, made_.node(node.inputs[0]).type,
                                              made_.node(node.inputs[1]).type);
      }
      network.sites.push_back(std::move(own));
    }
    network.graph = std::move(made_);
    return network;
  }

 private:
  TensorType TypeOf(int id) const {
    TensorType type = graph_.node(id).type;
    const auto& axis = from_.axes[static_cast<std::size_t>(id)];
    if (axis) type.shape[axis->axis] = counts_[static_cast<std::size_t>(id)];
    return type;
  }

  Status Add(int id) {
    const Node& node = graph_.node(id);
    TensorType type = TypeOf(id);
    TW_RETURN_IF_ERROR(CheckTensorType(type));
    if (node.kind == NodeKind::kInput) {
      made_.AddInput(node.name, std::move(type));
      return Status();
    }
    if (node.kind == NodeKind::kConstant) {
      const Tensor* contents = graph_.Fill(id) == nullptr ? graph_.Contents(id) : nullptr;
      if (graph_.Fill(id) != nullptr) {
        made_.AddFilledConstant(node.name, std::move(type), *graph_.Fill(id));
      } else if (contents == nullptr) {
        made_.AddConstant(node.name, std::move(type));
      } else {
        made_.AddConstant(node.name, contents->Clone());
      }
      return Status();
    }
    TW_ASSIGN_OR_RETURN(const int made, made_.AddOperator(node.name, Sized(id, type), node.inputs));
    made_.Annotate(made, node.source, node.annotation);
    made_.SetSite(made, node.site);
    if (made_.node(made).type == type) return Status();
    return Unsupported(fmt::format("has the type {} with another number of positions, expected {}",
                                   made_.node(made).type.ToString(), type.ToString()));
  }

  Operator Sized(int id, const TensorType& type) const {
    const Node& node = graph_.node(id);
    const auto& axis = from_.axes[static_cast<std::size_t>(id)];
    Operator op = node.op;
    if (!axis) return op;
    OpAttributes& own = op.attributes;
    if (!own.new_shape.empty()) own.new_shape[axis->axis] = type.shape[axis->axis];
    if (node.op.kind == OpKind::kSlice) own.end[axis->axis] = type.shape[axis->axis];
    if (node.op.kind == OpKind::kPad && block_) {
      const std::int64_t read = counts_[static_cast<std::size_t>(node.inputs[0])];
      own.pad_width[2 * axis->axis] = 0;
      own.pad_width[2 * axis->axis + 1] = type.shape[axis->axis] - read;
    }
    return op;
  }

  const PositionNetwork& from_;
  const Graph& graph_;
  std::vector<std::int64_t> counts_;
  bool block_;
  Graph made_;
};

}  // namespace

Result<PartitionedGraph> PositionNetwork::At(std::int64_t size) const {
  std::vector<std::int64_t> counts;
  for (const auto& axis : axes) counts.push_back(axis ? axis->count.At(size) : 0);
  return PositionSizer(*this, std::move(counts), /*block=*/false).Run();
}

Result<PartitionedGraph> PositionNetwork::Block(std::int64_t unit) const {
  std::vector<std::int64_t> counts;
  for (int id = 0; id < network.graph.size(); ++id) {
    counts.push_back(axes[static_cast<std::size_t>(id)] ? PositionsOf(id, unit) : 0);
  }
  for (int id = 0; id < network.graph.size(); ++id) {
    for (int input : network.graph.node(id).inputs) {
      const auto pad = pads.find(input);
      if (pad == pads.end() || pad->second.extent == 0) continue;
      const std::int64_t last = (counts[static_cast<std::size_t>(id)] - 1) * pad->second.stride;
      std::int64_t& window = counts[static_cast<std::size_t>(input)];
      window = std::max(window, last + pad->second.extent);
    }
  }
  return PositionSizer(*this, std::move(counts), /*block=*/true).Run();
}

std::int64_t PositionNetwork::UnitStep() const {
  std::int64_t step = 1;
  for (const auto& axis : axes) {
    if (axis) step = std::lcm(step, axis->count.divide);
  }
  return step;
}

std::int64_t PositionNetwork::UnitOf(std::int64_t positions) const {
  const std::int64_t step = UnitStep();
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& axis : axes) {
    if (axis) fewest = std::min(fewest, axis->count.PerUnit(step));
  }
  std::int64_t unit = step;
  for (; fewest < positions; fewest *= 2) unit *= 2;
  return unit;
}

std::vector<std::int64_t> PositionNetwork::Units() const {
  std::vector<std::int64_t> units;
  for (const std::int64_t positions : {64, 16, 8, 4}) {
    const std::int64_t unit = UnitOf(positions);
    if (units.empty() || unit < units.back()) units.push_back(unit);
  }
  return units;
}

namespace {

/// Values of a file, which has the same ones with every size.
struct FileValues {
  std::vector<std::string> names;
  std::vector<int> outputs;
  std::map<std::int64_t, std::vector<Shape>> shapes;  // by size
};

std::vector<Shape> ShapesOf(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Node& node : graph.nodes()) shapes.push_back(node.type.shape);
  return shapes;
}

/// Checks that each value that is in the network as it is in the file has as many positions as the
/// network says, with every size that was read.
Status CheckCounts(const FileValues& file, const PositionNetwork& network) {
  const Graph& graph = network.network.graph;
  std::map<std::string_view, int> by_name;
  for (int id = 0; id < graph.size(); ++id) by_name.emplace(graph.node(id).name, id);
  std::vector<std::pair<std::size_t, int>> pairs;  // values of the file, nodes of the network
  for (std::size_t i = 0; i < file.names.size(); ++i) {
    const auto made = by_name.find(file.names[i]);
    if (made != by_name.end()) pairs.emplace_back(i, made->second);
  }
  for (std::size_t i = 0; i < file.outputs.size(); ++i) {
    pairs.emplace_back(static_cast<std::size_t>(file.outputs[i]), graph.outputs()[i]);
  }
  const std::vector<Shape>& largest = file.shapes.at(network.range.most);
  for (const auto& [size, shapes] : file.shapes) {
    for (const auto& [id, made] : pairs) {
      const auto& axis = network.axes[static_cast<std::size_t>(made)];
      Shape expected = largest[id];
      if (!axis || expected != graph.node(made).type.shape) continue;
      expected[axis->axis] = axis->count.At(size);
      if (shapes[id] == expected) continue;
      return AboutValue(graph, made, network.range,
                        Unsupported("has a number of positions that is no function of this form"));
    }
  }
  return Status();
}

/// Checks that strides have a common block that is no larger than a size can be.
Status CheckStrides(const PositionNetwork& network) {
  std::int64_t step = 1;
  for (const auto& axis : network.axes) {
    if (!axis) continue;
    step = std::lcm(step, axis->count.divide);
    if (step > kMaxOpenSize) return Unsupported("strides without a common block of positions");
  }
  return Status();
}

}  // namespace

Result<PositionNetwork> FindPositions(const ReadAtSize& read, const SizeRange& range,
                                      const Target& target, bool fuse_residuals) {
  if (range.least == range.most) {
    return InvalidArgument("--dim " + range.ToString() + ": one size, expected several");
  }
  const std::int64_t middle = (range.least + range.most) / 2;
  TW_ASSIGN_OR_RETURN(auto large_file, read(range.most));
  FileValues file;
  for (const Node& node : large_file.nodes()) file.names.push_back(node.name);
  file.outputs = large_file.outputs();
  file.shapes.emplace(range.most, ShapesOf(large_file));
  Graph small_file;
  // Neighbouring sizes have other remainders: a width may be padded or cut to a multiple.
  for (const std::int64_t size :
       {range.least, range.least + 1, range.least + 2, middle, range.most - 1}) {
    if (size >= range.most || file.shapes.contains(size)) continue;
    TW_ASSIGN_OR_RETURN(auto probed, read(size));
    TW_RETURN_IF_ERROR(CheckAlike(probed, large_file, range));
    file.shapes.emplace(size, ShapesOf(probed));
    if (size == middle) small_file = std::move(probed);
  }
  TW_ASSIGN_OR_RETURN(auto large, Partition(std::move(large_file), target, fuse_residuals));
  TW_ASSIGN_OR_RETURN(const auto small, Partition(std::move(small_file), target, fuse_residuals));
  TW_ASSIGN_OR_RETURN(auto found, PadSeparator(small.graph, middle, std::move(large), range).Run());
  TW_RETURN_IF_ERROR(CheckStrides(found));
  TW_RETURN_IF_ERROR(found.At(range.least));  // a value may be empty
  TW_RETURN_IF_ERROR(CheckCounts(file, found));
  return found;
}

}  // namespace tilewright
