// Readers of trees in attributes: nodes are identified by pairs of tree and node, or by list
// indices.

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "src/graph/onnx/operators/ml/forest.h"

namespace tilewright {
namespace {
namespace forest_attributes {

using Ints = std::vector<std::int64_t>;

// Comparisons, in the order of ONNX's numbers.
enum class Mode : std::uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                       "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

// Returns the successors for less, equal, greater and NaN. A NaN has the successor `yes` if
// `missing` is true.
std::array<std::int32_t, 4> Ways(Mode mode, std::int32_t yes, std::int32_t no, bool missing) {
  const bool less = mode == Mode::kLeq || mode == Mode::kLt || mode == Mode::kNeq;
  const bool equal = mode == Mode::kLeq || mode == Mode::kGte || mode == Mode::kEq;
  const bool greater = mode == Mode::kGte || mode == Mode::kGt || mode == Mode::kNeq;
  const bool none = missing || mode == Mode::kNeq;
  return {less ? yes : no, equal ? yes : no, greater ? yes : no, none ? yes : no};
}

// Checks the length of a list. Errors: it differs from the number of nodes.
bool Fits(OnnxNode& node, std::string_view name, std::size_t seen, std::size_t expected) {
  if (seen != expected && node.ok()) {
    node.FailInvalid("attribute " + std::string(name) + " has " + std::to_string(seen) +
                     " elements, expected " + std::to_string(expected));
  }
  return node.ok();
}

// Node of a tree in the lists.
struct Listed {
  Mode mode = Mode::kLeaf;
  std::int64_t feature = 0;
  double split = 0;
  bool missing = false;
  std::size_t yes = 0, no = 0;  // list indices
};

using Key = std::pair<std::int64_t, std::int64_t>;  // tree and node

// Returns the list index of each pair. Errors: kInvalidArgument for duplicate pairs.
std::map<Key, std::size_t> PlacesOf(OnnxNode& node, const Ints& trees, const Ints& nodes) {
  std::map<Key, std::size_t> places;
  for (std::size_t i = 0; i < trees.size() && node.ok(); ++i) {
    if (places.emplace(Key{trees[i], nodes[i]}, i).second) continue;
    node.FailInvalid("node " + std::to_string(nodes[i]) + " of tree " + std::to_string(trees[i]) +
                     " is defined twice");
  }
  return places;
}

Mode ModeNamed(OnnxNode& node, std::string_view name) {
  for (std::size_t i = 0; i < std::size(kModes); ++i) {
    if (kModes[i] == name && i != static_cast<std::size_t>(Mode::kMember)) {
      return static_cast<Mode>(i);
    }
  }
  node.FailInvalid("attribute nodes_modes has '" + std::string(name) +
                   "', expected BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ or LEAF");
  return Mode::kLeaf;
}

std::vector<Listed> ListedNodes(OnnxNode& node, const Ints& trees,
                                const std::map<Key, std::size_t>& places) {
  const std::size_t count = trees.size();
  const Ints features = node.LongInts("nodes_featureids"), yes = node.LongInts("nodes_truenodeids"),
             no = node.LongInts("nodes_falsenodeids"),
             missing = node.LongInts("nodes_missing_value_tracks_true");
  const auto modes = node.Strings("nodes_modes");
  const std::vector<double> splits = FloatsOrTensor(node, "nodes_values");
  node.IgnoreAttributes({"nodes_hitrates", "nodes_hitrates_as_tensor"});
  if (!Fits(node, "nodes_featureids", features.size(), count) ||
      !Fits(node, "nodes_truenodeids", yes.size(), count) ||
      !Fits(node, "nodes_falsenodeids", no.size(), count) ||
      !Fits(node, "nodes_modes", modes.size(), count) ||
      !Fits(node, "nodes_values", splits.size(), count) ||
      (!missing.empty() && !Fits(node, "nodes_missing_value_tracks_true", missing.size(), count))) {
    return {};
  }
  std::vector<Listed> listed(count);
  for (std::size_t i = 0; i < count && node.ok(); ++i) {
    Listed& one = listed[i];
    one.mode = ModeNamed(node, modes[i]);
    if (one.mode == Mode::kLeaf) continue;
    one.feature = features[i];
    one.split = splits[i];
    one.missing = !missing.empty() && missing[i] != 0;
    const auto child = [&](std::int64_t id) {
      const auto found = places.find({trees[i], id});
      if (found != places.end()) return found->second;
      node.FailInvalid("tree " + std::to_string(trees[i]) + " has no node " + std::to_string(id) +
                       ", the successor of a branch");
      return std::size_t{0};
    };
    one.yes = child(yes[i]);
    one.no = child(no[i]);
  }
  return listed;
}

// Collector of the branches and leaves that are reachable from the roots. Errors: a node is reached
// twice.
class Builder {
 public:
  Builder(OnnxNode& node, const std::vector<Listed>& listed)
      : node_(node), listed_(listed), numbers_(listed.size(), kNone) {}

