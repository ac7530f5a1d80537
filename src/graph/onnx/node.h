#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/onnx/known_values.h"
#include "src/graph/onnx/proto.h"
#include "src/graph/onnx/storage_types.h"

namespace tilewright {

/// Oldest and newest opset that the importer supports.
inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 28;
/// Oldest opset that handlers support. Nodes of older opsets are upgraded first (opset_upgrade.h).
inline constexpr std::int64_t kOldestHandledOpset = 7;

/// Quantized representation of a float value.
struct QuantizedValue {
  /// Node of the integers; or, with zero point 0, of float32 sums with a bias that is not an
  /// integer.
  int id = -1;
  QuantizationParams quantization_params;
};

/// Constant that DequantizeLinear converts to floats with a scale for each block along one axis.
struct DequantizedBlocks {
  int integers = -1, scales = -1, zeros = -1;  ///< nodes; zeros: -1 if absent
  std::int64_t axis = 0, block = 0;
  int bits = 8;          ///< of an integer
  std::int64_t low = 0;  ///< smallest integer of the type
};

/// Shapes by value name (declared_shapes.h).
using DeclaredShapes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// State of the import of one graph: values by name and constants that are not used yet.
struct OnnxImport {
  Graph graph;
  std::int64_t opset = 0;
  std::string folder;  ///< of the model file; empty if it was read from memory
  std::map<std::string, const onnx::TensorProto*, std::less<>> initializers;
  DeclaredShapes declared;  ///< declared shapes of values computed by nodes
  std::map<std::string, std::string, std::less<>> open;  ///< names of dimensions without a size
  /// Values of `graph` that are computed from constants.
  KnownValues known;
  /// Values whose producer was rejected. Nodes that read them are skipped.
  std::set<std::string, std::less<>> refused;
  /// Node under import, as messages name it: "node 3 'head' (Conv)".
  std::string place;
  std::map<std::string, int, std::less<>> values;  ///< name in the source -> node of `graph`
  std::set<std::string, std::less<>> names;        ///< of every node of `graph`
  /// Constants computed from shapes. Only these floats are folded at import; other operators on
  /// constants stay, because the contents of constants may be replaced by name (SeedConstants).
  std::set<int> foldable_constants;
  Requantize requantize = Requantize::kByFloat;
  /// Number of integers on which requantizations were tried so far (exact_rescale.h), at most
  /// kMaxTries.
  std::int64_t tries = 0;
  static constexpr std::int64_t kMaxTries = std::int64_t{1} << 31;
  /// Bytes of constants that the importer created so far, at most kMaxConstantBytes. A small file
  /// can request many large constants.
  std::int64_t constant_bytes = 0;
  static constexpr std::int64_t kMaxConstantBytes = std::int64_t{1} << 28;
  /// Constants whose contents were repacked (block_weights.h), and the bytes of repeated uses,
  /// which are copies: at most kMaxRepackedBytes.
  std::set<int> repacked;
  std::int64_t repacked_bytes = 0;
  static constexpr std::int64_t kMaxRepackedBytes = std::int64_t{1} << 31;
  /// Float values that are represented by integers of another node: results of DequantizeLinear and
  /// products of such values.
  std::map<int, QuantizedValue> quantized_values;
  /// Results of DequantizeLinear with blocks.
  std::map<int, DequantizedBlocks> dequantized_blocks;
  /// Values with a storage type: constants, results of casts to a storage type, and results of
  /// operators that pass such elements on.
  std::map<int, const StorageType*> stored;
  /// Names of the tensors of each sequence, and names of empty optional values (sequences.h).
  std::map<std::string, std::vector<std::string>, std::less<>> sequences;
  std::set<std::string, std::less<>> empty_optionals;
  /// Total over all sequences. A small file can copy a long sequence many times.
  std::int64_t sequence_elements = 0;
  static constexpr std::int64_t kMaxSequenceElements = std::int64_t{1} << 23;
  /// Outputs that are not computed, with the message for a reader of the output.
  std::map<std::string, std::string, std::less<>> omitted_outputs;
  /// All value names of the source and of the nodes that replace other nodes.
  std::set<std::string, std::less<>> used_names;
  /// Initializers of the nodes that replace other nodes.
  std::deque<onnx::TensorProto> made;

