#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/operator.h"

namespace tilewright {

enum class NodeKind : std::uint8_t { kInput, kConstant, kOperator };

/// One value of a graph: an input, a constant, or the result of an operator.
struct Node {
  NodeKind kind = NodeKind::kOperator;
  Operator op;               ///< kOperator
  std::vector<int> inputs;   ///< ids of earlier nodes
  TensorType type;
  std::string name;          ///< of the value in the source ("r0", "%26", "conv1_w_0"); unique
};

/// A data-flow graph in topological order: a node's inputs have smaller ids. Node id = position.
/// Every operator has one result (a source operator with several becomes several nodes).
class Graph {
 public:
  std::string name;
  int AddInput(std::string value_name, TensorType type);
  /// A constant with contents, or (no payload in the source) with none: see SeedConstants.
  int AddConstant(std::string value_name, Tensor contents);
  int AddConstant(std::string value_name, TensorType type);
  /// Infers the type. Errors: those of InferType, with the value's name as context.
  Result<int> AddOperator(std::string value_name, Operator op, std::vector<int> inputs);
  void SetOutputs(std::vector<int> outputs) { outputs_ = std::move(outputs); }

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const std::vector<int>& outputs() const { return outputs_; }
  std::vector<int> inputs() const;
  /// Contents of a constant; null if it has none.
  const Tensor* Contents(int id) const;
  void SetContents(int id, Tensor contents);
  /// For each node the ids of the operators that read it, one entry per use.
  std::vector<std::vector<int>> Users() const;
  /// Moves a constant's contents out (for passes that build a new graph).
  Tensor TakeContents(int id);

 private:
  std::vector<Node> nodes_;
  std::vector<int> outputs_;
  std::map<int, Tensor> contents_;
};

/// Reads a model file by its contents: ONNX protobuf, Relay text, or this project's own model
/// files (ONNX, written by the model generator).
/// Errors: kInvalidArgument with file, place and what was expected; kUnsupported listing every
/// operator that is not supported, by name and count.
Result<Graph> LoadGraph(const std::string& path);
Result<Graph> ImportOnnx(std::string_view bytes, std::string name);
Result<Graph> ImportRelay(std::string_view text, std::string name);

/// Which made-up contents constants get.
enum class SeedRule : std::uint8_t {
  kMissing,   ///< only constants without contents (Relay), by the rules of the Relay data
  kAllFloat,  ///< every float constant, by its name, by the rules of the light ONNX models
};
/// Fills constants as the rule says. Relay: "relay.Constant.<i>" names.
void SeedConstants(Graph& graph, SeedRule rule);
/// The made-up input for `value_name`: float i/n for ONNX ("ramp"), seeded integers for Relay.
enum class InputRule : std::uint8_t { kRamp, kSeededQuantized, kRandom };
Tensor MakeInput(std::string_view value_name, const TensorType& type, InputRule rule);

}  // namespace tilewright