  // Adds a tree, numbering its branches and leaves from the root on.
  std::int32_t AddTree(std::size_t root, Forest& forest) {
    const std::int32_t number = Enter(root, forest);
    std::vector<std::size_t> open{root};
    while (!open.empty() && node_.ok()) {
      const std::size_t at = open.back();
      open.pop_back();
      const Listed& one = listed_[at];
      if (one.mode == Mode::kLeaf) continue;
      const std::int32_t yes = Enter(one.yes, forest);
      const std::int32_t no = one.no == one.yes ? yes : Enter(one.no, forest);
      forest.branches[static_cast<std::size_t>(numbers_[at])] = {
          one.feature, one.split, Ways(one.mode, yes, no, one.missing)};
      open.push_back(one.yes);
      if (one.no != one.yes) open.push_back(one.no);
    }
    return number;
  }
  // Returns the list index of a node that is not reachable from a root; nothing if all are
  // reachable.
  std::optional<std::size_t> Unreached() const {
    const auto found = std::ranges::find(numbers_, kNone);
    if (found == numbers_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - numbers_.begin());
  }
  // Returns the leaf of a reachable node; null for other nodes.
  Forest::Leaf* LeafOf(std::size_t at, Forest& forest) const {
    if (numbers_[at] == kNone || numbers_[at] >= 0) return nullptr;
    return &forest.leaves[static_cast<std::size_t>(~numbers_[at])];
  }

 private:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

  std::int32_t Enter(std::size_t at, Forest& forest) {
    if (numbers_[at] != kNone) {
      node_.FailInvalid("two branches have the successor node " + std::to_string(at) +
                        " of the lists, expected trees");
      return 0;
    }
    if (listed_[at].mode == Mode::kLeaf) {
      numbers_[at] = ~static_cast<std::int32_t>(forest.leaves.size());
      forest.leaves.emplace_back();
    } else {
      numbers_[at] = static_cast<std::int32_t>(forest.branches.size());
      forest.branches.emplace_back();
    }
    return numbers_[at];
  }

