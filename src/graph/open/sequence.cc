#include "src/graph/open/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "src/graph/ir/evaluate.h"
#include "src/graph/open/resize.h"
#include "src/graph/passes/pair_masks.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

/// Returns the largest prime below `size`: no other extent of a network equals it by chance.
std::int64_t PrimeBelow(std::int64_t size) {
  const auto is_prime = [](std::int64_t number) {
    for (std::int64_t i = 2; i * i <= number; ++i) {
      if (number % i == 0) return false;
    }
    return number > 1;
  };
  do --size;
  while (size > 2 && !is_prime(size));
  return size;
}

bool SameGroup(const FusedGroup& a, const FusedGroup& b) {
  return a.nodes == b.nodes && a.anchor == b.anchor && a.epilogue == b.epilogue &&
         a.inputs == b.inputs && a.output == b.output && a.alias == b.alias;
}

bool SameJoined(const JoinedGroups& a, const JoinedGroups& b) {
  return a.parts == b.parts && SameGroup(a.whole, b.whole);
}

/// Checks that the file with a size has the results of the network on the line, for random inputs:
/// masks of few pairs of positions are other operators. otherwise: the error if it has not.
Status CheckResults(const SizedGraphs& graphs, std::int64_t size, const Graph& read,
                    const Status& otherwise) {
  constexpr double kTolerance = 1e-3;
  TW_ASSIGN_OR_RETURN(const auto made,
                      Resized(graphs, size, std::numeric_limits<std::int64_t>::max()));
  std::vector<Tensor> inputs;
  for (int id : read.inputs()) {
    const Node& node = read.node(id);
    inputs.push_back(MakeSyntheticInput(node.name, node.type, SyntheticInputRule::kRandom));
  }
  const auto expected = EvaluateGraph(read, inputs), results = EvaluateGraph(made, inputs);
  if (!expected.ok() || !results.ok() || expected->size() != results->size()) return otherwise;
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Tensor &one = (*results)[i], &other = (*expected)[i];
    if (one.type() != other.type() || !Compare(one, other, kTolerance).ok) return otherwise;
  }
  return Status();
}

/// Checks that the file with some sizes, among them the ends of the range, is the one on the line
/// through two of them. masked: the network has masks of pairs (ComputePairMasks).
Status CheckLinear(const SizedGraphs& graphs, const ReadAtSize& read, bool masked) {
  const SizeRange& range = *graphs.range;
  for (const std::int64_t size : std::set<std::int64_t>{range.least, 2, (2 + range.most) / 2}) {
    if (size < range.least || size == graphs.large_size) continue;
    TW_ASSIGN_OR_RETURN(const auto made, read(size));
    Status status = CheckResized(graphs, size, made);
    const bool refused = status.code() == StatusCode::kUnsupported;
    if (refused && masked && size <= 2) status = CheckResults(graphs, size, made, status);
    TW_RETURN_IF_ERROR(status);
  }
  return Status();
}

}  // namespace

Result<PartitionedGraph> SequenceNetwork::At(std::int64_t size, std::int64_t max_elements) const {
  PartitionedGraph made;
  const SizedGraphs graphs{&range, &small.graph, small_size, &large.graph, large_size};
  TW_ASSIGN_OR_RETURN(made.graph, Resized(graphs, size, max_elements));
  made.groups = small.groups;
  made.fuse = small.fuse;
  return made;
}

bool SequenceNetwork::Joins(const FusedGroup& group) const {
  return std::ranges::any_of(joins,
                             [&](const FusedGroup& join) { return join.output == group.output; });
}

std::vector<FusedGroup> FindJoins(const PartitionedGraph& small, const PartitionedGraph& large,
                                  const std::vector<JoinedGroups>& attention) {
  std::set<std::size_t> taken;
  for (const JoinedGroups& each : attention) taken.insert(each.parts.begin(), each.parts.end());
  const auto grows = [&](int id) {
    return small.graph.node(id).type.shape != large.graph.node(id).type.shape;
  };
  std::vector<FusedGroup> joins;
  for (std::size_t i = 0; i < small.groups.size(); ++i) {
    const FusedGroup& group = small.groups[i];
    if (taken.contains(i) || group.anchor || group.alias) continue;
    const bool steps = small.graph.node(group.output).op.kind == OpKind::kRecurrence;
    const bool reads = std::ranges::any_of(group.inputs, grows);
    if (reads && (steps || !grows(group.output))) joins.push_back(group);
  }
  return joins;
}

