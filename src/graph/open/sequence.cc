#include "src/graph/open/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/graph/open/resize.h"

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

/// Checks that the file with some sizes, among them the ends of the range, is the one on the line
/// through two of them.
Status CheckLinear(const SizedGraphs& graphs, const ReadAtSize& read) {
  const SizeRange& range = *graphs.range;
  for (const std::int64_t size : std::set<std::int64_t>{range.least, 2, (2 + range.most) / 2}) {
    if (size < range.least || size == graphs.large_size) continue;
    TW_ASSIGN_OR_RETURN(const auto made, read(size));
    TW_RETURN_IF_ERROR(CheckResized(graphs, size, made));
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
  TW_ASSIGN_OR_RETURN(auto small, read(found.small_size));
  TW_ASSIGN_OR_RETURN(auto large, read(found.large_size));
  const SizedGraphs read_graphs{&range, &small, found.small_size, &large, found.large_size};
  TW_RETURN_IF_ERROR(CheckLinear(read_graphs, read));
  TW_ASSIGN_OR_RETURN(found.small, Partition(std::move(small), target, fuse_residuals));
  TW_ASSIGN_OR_RETURN(found.large, Partition(std::move(large), target, fuse_residuals));
  found.attention = FindAttention(found.small.graph, found.small.groups);
  const auto attention = FindAttention(found.large.graph, found.large.groups);
  if (found.attention.empty() && attention.empty()) return found;
  if (!std::ranges::equal(found.small.groups, found.large.groups, SameGroup) ||
      !std::ranges::equal(found.attention, attention, SameJoined)) {
    return Unsupported(fmt::format("{}: the network has other kernels with {} than with {}", option,
                                   found.large_size, found.small_size));
  }
  const auto at = [&](std::int64_t size) -> Result<Graph> {
    TW_ASSIGN_OR_RETURN(auto made, found.At(size, 0));
    return std::move(made.graph);
  };
  TW_ASSIGN_OR_RETURN(const auto position, at(1));
  TW_ASSIGN_OR_RETURN(found.axes, EntriesOf(position, at, range, found.attention));
  found.small.graph = found.small.graph.CloneWithout(kSmallConstant);
  for (int id = 0; id < position.size(); ++id) {
    const Node& node = position.node(id);
    if (node.kind != NodeKind::kConstant || !found.axes.contains(node.name)) continue;
    if (position.Fill(id) == nullptr) found.tables.insert(node.name);
  }
  return found;
}

}  // namespace tilewright