  OnnxNode& node_;
  const std::vector<Listed>& listed_;
  std::vector<std::int32_t> numbers_;
};

// Returns the list indices of nodes without a predecessor, one for each tree.
std::vector<std::size_t> RootsOf(OnnxNode& node, const std::vector<Listed>& listed,
                                 const Ints& trees) {
  std::vector<bool> child(listed.size());
  for (const Listed& one : listed) {
    if (one.mode != Mode::kLeaf) child[one.yes] = child[one.no] = true;
  }
  std::map<std::int64_t, std::size_t> roots;
  for (std::size_t i = 0; i < listed.size(); ++i) {
    if (!child[i] && !roots.emplace(trees[i], i).second && node.ok()) {
      node.FailInvalid("tree " + std::to_string(trees[i]) +
                       " has two nodes without a predecessor, expected one root");
    }
  }
  for (std::int64_t tree : trees) {
    if (!roots.contains(tree) && node.ok()) {
      node.FailInvalid("tree " + std::to_string(tree) + " has no root: its branches are a cycle");
    }
  }
  std::vector<std::size_t> places;
  for (const auto& [tree, root] : roots) places.push_back(root);
  return places;
}

std::vector<double> ContentsOfTensor(OnnxNode& node, std::string_view name) {
  const onnx::TensorProto* proto = node.TensorAttribute(name);
  if (proto == nullptr) return {};
  const Tensor contents = node.ContentsOf(*proto);
  std::vector<double> values;
  for (std::int64_t i = 0; node.ok() && i < contents.elements(); ++i) {
    values.push_back(contents.At(i));
  }
  return values;
}

// Returns the sets of a TreeEnsemble's BRANCH_MEMBER nodes. A NaN terminates each set.
std::vector<std::vector<double>> MembersOf(const std::vector<double>& values) {
  std::vector<std::vector<double>> sets(1);
  for (double value : values) {
    if (std::isnan(value)) {
      sets.emplace_back();
    } else {
      sets.back().push_back(value);
    }
  }
  return sets;
}

// Node lists of a TreeEnsemble, checked for consistent lengths.
struct Indexed {
  Ints features, yes, no, yes_leaf, no_leaf, missing;
  std::vector<double> modes, splits;
};

Indexed ReadIndexed(OnnxNode& node) {
  Indexed lists;
  lists.features = node.LongInts("nodes_featureids");
  lists.yes = node.LongInts("nodes_truenodeids");
  lists.no = node.LongInts("nodes_falsenodeids");
  lists.yes_leaf = node.LongInts("nodes_trueleafs");
  lists.no_leaf = node.LongInts("nodes_falseleafs");
  lists.missing = node.LongInts("nodes_missing_value_tracks_true");
  lists.modes = ContentsOfTensor(node, "nodes_modes");
  lists.splits = ContentsOfTensor(node, "nodes_splits");
  node.IgnoreAttributes({"nodes_hitrates"});
  const std::size_t count = lists.features.size();
  if (lists.missing.empty()) lists.missing.assign(count, 0);
  Fits(node, "nodes_truenodeids", lists.yes.size(), count);
  Fits(node, "nodes_falsenodeids", lists.no.size(), count);
  Fits(node, "nodes_trueleafs", lists.yes_leaf.size(), count);
  Fits(node, "nodes_falseleafs", lists.no_leaf.size(), count);
  Fits(node, "nodes_missing_value_tracks_true", lists.missing.size(), count);
  Fits(node, "nodes_modes", lists.modes.size(), count);
  Fits(node, "nodes_splits", lists.splits.size(), count);
  return lists;
}

// Adds a chain of comparisons with each member of a set, from branch `at` on.
void AddMembers(const std::vector<double>& members, std::int64_t feature, std::int32_t yes,
                std::int32_t no, bool missing, std::size_t at, Forest& forest) {
  for (std::size_t i = 0; i < std::max<std::size_t>(members.size(), 1); ++i) {
    const bool last = i + 1 >= members.size();
    const auto next = static_cast<std::int32_t>(forest.branches.size());
    if (!last) forest.branches.emplace_back();
    Forest::Branch& branch = forest.branches[at];
    branch.feature = feature;
    branch.split = members.empty() ? 0 : members[i];
    branch.next = Ways(Mode::kEq, members.empty() ? no : yes, last ? no : next, false);
    if (missing) branch.next[3] = yes;
    at = static_cast<std::size_t>(next);
  }
}

// Checks that every node has at most one predecessor. Errors: kInvalidArgument.
void CheckTrees(OnnxNode& node, const Indexed& lists, const std::vector<std::int32_t>& roots) {
  std::vector<int> reached(lists.features.size());
  const auto reach = [&](std::int64_t place, bool leaf) {
    if (!leaf && ++reached[static_cast<std::size_t>(place)] > 1 && node.ok()) {
      node.FailInvalid("two branches have the successor node " + std::to_string(place) +
                       ", expected trees");
    }
  };
  for (std::int32_t root : roots) reach(root, false);
  for (std::size_t i = 0; i < lists.features.size(); ++i) {
    const bool yes_leaf = lists.yes_leaf[i] != 0, no_leaf = lists.no_leaf[i] != 0;
    reach(lists.yes[i], yes_leaf);
    if (yes_leaf != no_leaf || lists.yes[i] != lists.no[i]) reach(lists.no[i], no_leaf);
  }
}

}  // namespace forest_attributes
}  // namespace

std::vector<double> FloatsOrTensor(OnnxNode& node, const std::string& name) {
  if (!node.HasAttribute(name + "_as_tensor")) return node.Floats(name);
  return forest_attributes::ContentsOfTensor(node, name + "_as_tensor");
}

Forest ReadForest(OnnxNode& node, std::string_view weights) {
  using namespace forest_attributes;  // NOLINT(google-build-using-namespace)
  Forest forest;
  const Ints trees = node.LongInts("nodes_treeids"), nodes = node.LongInts("nodes_nodeids");
  if (trees.empty() && node.ok()) node.FailInvalid("attribute nodes_treeids is missing or empty");
  if (!Fits(node, "nodes_nodeids", nodes.size(), trees.size())) return {};
  const auto places = PlacesOf(node, trees, nodes);
  const std::vector<Listed> listed = ListedNodes(node, trees, places);
  const std::string prefix(weights);
  const Ints of_tree = node.LongInts(prefix + "_treeids"),
             of_node = node.LongInts(prefix + "_nodeids"), ids = node.LongInts(prefix + "_ids");
  const std::vector<double> values = FloatsOrTensor(node, prefix + "_weights");
  if (!Fits(node, prefix + "_nodeids", of_node.size(), of_tree.size()) ||
      !Fits(node, prefix + "_ids", ids.size(), of_tree.size()) ||
      !Fits(node, prefix + "_weights", values.size(), of_tree.size())) {
    return {};
  }
  Builder builder(node, listed);
  for (std::size_t root : RootsOf(node, listed, trees)) {
    if (!node.ok()) return {};
    forest.roots.push_back(builder.AddTree(root, forest));
  }
  if (const auto unreached = builder.Unreached(); unreached && node.ok()) {
    node.FailInvalid("tree " + std::to_string(trees[*unreached]) + " has node " +
                     std::to_string(nodes[*unreached]) +
                     ", which is not reachable from its root: its branches are a cycle");
  }
  for (std::size_t i = 0; i < ids.size() && node.ok(); ++i) {
    const auto place = places.find({of_tree[i], of_node[i]});
    if (place == places.end()) {
      node.FailInvalid("tree " + std::to_string(of_tree[i]) + " has no node " +
                       std::to_string(of_node[i]) + ", which has a weight");
      return {};
    }
    // Weights of branches have no effect.
    if (Forest::Leaf* leaf = builder.LeafOf(place->second, forest)) {
      leaf->emplace_back(ids[i], values[i]);
    }
  }
  return forest;
}

Forest ReadIndexedForest(OnnxNode& node) {
  using namespace forest_attributes;  // NOLINT(google-build-using-namespace)
  Forest forest;
  const Indexed lists = ReadIndexed(node);
  const Ints roots = node.LongInts("tree_roots"), targets = node.LongInts("leaf_targetids");
  const std::vector<double> weights = ContentsOfTensor(node, "leaf_weights");
  const auto members = MembersOf(ContentsOfTensor(node, "membership_values"));
  if (!Fits(node, "leaf_weights", weights.size(), targets.size())) return {};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    forest.leaves.push_back({{targets[i], weights[i]}});
  }
  const std::size_t count = lists.features.size();
  forest.branches.resize(count);
  const auto place = [&](std::int64_t id, bool leaf) {
    const std::int64_t end = leaf ? std::ssize(targets) : static_cast<std::int64_t>(count);
    if ((id < 0 || id >= end) && node.ok()) {
      node.FailInvalid((leaf ? "leaf " : "node ") + std::to_string(id) +
                       " does not exist, expected less than " + std::to_string(end));
    }
    if (!node.ok()) return std::int32_t{0};
    return leaf ? ~static_cast<std::int32_t>(id) : static_cast<std::int32_t>(id);
  };
  std::size_t set = 0;
  for (std::size_t i = 0; i < count && node.ok(); ++i) {
    const std::int32_t yes = place(lists.yes[i], lists.yes_leaf[i] != 0);
    const std::int32_t no = place(lists.no[i], lists.no_leaf[i] != 0);
    const double mode = lists.modes[i];
    if (mode == static_cast<double>(Mode::kMember)) {
      const std::vector<double> none;
      AddMembers(set < members.size() ? members[set] : none, lists.features[i], yes, no,
                 lists.missing[i] != 0, i, forest);
      ++set;
      continue;
    }
    if (!(mode >= 0 && mode < static_cast<double>(Mode::kMember))) {
      node.FailInvalid("attribute nodes_modes has " + std::to_string(mode) + ", expected 0 to 6");
      return {};
    }
    forest.branches[i] = {
        lists.features[i], lists.splits[i],
        Ways(static_cast<Mode>(static_cast<int>(mode)), yes, no, lists.missing[i] != 0)};
  }
  for (std::int64_t root : roots) forest.roots.push_back(place(root, false));
  if (node.ok() && forest.roots.empty()) node.FailInvalid("attribute tree_roots is empty");
  if (node.ok()) CheckTrees(node, lists, forest.roots);
  return forest;
}

}  // namespace tilewright