  /// Returns whether a value of any kind or an omitted output has this name.
  bool Knows(const std::string& name) const;
  /// Returns the node of a value. Adds an initializer to the graph at its first use.
  Result<int> Value(const std::string& name);
  /// Returns the type of a value without adding a node. Errors: those of Value.
  Result<TensorType> TypeOfValue(const std::string& name) const;
  /// Returns kUnsupported if the name refers to a sequence or another value that is not a tensor.
  Status NoTensor(const std::string& name) const;
  /// Returns the contents of a node of `graph` that is constant or computed from constants; else
  /// null.
  const Tensor* Contents(int id) { return known.Find(graph, id); }
};

/// Returns a place for messages, shortened in the middle if it is long. Names can be long and
/// function calls can be nested.
std::string ShortPlace(const std::string& place);

/// Source node under import: its attributes and inputs, and the operators emitted for it. The first
/// error is kept. After it every function returns a neutral value (0, -1, an empty list), so a
/// handler needs to check ok() only before it relies on a value (before it indexes a shape, for
/// example).
class OnnxNode {
 public:
  OnnxNode(OnnxImport& import, const onnx::NodeProto& proto) : import_(import), proto_(proto) {}

  /// Returns the same source node with another graph as the destination of its operators.
  OnnxNode In(OnnxImport& import) const { return OnnxNode(import, proto_); }

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  void Fail(Status status);
  void FailInvalid(std::string message) { Fail(InvalidArgument(std::move(message))); }
  void FailUnsupported(std::string message) { Fail(Unsupported(std::move(message))); }
  /// Maximum number of elements of an input whose contents Known() returns.
  static constexpr std::int64_t kMaxKnown = 4096;
  /// Fails for an input that must be constant at import but is computed at run time or has more
  /// than `most` elements. The message contains "input 1 (s) ", the expectation and a hint.
  void FailUnknown(int index, const std::string& expected, std::int64_t most = kMaxKnown);
  std::int64_t opset() const { return import_.opset; }
  Requantize requantize() const { return import_.requantize; }
  const Graph& graph() const { return import_.graph; }
  /// Returns the quantized value that represents a value; null if there is no such value.
  const QuantizedValue* FindQuantized(int id) const;
  void SetQuantized(int id, QuantizedValue quantized) {
    import_.quantized_values.insert_or_assign(id, std::move(quantized));
  }
  /// Returns the blocks that a value was converted from; null if there are none.
  const DequantizedBlocks* FindBlocks(int id) const;
  void SetBlocks(int id, const DequantizedBlocks& blocks) {
    import_.dequantized_blocks.insert_or_assign(id, blocks);
  }
  /// Records the quantization parameters of the graph's input or output `index`.
  void DescribeInput(int index, QuantizationParams quantization_params);
  void DescribeOutput(int index, QuantizationParams quantization_params);
  /// Reserves that many tries of exact_rescale.h. Returns false and reserves nothing if the import
  /// would take too long.
  bool ReserveTries(std::int64_t numbers);
  /// Adds a note for the user. Repeated notes are dropped.
  void Note(const std::string& sentence);
  /// Returns the name of the first output that is used; intermediate values of the node derive
  /// their names from it.
  const std::string& OutputName() const;
  const std::string& op_type() const { return proto_.op_type(); }

