#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/annotation.h"
#include "src/graph/ir/bindings.h"
#include "src/tensor/operator.h"

namespace tilewright {

enum class NodeKind : std::uint8_t { kInput, kConstant, kOperator };

/// One value of a graph: an input, a constant, or the result of an operator.
struct Node {
  NodeKind kind = NodeKind::kOperator;
  Operator op;              ///< kOperator
  std::vector<int> inputs;  ///< ids of earlier nodes
  TensorType type;
  /// Of the value in the source ("r0", "%26", "conv1_w_0"); unique. A value that an importer or a
  /// pass made on the way to a source value has that one's name and a part: "r0#0".
  std::string name;
  std::string source;  ///< kOperator: what the source file calls it, if it says so
  /// Anchors of a graph that is being partitioned: position of the site (PartitionedGraph::sites)
  /// whose operator this is; else -1. Passes that rebuild an operator copy it.
  int site = -1;
  Annotation annotation;  ///< kOperator, identities only
};

/// How the text that a graph was read from is written, beside what it means.
struct TextStyle {
  std::vector<std::string> notes;  ///< comments behind the function's name
  bool parameters_typed_twice = true;
  bool ends_in_newline = true;
};

/// Limits of every graph, so that no size computed from types overflows: sizes of dimensions and
/// elements per tensor.
inline constexpr std::int64_t kMaxDimension = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
/// Errors: kInvalidArgument unless every dimension is at least 1 and both limits are kept.
Status CheckTensorType(const TensorType& type);

/// The source value a name belongs to: "r0" for "r0" and for "r0#0".
std::string_view SourceName(std::string_view value_name);

/// Whether a name says nothing outside of its file: "%26", a number in a listing, or "r0#1", a
/// part.
bool IsLocalName(std::string_view value_name);

/// What the integers of a value stand for: scale * (q - zero_point).
struct QuantizationParams {
  std::vector<float>
      scales;  ///< one, or one per element of dimension `axis`; none: the value itself
  std::int64_t axis = 0;
  std::int64_t zero_point = 0;
  std::string value = {};  ///< its name in the float network, where it has another one here
  friend bool operator==(const QuantizationParams&, const QuantizationParams&) = default;
};

/// What the integers of values stand for, by the names of the values.
using QuantizationMap = std::map<std::string, QuantizationParams, std::less<>>;

/// A data-flow graph in topological order: a node's inputs have smaller ids. Node id = position.
/// Every operator has one result (a source operator with several becomes several nodes).
/// Movable, not copyable (constants are large). Const member functions may be called from several
/// threads at once.
class Graph {
 public:
  std::string name;
  TextStyle style;
  /// By the name of the value, as far as the source says it.
  QuantizationMap quantization;
  /// What somebody who reads the file should be told, a sentence each: operators that stay float
  /// between quantized ones, and how the export can be mended.
  std::vector<std::string> notes;
  /// What makes a value in the file, by the name of the value ("node 3 'head' (Conv)"), where the
  /// value's name alone does not say it. For messages: see DescribeOrigin.
  std::map<std::string, std::string, std::less<>> origins;
  /// Constants that the source has no contents for, or that were replaced: see SeedConstants. Also
  /// of a file that was written with such contents.
  std::int64_t synthetic_constants = 0;
  /// How the file was read, where it could have been otherwise: options of the command line
  /// ("--dim height=320").
  std::vector<std::string> binding_options;

  int AddInput(std::string value_name, TensorType type);
  /// A constant with contents, or (no payload in the source) with none: see SeedConstants.
  int AddConstant(std::string value_name, Tensor contents);
  int AddConstant(std::string value_name, TensorType type);
  /// A constant whose elements are all `fill`; takes memory only once its contents are asked for.
  int AddFilledConstant(std::string value_name, TensorType type, double fill);
  /// Infers the type; axes of a transposition become those from the front. Errors: those of
  /// InferType and CheckTensorType, with the value's name as context; kInvalidArgument if an input
  /// is no earlier node.
  Result<int> AddOperator(std::string value_name, Operator op, std::vector<int> inputs);
  void SetOutputs(std::vector<int> outputs) { outputs_ = std::move(outputs); }
  void Rename(int id, std::string value_name);
  /// What a pass that copies an operator takes along: its name in the source, and its mark.
  void Annotate(int id, std::string source, Annotation annotation);
  /// Sets Node::site.
  void SetSite(int id, int site) { nodes_[static_cast<std::size_t>(id)].site = site; }

