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

/// Oldest and newest operator set whose meaning the importer knows.
inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 28;
/// The oldest one that handlers know; nodes of older ones are converted first (old_sets.h).
inline constexpr std::int64_t kOldestHandledOpset = 7;

/// A float value as quantized numbers.
struct QuantizedValue {
  /// Node of the numbers: integers, or (zero point 0) float32 sums with a bias that is no integer.
  int id = -1;
  QuantizationParams quantization_params;
};

/// Shapes by the names of values (declared.h).
using DeclaredShapes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// What the import of one graph has come to: values by name, constants not used yet.
struct OnnxImport {
  Graph graph;
  std::int64_t opset = 0;
  std::string folder;  ///< of the model file; empty if it was read from memory
  std::map<std::string, const onnx::TensorProto*, std::less<>> initializers;
  DeclaredShapes declared;  ///< what the file says of values that nodes make
  std::map<std::string, std::string, std::less<>> open;  ///< names of sizes that shapes leave open
  KnownValues known;                                     ///< of `graph`, beside its constants
  /// Values that are not there because what makes them was refused: what reads them is not looked
  /// at.
  std::set<std::string, std::less<>> refused;
  /// The node that is being read, as messages name it: "node 3 'head' (Conv)".
  std::string place;
  std::map<std::string, int, std::less<>> values;  ///< name in the source -> node of `graph`
  std::set<std::string, std::less<>> names;        ///< of every node of `graph`
  /// Constants that were computed from shapes: the only floats folded while importing (the others
  /// keep their operators, because their contents may be replaced by name: SeedConstants).
  std::set<int> foldable_constants;
  Requantize requantize = Requantize::kByFloat;
  /// Numbers that requantizations were tried on so far (exact_rescale.h), at most kMaxTries.
  std::int64_t tries = 0;
  static constexpr std::int64_t kMaxTries = std::int64_t{1} << 31;
  /// Bytes of the importer's own constants so far, at most kMaxConstantBytes: a short file can ask
  /// for many large ones.
  std::int64_t constant_bytes = 0;
  static constexpr std::int64_t kMaxConstantBytes = std::int64_t{1} << 28;
  /// Floats that stand for the numbers of another node: what DequantizeLinear made, and products of
  /// such values.
  std::map<int, QuantizedValue> quantized_values;
  /// Constants whose element type is only stored, what was rounded to one, and what hands such
  /// elements on.
  std::map<int, const StorageType*> stored;
  /// Names of the tensors of each sequence (sequences.h), and optional values that have none.
  std::map<std::string, std::vector<std::string>, std::less<>> sequences;
  std::set<std::string, std::less<>> empty_optionals;
  /// Of all sequences: a short file can copy a long one again and again.
  std::int64_t sequence_elements = 0;
  static constexpr std::int64_t kMaxSequenceElements = std::int64_t{1} << 23;
  /// Outputs that are read as nothing, and what to do where one is needed.
  std::map<std::string, std::string, std::less<>> omitted_outputs;
  /// Every name of a value in the source and in what was put in the place of a node.
  std::set<std::string, std::less<>> used_names;
  /// Initializers of what was put in the place of a node.
  std::deque<onnx::TensorProto> made;

  /// Whether a value of this name is there, of whatever kind, or an output is read as nothing.
  bool Knows(const std::string& name) const;
  /// Node of a value; adds an initializer to the graph at its first use.
  Result<int> Value(const std::string& name);
  /// Type of a value, without a node for it. Errors: those of Value.
  Result<TensorType> TypeOfValue(const std::string& name) const;
  /// Errors: kUnsupported for what is known to be no tensor.
  Status NoTensor(const std::string& name) const;
  /// Contents of a node of `graph` that is constant or follows from constants; null for others.
  const Tensor* Contents(int id) { return known.Find(graph, id); }
};

/// A place as messages name it, cut in the middle if it is long: names may be, and functions call
/// functions.
std::string ShortPlace(const std::string& place);

/// One source node while it is being imported: its attributes and inputs, and the operators made
/// for it. The first error sticks: from then on every function returns a neutral value (0, -1, an
/// empty list), so a handler checks ok() only before it relies on one (indexes a shape, say).
class OnnxNode {
 public:
  OnnxNode(OnnxImport& import, const onnx::NodeProto& proto) : import_(import), proto_(proto) {}

