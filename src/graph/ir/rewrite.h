#pragma once

#include <string>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Builder of a new graph from an old one, node by node in the old order; the base of every pass.
/// Moves the contents of constants.
class Rewriter {
 public:
  explicit Rewriter(Graph source) : source_(std::move(source)), map_(source_.nodes().size(), -1) {
    result_.CopyDescription(source_);
  }

  const Graph& source() const { return source_; }
  Graph& result() { return result_; }
  const Graph& result() const { return result_; }
  /// Returns the new id of an old node; -1 if it was not copied yet.
  int At(int old_id) const { return map_[static_cast<std::size_t>(old_id)]; }
  void Map(int old_id, int new_id) { map_[static_cast<std::size_t>(old_id)] = new_id; }
  /// Copies an old node with its name. Its inputs must be in the new graph.
  Status Copy(int old_id);
  /// Adds operator `op` with the name, source name, annotation and site of an old node.
  Result<int> CopyAs(int old_id, Operator op, std::vector<int> inputs);
  /// Adds a cast of a value of the new graph.
  Result<int> AddCast(const std::string& name, DataType to, int value);
  /// Sets the outputs, prunes the graph and returns it.
  Graph Finish();

 private:
  Graph source_;
  Graph result_;
  std::vector<int> map_;
};

/// Returns ids in depth-first postorder from the outputs, inputs left to right. This is the order
/// of Relay, independent of the order in which the graph was built. All inputs of the graph come
/// first.
std::vector<int> PostOrder(const Graph& graph);

/// Removes the nodes that no output needs. Keeps inputs.
Graph Prune(Graph graph);

}  // namespace tilewright