namespace {

/// Returns the group without an anchor that computes a value, if it is no join yet.
const FusedGroup* GroupToJoin(const SequenceNetwork& network, int value) {
  const auto computes = [&](const FusedGroup& group) {
    return std::ranges::binary_search(group.nodes, value);
  };
  const bool attends = std::ranges::any_of(
      network.attention, [&](const JoinedGroups& each) { return computes(each.whole); });
  const auto& groups = network.small.groups;
  const auto found = std::ranges::find_if(groups, computes);
  if (attends || found == groups.end() || found->anchor || found->alias || network.Joins(*found)) {
    return nullptr;
  }
  return &*found;
}

/// Proves that all operators but the attention and the joins compute each position by itself. A
/// group that does not becomes a join, too. position, at: as EntriesOf.
Status ProveOthers(const Graph& position, const ReadAtSize& at, SequenceNetwork& network) {
  for (;;) {
    std::vector<EntryJoin> joined;
    for (const JoinedGroups& each : network.attention) joined.push_back({&each.whole});
    for (const FusedGroup& each : network.joins) joined.push_back({&each, /*to_one=*/true});
    int mixes = -1;
    auto axes = EntriesOf(position, at, network.range, joined, &mixes);
    if (axes.ok()) {
      network.axes = *std::move(axes);
      return Status();
    }
    const bool refused = axes.status().code() == StatusCode::kUnsupported;
    const FusedGroup* group = refused && mixes >= 0 ? GroupToJoin(network, mixes) : nullptr;
    if (group == nullptr) return axes.status();
    network.joins.push_back(*group);
  }
}

/// Finds the axes and tables of a network with attention and joins.
Status Prove(SequenceNetwork& network) {
  const auto at = [&](std::int64_t size) -> Result<Graph> {
    TW_ASSIGN_OR_RETURN(auto made, network.At(size, 0));
    return std::move(made.graph);
  };
  TW_ASSIGN_OR_RETURN(const auto position, at(1));
  TW_RETURN_IF_ERROR(ProveOthers(position, at, network));
  network.small.graph = network.small.graph.CloneWithout(kSmallConstant);
  for (int id = 0; id < position.size(); ++id) {
    const Node& node = position.node(id);
    if (node.kind != NodeKind::kConstant || !network.axes.contains(node.name)) continue;
    if (position.Fill(id) == nullptr) network.tables.insert(node.name);
  }
  return Status();
}

}  // namespace

Result<SequenceNetwork> FindSequence(const ReadAtSize& read, const SizeRange& range,
                                     const Target& target, bool fuse_residuals) {
  const std::string option = "--dim " + range.ToString();
  if (range.most < kFewestLengths) {
    return InvalidArgument(option + ": lengths of a sequence, expected some above 2");
  }
  SequenceNetwork found;
  found.range = range;
  found.large_size = range.most;
  found.small_size = PrimeBelow(range.most);
  bool masked = false;
  const auto read_masked = [&](std::int64_t size) -> Result<Graph> {
    TW_ASSIGN_OR_RETURN(auto graph, read(size));
    const int operators = graph.size();
    TW_ASSIGN_OR_RETURN(graph, ComputePairMasks(std::move(graph)));
    masked = masked || graph.size() != operators;
    return graph;
  };
  TW_ASSIGN_OR_RETURN(auto small, read_masked(found.small_size));
  TW_ASSIGN_OR_RETURN(auto large, read_masked(found.large_size));
  const SizedGraphs read_graphs{&range, &small, found.small_size, &large, found.large_size};
  TW_RETURN_IF_ERROR(CheckLinear(read_graphs, read_masked, masked));
  PartitionRule rule = PartitionRuleFor(target, fuse_residuals);
  rule.open_positions = true;
  TW_ASSIGN_OR_RETURN(found.small, Partition(std::move(small), rule));
  TW_ASSIGN_OR_RETURN(found.large, Partition(std::move(large), rule));
  found.attention = FindAttention(found.small.graph, found.small.groups);
  const auto attention = FindAttention(found.large.graph, found.large.groups);
  const bool same_groups = std::ranges::equal(found.small.groups, found.large.groups, SameGroup);
  if (same_groups) found.joins = FindJoins(found.small, found.large, attention);
  const bool joins = !found.attention.empty() || !attention.empty() || !found.joins.empty();
  if (!joins && !same_groups) return found;
  if (!same_groups || !std::ranges::equal(found.attention, attention, SameJoined)) {
    return Unsupported(fmt::format("{}: the network has other kernels with {} than with {}", option,
                                   found.large_size, found.small_size));
  }
  const Status proof = Prove(found);
  if (proof.ok()) return found;
  found.joins.clear();
  return joins ? Result<SequenceNetwork>(proof) : std::move(found);
}

}  // namespace tilewright
