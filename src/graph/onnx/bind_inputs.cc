// Applies the user's bindings to the inputs of an ONNX file. The size of a dimension comes from the
// file, from a binding of its name (directly, or through the shape of any input that has the name),
// or, for a first dimension, from the default batch of 1. All dimensions that stay open are
// rejected together, with the options that would bind them.

#include "src/graph/onnx/bind_inputs.h"

#include <algorithm>
#include <set>

#include "src/base/did_you_mean.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/graph/onnx/declared_shapes.h"
#include "src/graph/onnx/storage_types.h"

namespace tilewright {
namespace {

using onnx::ValueInfoProto;
using Dimension = onnx::TensorShapeProto::Dimension;

bool IsFixed(const Dimension& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; }

// Returns the name of an open dimension; empty if it has none. Exporters write "?", "None" or -1
// for several dimensions of different sizes.
std::string NameOf(const Dimension& dim) {
  const std::string& name = dim.dim_param();
  return IsFixed(dim) || name == "?" || name == "None" || name == "-1" ? std::string() : name;
}

const onnx::TensorShapeProto& ShapeOf(const ValueInfoProto& input) {
  return input.type().tensor_type().shape();
}

bool HasShape(const ValueInfoProto& input) { return input.type().tensor_type().has_shape(); }

std::string InputNamed(const ValueInfoProto& input) {
  return "graph input '" + Printable(input.name()) + "'";
}

// Returns for example "1x3x'height'x?".
std::string OpenShapeText(const ValueInfoProto& input) {
  if (!HasShape(input)) return "no shape";
  std::string text;
  for (const Dimension& dim : ShapeOf(input).dim()) {
    const std::string name = NameOf(dim);
    text += text.empty() ? "" : "x";
    text += IsFixed(dim)   ? std::to_string(dim.dim_value())
            : name.empty() ? "?"
                           : "'" + Printable(name) + "'";
  }
  return text.empty() ? "scalar" : text;
}

// Quotes a word for a shell.
std::string Quoted(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (char c : Printable(word)) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the shape of the contents of `--value`, if they determine it.
std::optional<std::vector<std::int64_t>> ShapeOfValue(const ValueInfoProto& input,
                                                      const Bindings::Value& value) {
  if (value.contents) return value.contents->shape();
  if (!HasShape(input) || ShapeOf(input).dim_size() != 1) return {};
  return std::vector<std::int64_t>{std::ssize(Split(value.text, ','))};
}

class InputBinder {
 public:
  InputBinder(const onnx::GraphProto& graph, OnnxImport& import, const LoadOptions& options,
              ImportDiagnostics& diagnostics)
      : graph_(graph),
        import_(import),
        options_(options),
        bindings_(options.bindings),
        diagnostics_(diagnostics) {
    for (const auto& input : graph.input()) {
      // Old files list the initializers among the inputs.
      if (!import.initializers.contains(input.name())) inputs_.push_back(&input);
    }
  }

  Result<std::vector<BoundInput>> Run() {
    TW_RETURN_IF_ERROR(CheckNames());
    TW_RETURN_IF_ERROR(BindNames());
    for (const auto& [name, shape] : bindings_.shapes) {
      if (Find(name) == nullptr) continue;
      TW_RETURN_IF_ERROR(
          BindShape(*Find(name), shape, "--shape " + name + "=" + ShapeToString(shape)));
    }
    for (const auto& [name, value] : bindings_.values) {
      const ValueInfoProto* input = Find(name);
      if (input == nullptr || shapes_.contains(name)) continue;
      const auto shape = ShapeOfValue(*input, value);
      if (!shape) continue;
      TW_RETURN_IF_ERROR(BindShape(*input, *shape, "--value " + name + "=" + value.text));
    }
    BindBatch();
    DeclareResults();
    std::vector<BoundInput> bound;
    for (const ValueInfoProto* input : inputs_) {
      if (AddOpen(*input)) continue;
      TW_RETURN_IF_ERROR(AddInput(*input, bound));
    }
    return bound;
  }

 private:
  struct Size {
    std::int64_t size = 0;
    std::string by;  ///< source of the size, for messages
  };

  const ValueInfoProto* Find(std::string_view name) const {
    const auto found =
        std::ranges::find(inputs_, name, [](const ValueInfoProto* input) { return input->name(); });
    return found == inputs_.end() ? nullptr : *found;
  }

  Status UnknownInput(const std::string& option, const std::string& name) const {
    std::string known;
    std::vector<std::string> names;
    constexpr std::size_t kMaxNamed = 12;  // a cache has two inputs for each layer
    for (const ValueInfoProto* input : inputs_) {
      names.push_back(input->name());
      if (names.size() > kMaxNamed) continue;
      known += (known.empty() ? "" : ", ") + Printable(input->name()) + " (" +
               OpenShapeText(*input) + ")";
    }
    if (names.size() > kMaxNamed) {
      known += " and " + std::to_string(names.size() - kMaxNamed) + " more";
    }
    const bool constant = import_.initializers.contains(name);
    return InvalidArgument(option + ": " +
                           (constant ? "a constant of the file, no input" : "no such input") +
                           "; the inputs are " + (known.empty() ? "none" : known) +
                           (constant ? std::string() : DidYouMean(name, names)));
  }

  Status CheckNames() const {
    if (options_.ignore_unknown_names) return Status();
    for (const auto& [name, shape] : bindings_.shapes) {
      if (Find(name) == nullptr) return UnknownInput("--shape " + name, name);
    }
    for (const auto& [name, value] : bindings_.values) {
      if (Find(name) == nullptr) return UnknownInput("--value " + name, name);
    }
    return Status();
  }

  Status BindNames() {
    std::set<std::string> symbols;
    const auto add = [&](const ValueInfoProto& value) {
      for (const Dimension& dim : ShapeOf(value).dim()) {
        if (const std::string name = NameOf(dim); !name.empty()) symbols.insert(name);
      }
    };
    for (const ValueInfoProto* input : inputs_) add(*input);
    for (const auto& output : graph_.output()) add(output);
    for (const auto& value : graph_.value_info()) add(value);
    for (const auto& [name, size] : bindings_.dims) {
      const std::string option = "--dim " + name + "=" + std::to_string(size);
      if (symbols.contains(name)) {
        sizes_.emplace(name, Size{size, option});
        continue;
      }
      if (options_.ignore_unknown_names) continue;
      std::string known;
      for (const std::string& symbol : symbols) known += (known.empty() ? "" : ", ") + symbol;
      return InvalidArgument(
          option + ": no dimension has this name; " +
          (known.empty() ? "the dimensions have no names" : "the names are " + Printable(known)) +
          DidYouMean(name, {symbols.begin(), symbols.end()}));
    }
    return Status();
  }

  Status BindShape(const ValueInfoProto& input, const std::vector<std::int64_t>& shape,
                   const std::string& option) {
    const auto& dims = ShapeOf(input).dim();
    const auto contradicts = [&](const std::string& why) {
      return InvalidArgument(option + ": " + why + "; the file declares " + OpenShapeText(input));
    };
    if (HasShape(input) && std::ssize(shape) != dims.size()) {
      return contradicts(std::to_string(shape.size()) + " dimensions, expected " +
                         std::to_string(dims.size()));
    }
    shapes_.emplace(input.name(), shape);
    for (int i = 0; HasShape(input) && i < dims.size(); ++i) {
      const std::int64_t size = shape[static_cast<std::size_t>(i)];
      if (IsFixed(dims[i]) && dims[i].dim_value() != size) {
        return contradicts("dimension " + std::to_string(i) + " is " + std::to_string(size) +
                           ", expected " + std::to_string(dims[i].dim_value()));
      }
      const std::string name = NameOf(dims[i]);
      if (name.empty()) continue;
      const auto [known, added] = sizes_.emplace(name, Size{size, option});
      if (!added && known->second.size != size) {
        return contradicts("dimension " + std::to_string(i) + " ('" + Printable(name) + "') is " +
                           std::to_string(size) + ", but " + std::to_string(known->second.size) +
                           " by " + known->second.by);
      }
    }
    return Status();
  }

  // Sets unbound names of first dimensions to 1, in all positions.
  void BindBatch() {
    for (const ValueInfoProto* input : inputs_) {
      if (shapes_.contains(input->name()) || ShapeOf(*input).dim_size() == 0) continue;
      const std::string name = NameOf(ShapeOf(*input).dim(0));
      if (!name.empty()) sizes_.emplace(name, Size{1, std::string()});
    }
    for (const auto& [name, size] : sizes_) {
      if (!size.by.empty()) continue;
      import_.graph.notes.push_back("dimension '" + name + "' is open and read as 1, which --dim " +
                                    Quoted(name + "=SIZE") + " changes");
    }
    for (const ValueInfoProto* input : inputs_) {
      if (shapes_.contains(input->name()) || ShapeOf(*input).dim_size() == 0) continue;
      const Dimension& first = ShapeOf(*input).dim(0);
      if (IsFixed(first) || !NameOf(first).empty()) continue;
      import_.graph.notes.push_back("dimension 0 of input '" + Printable(input->name()) +
                                    "' is open and read as 1, which --shape " +
                                    Quoted(input->name() + "=" + ShapeForOption(*input)) +
                                    " changes");
    }
  }

  /// Returns a shape for --shape, with SIZE for the first dimension and others that are open.
  std::string ShapeForOption(const ValueInfoProto& input) const {
    std::string shape;
    for (int i = 0; i < ShapeOf(input).dim_size(); ++i) {
      const Dimension& dim = ShapeOf(input).dim(i);
      const auto size = i == 0 && !IsFixed(dim) ? std::nullopt : SizeOf(dim, i);
      shape += (i == 0 ? "" : "x") + (size ? std::to_string(*size) : "SIZE");
    }
    return shape;
  }

  std::optional<std::int64_t> SizeOf(const Dimension& dim, int position) const {
    if (IsFixed(dim)) return dim.dim_value();
    const auto size = sizes_.find(NameOf(dim));
    if (size != sizes_.end()) return size->second.size;
    return position == 0 ? std::optional<std::int64_t>(1) : std::nullopt;
  }

  // Declares the shapes of results. A user may bind names that only results have; these limit sizes
  // that are found at run time.
  void DeclareResults() {
    std::map<std::string, std::int64_t, std::less<>> sizes;
    for (const auto& [name, size] : sizes_) sizes.emplace(name, size.size);
    DeclareShapes(graph_, sizes, import_);
  }

  // If dimensions of an input stay open, adds them with the options that would bind them to the
  // diagnostics and returns true.
  bool AddOpen(const ValueInfoProto& input) {
    if (!input.type().has_tensor_type() || shapes_.contains(input.name())) return false;
    std::string text, shape;
    bool unnamed = !HasShape(input);
    std::vector<std::string> names;
    for (int i = 0; i < ShapeOf(input).dim_size(); ++i) {
      const Dimension& dim = ShapeOf(input).dim(i);
      const auto size = SizeOf(dim, i);
      shape += (i == 0 ? "" : "x") + (size ? std::to_string(*size) : "SIZE");
      if (size) continue;
      const std::string name = NameOf(dim);
      text += (text.empty() ? "dimension " : ", dimension ") + std::to_string(i);
      if (!name.empty()) text += " ('" + Printable(name) + "')";
      unnamed = unnamed || name.empty();
      names.push_back(name);
    }
    if (HasShape(input) && names.empty()) return false;
    if (!HasShape(input)) shape = "SIZExSIZE...";
    std::vector<std::string> binding;
    if (unnamed) {
      binding.push_back("--shape " + Quoted(input.name() + "=" + shape));
    } else {
      for (const std::string& name : names) binding.push_back("--dim " + Quoted(name + "=SIZE"));
    }
    diagnostics_.AddOpen(InputNamed(input) + ": " + (HasShape(input) ? text : "the whole shape"),
                         binding);
    import_.refused.insert(input.name());
    return true;
  }

  // Returns an error for a value that does not fit the input. Adds an input that is not a tensor to
  // the diagnostics.
  Status AddInput(const ValueInfoProto& input, std::vector<BoundInput>& bound) {
    auto one = Bind(input);
    if (one.ok()) {
      bound.push_back(*std::move(one));
      return Status();
    }
    if (bindings_.values.contains(input.name())) {
      return one.status().WithContext(InputNamed(input));
    }
    diagnostics_.Add(InputNamed(input), one.status());
    import_.refused.insert(input.name());
    return Status();
  }

  Result<BoundInput> Bind(const ValueInfoProto& input) const {
    if (!input.type().has_tensor_type()) return Unsupported("it is not a tensor");
    const auto& proto = input.type().tensor_type();
    if (proto.elem_type() == onnx::TensorProto::UNDEFINED) {
      return InvalidArgument(
          "it has no element type; infer the types when exporting (in Python: "
          "onnx.shape_inference.infer_shapes), or give the exporter an example input");
    }
    const StorageType* stored = StorageTypeOf(proto.elem_type());
    const bool bfloat = stored != nullptr && IsBFloat16(*stored);
    TW_ASSIGN_OR_RETURN(auto dtype,
                        bfloat ? Result<DataType>(kFloat32) : DataTypeOfOnnx(proto.elem_type()));
    BoundInput bound{input.name(), {{}, dtype}, {}, bfloat};
    if (const auto shape = shapes_.find(input.name()); shape != shapes_.end()) {
      bound.type.shape = shape->second;
    } else {
      for (int i = 0; i < proto.shape().dim_size(); ++i) {
        bound.type.shape.push_back(*SizeOf(proto.shape().dim(i), i));
      }
    }
    TW_RETURN_IF_ERROR(CheckOnnxType(bound.type));
    const auto value = bindings_.values.find(input.name());
    if (value == bindings_.values.end()) return bound;
    auto tensor = ValueFor(value->second, bound.type);
    if (!tensor.ok()) {
      return tensor.status().WithContext("--value " + input.name() + "=" + value->second.text);
    }
    bound.value = *std::move(tensor);
    return bound;
  }

  static Result<Tensor> ValueFor(const Bindings::Value& value, const TensorType& type) {
    if (!value.contents) return TensorOfText(value.text, type);
    if (value.contents->type() == type) return value.contents->Clone();
    return InvalidArgument("the file has " + value.contents->type().ToString() + ", expected " +
                           type.ToString());
  }

  const onnx::GraphProto& graph_;
  OnnxImport& import_;
  const LoadOptions& options_;
  const Bindings& bindings_;
  ImportDiagnostics& diagnostics_;
  std::vector<const ValueInfoProto*> inputs_;
  Bindings::ByName<Size> sizes_;                        // by dimension name
  Bindings::ByName<std::vector<std::int64_t>> shapes_;  // shapes given by the user, by input name
};

}  // namespace

Result<std::vector<BoundInput>> BindInputs(const onnx::GraphProto& graph, OnnxImport& import,
                                           const LoadOptions& options,
                                           ImportDiagnostics& diagnostics) {
  return InputBinder(graph, import, options, diagnostics).Run();
}

std::string BindingHint(const Graph& graph, int id) {
  // Limits of values that the hint suggests to bind: a user types them. Floats are factors and
  // thresholds.
  constexpr std::int64_t kMaxShown = 64, kMaxFloats = 8;
  if (id < 0) return {};
  std::vector<bool> needed(static_cast<std::size_t>(id) + 1);
  needed.back() = true;
  std::string inputs, options;
  for (int i = id; i >= 0; --i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    const Node& node = graph.node(i);
    for (int input : node.inputs) needed[static_cast<std::size_t>(input)] = true;
    if (node.kind != NodeKind::kInput) continue;
    const std::int64_t most = node.type.dtype.is_float() ? kMaxFloats : kMaxShown;
    if (node.type.elements() > most) {
      return "; it follows from input '" + Printable(node.name) + "' (" + node.type.ToString() +
             "): export the model so that it does not";
    }
    inputs += (inputs.empty() ? "input '" : ", input '") + Printable(node.name) + "' (" +
              node.type.ToString() + ")";
    options += " --value " + Quoted(node.name + "=NUMBER");
  }
  if (inputs.empty()) return "; export the model so that it is constant";
  return "; it follows from " + inputs + ": if that is the same in every run, give it:" + options;
}

}  // namespace tilewright
