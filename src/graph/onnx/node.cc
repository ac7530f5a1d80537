// Access of handlers to an ONNX node. The first error is kept. Attributes and inputs that no
// handler has read are rejected at the end, so that the import never ignores a part of the file
// silently.

#include "src/graph/onnx/node.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "src/graph/onnx/bind_inputs.h"
#include "src/graph/onnx/declared_shapes.h"
#include "src/graph/onnx/sparse.h"
#include "src/graph/onnx/zero_size.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

using onnx::AttributeProto;

// Limit of shape arithmetic, which works on few elements. FoldConstants folds larger constants.
constexpr std::int64_t kMaxShapeElements = OnnxNode::kMaxKnown;

// Operators that pass on the elements of input 0 for any element type.
constexpr std::string_view kHandingOn[] = {"Expand",  "Flatten",   "Gather",   "Identity",
                                           "Reshape", "Slice",     "Split",    "Squeeze",
                                           "Tile",    "Transpose", "Unsqueeze"};

// Returns whether an operator accepts a storage type for input `index`.
bool AcceptsStorageTypes(std::string_view op_type, int index) {
  if (op_type == "DequantizeLinear") return index != 1;
  if (op_type == "GatherBlockQuantized") return index == 0 || index == 3;
  if (op_type == "Shape" || op_type == "Size" || op_type == "CastLike") return true;
  if (index != 0) return false;
  return op_type == "Cast" || std::ranges::find(kHandingOn, op_type) != std::end(kHandingOn);
}

// Returns whether a byte continues a UTF-8 character.
bool GoesOnWithCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

}  // namespace

std::string ShortPlace(const std::string& place) {
  constexpr std::size_t kMax = 320, kFront = 120;
  if (place.size() <= kMax) return place;
  std::size_t front = kFront, back = place.size() - (kMax - kFront);
  while (front > 0 && GoesOnWithCharacter(place[front])) --front;
  while (back < place.size() && GoesOnWithCharacter(place[back])) ++back;
  return place.substr(0, front) + " … " + place.substr(back);
}

bool OnnxImport::Knows(const std::string& name) const {
  return values.contains(name) || initializers.contains(name) || sequences.contains(name) ||
         empty_optionals.contains(name) || omitted_outputs.contains(name);
}

Status OnnxImport::NoTensor(const std::string& name) const {
  if (const auto sequence = sequences.find(name); sequence != sequences.end()) {
    return Unsupported("value " + name + " is a sequence of " +
                       std::to_string(sequence->second.size()) +
                       " tensors, expected a tensor: SequenceAt or ConcatFromSequence returns one");
  }
  if (empty_optionals.contains(name)) {
    return Unsupported("value " + name +
                       " is an empty optional value, expected a "
                       "tensor");
  }
  if (const auto found = omitted_outputs.find(name); found != omitted_outputs.end()) {
    return Unsupported("value " + name + " " + found->second);
  }
  return Status();
}

Result<int> OnnxImport::Value(const std::string& name) {
  if (auto found = values.find(name); found != values.end()) return found->second;
  TW_RETURN_IF_ERROR(NoTensor(name));
  const auto initializer = initializers.find(name);
  if (initializer == initializers.end()) {
    return InvalidArgument("value " + name +
                           " is an output that its operator has only for training, or that is "
                           "not supported; export the model without it");
  }
  TW_ASSIGN_OR_RETURN(auto contents, TensorOfOnnx(*initializer->second, folder));
  const int id = graph.AddConstant(name, std::move(contents));
  names.insert(name);
  values.emplace(name, id);
  if (const StorageType* type = StorageTypeOf(initializer->second->data_type())) {
    stored.emplace(id, type);
  }
  return id;
}

Result<TensorType> OnnxImport::TypeOfValue(const std::string& name) const {
  if (auto found = values.find(name); found != values.end()) return graph.node(found->second).type;
  TW_RETURN_IF_ERROR(NoTensor(name));
  const auto initializer = initializers.find(name);
  if (initializer != initializers.end()) return TypeOfOnnx(*initializer->second);
  return InvalidArgument("value " + name + " is not defined here");
}