  // Attributes. A handler reads every attribute that changes its result, or declares that the
  // attribute has no effect. After the handler, any other attribute is an error.
  bool HasAttribute(std::string_view name) { return Find(name) != nullptr; }
  std::int64_t Int(std::string_view name, std::int64_t fallback);
  double Float(std::string_view name, double fallback);
  std::string String(std::string_view name, std::string_view fallback);
  /// Returns a list of `count` numbers (any number if 0), each within +-kMaxDimension.
  std::vector<std::int64_t> Ints(std::string_view name, std::vector<std::int64_t> fallback,
                                 std::size_t count = 0);
  /// Returns an unrestricted integer; 0 if absent.
  std::int64_t LongInt(std::string_view name);
  /// Returns a list of unrestricted integers (for example the ends of a slice); empty if absent.
  std::vector<std::int64_t> LongInts(std::string_view name);
  /// Returns a list of floats; empty if absent.
  std::vector<double> Floats(std::string_view name);
  /// Returns a list of strings; empty if absent.
  std::vector<std::string> Strings(std::string_view name);
  /// Returns a tensor attribute; null if absent.
  const onnx::TensorProto* TensorAttribute(std::string_view name);
  /// Returns a sparse tensor attribute; null if absent.
  const onnx::SparseTensorProto* SparseAttribute(std::string_view name);
  /// Declares attributes that do not affect the result (training attributes, for example).
  void IgnoreAttributes(std::initializer_list<std::string_view> names);
  /// Fails if an attribute or input was neither read nor declared to have no effect, or if an
  /// attribute occurs twice.
  void RejectUnread();

  int input_count() const { return proto_.input_size(); }
  int output_count() const { return proto_.output_size(); }
  // Inputs. The rule for attributes applies to them, too.
  bool HasInput(int index);
  void IgnoreInput(int index) { read_inputs_.insert(index); }
  bool HasOutput(int index) const {
    return index < output_count() && !proto_.output(index).empty();
  }
  /// Returns the graph node of an input. Errors: the input is missing; it is zero-size and the
  /// operator does not accept zero-size inputs; it has a storage type and the operator does
  /// arithmetic.
  int Input(int index);
  /// Returns the type of an input, which may be zero-size. Errors: the input is missing.
  TensorType InputType(int index) { return TypeOf(AnyInput(index)); }
  /// Returns the storage type of an input's elements; null for ordinary element types.
  const StorageType* StorageTypeOfInput(int index);
  /// Returns the type of an input or of an emitted node.
  TensorType TypeOf(int id) const;
  std::int64_t Rank(int id) const { return std::ssize(TypeOf(id).shape); }
  void ExpectRank(int index, std::int64_t rank);
  /// Returns the contents of a value that is constant at import; else null (no error).
  const Tensor* Contents(int id) { return id < 0 ? nullptr : import_.Contents(id); }
  /// Returns the contents of an input that is constant at import and has at most kMaxKnown
  /// elements, or that follows from the declared shape of the result (declared_shapes.h); else null
  /// (no error).
  const Tensor* Known(int index);
  /// Returns the same for at most KnownValues::kMaxElements elements.
  const Tensor* KnownElements(int index);
  /// Returns the integers of an input that must be constant at import. Errors: it is not, or it is
  /// not a list of integers.
  std::vector<std::int64_t> KnownInts(int index);
  /// Returns the single element of an input that must be constant at import.
  double KnownScalar(int index);
  /// Emits the same as a scalar constant of the input's element type or `dtype`, exactly.
  int EmitKnown(int index, DataType dtype);
  /// Returns whether doubles and operator attributes represent all elements of an input exactly.
  bool FitsDouble(int index);
  /// Reads attribute `name` in older opsets, or input `index` since opset `since`. Returns the
  /// fallback if both are absent.
  std::vector<std::int64_t> IntsAttributeOrInput(std::string_view name, int index,
                                                 std::int64_t since,
                                                 std::vector<std::int64_t> fallback);
  /// Returns the declared shape of output `index` if all its dimensions have sizes.
  std::optional<std::vector<std::int64_t>> DeclaredShape(int index = 0) const;
  /// Returns the first name without a size in the declared shape of output `index`; empty if all
  /// dimensions have sizes.
  std::string OpenDimension(int index = 0) const;
  /// Returns `axis`, counted from the end if negative. Errors: it is outside of `rank`.
  std::int64_t Axis(std::int64_t axis, std::int64_t rank);

