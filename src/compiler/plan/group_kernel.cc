// Groups without an anchor as one computation over blocked tensors: each operator is translated to
// the group's layouts.

#include "src/compiler/plan/group_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/math.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Returns the position in memory of the outer part of each logical dimension.
Result<Shape> OuterPositions(const PhysicalLayout& layouts) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  Shape positions;
  for (char letter : layouts.logical_layout) {
    for (std::size_t i = 0; i < layout.parts().size(); ++i) {
      const Layout::Part& part = layout.parts()[i];
      if (part.dimension == letter && part.block == 0) {
        positions.push_back(static_cast<std::int64_t>(i));
      }
    }
  }
  if (positions.size() != layouts.logical_layout.size())
    return Unsupported("logical layout with blocks");
  return positions;
}

Result<Operator> BlockedConcat(const Graph& graph, const Node& node, const PhysicalLayout& layouts,
                               const Shape& positions) {
  Operator op = node.op;
  const auto rank = static_cast<std::int64_t>(layouts.logical_layout.size());
  const std::int64_t axis = op.attributes.axis < 0 ? op.attributes.axis + rank : op.attributes.axis;
  op.attributes.axis = positions[static_cast<std::size_t>(axis)];
  for (int input : node.inputs) {
    if (IsRounded(graph.node(input).type, layouts)) {
      return Unsupported("channels that are no multiple of the block");
    }
  }
  return op;
}

Result<Operator> BlockedReduction(const Node& node, const PhysicalLayout& layouts,
                                  const Shape& positions) {
  Operator op = node.op;
  const auto rank = static_cast<std::int64_t>(layouts.logical_layout.size());
  if (!op.attributes.keepdims || op.attributes.axes.empty()) {
    return Unsupported("reduction of dimensions away");
  }
  for (std::int64_t& axis : op.attributes.axes) {
    const auto logical_layout = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    if (layouts.logical_layout[logical_layout] != 'H' &&
        layouts.logical_layout[logical_layout] != 'W') {
      return Unsupported("reduction over a blocked dimension");
    }
    axis = positions[logical_layout];
  }
  return op;
}

Result<Operator> BlockedPad(const Node& node, const PhysicalLayout& layouts,
                            const Shape& positions) {
  Operator op = node.op;
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  op.attributes.pad_width.assign(2 * layout.parts().size(), 0);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (std::size_t side = 0; side < 2; ++side) {
      const std::int64_t width = node.op.attributes.pad_width[2 * i + side];
      if (width != 0 && layout.BlockOf(layouts.logical_layout[i]) != 1) {
        return Unsupported("padding of a blocked dimension");
      }
      op.attributes.pad_width[2 * static_cast<std::size_t>(positions[i]) + side] = width;
    }
  }
  return op;
}

Result<Operator> BlockedSlice(const Graph& graph, const Node& node, const PhysicalLayout& layouts,
                              const Shape& positions) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  const TensorType& type = graph.node(node.inputs[0]).type;
  TW_ASSIGN_OR_RETURN(auto memory, MemoryShape(type, layouts));
  Operator op = node.op;
  op.attributes.begin.assign(memory.size(), 0);
  op.attributes.end = memory;
  op.attributes.steps.assign(memory.size(), 1);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const OpAttributes& own = node.op.attributes;
    const std::int64_t block = layout.BlockOf(layouts.logical_layout[i]);
    const auto outer = static_cast<std::size_t>(positions[i]);
    if (block == 1) {
      op.attributes.begin[outer] = own.begin[i];
      op.attributes.end[outer] = own.end[i];
      op.attributes.steps[outer] = own.steps[i];
      continue;
    }
    // The last block of the value may have padding, in the result too.
    const bool whole =
        own.begin[i] % block == 0 && (own.end[i] % block == 0 || own.end[i] == type.shape[i]);
    if (own.steps[i] != 1 || !whole) return Unsupported("slicing within a block");
    op.attributes.begin[outer] = own.begin[i] / block;
    op.attributes.end[outer] = CeilDiv(own.end[i], block);
  }
  return op;
}

/// Returns true if input `position` has the logical layout in every group: the indices of a gather.
bool IsIndices(const Node& user, std::size_t position) {
  return user.op.kind == OpKind::kGather && position == 1;
}

Result<Operator> BlockedGather(const Graph& graph, const Node& node, const PhysicalLayout& layouts,
                               const Shape& positions) {
  TW_ASSIGN_OR_RETURN(auto layout, Layout::Parse(layouts.layout));
  Operator op = node.op;
  const auto rank = static_cast<std::int64_t>(layouts.logical_layout.size());
  const std::int64_t axis = op.attributes.axis < 0 ? op.attributes.axis + rank : op.attributes.axis;
  const char letter = layouts.logical_layout[static_cast<std::size_t>(axis)];
  if (graph.node(node.inputs[1]).type.shape.size() != 1 || layout.BlockOf(letter) != 1) {
    return Unsupported("gathering along a blocked dimension");
  }
  op.attributes.axis = positions[static_cast<std::size_t>(axis)];
  return op;
}