  /// The same source node, whose operators go to another graph.
  OnnxNode In(OnnxImport& import) const { return OnnxNode(import, proto_); }

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  void Fail(Status status);
  void FailInvalid(std::string message) { Fail(InvalidArgument(std::move(message))); }
  void FailUnsupported(std::string message) { Fail(Unsupported(std::move(message))); }
  /// Elements of an input that Known() gives the contents of.
  static constexpr std::int64_t kMaxKnown = 4096;
  /// Of an input that must be known and is computed while the network runs, or has more than `most`
  /// elements: "input 1 (s) " and what was expected, with what to do about it.
  void FailUnknown(int index, const std::string& expected, std::int64_t most = kMaxKnown);
  std::int64_t opset() const { return import_.opset; }
  Requantize requantize() const { return import_.requantize; }
  const Graph& graph() const { return import_.graph; }
  /// Quantized numbers that a value stands for; null if it is not known to do so.
  const QuantizedValue* FindQuantized(int id) const;
  void SetQuantized(int id, QuantizedValue quantized) {
    import_.quantized_values.insert_or_assign(id, std::move(quantized));
  }
  /// Writes down what the numbers of input or output `index` stand for.
  void DescribeInput(int index, QuantizationParams quantization_params);
  void DescribeOutput(int index, QuantizationParams quantization_params);
  /// Counts numbers that something was tried on. False, and nothing is counted, if reading the file
  /// would take too long.
  bool ReserveTries(std::int64_t numbers);
  /// A sentence for whoever reads the file; said once.
  void Note(const std::string& sentence);
  /// Of the first output that is asked for: one node's own values are named after it.
  const std::string& OutputName() const;
  const std::string& op_type() const { return proto_.op_type(); }

  // Attributes. A handler reads each one that changes what it makes, whatever else it reads, or
  // says that it has no effect: any other is refused once the handler is done.
  bool HasAttribute(std::string_view name) { return Find(name) != nullptr; }
  std::int64_t Int(std::string_view name, std::int64_t fallback);
  double Float(std::string_view name, double fallback);
  std::string String(std::string_view name, std::string_view fallback);
  /// A list of `count` numbers (any number if 0), each within +-kMaxDimension.
  std::vector<std::int64_t> Ints(std::string_view name, std::vector<std::int64_t> fallback,
                                 std::size_t count = 0);
  /// A number of any size; 0 if it is absent.
  std::int64_t LongInt(std::string_view name);
  /// A list of numbers of any size (the ends of a slice, say); empty if it is absent.
  std::vector<std::int64_t> LongInts(std::string_view name);
  /// A list of floats; empty if it is absent.
  std::vector<double> Floats(std::string_view name);
  /// A list of texts; empty if it is absent.
  std::vector<std::string> Strings(std::string_view name);
  /// A tensor attribute; null if it is absent.
  const onnx::TensorProto* TensorAttribute(std::string_view name);
  /// The same of a sparse tensor.
  const onnx::SparseTensorProto* SparseAttribute(std::string_view name);
  /// Says that attributes change nothing of what the handler makes (they are for training, say).
  void IgnoreAttributes(std::initializer_list<std::string_view> names);
  /// Errors: an attribute or an input was neither read nor said to be without effect, or an
  /// attribute is there twice.
  void RejectUnread();

  int input_count() const { return proto_.input_size(); }
  int output_count() const { return proto_.output_size(); }
  // Inputs. What is said of attributes holds for them, too.
  bool HasInput(int index);
  void IgnoreInput(int index) { read_inputs_.insert(index); }
  bool HasOutput(int index) const {
    return index < output_count() && !proto_.output(index).empty();
  }
  /// Graph node of an input. Errors: it is missing; it has no elements, and the operator is none of
  /// those that take such inputs; its element type is only stored, and the operator computes.
  int Input(int index);
  /// Type of an input, which may have no elements. Errors: it is missing.
  TensorType InputType(int index) { return TypeOf(AnyInput(index)); }
  /// Element type that an input's numbers are stored in; null for those that tensors have.
  const StorageType* StorageTypeOfInput(int index);
  /// Type of an input or of a node made here.
  TensorType TypeOf(int id) const;
  std::int64_t Rank(int id) const { return std::ssize(TypeOf(id).shape); }
  void ExpectRank(int index, std::int64_t rank);
  /// Contents of a value that is known while importing; null otherwise (no error).
  const Tensor* Contents(int id) { return id < 0 ? nullptr : import_.Contents(id); }
  /// Contents of an input that is known while importing and has at most kMaxKnown elements, or
  /// follows from the declared shape of the result (declared.h); null otherwise (no error).
  const Tensor* Known(int index);
  /// The same of at most KnownValues::kMaxElements elements.
  const Tensor* KnownElements(int index);
  /// Integers of an input that must be known. Errors: it is not, or it is no list of integers.
  std::vector<std::int64_t> KnownInts(int index);
  /// The element of an input that must be known and have one element.
  double KnownScalar(int index);
  /// The same as a scalar constant of the type of the input's elements or `dtype`, exactly.
  int EmitKnown(int index, DataType dtype);
  /// Whether an input's elements are all numbers that doubles and attributes of ours hold exactly.
  bool FitsDouble(int index);
  /// Attribute `name` in older operator sets, input `index` since set `since`; the fallback where
  /// both are absent.
  std::vector<std::int64_t> IntsAttributeOrInput(std::string_view name, int index,
                                                 std::int64_t since,
                                                 std::vector<std::int64_t> fallback);
  /// Shape that the file declares for output `index`, if all of it is said.
  std::optional<std::vector<std::int64_t>> DeclaredShape(int index = 0) const;
  /// The first name in the declared shape of output `index` that has no size; empty if there is
  /// none.
  std::string OpenDimension(int index = 0) const;
  /// `axis` counted from the end if negative. Errors: it is outside of `rank`.
  std::int64_t Axis(std::int64_t axis, std::int64_t rank);

