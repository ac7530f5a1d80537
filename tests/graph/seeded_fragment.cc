#include "tests/graph/seeded_fragment.h"

#include <algorithm>
#include <cmath>

#include "src/base/hash.h"
#include "src/base/random.h"

namespace tilewright {

void SeedFragment(Graph& graph) {
  const auto users = graph.Users();
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kConstant || graph.HasContents(id)) continue;
    const OpKind use = graph.node(users[static_cast<std::size_t>(id)][0]).op.kind;
    const std::uint64_t seed = Fnv1a64(node.name);
    Tensor tensor(node.type);
    std::int64_t fan = 1;
    for (std::size_t d = 1; d < 5 && node.type.shape.size() == 6; ++d) fan *= node.type.shape[d];
    const auto limit = std::min<std::int64_t>(
        127, static_cast<std::int64_t>(std::sqrt(static_cast<double>(1048576 / fan))));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::int64_t k = SeededElement(seed, static_cast<std::uint64_t>(i));
      std::int64_t value = k % 2001 - 1000;  // bias
      if (use == OpKind::kConv2d) value = k % (2 * limit + 1) - limit;
      if (use == OpKind::kMul) value = (std::int64_t{1} << 30) + 64 * k;
      if (use == OpKind::kAdd && node.type.dtype == kInt64) value = std::int64_t{1} << 38;
      if (use == OpKind::kShiftRight) value = 39;
      if (use == OpKind::kSub) value = node.name == "relay.Constant.0" ? 57 : 64;
      tensor.Set(i, static_cast<double>(value));
    }
    graph.SetContents(id, std::move(tensor));
  }
}

std::vector<Tensor> FragmentInputs(const Graph& graph) {
  Tensor input(graph.node(graph.inputs()[0]).type);
  for (std::int64_t i = 0; i < input.elements(); ++i) {
    const std::int64_t k = SeededElement(Fnv1a64("input"), static_cast<std::uint64_t>(i));
    input.As<float>()[static_cast<std::size_t>(i)] =
        static_cast<float>(static_cast<double>(k % 256 - 57) * 0.0374636);
  }
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace tilewright