void OnnxNode::FailUnknown(int index, const std::string& expected, std::int64_t most) {
  const int id = AnyInput(index);
  if (id < 0) return;
  const bool known = Contents(id) != nullptr;  // constant, but not as expected
  std::string hint;
  if (!known) {
    hint = BindingHint(import_.graph, id);
  } else if (TypeOf(id).elements() > most) {
    hint = "; it is constant and has " + std::to_string(TypeOf(id).elements()) +
           " elements, expected at most " + std::to_string(most);
  }
  FailUnsupported("input " + std::to_string(index) + " (" + proto_.input(index) + ") " + expected +
                  hint);
}

void OnnxNode::FailOperator(const Operator& op, const std::vector<int>& inputs,
                            const Status& status) {
  const std::string name(OpName(op.kind));
  std::string reason = status.message(), types;
  if (reason.starts_with(name + ": ")) reason.erase(0, name.size() + 2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    types += i == 0 ? "" : i + 1 == inputs.size() ? " and " : ", ";
    types += TypeOf(inputs[i]).ToString();
  }
  Fail(Status(status.code(), reason + "; it is computed as " + name + " of " + types));
}

void OnnxNode::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

const QuantizedValue* OnnxNode::FindQuantized(int id) const {
  const auto found = import_.quantized_values.find(id);
  return found == import_.quantized_values.end() ? nullptr : &found->second;
}

const DequantizedBlocks* OnnxNode::FindBlocks(int id) const {
  const auto found = import_.dequantized_blocks.find(id);
  return found == import_.dequantized_blocks.end() ? nullptr : &found->second;
}

bool OnnxNode::ReserveTries(std::int64_t numbers) {
  if (numbers > OnnxImport::kMaxTries - import_.tries) return false;
  import_.tries += numbers;
  return true;
}

bool OnnxNode::ReserveRepacked(int id) {
  const bool fill = graph().Fill(id) != nullptr;
  if (!fill && (Contents(id) == nullptr || import_.repacked.insert(id).second)) return true;
  const std::int64_t bytes = TypeOf(id).bytes();
  std::int64_t& used = fill ? import_.constant_bytes : import_.repacked_bytes;
  const std::int64_t most = fill ? OnnxImport::kMaxConstantBytes : OnnxImport::kMaxRepackedBytes;
  if (bytes > most - used) return false;
  used += bytes;
  return true;
}

void OnnxNode::Note(const std::string& sentence) {
  auto& notes = import_.graph.notes;
  if (std::ranges::find(notes, sentence) == notes.end()) notes.push_back(sentence);
}

void OnnxNode::DescribeInput(int index, QuantizationParams quantization_params) {
  if (HasInput(index))
    import_.graph.quantization.emplace(proto_.input(index), std::move(quantization_params));
}

void OnnxNode::DescribeOutput(int index, QuantizationParams quantization_params) {
  if (HasOutput(index)) {
    import_.graph.quantization.emplace(proto_.output(index), std::move(quantization_params));
  }
}

void OnnxNode::RejectUnread() {
  // Results that may reuse memory of inputs, in opsets before 7.
  IgnoreAttributes({"consumed_inputs"});
  std::set<std::string_view> seen;
  for (const AttributeProto& attribute : proto_.attribute()) {
    const std::string& name = attribute.name();
    if (!seen.insert(name).second) return FailInvalid("attribute " + name + " occurs twice");
    if (read_.contains(name)) continue;
    return FailUnsupported("attribute " + name + " is not defined for this operator in set " +
                           std::to_string(opset()) +
                           "; export the model for the operator set that has it, or remove it from "
                           "the node if nothing depends on it");
  }
  for (int i = 0; i < input_count(); ++i) {
    if (proto_.input(i).empty() || read_inputs_.contains(i)) continue;
    return FailUnsupported("input " + std::to_string(i) + " (" + proto_.input(i) +
                           ") is not defined for this operator in set " + std::to_string(opset()) +
                           "; export the model for the operator set that has it");
  }
}

bool OnnxNode::HasInput(int index) {
  read_inputs_.insert(index);
  return index >= 0 && index < input_count() && !proto_.input(index).empty();
}

int OnnxNode::Input(int index) {
  const int id = AnyInput(index);
  if (id < 0 || TypeOf(id).elements() > 0 || AcceptsZeroSize(op_type())) return id;
  FailUnsupported("input " + std::to_string(index) + " (" + proto_.input(index) + ") is " +
                  TypeOf(id).ToString() +
                  ", which is zero-size; this operator does not support zero-size inputs");
  return -1;
}