  /// Adds an operator for a value on the way to the result. None for results without elements, and
  /// for what follows from operands without elements: those are constants.
  int Emit(const Operator& op, std::vector<int> inputs);
  int Emit(OpKind kind, std::vector<int> inputs) { return Emit(Operator{kind, {}}, inputs); }
  /// `id` and a scalar of its element type.
  int Emit(OpKind kind, int id, double scalar) {
    return Emit(kind, {id, EmitScalar(TypeOf(id).dtype, scalar)});
  }
  int EmitCast(int id, DataType dtype, OpKind kind = OpKind::kCast);
  int EmitReshape(int id, std::vector<std::int64_t> shape);
  int EmitTranspose(int id, std::vector<std::int64_t> axes);
  /// Adds a scalar constant of an element type.
  int EmitScalar(DataType dtype, double value);
  /// Adds a constant of the importer's own. Errors: there are too many of them.
  int EmitConstant(Tensor contents);
  /// Adds a constant whose elements are all `fill`.
  int EmitFilled(TensorType type, double fill);
  /// Makes `id` output `index` of this node: the value gets the output's name.
  void SetOutput(int id, int index = 0);
  /// The same of numbers whose element type is only stored.
  void SetStorageTypedOutput(int id, const StorageType& type);
  /// Says why an output is not made: `reason` stands behind its name in the message, should one be
  /// read.
  void OmitOutput(int index, const std::string& reason);
  /// The common end of a handler: one operator whose result is output 0.
  void Return(const Operator& op, std::vector<int> inputs) { SetOutput(Emit(op, inputs)); }
  /// Gives an output a constant that is in the file.
  void ReturnConstant(Tensor contents);
  /// Gives output 0 the contents of an attribute.
  void ReturnConstant(const onnx::TensorProto& proto);
  /// Contents of an attribute, its element type in `stored` if that is only stored; none with an
  /// error.
  Tensor ContentsOf(const onnx::TensorProto& proto);
  Tensor ContentsOf(const onnx::SparseTensorProto& proto);
  void ReturnFilled(TensorType type, double fill, int index = 0);

 private:
  int AnyInput(int index);
  const onnx::AttributeProto* Find(std::string_view name);
  const onnx::AttributeProto* Find(std::string_view name, onnx::AttributeProto::AttributeType type);
  std::string PartName();
  bool Foldable(const std::vector<int>& inputs, int id) const;
  /// What does not fit, and what the node is computed by here.
  void FailOperator(const Operator& op, const std::vector<int>& inputs, const Status& status);
  /// Constant for an operator whose result or operand has no elements; empty if there is none.
  std::optional<int> EmitZeroSizeResult(const Operator& op, const std::vector<int>& inputs);

  OnnxImport& import_;
  const onnx::NodeProto& proto_;
  Status status_;
  std::set<std::string, std::less<>> read_;  // names of attributes
  std::set<int> read_inputs_;
  int next_part_ = 0;  // parts of lower numbers have their names
};

/// Imports the nodes of one operator.
using OnnxHandler = void (*)(OnnxNode&);
/// Null if the operator is not supported. `domain` is "" for ONNX's own.
OnnxHandler FindOnnxHandler(std::string_view domain, std::string_view op_type);
/// The part of the table that one file holds.
struct OnnxHandlerEntry {
  std::string_view op_type;
  OnnxHandler handler;
};

}  // namespace tilewright
