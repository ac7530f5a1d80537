#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Set of decision trees. A successor is the index of a branch, or ~n for leaf n.
struct Forest {
  struct Branch {
    std::int64_t feature = 0;  ///< column of the data that the branch compares
    double split = 0;
    /// Successors if the feature is less than `split`, equal, greater, or NaN.
    std::array<std::int32_t, 4> next = {};
  };
  /// Pairs of a target and the weight that the leaf adds to it.
  using Leaf = std::vector<std::pair<std::int64_t, double>>;
  enum class Aggregate : std::uint8_t { kAverage, kSum, kMin, kMax };

  std::vector<Branch> branches;
  std::vector<Leaf> leaves;
  std::vector<std::int32_t> roots;  ///< root of each tree
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
};

/// Functions of all scores of a row.
enum class ScoreTransform : std::uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// Reads the trees from the attributes of a TreeEnsembleRegressor ("target") or a
/// TreeEnsembleClassifier ("class"), without targets and aggregate. Errors: lists of different
/// lengths, duplicate or missing nodes, trees without exactly one root, cycles.
Forest ReadForest(OnnxNode& node, std::string_view weights);
/// Reads the trees of a TreeEnsemble (ai.onnx.ml 5).
Forest ReadIndexedForest(OnnxNode& node);
/// Returns a list of floats from attribute `name`, or from a tensor in `name` + "_as_tensor".
std::vector<double> FloatsOrTensor(OnnxNode& node, const std::string& name);
/// Returns the transform given by name or number. Errors: unknown transform.
ScoreTransform ReadTransform(OnnxNode& node);

/// Emits scores [N,targets] of data [N,F]. Comparisons use type `real`.
int EmitForest(OnnxNode& node, int data, const Forest& forest, DataType real);
/// Converts data of 1 or 2 dimensions to rows [N,F] of float64 if the data are float64, else of
/// float32.
int EmitRows(OnnxNode& node, int data);
int EmitTransformed(OnnxNode& node, int scores, ScoreTransform transform);

}  // namespace tilewright