/// Returns the operator on blocked tensors that corresponds to the node's on logical ones.
Result<Operator> RewriteInLayout(const Graph& graph, const Node& node,
                                 const PhysicalLayout& layouts) {
  if (layouts.is_logical() || IsElementwise(node.op.kind) || node.op.kind == OpKind::kIdentity) {
    return node.op;
  }
  TW_ASSIGN_OR_RETURN(auto positions, OuterPositions(layouts));
  if (node.op.kind == OpKind::kConcat) return BlockedConcat(graph, node, layouts, positions);
  if (FamilyOf(node.op.kind) == OpFamily::kReduction)
    return BlockedReduction(node, layouts, positions);
  if (node.op.kind == OpKind::kPad) return BlockedPad(node, layouts, positions);
  if (node.op.kind == OpKind::kSlice) return BlockedSlice(graph, node, layouts, positions);
  if (node.op.kind == OpKind::kGather) return BlockedGather(graph, node, layouts, positions);
  if (FamilyOf(node.op.kind) == OpFamily::kPool) {
    Operator op = node.op;
    const std::string& own = op.attributes.data_layout;
    if ((own.empty() ? "NCHW" : own) != layouts.logical_layout)
      return Unsupported("pool of another layout");
    op.attributes.data_layout = layouts.layout;
    return op;
  }
  return Unsupported("operator without a blocked form");
}

/// Lister of a group's operators in its layouts, node by node.
class GroupLister {
 public:
  GroupLister(const Graph& graph, const PhysicalLayout& layouts,
              const std::set<std::string>& tables)
      : graph_(graph), layouts_(layouts), tables_(tables) {}

  Status AddNode(int id) {
    const Node& node = graph_.node(id);
    TW_ASSIGN_OR_RETURN(auto op, RewriteInLayout(graph_, node, layouts_));
    std::vector<int> operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      TW_ASSIGN_OR_RETURN(auto operand, OperandOf(node, i));
      operands.push_back(operand);
    }
    TW_ASSIGN_OR_RETURN(auto value,
                        kernel_.operators.AddOperator(std::move(op), std::move(operands)));
    // Readers take the result for a value in these layouts, so it must be a complete one.
    TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(node.type, layouts_));
    if (kernel_.operators.result().shape != shape) {
      return Unsupported("a result that does not fill its blocks");
    }
    values_[id] = value;
    return Status();
  }

  GroupKernel Take() { return std::move(kernel_); }

 private:
  /// Returns the number of the list's value for an input of a node.
  Result<int> OperandOf(const Node& node, std::size_t position) {
    const int input = node.inputs[position];
    if (auto inner = values_.find(input); inner != values_.end()) return inner->second;
    const TensorType& type = graph_.node(input).type;
    TW_ASSIGN_OR_RETURN(Shape shape, IsIndices(node, position) ? type.shape : ShapeOf(type, node));
    if (const Tensor* scalar = ContentsOfScalar(input)) {
      return kernel_.operators.AddScalar({std::move(shape), type.dtype}, ScalarOf(*scalar));
    }
    return ParameterOf(input, std::move(shape), IsElementwise(node.op.kind));
  }

  /// Returns the shape in memory of an outside value that `user` reads.
  Result<Shape> ShapeOf(const TensorType& type, const Node& user) const {
    if (layouts_.is_logical()) return type.shape;
    if (IsElementwise(user.op.kind)) {
      const bool moved = std::ranges::count_if(type.shape, [](auto size) { return size > 1; }) > 1;
      if (moved && type.shape.size() < layouts_.logical_layout.size()) {
        return Unsupported("an operand of fewer dimensions, in another order");
      }
      return BroadcastShape(type, user.type, layouts_);
    }
    return MemoryShape(type, layouts_);
  }

  /// Returns a constant of one element, whose value goes into the code; null for others. A table
  /// has one element for each position.
  const Tensor* ContentsOfScalar(int id) const {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::kConstant || node.type.elements() != 1) return nullptr;
    if (tables_.contains(node.name)) return nullptr;
    return graph_.Contents(id);
  }

  Result<int> ParameterOf(int input, Shape shape, bool elementwise) {
    const auto same = std::ranges::find_if(kernel_.inputs, [&](const GroupInput& known) {
      return known.node == input && known.shape == shape;
    });
    if (same != kernel_.inputs.end()) {
      same->elementwise = same->elementwise && elementwise;
      return parameters_[static_cast<std::size_t>(same - kernel_.inputs.begin())];
    }
    GroupInput added{input, shape, layouts_, elementwise};
    const Node& node = graph_.node(input);
    // Without channels (or with one) there is nothing to block.
    const auto memory = MemoryShape(node.type, layouts_);
    const bool blocked = memory.ok() && Product(shape) == Product(*memory);
    if (!blocked) added.layouts = PhysicalLayout{layouts_.logical_layout, {}};
    const bool packed = node.kind == NodeKind::kConstant;  // here, into the reader's layout
    if (!blocked && !packed && Product(shape) != node.type.elements()) {
      return Unsupported("an operand that does not fill its blocks");
    }
    kernel_.inputs.push_back(std::move(added));
    parameters_.push_back(kernel_.operators.AddParameter({std::move(shape), node.type.dtype}));
    return parameters_.back();
  }

  const Graph& graph_;
  const PhysicalLayout& layouts_;
  const std::set<std::string>& tables_;
  GroupKernel kernel_;
  std::map<int, int> values_;    // of the group's nodes so far
  std::vector<int> parameters_;  // values of the kernel's inputs
};

}  // namespace

Result<GroupKernel> ListGroup(const Graph& graph, const FusedGroup& group,
                              const PhysicalLayout& layouts, const std::set<std::string>& tables) {
  GroupLister lister(graph, layouts, tables);
  for (int id : group.nodes) TW_RETURN_IF_ERROR(lister.AddNode(id));
  return lister.Take();
}

}  // namespace tilewright