const StorageType* OnnxNode::StorageTypeOfInput(int index) {
  const auto found = import_.stored.find(AnyInput(index));
  return found == import_.stored.end() ? nullptr : found->second;
}

int OnnxNode::AnyInput(int index) {
  if (!ok()) return -1;
  if (!HasInput(index)) {
    FailInvalid("input " + std::to_string(index) + " is missing");
    return -1;
  }
  auto id = import_.Value(proto_.input(index));
  if (!id.ok()) {
    Fail(id.status());
    return -1;
  }
  const auto stored = import_.stored.find(*id);
  if (stored != import_.stored.end() && !AcceptsStorageTypes(op_type(), index)) {
    if (IsBFloat16(*stored->second)) {
      import_.graph.precision = Precision::kAsBFloat16;
      return *id;
    }
    FailUnsupported("input " + std::to_string(index) + " (" + proto_.input(index) +
                    ") has element type " + std::string(stored->second->name) +
                    ", which is a storage type; expected a Cast or DequantizeLinear before it");
    return -1;
  }
  return *id;
}

TensorType OnnxNode::TypeOf(int id) const {
  return id < 0 ? TensorType() : import_.graph.node(id).type;
}

void OnnxNode::ExpectRank(int index, std::int64_t rank) {
  const int id = Input(index);
  if (ok() && Rank(id) != rank) {
    FailUnsupported("input " + std::to_string(index) + " is " + TypeOf(id).ToString() +
                    ", expected " + std::to_string(rank) + " dimensions");
  }
}

const Tensor* OnnxNode::Known(int index) {
  const int id = AnyInput(index);
  if (id < 0 || TypeOf(id).elements() > kMaxShapeElements) return nullptr;
  if (TypeOf(id).elements() == 0) return import_.graph.Contents(EmitConstant(Tensor(TypeOf(id))));
  if (const Tensor* contents = import_.Contents(id)) return contents;
  auto declared = InputByDeclaredShape(import_, proto_, index);
  if (!declared) return nullptr;
  Note("input '" + proto_.input(index) + "' of " + op_type() +
       " is not read: the file declares the shape of '" + OutputName() + "'");
  const int constant = EmitConstant(*std::move(declared));
  return constant < 0 ? nullptr : import_.graph.Contents(constant);
}

const Tensor* OnnxNode::KnownElements(int index) {
  if (const Tensor* known = Known(index)) return known;
  const int id = AnyInput(index);
  return TypeOf(id).elements() > KnownValues::kMaxElements ? nullptr : Contents(id);
}

std::vector<std::int64_t> OnnxNode::KnownInts(int index) {
  const Tensor* contents = Known(index);
  if (!ok()) return {};
  const bool integers = contents != nullptr && contents->dtype().is_integer() &&
                        contents->dtype() != DataType{TypeCode::kUInt, 64};
  if (!integers || contents->shape().size() > 1) {
    FailUnknown(index, "must be a list of integers that is constant at import");
    return {};
  }
  std::vector<std::int64_t> values;
  if (contents->dtype() == kInt64) {  // exact beyond 2^53, unlike At()
    const auto elements = contents->As<std::int64_t>();
    values.assign(elements.begin(), elements.end());
  } else {
    for (std::int64_t i = 0; i < contents->elements(); ++i) {
      values.push_back(static_cast<std::int64_t>(contents->At(i)));
    }
  }
  return values;
}

double OnnxNode::KnownScalar(int index) {
  const Tensor* contents = Known(index);
  if (!ok()) return 0;
  if (contents == nullptr || contents->elements() != 1) {
    FailUnknown(index, "must be one number that is constant at import");
    return 0;
  }
  return contents->At(0);
}

bool OnnxNode::FitsDouble(int index) {
  const Tensor* contents = Known(index);
  if (contents == nullptr || contents->dtype().is_float() || contents->dtype().bits < 64) {
    return contents != nullptr;
  }
  constexpr double kMax = 0x1p53;
  for (std::int64_t i = 0; i < contents->elements(); ++i) {
    if (std::abs(contents->At(i)) >= kMax) return false;  // possibly rounded to 2^53
  }
  return true;
}

int OnnxNode::EmitKnown(int index, DataType dtype) {
  const Tensor* contents = Known(index);
  if (!ok()) return -1;
  if (contents == nullptr || contents->elements() != 1) {
    FailUnknown(index, "must be one number that is constant at import");
    return -1;
  }
  Tensor scalar = contents->Clone();
  scalar.Reshape({});
  return EmitCast(EmitConstant(std::move(scalar)), dtype);
}

