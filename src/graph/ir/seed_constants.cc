// Synthetic contents of a graph's constants, chosen by their users.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/tensor/layout.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

// Returns the fan-in (products per result): the product of all dimensions except the first, or, for
// a convolution kernel, except the output channels.
std::int64_t FanOf(const Graph& graph, int id, const std::vector<int>& users) {
  const TensorType& type = graph.node(id).type;
  if (type.shape.empty()) return 1;
  for (int user : users) {
    const Node& node = graph.node(user);
    if (node.op.kind != OpKind::kConv2d || node.inputs[1] != id) continue;
    auto layout = Layout::Parse(node.op.attributes.kernel_layout);
    const std::size_t position = layout.ok() ? layout->primal().find('O') : std::string::npos;
    if (position != std::string::npos) {
      return type.elements() / layout->Unpack(type.shape)[position];
    }
  }
  return type.elements() / type.shape[0];
}

// Returns the zero point of a value that operators quantize: the integer that is added before the
// rounding, the clip and the casts.
std::optional<std::int64_t> ZeroPointOf(const Graph& graph, int id) {
  while (graph.node(id).kind == NodeKind::kOperator) {
    const Node& node = graph.node(id);
    if (node.op.kind == OpKind::kAdd) {
      for (int side : node.inputs) {
        const Tensor* contents = graph.Contents(side);
        if (contents != nullptr && contents->elements() == 1) {
          return static_cast<std::int64_t>(contents->At(0));
        }
      }
      return std::nullopt;
    }
    const bool passes = node.op.kind == OpKind::kCast || node.op.kind == OpKind::kClip ||
                        node.op.kind == OpKind::kRound || node.op.kind == OpKind::kReshape ||
                        node.op.kind == OpKind::kTranspose || node.op.kind == OpKind::kPad ||
                        node.op.kind == OpKind::kLayoutTransform ||
                        node.op.kind == OpKind::kIdentity;
    if (!passes) return std::nullopt;
    id = node.inputs[0];
  }
  return std::nullopt;
}

// Returns the rule for integers whose role follows from their user: parts of a requantization in
// int64 (factors about 2^-9), zero points, and 16-bit kernels, whose sums of products exceed those
// of 8-bit kernels. Returns no rule for others.
ElementRule RuleByUse(const Graph& graph, int id, const Node& user, std::int64_t fan) {
  constexpr std::int64_t kShift = 39;
  const Node& node = graph.node(id);
  const auto always = [](std::int64_t value) {
    return [value](std::uint32_t) { return static_cast<double>(value); };
  };
  if (node.type.dtype == kInt64) {
    if (user.op.kind == OpKind::kMul) {
      return [](std::uint32_t k) { return 0x1.0p30 + 64 * static_cast<double>(k); };
    }
    if (user.op.kind == OpKind::kAdd) return always(std::int64_t{1} << (kShift - 1));
    if (user.op.kind == OpKind::kShiftRight) return always(kShift);
  }
  if (user.op.kind == OpKind::kSub && node.type.shape.empty() && user.inputs[1] == id) {
    const auto zero_point = ZeroPointOf(graph, user.inputs[0]);
    if (zero_point) return always(*zero_point);
  }
  if (user.op.kind == OpKind::kConv2d && user.inputs[1] == id && node.type.dtype == kInt16) {
    const std::int64_t limit = std::clamp<std::int64_t>(IntegerSqrt((1 << 20) / fan), 1, 127);
    return [limit](std::uint32_t k) { return static_cast<double>(CentredElement(k, limit)); };
  }
  return nullptr;
}

// Creates contents by the rules of the Relay data.
Tensor MakeMissing(const Graph& graph, int id, const std::vector<int>& users) {
  const std::string& name = graph.node(id).name;
  const TensorType& type = graph.node(id).type;
  const std::int64_t fan = std::max<std::int64_t>(FanOf(graph, id, users), 1);
  if (type.dtype.is_float()) return MakeSeededFloat(name, type, fan);
  if (!users.empty()) {
    const ElementRule rule = RuleByUse(graph, id, graph.node(users[0]), fan);
    if (rule) return MakeByRule(name, type, rule);
  }
  const bool weights = type.dtype.bits <= 16 && type.shape.size() >= 2;
  const std::int64_t limit = weights ? std::max<std::int64_t>(1, IntegerSqrt(65536 / fan))
                                     : (type.dtype.bits <= 16 ? 100 : 1000);
  const std::int64_t offset = type.dtype.code == TypeCode::kUInt ? limit : 0;
  if (offset == 0) return MakeSeededInteger(name, type, limit);
  return MakeByRule(name, type, [=](std::uint32_t k) {
    return static_cast<double>(CentredElement(k, limit) + offset);
  });
}

}  // namespace

void SeedConstants(Graph& graph, SeedRule rule) {
  const auto users = graph.Users();
  std::int64_t synthetic_constants = 0;
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kConstant || SourceName(node.name) != node.name) continue;
    if (node.type.elements() == 0) continue;
    if (!graph.HasContents(id)) {
      graph.SetContents(id, MakeMissing(graph, id, users[static_cast<std::size_t>(id)]));
    } else if (rule == SeedRule::kAllFloat && node.type.dtype.is_float()) {
      const std::int64_t fan =
          node.type.shape.empty() ? 1 : node.type.elements() / node.type.shape[0];
      graph.SetContents(id, MakeSeededFloat(node.name, node.type, fan));
    } else {
      continue;
    }
    ++synthetic_constants;
  }
  // Constants that the file counts as synthetic are replaced too, except integers.
  graph.synthetic_constants = std::max(graph.synthetic_constants, synthetic_constants);
}

}  // namespace tilewright