  /// Adds an operator for an intermediate value. Adds a constant instead if the result is zero-size
  /// or follows from zero-size operands.
  int Emit(const Operator& op, std::vector<int> inputs);
  int Emit(OpKind kind, std::vector<int> inputs) { return Emit(Operator{kind, {}}, inputs); }
  /// Adds an operator on `id` and a scalar of its element type.
  int Emit(OpKind kind, int id, double scalar) {
    return Emit(kind, {id, EmitScalar(TypeOf(id).dtype, scalar)});
  }
  int EmitCast(int id, DataType dtype, OpKind kind = OpKind::kCast);
  int EmitReshape(int id, std::vector<std::int64_t> shape);
  int EmitTranspose(int id, std::vector<std::int64_t> axes);
  /// Adds a scalar constant of an element type.
  int EmitScalar(DataType dtype, double value);
  /// Adds a constant that the importer created. Errors: the total size of these constants is too
  /// large.
  int EmitConstant(Tensor contents);
  /// Counts a constant that is about to be read for EmitRepacked: contents of the file once free of
  /// charge, then as copies; fills like constants of the importer. Returns false and counts nothing
  /// if there are too many bytes.
  bool ReserveRepacked(int id);
  /// Adds a constant of the file in another layout. Its size does not count.
  int EmitRepacked(Tensor contents) {
    return ok() ? import_.graph.AddConstant(PartName(), std::move(contents)) : -1;
  }
  /// Adds a constant with all elements equal to `fill`.
  int EmitFilled(TensorType type, double fill);
  /// Makes `id` output `index` of this node. The value gets the output's name.
  void SetOutput(int id, int index = 0);
  /// Does the same for elements of a storage type.
  void SetStorageTypedOutput(int id, const StorageType& type);
  /// Declares that an output is not computed. If another node reads it, the message contains the
  /// output's name followed by `reason`.
  void OmitOutput(int index, const std::string& reason);
  /// Finishes a handler: adds one operator whose result is output 0.
  void Return(const Operator& op, std::vector<int> inputs) { SetOutput(Emit(op, inputs)); }
  /// Makes a constant of the file output 0.
  void ReturnConstant(Tensor contents);
  /// Makes the contents of an attribute output 0.
  void ReturnConstant(const onnx::TensorProto& proto);
  /// Returns the contents of an attribute; empty after an error. Sets `stored` if the attribute has
  /// a storage type.
  Tensor ContentsOf(const onnx::TensorProto& proto);
  Tensor ContentsOf(const onnx::SparseTensorProto& proto);
  void ReturnFilled(TensorType type, double fill, int index = 0);

 private:
  int AnyInput(int index);
  const onnx::AttributeProto* Find(std::string_view name);
  const onnx::AttributeProto* Find(std::string_view name, onnx::AttributeProto::AttributeType type);
  std::string PartName();
  bool Foldable(const std::vector<int>& inputs, int id) const;
  /// Fails with the mismatch and with the operator that computes the node.
  void FailOperator(const Operator& op, const std::vector<int>& inputs, const Status& status);
  /// Returns a constant for an operator with a zero-size result or operand; empty if there is none.
  std::optional<int> EmitZeroSizeResult(const Operator& op, const std::vector<int>& inputs);

  OnnxImport& import_;
  const onnx::NodeProto& proto_;
  Status status_;
  std::set<std::string, std::less<>> read_;  // names of attributes
  std::set<int> read_inputs_;
  int next_part_ = 0;  // suffixes of lower numbers are used
};

/// Function that imports the nodes of one operator.
using OnnxHandler = void (*)(OnnxNode&);
/// Returns null if the operator is not supported. `domain` is "" for ONNX's own.
OnnxHandler FindOnnxHandler(std::string_view domain, std::string_view op_type);
/// Entry of a handler table.
struct OnnxHandlerEntry {
  std::string_view op_type;
  OnnxHandler handler;
};

}  // namespace tilewright
