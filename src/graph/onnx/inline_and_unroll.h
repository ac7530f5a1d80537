#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Functions of a model file, by domain, name and overload.
class LocalFunctions {
 public:
  /// Keeps pointers into the model.
  /// Returns kInvalidArgument for a duplicate function.
  static Result<LocalFunctions> Of(const onnx::ModelProto& model);
  /// Returns the function that a node calls; null if the node is an operator.
  const onnx::FunctionProto* Find(const onnx::NodeProto& node) const;

 private:
  std::map<std::string, const onnx::FunctionProto*, std::less<>> functions_;
};

/// Returns the body of a function with the arguments of a call substituted. Names of the body's
/// values begin with the name of the call's result; references to attributes are replaced by their
/// values.
/// Returns kInvalidArgument for inputs and outputs that the function does not have.
Result<std::vector<onnx::NodeProto>> InlineCall(const onnx::NodeProto& call,
                                                const onnx::FunctionProto& function,
                                                OnnxImport& import);

/// Returns the nodes of a branch that replace an If. Adds the branch's initializers to the import.
/// Returns kInvalidArgument for a branch that has inputs or whose outputs differ from those of the
/// node.
Result<std::vector<onnx::NodeProto>> InlineBranch(const onnx::NodeProto& node,
                                                  const onnx::GraphProto& branch,
                                                  OnnxImport& import);

/// Iteration of a Scan: number of steps, axes (not negative) and directions along which the inputs
/// are split and the outputs are joined.
struct ScanOrder {
  std::int64_t steps = 0;
  std::vector<std::int64_t> input_axes, output_axes;
  std::vector<bool> input_reversed, output_reversed;
};

/// Returns the body of a Scan (opset 9 and later) repeated for each step. Adds the body's
/// initializers to the import.
/// Returns kInvalidArgument for a body whose inputs or outputs do not match the node.
Result<std::vector<onnx::NodeProto>> UnrollScan(const onnx::NodeProto& node,
                                                const onnx::GraphProto& body,
                                                const ScanOrder& order, OnnxImport& import);

/// Returns the body of a SequenceMap repeated for each of `steps`. A step lists the names that
/// replace the body's inputs. Adds the body's initializers to the import. results: receives for
/// each output of the node the names of the values that the steps compute.
/// Returns kInvalidArgument for a body whose inputs or outputs do not match the node.
Result<std::vector<onnx::NodeProto>> UnrollSequenceMap(
    const onnx::NodeProto& node, const onnx::GraphProto& body,
    const std::vector<std::vector<std::string>>& steps,
    std::vector<std::vector<std::string>>& results, OnnxImport& import);

/// Unroller of a Loop, one step at a time: the condition of a step can depend on the result of the
/// step before.
class LoopUnroller {
 public:
  /// Adds the body's initializers to the import. All arguments must outlive the unroller.
  /// Returns kInvalidArgument for a body whose inputs or outputs do not match the node.
  static Result<LoopUnroller> Of(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                 OnnxImport& import);
  std::int64_t steps() const { return steps_; }
  /// Name of the value that decides whether another step follows; empty if always.
  const std::string& condition() const { return condition_; }
  /// Returns the body for the next step.
  std::vector<onnx::NodeProto> Next();
  /// Returns the nodes that compute the outputs of the node from the results of the steps. Omits a
  /// list output if there are no steps and its elements have no declared shape.
  std::vector<onnx::NodeProto> Results();

 private:
  LoopUnroller(const onnx::NodeProto& node, const onnx::GraphProto& body, OnnxImport& import)
      : node_(&node), body_(&body), import_(&import) {}

  const onnx::NodeProto* node_;
  const onnx::GraphProto* body_;
  OnnxImport* import_;
  std::string prefix_, condition_;
  std::map<std::string, std::string, std::less<>> constants_;
  std::vector<std::string> carried_;             // values passed from step to step
  std::vector<std::vector<std::string>> lists_;  // results to which every step adds one element
  std::int64_t steps_ = 0;
};

/// Returns the names of outer values that the subgraphs of a node read.
std::vector<std::string> CapturedValues(const onnx::NodeProto& node);

/// Returns the opset version of ONNX's own domain in a list of imports; 0 if absent.
template <typename Imports>
std::int64_t OpsetOf(const Imports& imports) {
  for (const auto& opset : imports) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return opset.version();
  }
  return 0;
}

}  // namespace tilewright
