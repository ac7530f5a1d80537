#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// The functions of a model file, by domain, name and overload.
class LocalFunctions {
 public:
  /// Keeps pointers into the model.
  /// Errors: kInvalidArgument for a function that is there twice.
  static Result<LocalFunctions> Of(const onnx::ModelProto& model);
  /// The function that a node calls; null if it is an operator.
  const onnx::FunctionProto* Find(const onnx::NodeProto& node) const;

 private:
  std::map<std::string, const onnx::FunctionProto*, std::less<>> functions_;
};

/// The body of a function in the place of a node that calls it: values of the body get names that
/// begin with that of the node's result, and references to attributes their values.
/// Errors: kInvalidArgument for inputs and outputs that the function does not have.
Result<std::vector<onnx::NodeProto>> InlineCall(const onnx::NodeProto& call,
                                                const onnx::FunctionProto& function,
                                                OnnxImport& import);

/// A branch in the place of an If: its initializers become those of the import.
/// Errors: kInvalidArgument for a branch with other outputs than the node, or inputs.
Result<std::vector<onnx::NodeProto>> InlineBranch(const onnx::NodeProto& node,
                                                  const onnx::GraphProto& branch,
                                                  OnnxImport& import);

/// What a Scan says beside its body: how many of its inputs it takes apart, along which dimensions
/// (not below 0) and from which end, and so its results.
struct ScanOrder {
  std::int64_t steps = 0;
  std::vector<std::int64_t> input_axes, output_axes;
  std::vector<bool> input_reversed, output_reversed;
};

/// A Scan (of set 9 and later) as its body, once for each step; its initializers become those of
/// the import.
/// Errors: kInvalidArgument for a body of other inputs or outputs than the node.
Result<std::vector<onnx::NodeProto>> UnrollScan(const onnx::NodeProto& node,
                                                const onnx::GraphProto& body,
                                                const ScanOrder& order, OnnxImport& import);

/// The body of a SequenceMap, once for each of `steps`, which are the names that its inputs stand
/// for; its initializers become those of the import. results: for each output of the node the names
/// of what the steps made.
/// Errors: kInvalidArgument for a body of other inputs or outputs than the node.
Result<std::vector<onnx::NodeProto>> UnrollSequenceMap(
    const onnx::NodeProto& node, const onnx::GraphProto& body,
    const std::vector<std::vector<std::string>>& steps,
    std::vector<std::vector<std::string>>& results, OnnxImport& import);

/// A Loop as its body, step by step: what the condition of a step is may follow from the one
/// before.
class LoopUnroller {
 public:
  /// The body's initializers become those of the import. All of them outlive this.
  /// Errors: kInvalidArgument for a body of other inputs or outputs than the node.
  static Result<LoopUnroller> Of(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                 OnnxImport& import);
  std::int64_t steps() const { return steps_; }
  /// Value that says whether there is a next step; empty: there is.
  const std::string& condition() const { return condition_; }
  /// The body for the next step.
  std::vector<onnx::NodeProto> Next();
  /// What makes the outputs of the node of what the steps made. A list of what no step made, and
  /// whose elements have no declared shape, stays unmade.
  std::vector<onnx::NodeProto> Results();

 private:
  LoopUnroller(const onnx::NodeProto& node, const onnx::GraphProto& body, OnnxImport& import)
      : node_(&node), body_(&body), import_(&import) {}

  const onnx::NodeProto* node_;
  const onnx::GraphProto* body_;
  OnnxImport* import_;
  std::string prefix_, condition_;
  std::map<std::string, std::string, std::less<>> constants_;
  std::vector<std::string> carried_;             // from step to step
  std::vector<std::vector<std::string>> lists_;  // results of which every step makes one element
  std::int64_t steps_ = 0;
};

/// Values from outside that the subgraphs of a node read.
std::vector<std::string> CapturedValues(const onnx::NodeProto& node);

/// Operator set of a list of imports for operators of ONNX; 0 if there is none.
template <typename Imports>
std::int64_t OpsetOf(const Imports& imports) {
  for (const auto& opset : imports) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") return opset.version();
  }
  return 0;
}

}  // namespace tilewright
