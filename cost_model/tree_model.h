#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost_model/cost_model.h"

namespace tilewright::cost_model {

/// Trained model as shipped: trees only, evaluated without XGBoost. Thread-safe.
///
/// File: a line `tilewright-cost-model 2 features <version> <count> <hash of their names>`, a line
/// `<expected slowdown> <target kind> <families,…> <training data>`, a line `<bytes> <CRC-32>`,
/// then the trees: the base score (float), the number of trees and, for each, its number of nodes
/// and the nodes, 12 bytes each: feature (int32, -1: a leaf), right child (int32, after its parent;
/// the left one is the next node), and threshold or leaf value (float), all little-endian.
class TreeModel final : public CostModel {
 public:
  struct Node {
    std::int32_t feature = -1;  ///< -1: a leaf
    std::int32_t right = 0;     ///< index in the tree; the left child is the next node
    float value = 0;            ///< rows below it go left; of a leaf: its contribution
  };
  struct Metadata {
    /// Slowdown of its choices on tasks held out of its training; 0: unknown.
    double expected_slowdown = 0;
    std::string target_kind;            ///< target kind of its candidates: "llvm"
    std::vector<std::string> families;  ///< families in its training data; see search::FamilyOf
    std::string learned_from;           ///< training data, one line: "12000 trials of 30 tasks"
  };

  /// trees: roots first, parents before their children. Requires that they are well formed.
  TreeModel(float base_score, std::vector<std::vector<Node>> trees, Metadata metadata);

  const Metadata& metadata() const { return metadata_; }
  std::string Serialize() const;
  /// Parses a model file. Errors: kInvalidArgument if the bytes are not a model, are damaged, or
  /// belong to other features.
  static Result<std::unique_ptr<TreeModel>> Deserialize(std::string_view bytes);
  /// Writes the model to a file. Errors: those of the file.
  Status Save(const std::string& path) const;
  static Result<std::unique_ptr<TreeModel>> Load(const std::string& path);

  Result<std::vector<float>> Predict(std::span<const float> features) const override;
  bool trained() const override { return true; }
  /// Errors: always kUnsupported, because a shipped model only predicts.
  Status Train(const Dataset& data) override;
  std::size_t full_training_rows() const override { return 0; }
  Result<std::unique_ptr<CostModel>> Clone() const override;
  void ReleaseMemory() override {}  // holds no releasable memory

 private:
  float base_score_ = 0;
  std::vector<std::vector<Node>> trees_;
  Metadata metadata_;
};

}  // namespace tilewright::cost_model
