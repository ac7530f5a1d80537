#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// A set of decision trees. Where a walk goes on is a branch's number, or ~n for leaf n.
struct Forest {
  struct Branch {
    std::int64_t feature = 0;  ///< the column of the data that is looked at
    double split = 0;
    /// Where to go on: less than `split`, equal, greater, no number.
    std::array<std::int32_t, 4> next = {};
  };
  /// What the leaf adds: numbers of targets, and weights.
  using Leaf = std::vector<std::pair<std::int64_t, double>>;
  enum class Aggregate : std::uint8_t { kAverage, kSum, kMin, kMax };

  std::vector<Branch> branches;
  std::vector<Leaf> leaves;
  std::vector<std::int32_t> roots;  ///< of each tree
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
};

/// Functions of all scores of a row.
enum class ScoreTransform : std::uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// Trees from the attributes of a TreeEnsembleRegressor ("target") or a TreeEnsembleClassifier
/// ("class"), without targets and aggregate. Errors: lists of different lengths, nodes that are
/// there twice or missing, trees with other than one root, cycles.
Forest ReadForest(OnnxNode& node, std::string_view weights);
/// Trees of a TreeEnsemble (ai.onnx.ml 5).
Forest ReadIndexedForest(OnnxNode& node);
/// A list of floats, from attribute `name` or as a tensor from `name` + "_as_tensor".
std::vector<double> FloatsOrTensor(OnnxNode& node, const std::string& name);
/// The transform by its name or its number. Errors: there is none of it.
ScoreTransform ReadTransform(OnnxNode& node);

/// Scores [N,targets] of data [N,F], in the type `real` that the data are compared in.
int EmitForest(OnnxNode& node, int data, const Forest& forest, DataType real);
/// Data of 1 or 2 dimensions as rows [N,F] of floats: float64 if it is that, otherwise float32.
int EmitRows(OnnxNode& node, int data);
int EmitTransformed(OnnxNode& node, int scores, ScoreTransform transform);

}  // namespace tilewright
