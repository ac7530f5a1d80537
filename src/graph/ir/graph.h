#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/annotation.h"
#include "src/graph/ir/bindings.h"
#include "src/tensor/operator.h"

namespace tilewright {

enum class NodeKind : std::uint8_t { kInput, kConstant, kOperator };

/// Value of a graph: an input, a constant, or the result of an operator.
struct Node {
  NodeKind kind = NodeKind::kOperator;
  Operator op;              ///< kOperator
  std::vector<int> inputs;  ///< ids of earlier nodes
  TensorType type;
  /// Unique name of the value in the source ("r0", "%26", "conv1_w_0"). An intermediate value that
  /// an importer or a pass added has the name of the source value with a suffix: "r0#0".
  std::string name;
  std::string source;  ///< kOperator: its name in the source file, if it has one
  /// Anchors of a graph that is being partitioned: position of the site (PartitionedGraph::sites)
  /// of this operator; else -1. Passes that rebuild an operator copy it.
  int site = -1;
  Annotation annotation;  ///< kOperator, identities only
};

/// Formatting of the text that a graph was read from, apart from its meaning.
struct TextStyle {
  std::vector<std::string> notes;  ///< comments after the function's name
  bool parameters_typed_twice = true;
  bool ends_in_newline = true;
};

/// Limits of every graph: maximum size of a dimension and maximum number of elements per tensor.
/// With them no size computed from types overflows.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
/// Checks a type. Errors: kInvalidArgument unless every dimension is at least 1 and within both
/// limits.
Status CheckTensorType(const TensorType& type);

/// Returns the name of the source value that a name belongs to: "r0" for "r0" and for "r0#0".
std::string_view SourceName(std::string_view value_name);
/// Returns a name for a value that a pass makes beside the value `name`: "r0#flat1" for "flat1",
/// and "r0#0.flat1" if the name has a part already.
std::string NameOfPart(const std::string& name, std::string_view part);

/// Returns true if a name has a meaning only within its file: "%26", a number in a listing, or
/// "r0#1", an intermediate value.
bool IsLocalName(std::string_view value_name);

/// Quantization parameters: integer q represents the real number scale * (q - zero_point).
struct QuantizationParams {
  std::vector<float>
      scales;  ///< one, or one per element of dimension `axis`; empty: the value is not quantized
  std::int64_t axis = 0;
  std::int64_t zero_point = 0;
  std::string value = {};  ///< name in the float network, if it differs
  friend bool operator==(const QuantizationParams&, const QuantizationParams&) = default;
};

/// Quantization parameters by value name.
using QuantizationMap = std::map<std::string, QuantizationParams, std::less<>>;

/// Number format of the operands of matrix products and convolutions, and of values in memory.
enum class Precision : std::uint8_t {
  kAsInModel,   ///< the types of the model
  kAsBFloat16,  ///< float32 operands are rounded to bfloat16; sums and epilogues stay float32
};

/// Data-flow graph in topological order: a node's inputs have smaller ids. A node's id is its
/// position. Every operator has one result; an importer splits a source operator with several
/// results into several nodes. Movable, not copyable (constants are large). Several threads may
/// call const member functions at once.
class Graph {
 public:
  std::string name;
  TextStyle style;
  /// By value name, as far as the source states them.
  QuantizationMap quantization;
  /// Notes for the user, one sentence each: operators that stay float32 between quantized ones, and
  /// how to fix the export.
  std::vector<std::string> notes;
  /// Origin of a value in the file by value name ("node 3 'head' (Conv)"), if it differs from the
  /// value's name. For messages: see DescribeOrigin.
  std::map<std::string, std::string, std::less<>> origins;
  /// Number of constants with synthetic contents: the source had none, or SeedConstants replaced
  /// them. Also set by a file that was written with such contents.
  std::int64_t synthetic_constants = 0;
  /// Command-line options that chose among several readings of the file ("--dim height=320").
  std::vector<std::string> binding_options;
  /// Applied by Partition for CPUs.
  Precision precision = Precision::kAsInModel;
  /// Source names (SourceName) of products whose operands stay float32 in another precision.
  std::set<std::string, std::less<>> float32_products;

  /// Copies the members above: what a graph has apart from its nodes.
  void CopyDescription(const Graph& from);