std::vector<std::int64_t> OnnxNode::IntsAttributeOrInput(std::string_view name, int index,
                                                         std::int64_t since,
                                                         std::vector<std::int64_t> fallback) {
  if (opset() < since) return Ints(name, std::move(fallback));
  return HasInput(index) ? KnownInts(index) : fallback;
}

std::optional<std::vector<std::int64_t>> OnnxNode::DeclaredShape(int index) const {
  const auto found =
      HasOutput(index) ? import_.declared.find(proto_.output(index)) : import_.declared.end();
  return found == import_.declared.end() ? std::nullopt : std::optional(found->second);
}

std::string OnnxNode::OpenDimension(int index) const {
  const auto found =
      HasOutput(index) ? import_.open.find(proto_.output(index)) : import_.open.end();
  return found == import_.open.end() ? std::string() : found->second;
}

std::int64_t OnnxNode::Axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank) {
    FailInvalid("axis " + std::to_string(axis) + " is outside of " + std::to_string(rank) +
                " dimensions");
    return 0;
  }
  return resolved;
}

const std::string& OnnxNode::OutputName() const {
  const auto named =
      std::ranges::find_if(proto_.output(), [](auto& name) { return !name.empty(); });
  return named == proto_.output().end() ? proto_.output(0) : *named;
}

std::string OnnxNode::PartName() {
  while (true) {
    std::string name = OutputName() + "#" + std::to_string(next_part_++);
    if (import_.names.insert(name).second) return name;
  }
}

// Returns whether the result of an operator on these constants is shape arithmetic.
bool OnnxNode::Foldable(const std::vector<int>& inputs, int id) const {
  bool shapes = false;
  for (int input : inputs) {
    const TensorType& type = import_.graph.node(input).type;
    if (!import_.graph.HasContents(input) || type.elements() > kMaxShapeElements) return false;
    const bool known = !type.dtype.is_float() || import_.foldable_constants.contains(input);
    if (!known && type.elements() > 1) return false;
    shapes |= known;
  }
  return shapes && import_.graph.node(id).type.elements() <= kMaxShapeElements;
}

int OnnxNode::Emit(const Operator& op, std::vector<int> inputs) {
  if (!ok() || std::ranges::any_of(inputs, [](int id) { return id < 0; })) return -1;
  if (const auto constant = EmitZeroSizeResult(op, inputs)) return *constant;
  if (!ok()) return -1;
  std::vector<TensorType> types;
  for (int input : inputs) types.push_back(TypeOf(input));
  auto type = InferType(op, types);
  const Status fits = type.ok() ? CheckTensorType(*type) : type.status();
  if (!fits.ok()) {
    FailOperator(op, inputs, fits);
    return -1;
  }
  auto id = import_.graph.AddOperator(PartName(), op, inputs);
  if (!id.ok()) {
    Fail(id.status());
    return -1;
  }
  if (!Foldable(inputs, *id)) return *id;
  std::vector<const Tensor*> contents;
  for (int input : inputs) contents.push_back(import_.graph.Contents(input));
  auto value = Evaluate(op, contents);
  if (!value.ok()) {
    Fail(value.status());
    return -1;
  }
  const int constant = EmitConstant(*std::move(value));
  import_.foldable_constants.insert(constant);
  return constant;  // the operator has no reader and is dropped at the end of the import
}

std::optional<int> OnnxNode::EmitZeroSizeResult(const Operator& op,
                                                const std::vector<int>& inputs) {
  std::vector<TensorType> types;
  for (int input : inputs) types.push_back(TypeOf(input));
  auto result = ZeroSizeResult(op, types);
  if (!result.ok()) {
    FailOperator(op, inputs, result.status());
    return {};
  }
  if (!*result) return {};
  if (op.kind == OpKind::kConcat && (*result)->type.elements() > 0) {
    std::vector<int> filled = inputs;
    std::erase_if(filled, [&](int id) { return TypeOf(id).elements() == 0; });
    return Emit(op, std::move(filled));
  }
  return EmitFilled((*result)->type, (*result)->fill);
}

int OnnxNode::EmitCast(int id, DataType dtype, OpKind kind) {
  if (TypeOf(id).dtype == dtype) return id;
  Operator op{kind, {}};
  op.attributes.dtype = dtype;
  return Emit(op, {id});
}

