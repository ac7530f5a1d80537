#include "src/optimize/job_key.h"

#include <bit>
#include <cstdint>

#include "src/base/hash.h"
#include "src/target/device.h"
#include "src/tensor/operator_hash.h"

namespace tilewright::optimize {
namespace {

/// Version of the steps: raised when a change makes stored ones wrong.
constexpr int kStepsVersion = 4;

std::uint64_t HashOfTensor(const Tensor& tensor, std::uint64_t state) {
  state = Fnv1a64(tensor.type().ToString(), state);
  const auto* bytes = reinterpret_cast<const char*>(tensor.data());
  return Fnv1a64({bytes, static_cast<std::size_t>(tensor.bytes())}, state);
}

std::uint64_t HashOfGraph(const Graph& graph, std::uint64_t state) {
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    state = Fnv1a64(node.name + " " + node.type.ToString(), state);
    if (node.kind == NodeKind::kOperator) state = Mix64(state ^ HashOf(node.op, node.inputs));
    if (const double* fill = graph.Fill(id)) {
      state = Mix64(state ^ std::bit_cast<std::uint64_t>(*fill));
    } else if (node.kind == NodeKind::kConstant && graph.HasContents(id)) {
      state = HashOfTensor(*graph.Contents(id), state);
    }
  }
  for (const int id : graph.outputs()) state = Mix64(state ^ static_cast<std::uint64_t>(id));
  return state;
}

}  // namespace

std::string NetworkKeyOf(const session::CompileRequest& request, int quantizer_version) {
  const Target& target = request.options.target;
  const std::uint64_t state =
      Fnv1a64(target.ToString() + " " + std::to_string(target.num_threads()) + " " +
              request.options.device.ToString() + " " +
              std::to_string(DeviceTraitsOf(target).codegen_version) + " " +
              std::to_string(kStepsVersion) + " " + std::to_string(quantizer_version));
  return kJobPrefix + HexOf(HashOfGraph(request.graph, state)) + "-";
}

std::string JobKeyOf(const session::CompileRequest& request,
                     std::span<const quantize::Sample> samples) {
  std::uint64_t state = Fnv1a64("samples");
  for (const quantize::Sample& sample : samples) {
    for (const Tensor& tensor : sample) state = HashOfTensor(tensor, state);
  }
  return NetworkKeyOf(request) + HexOf(state);
}

}  // namespace tilewright::optimize