  /// What of the file a value comes from, for messages: "node 3 'head' (Conv)" where the file has
  /// nodes (also of a value on the way to that node's result), else "value %5".
  std::string DescribeOrigin(int id) const;
  /// The same, but where the file has no nodes the value's name alone.
  const std::string& OriginOrName(int id) const;

  /// The name of a value in the float network; empty if nobody says one.
  std::string FloatName(int id) const;

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<int>& outputs() const { return outputs_; }
  std::vector<int> inputs() const;
  /// Contents of a constant; null if it has none. Valid until they are set or taken.
  const Tensor* Contents(int id) const;
  /// True if Contents would not be null; makes nothing.
  bool HasContents(int id) const;
  void SetContents(int id, Tensor contents);
  /// For each node the ids of the operators that read it, one entry per use.
  std::vector<std::vector<int>> Users() const;
  /// Moves a constant's contents out (for passes that build a new graph).
  Tensor TakeContents(int id);
  /// The fill value of a constant that takes no memory yet; null for every other node.
  const double* Fill(int id) const;
  /// A graph of the same nodes with the contents of constants of at most `max_elements` elements
  /// (the others have none).
  Graph CloneWithout(std::int64_t max_elements) const;

 private:
  /// Contents made on demand from fills_, hence the lock.
  struct Store {
    std::mutex mutex;
    std::map<int, Tensor> contents;
  };
  std::vector<Node> nodes_;
  std::vector<int> outputs_;
  std::map<int, double> fills_;
  std::unique_ptr<Store> store_ = std::make_unique<Store>();
};

/// How sums of products become quantized numbers again in operators of ONNX.
enum class Requantize : std::uint8_t {
  kByFloat,  ///< by a product in float32, to the last bit as ONNX says
  /// By integers only (fixed_point_multiply, or int64 per channel); halves go up.
  kByIntegers,
};
struct LoadOptions {
  Requantize requantize = Requantize::kByFloat;
  Bindings bindings = {};
  /// Bindings of names that the file does not have are left out: of another form of a model.
  bool ignore_unknown_names = false;
};
/// A model as a command reads it: the same source gives the same graph, whatever is done with it.
struct ModelSource {
  std::string path;
  LoadOptions options = {};
};

/// Reads a model file by its contents: ONNX protobuf, Relay text, or this project's own model
/// files (ONNX, written by the model generator).
/// Errors: kInvalidArgument with file, place and what was expected, for bindings too; kUnsupported
/// listing every operator that is not supported, by name and count, or every size that stays open.
Result<Graph> LoadGraph(const std::string& path, const LoadOptions& options = {});
inline Result<Graph> LoadGraph(const ModelSource& source) {
  return LoadGraph(source.path, source.options);
}
/// `name` becomes the graph's. Symbolic first dimensions of inputs (batch) are read as 1 unless
/// they are bound.
Result<Graph> ImportOnnx(std::string_view bytes, std::string name, const LoadOptions& options = {});
Result<Graph> ImportRelay(std::string_view text, std::string name);

/// Which constants get made-up contents.
enum class SeedRule : std::uint8_t {
  kMissing,   ///< those without contents (Relay), by the rules of the Relay data
  kAllFloat,  ///< these, and every float constant, by the rules of the light ONNX models
};
/// Fills constants as the rule says, each from its name and what reads it, and counts them in
/// synthetic_constants. Relay: "relay.Constant.<i>" names. Constants that an importer made itself
/// ("r0#1") keep their contents.
void SeedConstants(Graph& graph, SeedRule rule);
}  // namespace tilewright