int OnnxNode::EmitReshape(int id, std::vector<std::int64_t> shape) {
  if (TypeOf(id).shape == shape) return id;
  Operator op{OpKind::kReshape, {}};
  op.attributes.new_shape = std::move(shape);
  return Emit(op, {id});
}

int OnnxNode::EmitTranspose(int id, std::vector<std::int64_t> axes) {
  Operator op{OpKind::kTranspose, {}};
  op.attributes.axes = std::move(axes);
  return Emit(op, {id});
}

int OnnxNode::EmitScalar(DataType dtype, double value) {
  Tensor scalar(TensorType{{}, dtype});
  scalar.Set(0, value);
  return EmitConstant(std::move(scalar));
}

int OnnxNode::EmitConstant(Tensor contents) {
  if (!ok()) return -1;
  import_.constant_bytes += contents.bytes();
  if (import_.constant_bytes > OnnxImport::kMaxConstantBytes) {
    FailInvalid("the file's operators so far need tables of more than " +
                std::to_string(OnnxImport::kMaxConstantBytes) + " bytes");
    return -1;
  }
  return import_.graph.AddConstant(PartName(), std::move(contents));
}

int OnnxNode::EmitFilled(TensorType type, double fill) {
  if (!ok()) return -1;
  if (type.elements() == 0) return EmitConstant(Tensor(std::move(type)));
  return import_.graph.AddFilledConstant(PartName(), std::move(type), fill);
}

void OnnxNode::SetOutput(int id, int index) {
  if (!ok() || id < 0 || !HasOutput(index)) return;
  const bool hands_on = std::ranges::find(kHandingOn, op_type()) != std::end(kHandingOn);
  const StorageType* stored = hands_on ? StorageTypeOfInput(0) : nullptr;
  // An emitted node takes the output's name. Any other node (an input that is passed through, a
  // value that is already an output) keeps its name, and an identity gets the new name.
  const std::string& made = import_.graph.node(id).name;
  const bool ours = made.starts_with(OutputName() + "#");
  if (!ours) id = Emit(OpKind::kIdentity, {id});
  if (id < 0) return;
  const std::string& name = proto_.output(index);
  import_.names.erase(import_.graph.node(id).name);
  next_part_ = 0;
  if (!import_.names.insert(name).second) {
    FailInvalid("value " + name + " is defined twice");
    return;
  }
  import_.graph.Rename(id, name);
  import_.values.emplace(name, id);
  import_.graph.origins.insert_or_assign(name, import_.place);
  if (stored != nullptr) import_.stored.insert_or_assign(id, stored);
}

void OnnxNode::OmitOutput(int index, const std::string& reason) {
  if (HasOutput(index)) import_.omitted_outputs.insert_or_assign(proto_.output(index), reason);
}

void OnnxNode::SetStorageTypedOutput(int id, const StorageType& type) {
  SetOutput(id);
  if (!ok() || id < 0 || !HasOutput(0)) return;
  import_.stored.insert_or_assign(import_.values.at(proto_.output(0)), &type);
}

void OnnxNode::ReturnConstant(Tensor contents) {
  if (ok()) SetOutput(import_.graph.AddConstant(PartName(), std::move(contents)));
}

Tensor OnnxNode::ContentsOf(const onnx::TensorProto& proto) {
  auto contents = TensorOfOnnx(proto, import_.folder);
  if (contents.ok()) return *std::move(contents);
  Fail(contents.status());
  return Tensor();
}

Tensor OnnxNode::ContentsOf(const onnx::SparseTensorProto& proto) {
  auto contents = DenseOfSparse(proto, import_);
  if (contents.ok()) return *std::move(contents);
  Fail(contents.status());
  return Tensor();
}

void OnnxNode::ReturnConstant(const onnx::TensorProto& proto) {
  Tensor contents = ContentsOf(proto);
  if (!ok()) return;
  const int id = import_.graph.AddConstant(PartName(), std::move(contents));
  if (const StorageType* type = StorageTypeOf(proto.data_type())) import_.stored.emplace(id, type);
  SetOutput(id);
}

void OnnxNode::ReturnFilled(TensorType type, double fill, int index) {
  if (ok() && HasOutput(index)) SetOutput(EmitFilled(std::move(type), fill), index);
}

}  // namespace tilewright
