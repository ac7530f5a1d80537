#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Builds a new graph from an old one, node by node in the old order: the frame of every pass.
/// Constants' contents move over.
class Rewriter {
 public:
  explicit Rewriter(Graph source) : source_(std::move(source)), map_(source_.nodes().size(), -1) {
    result_.name = source_.name;
    result_.style = source_.style;
    result_.quantization = source_.quantization;
    result_.notes = source_.notes;
    result_.origins = source_.origins;
    result_.synthetic_constants = source_.synthetic_constants;
    result_.binding_options = source_.binding_options;
  }

  const Graph& source() const { return source_; }
  Graph& result() { return result_; }
  const Graph& result() const { return result_; }
  /// New id of an old node; -1 if it is not there yet.
  int At(int old_id) const { return map_[static_cast<std::size_t>(old_id)]; }
  void Map(int old_id, int new_id) { map_[static_cast<std::size_t>(old_id)] = new_id; }
  /// Copies an old node whose inputs are there, with the name it has.
  Status Copy(int old_id);
  /// Adds the operator `op` with the name, the source, the annotation and the site of an old node.
  Result<int> CopyAs(int old_id, Operator op, std::vector<int> inputs);
  /// The new graph, its outputs set, pruned.
  Graph Finish();

 private:
  Graph source_;
  Graph result_;
  std::vector<int> map_;
};

/// Ids in the order in which a walk from the outputs leaves them, inputs left to right: the order
/// of Relay, whatever order the graph was built in. Inputs of the graph come first, all of them.
std::vector<int> PostOrder(const Graph& graph);

/// Drops the nodes that no output needs; inputs stay.
Graph Prune(Graph graph);

}  // namespace tilewright
