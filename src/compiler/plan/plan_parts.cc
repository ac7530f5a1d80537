// Operators without a kernel, whose values are parts of one another's memory: a concat whose inputs
// are written in place, and a slice that is a range of bytes. Dimensions outside of the axis must
// have one element, as in batches of one, blocked or not.

#include <algorithm>
#include <utility>

#include "src/base/math.h"
#include "src/compiler/plan/plan_builder.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

/// Returns true if neighbors along this dimension are neighbors in memory.
bool IsOutermost(const Shape& shape, std::size_t dimension) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(dimension),
                     [](std::int64_t extent) { return extent == 1; });
}

}  // namespace

bool PlanBuilder::HasParts(int buffer) const {
  return std::ranges::find(plan_.buffers, buffer, &PlanBuffer::whole) != plan_.buffers.end();
}

Result<bool> PlanBuilder::AddInPlace(const FusedGroup& group, const PhysicalLayout& layouts) {
  const OpKind kind = graph_.node(group.output).op.kind;
  // Parts of values of several entries are no ranges of bytes.
  if (!device_.machine_code || group.nodes.size() != 1 || options_.open) return false;
  if (kind != OpKind::kConcat && kind != OpKind::kSlice) return false;
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, layouts, TablesOf(options_)));
  return kind == OpKind::kConcat ? JoinInPlace(group, layouts, kernel)
                                 : SliceInPlace(group, layouts, kernel);
}

int PlanBuilder::WholeOf(std::span<const JoinedPart> parts) const {
  std::int64_t bytes = 0;
  int whole = -1;
  for (const JoinedPart& part : parts) {
    // A value that is joined several times is in nested values: the outermost counts.
    int outermost = -1;
    std::int64_t begin = 0;
    for (int buffer = part.buffer; buffer >= 0;) {
      const PlanBuffer& own = plan_.buffers[static_cast<std::size_t>(buffer)];
      begin += own.begin;
      outermost = std::exchange(buffer, own.whole);
    }
    if (begin != bytes || (whole >= 0 && outermost != whole)) return -1;
    whole = outermost;
    bytes += part.bytes;
    if (bytes == plan_.buffers[static_cast<std::size_t>(whole)].bytes) return whole;
  }
  return -1;
}

Result<bool> PlanBuilder::JoinInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                                      const GroupKernel& kernel) {
  const OperatorListValue& joined = kernel.operators.values().back();
  const std::vector<int> parameters = kernel.operators.parameters();
  const auto axis = static_cast<std::size_t>(joined.op->attributes.axis);
  if (joined.op->attributes.axis < 0 || !IsOutermost(joined.type.shape, axis)) return false;
  std::vector<JoinedPart> inputs;
  std::int64_t begin = 0;
  for (int operand : joined.operands) {
    const auto found = std::ranges::find(parameters, operand);
    if (found == parameters.end() || begin % kTensorAlignment != 0) return false;
    const GroupInput& input = kernel.inputs[static_cast<std::size_t>(found - parameters.begin())];
    TW_ASSIGN_OR_RETURN(auto buffer, BufferOf(input.node, input.layouts));
    inputs.push_back({input.node, buffer, kernel.operators.TypeOf(operand).bytes()});
    begin += inputs.back().bytes;
  }
  // Neighbors that make up a whole value are in place already.
  std::vector<JoinedPart> parts;
  const auto has = [&](int buffer) {
    return std::ranges::find(parts, buffer, &JoinedPart::buffer) != parts.end();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    JoinedPart part = inputs[i];
    const int whole = WholeOf(std::span(inputs).subspan(i));
    // Only the first time: repeated values are copied, part by part.
    if (whole >= 0 && !has(whole)) {
      part.buffer = whole;
      part.bytes = plan_.buffers[static_cast<std::size_t>(whole)].bytes;
      for (std::int64_t covered = inputs[i].bytes; covered < part.bytes;) {
        covered += inputs[++i].bytes;
      }
    }
    const PlanBuffer& own = plan_.buffers[static_cast<std::size_t>(part.buffer)];
    part.in_place = own.space == BufferSpace::kArena && own.whole < 0 && !has(part.buffer);
    parts.push_back(part);
  }
  std::int64_t copied = 0;
  for (const JoinedPart& part : parts) copied += part.in_place ? 0 : part.bytes;
  if (2 * copied > begin) return false;
  const int whole = AddBuffer(BufferSpace::kArena, begin);
  begin = 0;
  for (const JoinedPart& part : parts) {
    int buffer = part.buffer;
    if (!part.in_place) {
      buffer = AddBuffer(BufferSpace::kArena, part.bytes);
      TW_RETURN_IF_ERROR(AddCopy(part.node, part.buffer, buffer));
      plan_.steps.back().layouts = Canonical(graph_.node(part.node).type, layouts);
    }
    PlanBuffer& own = plan_.buffers[static_cast<std::size_t>(buffer)];
    own.whole = whole;
    own.begin = begin;
    begin += part.bytes;
  }
  Store(group.output, Canonical(graph_.node(group.output).type, layouts), whole);
  return true;
}

Result<bool> PlanBuilder::SliceInPlace(const FusedGroup& group, const PhysicalLayout& layouts,
                                       const GroupKernel& kernel) {
  const OperatorListValue& slice = kernel.operators.values().back();
  if (kernel.inputs.size() != 1) return false;
  const Shape& shape = kernel.inputs[0].shape;
  const OpAttributes& a = slice.op->attributes;
  if (std::ranges::any_of(a.steps, [](std::int64_t step) { return step != 1; })) return false;
  std::size_t axis = 0;
  while (axis + 1 < shape.size() && slice.type.shape[axis] == shape[axis]) ++axis;
  const bool rest = std::equal(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(),
                               slice.type.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  if (!rest || !IsOutermost(shape, axis)) return false;
  std::int64_t begin = a.begin[axis] * slice.type.dtype.bytes();
  for (std::size_t i = axis + 1; i < shape.size(); ++i) begin *= shape[i];
  TW_ASSIGN_OR_RETURN(auto source, BufferOf(kernel.inputs[0].node, kernel.inputs[0].layouts));
  const PlanBuffer& own = plan_.buffers[static_cast<std::size_t>(source)];
  if (own.space != BufferSpace::kArena || begin % kTensorAlignment != 0) return false;
  const int part = AddBuffer(BufferSpace::kArena, slice.type.bytes());
  plan_.buffers[static_cast<std::size_t>(part)].whole = source;
  plan_.buffers[static_cast<std::size_t>(part)].begin = begin;
  Store(group.output, Canonical(graph_.node(group.output).type, layouts), part);
  return true;
}

}  // namespace tilewright