  int AddInput(std::string value_name, TensorType type);
  /// Adds a constant. Its contents are missing if the source has no payload: see SeedConstants.
  int AddConstant(std::string value_name, Tensor contents);
  int AddConstant(std::string value_name, TensorType type);
  /// Adds a constant with all elements equal to `fill`. It takes memory only after the first call
  /// of Contents.
  int AddFilledConstant(std::string value_name, TensorType type, double fill);
  /// Adds an operator: infers its type and makes the axes of a transposition non-negative. Errors:
  /// those of InferType and CheckTensorType, with the value's name as context; kInvalidArgument if
  /// an input is not an earlier node.
  Result<int> AddOperator(std::string value_name, Operator op, std::vector<int> inputs);
  void SetOutputs(std::vector<int> outputs) { outputs_ = std::move(outputs); }
  void Rename(int id, std::string value_name);
  /// Sets the source name and annotation of an operator, for passes that copy it.
  void Annotate(int id, std::string source, Annotation annotation);
  /// Sets Node::site.
  void SetSite(int id, int site) { nodes_[static_cast<std::size_t>(id)].site = site; }

  /// Describes the origin of a value for messages: "node 3 'head' (Conv)" if the file has nodes
  /// (also for an intermediate value of that node), else "value %5".
  std::string DescribeOrigin(int id) const;
  /// Like DescribeOrigin, but returns only the value's name if the file has no nodes.
  const std::string& OriginOrName(int id) const;

  /// Returns the name of a value in the float network; empty if unknown.
  std::string FloatName(int id) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<int>& outputs() const { return outputs_; }
  std::vector<int> inputs() const;
  /// Returns the contents of a constant; null if it has none. Valid until they are set or taken.
  const Tensor* Contents(int id) const;
  /// Returns true if Contents would not return null. Creates no contents.
  bool HasContents(int id) const;
  void SetContents(int id, Tensor contents);
  /// Returns for each node the ids of the operators that read it, one entry per use.
  std::vector<std::vector<int>> Users() const;
  /// Moves the contents of a constant out, for passes that build a new graph.
  Tensor TakeContents(int id);
  /// Returns the fill value of a constant that takes no memory yet; null for every other node.
  const double* Fill(int id) const;
  /// Returns a graph with the same nodes and constants.
  Graph Clone() const;
  /// Returns a graph with the same nodes, in which only constants of at most `max_elements`
  /// elements have contents.
  Graph CloneWithout(std::int64_t max_elements) const;

 private:
  /// Contents created on demand from fills_; the lock protects their creation.
  struct Store {
    std::mutex mutex;
    std::map<int, Tensor> contents;
  };
  std::vector<Node> nodes_;
  std::vector<int> outputs_;
  std::map<int, double> fills_;
  std::unique_ptr<Store> store_ = std::make_unique<Store>();
};

/// Method by which ONNX operators requantize sums of products.
enum class Requantize : std::uint8_t {
  kByFloat,  ///< product in float32, bit-exact with ONNX
  /// integer arithmetic only (fixed_point_multiply, or int64 per channel); rounds halves up
  kByIntegers,
};
struct LoadOptions {
  Requantize requantize = Requantize::kByFloat;
  Bindings bindings = {};
  Precision precision = Precision::kAsInModel;
  /// Ignore bindings of names that the file does not have, as for another export of the model.
  bool ignore_unknown_names = false;
};
/// Model file and the options for reading it. The same source always gives the same graph.
struct ModelSource {
  std::string path;
  LoadOptions options = {};
};

/// Reads a model file and detects its format from the contents: ONNX protobuf, Relay text, or a
/// model file of the model generator (ONNX).
/// Errors: kInvalidArgument with file, position and what was expected, also for bindings;
/// kUnsupported listing all unsupported operators by name and count, or all dimensions that stay
/// open.
Result<Graph> LoadGraph(const std::string& path, const LoadOptions& options = {});
inline Result<Graph> LoadGraph(const ModelSource& source) {
  return LoadGraph(source.path, source.options);
}
/// Imports an ONNX model. `name` becomes the graph's name. Symbolic first dimensions of inputs
/// (batch) become 1 unless they are bound.
Result<Graph> ImportOnnx(std::string_view bytes, std::string name, const LoadOptions& options = {});
Result<Graph> ImportRelay(std::string_view text, std::string name);

/// Selects the constants that get synthetic contents.
enum class SeedRule : std::uint8_t {
  kMissing,   ///< constants without contents (Relay), by the rules of the Relay data
  kAllFloat,  ///< these and every float constant, by the rules of the light ONNX models
};
/// Fills the selected constants, each by its name and its users, and counts them in
/// synthetic_constants. Names of Relay constants: "relay.Constant.<i>". Constants that an importer
/// added ("r0#1") keep their contents.
void SeedConstants(Graph& graph, SeedRule rule);
}  // namespace tilewright
