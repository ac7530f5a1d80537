// Import of an ONNX file as a graph:
//  1. Parse the protobuf without the messages of its library.
//  2. Find all operators without a handler. Reasons for rejection are collected and reported
//     together.
//  3. Sort the nodes topologically (ONNX requires this order, but not every writer keeps it). Find
//     undefined values, values defined twice, and cycles.
//  4. Run each node's handler, in order. Reject attributes and inputs that the handler has not
//     read. Other nodes replace calls of local functions, If nodes and nodes of old opsets; steps 3
//     and 4 apply to the new nodes, too.
//  5. Drop nodes that no output needs.
// Initializers enter the graph when a node first reads them. Constants that are only read as
// attributes (a target shape, for example) do not appear in the graph.

#include <google/protobuf/stubs/logging.h>

#include <algorithm>

#include "src/graph/ir/rewrite.h"
#include "src/graph/onnx/bind_inputs.h"
#include "src/graph/onnx/computed_axis.h"
#include "src/graph/onnx/declared_shapes.h"
#include "src/graph/onnx/import.h"
#include "src/graph/onnx/import_diagnostics.h"
#include "src/graph/onnx/inline_and_unroll.h"
#include "src/graph/onnx/node.h"
#include "src/graph/onnx/node_kinds.h"
#include "src/graph/onnx/node_order.h"
#include "src/graph/onnx/opset_upgrade.h"
#include "src/graph/onnx/printable_names.h"
#include "src/graph/onnx/sequences.h"
#include "src/graph/onnx/sparse.h"
#include "src/graph/onnx/unsupported_operators.h"
#include "src/graph/onnx/zero_size.h"

namespace tilewright {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

constexpr int kMaxNodes = 1'000'000;

// Bookkeeping of the nodes that replace other nodes.
struct Expansion {
  LocalFunctions functions;
  int depth = 0;
  std::int64_t nodes = 0;
  int failures = 0;  // rejected nodes, including those with the same reason
  ImportDiagnostics diagnostics;
  std::set<const void*> seen;  // graphs whose operators were visited
  bool own = false;            // the nodes replace a node of the file
  int left_out = 0;            // nodes without a result
  static constexpr int kMaxDepth = 64;
  static constexpr std::int64_t kMaxNodes = 200'000;
  static constexpr int kMaxFailures = 1'000;

  // Number of nodes that may still replace others.
  std::int64_t nodes_left() const { return std::max<std::int64_t>(kMaxNodes - nodes, 0); }
  // Returns whether the import gives up: importing rejected nodes can use memory and time without
  // new information.
  bool exhausted() const { return failures >= kMaxFailures || nodes > kMaxNodes; }
};

Status CheckOpset(std::int64_t opset) {
  if (opset >= kOldestOpset && opset <= kNewestOpset) return Status();
  return Unsupported("operator set " + std::to_string(opset) + ", expected " +
                     std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset));
}

OnnxNodes PointersTo(const auto& nodes) {
  OnnxNodes pointers;
  for (const NodeProto& node : nodes) pointers.push_back(&node);
  return pointers;
}

// Returns kInvalidArgument for a name with a zero byte. In C strings (in a compiled library) it
// would be a different name, possibly that of another value.
Status CheckName(const std::string& name) {
  const std::size_t zero = name.find('\0');
  if (zero == std::string::npos) return Status();
  return InvalidArgument("the name of value '" + name.substr(0, zero) +
                         "...' has a zero byte; expected a C string");
}

Status CheckResultNames(const auto& nodes) {
  for (const NodeProto& node : nodes) {
    for (const std::string& output : node.output()) TW_RETURN_IF_ERROR(CheckName(output));
  }
  return Status();
}

// Checks the names of inputs, constants and results.
Status CheckNames(const GraphProto& graph) {
  for (const auto& input : graph.input()) TW_RETURN_IF_ERROR(CheckName(input.name()));
  for (const auto& constant : graph.initializer()) TW_RETURN_IF_ERROR(CheckName(constant.name()));
  for (const auto& constant : graph.sparse_initializer()) {
    TW_RETURN_IF_ERROR(CheckName(constant.values().name()));
  }
  return CheckResultNames(graph.node());
}

Status AddInputs(const GraphProto& graph, const LoadOptions& options, OnnxImport& import,
                 ImportDiagnostics& diagnostics) {
  for (const auto& initializer : graph.initializer()) {
    if (!import.initializers.emplace(initializer.name(), &initializer).second) {
      return InvalidArgument("initializer '" + initializer.name() + "' is defined twice");
    }
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    TW_RETURN_IF_ERROR(AddSparseInitializer(sparse, sparse.values().name(), import));
  }
  TW_ASSIGN_OR_RETURN(auto inputs, BindInputs(graph, import, options, diagnostics));
  for (BoundInput& input : inputs) {
    if (import.values.contains(input.name)) {
      return InvalidArgument("graph input '" + input.name + "' is defined twice");
    }
    int id = -1;
    if (input.value) {  // a constant of the importer, whose contents cannot be replaced
      id = import.graph.AddConstant(input.name + "#value", *std::move(input.value));
      import.foldable_constants.insert(id);
    } else {
      id = import.graph.AddInput(input.name, std::move(input.type));
    }
    if (input.bfloat16) import.graph.precision = Precision::kAsBFloat16;
    import.values.emplace(input.name, id);
    import.names.insert(import.graph.node(id).name);
  }
  for (const auto& [name, id] : import.values) import.used_names.insert(name);
  import.used_names.insert(import.refused.begin(), import.refused.end());
  for (const auto& [name, proto] : import.initializers) import.used_names.insert(name);
  for (const NodeProto& node : graph.node()) {
    import.used_names.insert(node.output().begin(), node.output().end());
  }
  return Status();
}

// Returns the node of a graph output.
Result<int> OutputOf(const GraphProto& graph, const std::string& name, OnnxImport& import) {
  const bool made = import.values.contains(name) || import.initializers.contains(name) ||
                    std::ranges::any_of(graph.node(), [&](const NodeProto& node) {
                      return std::ranges::find(node.output(), name) != node.output().end();
                    });
  if (!made) return InvalidArgument("graph output '" + name + "' is computed by no node");
  auto id = import.Value(name);
  if (!id.ok()) return id.status().WithContext("graph output '" + name + "'");
  if (const auto stored = import.stored.find(*id);
      stored != import.stored.end() && !IsBFloat16(*stored->second)) {
    return Unsupported("graph output '" + name + "' has element type " +
                       std::string(stored->second->name) +
                       ", which outputs cannot have; expected a Cast after it");
  }
  return id;
}

void SetOutputs(const GraphProto& graph, OnnxImport& import, ImportDiagnostics& diagnostics) {
  std::vector<int> outputs;
  for (const auto& output : graph.output()) {
    if (import.refused.contains(output.name())) continue;
    const auto id = OutputOf(graph, output.name(), import);
    if (id.ok()) {
      outputs.push_back(*id);
    } else {
      diagnostics.Add({}, id.status());
    }
  }
  if (graph.output_size() == 0) diagnostics.Add({}, InvalidArgument("the graph has no output"));
  import.graph.SetOutputs(std::move(outputs));
}

Status ImportNodes(const OnnxNodes& nodes, OnnxImport& import, Expansion& expansion);

// Imports the nodes that replace a node, in opset `opset`.
Status ImportReplacement(const std::vector<NodeProto>& nodes, std::int64_t opset,
                         OnnxImport& import, Expansion& expansion) {
  expansion.nodes += std::ssize(nodes);
  if (expansion.depth == Expansion::kMaxDepth) {
    return InvalidArgument("functions and branches call each other more than " +
                           std::to_string(Expansion::kMaxDepth) + " deep");
  }
  TW_RETURN_IF_ERROR(CheckResultNames(nodes));
  if (expansion.nodes > Expansion::kMaxNodes) {
    return InvalidArgument("functions and branches have more than " +
                           std::to_string(Expansion::kMaxNodes) + " nodes in total");
  }
  const std::int64_t outside = import.opset;
  import.opset = opset;
  ++expansion.depth;
  Status status = ImportNodes(PointersTo(nodes), import, expansion);
  --expansion.depth;
  import.opset = outside;
  return status;
}

// Imports nodes that replace a node of the file. Messages name the node of the file.
Status ImportQuantizationParams(const std::vector<NodeProto>& nodes, std::int64_t opset,
                                OnnxImport& import, Expansion& expansion) {
  const bool outside = expansion.own;
  expansion.own = true;
  Status status = ImportReplacement(nodes, opset, import, expansion);
  expansion.own = outside;
  return status;
}

Status ImportCall(const NodeProto& call, const onnx::FunctionProto& function, OnnxImport& import,
                  Expansion& expansion) {
  const std::int64_t named = OpsetOf(function.opset_import());
  const std::int64_t opset = named == 0 ? import.opset : named;
  TW_RETURN_IF_ERROR(CheckOpset(opset).WithContext("function '" + function.name() + "'"));
  if (function.node_size() > expansion.nodes_left()) {
    return InvalidArgument("functions and branches have more than " +
                           std::to_string(Expansion::kMaxNodes) + " nodes in total");
  }
  TW_ASSIGN_OR_RETURN(auto nodes, InlineCall(call, function, import));
  return ImportReplacement(nodes, opset, import, expansion);
}

// Imports the branch that the condition selects. The condition must be constant at import.
Status ImportIf(const NodeProto& proto, OnnxImport& import, Expansion& expansion) {
  OnnxNode node(import, proto);
  const Tensor* condition = node.Known(0);
  if (!node.ok()) return node.status();
  if (condition == nullptr) {
    return Unsupported("its condition (" + proto.input(0) +
                       ") is computed at run time, expected one that is constant or "
                       "follows from shapes" +
                       BindingHint(import.graph, import.values.at(proto.input(0))) +
                       "; or export the model for one of its branches");
  }
  if (condition->elements() != 1 || !condition->dtype().is_bool()) {
    return InvalidArgument("its condition is " + condition->type().ToString() +
                           ", expected one bool");
  }
  const std::string_view wanted = condition->At(0) != 0 ? "then_branch" : "else_branch";
  const GraphProto* branch = GraphOf(proto, wanted);
  if (branch == nullptr) return InvalidArgument("attribute " + std::string(wanted) + " is missing");
  AddUnsupported(*branch, expansion.functions, expansion.seen, expansion.diagnostics);
  TW_RETURN_IF_ERROR(CheckNames(*branch));
  TW_ASSIGN_OR_RETURN(auto nodes, InlineBranch(proto, *branch, import));
  return ImportReplacement(nodes, import.opset, import, expansion);
}

// Returns number of steps, axes and directions of a Scan.
Result<ScanOrder> ScanOrderOf(const NodeProto& proto, OnnxImport& import, int results) {
  OnnxNode node(import, proto);
  const std::int64_t scans = node.Int("num_scan_inputs", 0);
  if (node.ok() && (scans < 1 || scans > node.input_count())) {
    return InvalidArgument("attribute num_scan_inputs is " + std::to_string(scans) +
                           ", expected 1 to " + std::to_string(node.input_count()));
  }
  const auto list = [&](std::string_view name, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    const std::vector<std::int64_t> zeros(size, 0);
    return count == 0 ? zeros : node.Ints(name, zeros, size);
  };
  ScanOrder order;
  order.input_axes = list("scan_input_axes", scans);
  order.output_axes = list("scan_output_axes", results);
  for (std::int64_t way : list("scan_input_directions", scans)) {
    order.input_reversed.push_back(way != 0);
  }
  for (std::int64_t way : list("scan_output_directions", results)) {
    order.output_reversed.push_back(way != 0);
  }
  node.IgnoreAttributes({"body"});
  const int states = node.input_count() - static_cast<int>(scans);
  for (int i = 0; i < states; ++i) node.IgnoreInput(i);
  for (int i = 0; node.ok() && i < scans; ++i) {
    const TensorType type = node.InputType(states + i);
    std::int64_t& axis = order.input_axes[static_cast<std::size_t>(i)];
    axis = node.Axis(axis, std::ssize(type.shape));
    if (!node.ok()) break;
    const std::int64_t steps = type.shape[static_cast<std::size_t>(axis)];
    if (i > 0 && steps != order.steps) {
      return InvalidArgument("input " + std::to_string(states + i) + " has " +
                             std::to_string(steps) + " elements to take, expected " +
                             std::to_string(order.steps));
    }
    order.steps = steps;
  }
  node.RejectUnread();
  if (!node.ok()) return node.status();
  return order;
}

// Returns kUnsupported if that many copies of a body use too much memory.
Status CheckBytes(std::int64_t steps, const GraphProto& body) {
  constexpr double kBytesOfAName = 64;
  double bytes = kBytesOfAName * body.initializer_size();
  // A node may contain constants or graphs.
  for (const NodeProto& inner : body.node()) bytes += static_cast<double>(inner.ByteSizeLong());
  if (bytes * static_cast<double>(steps) <= OnnxImport::kMaxConstantBytes) return Status();
  return Unsupported(std::to_string(steps) + " steps of nodes of " +
                     std::to_string(static_cast<std::int64_t>(bytes)) +
                     " bytes; expected at most 2^28 in total: make their constants initializers");
}

// Imports the body of a Scan, once for each step.
Status ImportScan(const NodeProto& proto, OnnxImport& import, Expansion& expansion) {
  if (import.opset < 9) {
    return Unsupported("Scan of operator set 8 (over batches), expected one of set 9 or later");
  }
  const GraphProto* body = GraphOf(proto, "body");
  if (body == nullptr) return InvalidArgument("attribute body is missing");
  TW_RETURN_IF_ERROR(CheckNames(*body));
  OnnxNode node(import, proto);
  const std::int64_t states =
      proto.input_size() -
      std::clamp<std::int64_t>(node.Int("num_scan_inputs", 0), 0, proto.input_size());
  const std::int64_t results = std::max<std::int64_t>(body->output_size() - states, 0);
  TW_ASSIGN_OR_RETURN(auto order, ScanOrderOf(proto, import, static_cast<int>(results)));
  if (order.steps < 1) return Unsupported("it has no steps");
  const std::int64_t each = body->node_size() + std::ssize(order.input_axes) + results;
  if (order.steps > expansion.nodes_left() / std::max<std::int64_t>(each, 1)) {
    return Unsupported(std::to_string(order.steps) + " steps of " + std::to_string(each) +
                       " nodes, expected at most " + std::to_string(Expansion::kMaxNodes) +
                       " nodes in total");
  }
  TW_RETURN_IF_ERROR(CheckBytes(order.steps, *body));
  TW_ASSIGN_OR_RETURN(auto nodes, UnrollScan(proto, *body, order, import));
  return ImportReplacement(nodes, import.opset, import, expansion);
}

// Returns whether a Loop has a next step. `condition` names a value; empty: always.
Result<bool> LoopContinues(const std::string& condition, std::int64_t step, OnnxImport& import) {
  if (condition.empty()) return true;
  TW_ASSIGN_OR_RETURN(auto id, import.Value(condition));
  const Tensor* contents = import.Contents(id);
  if (contents == nullptr) {
    return Unsupported("its condition (" + condition + ") before step " + std::to_string(step) +
                       " is computed at run time, expected one that is constant or "
                       "follows from shapes" +
                       BindingHint(import.graph, id));
  }
  if (contents->elements() == 1 && contents->dtype().is_bool()) return contents->At(0) != 0;
  return InvalidArgument("its condition (" + condition + ") is " + contents->type().ToString() +
                         ", expected one bool");
}

// Returns the trip count of a Loop, or nothing if only the condition ends it. The condition can end
// the Loop earlier.
Result<std::optional<std::int64_t>> TripCountOf(const NodeProto& proto, OnnxImport& import) {
  OnnxNode node(import, proto);
  node.IgnoreAttributes({"body"});
  std::optional<std::int64_t> trips;
  if (node.HasInput(0)) {
    const std::vector<std::int64_t> known = node.KnownInts(0);
    if (node.ok() && known.size() != 1) {
      return InvalidArgument("input 0 (" + proto.input(0) + ") has " +
                             std::to_string(known.size()) + " elements, expected one");
    }
    if (node.ok()) trips = std::max<std::int64_t>(known[0], 0);
  }
  for (int i = 1; i < node.input_count(); ++i) node.IgnoreInput(i);
  node.RejectUnread();
  if (!node.ok()) return node.status();
  return trips;
}

// Imports the body of a Loop, once for each step. Its conditions must be constant at import.
Status ImportLoop(const NodeProto& proto, OnnxImport& import, Expansion& expansion) {
  constexpr std::int64_t kMaxSteps = 16'384;
  const GraphProto* body = GraphOf(proto, "body");
  if (body == nullptr) return InvalidArgument("attribute body is missing");
  if (proto.input_size() < 2) return InvalidArgument("it has less than 2 inputs");
  TW_RETURN_IF_ERROR(CheckNames(*body));
  TW_ASSIGN_OR_RETURN(const auto trips, TripCountOf(proto, import));
  TW_ASSIGN_OR_RETURN(auto loop, LoopUnroller::Of(proto, *body, import));
  for (;;) {
    const std::int64_t step = loop.steps();
    if (trips.has_value() && step >= *trips) break;
    TW_ASSIGN_OR_RETURN(const auto goes_on, LoopContinues(loop.condition(), step, import));
    if (!goes_on) break;
    if (step == kMaxSteps) {
      return Unsupported("it does not end within " + std::to_string(kMaxSteps) + " steps: " +
                         (trips.has_value() ? "it has " + std::to_string(*trips)
                                            : std::string("it has no trip count")) +
                         (loop.condition().empty()
                              ? ""
                              : ", and its condition (" + loop.condition() + ") is still true"));
    }
    TW_RETURN_IF_ERROR(CheckBytes(step + 1, *body));
    ++expansion.nodes;  // a body may have no nodes
    const int left_out = expansion.left_out;
    TW_RETURN_IF_ERROR(ImportReplacement(loop.Next(), import.opset, import, expansion));
    // Every step would be rejected for the same reason.
    if (expansion.left_out != left_out) return Status();
  }
  return ImportReplacement(loop.Results(), import.opset, import, expansion);
}

Status ImportNode(const NodeProto& proto, OnnxImport& import, Expansion& expansion) {
  const bool makes = std::ranges::any_of(proto.output(), [](auto& name) { return !name.empty(); });
  if (const onnx::FunctionProto* function = expansion.functions.Find(proto)) {
    return makes ? ImportCall(proto, *function, import, expansion) : Status();
  }
  if (IsIf(proto)) return makes ? ImportIf(proto, import, expansion) : Status();
  if (IsScan(proto)) return makes ? ImportScan(proto, import, expansion) : Status();
  if (IsLoop(proto)) return makes ? ImportLoop(proto, import, expansion) : Status();
  if (!makes) return InvalidArgument("has no output");
  TW_ASSIGN_OR_RETURN(auto tensors, ExpandSequence(proto, expansion.nodes_left(), import));
  if (tensors) return ImportReplacement(*tensors, import.opset, import, expansion);
  TW_ASSIGN_OR_RETURN(auto converted, UpgradeNode(proto, import));
  if (converted) {
    const std::int64_t opset = std::max(import.opset, kOldestHandledOpset);
    return ImportQuantizationParams(*converted, opset, import, expansion);
  }
  if (const auto choices = ExpandComputedAxis(proto, import)) {
    return ImportQuantizationParams(*choices, import.opset, import, expansion);
  }
  TW_RETURN_IF_ERROR(CheckZeroSizeInputs(proto, import));
  const std::int64_t outside = import.opset;
  import.opset = std::max(outside, kOldestHandledOpset);
  OnnxNode node(import, proto);
  FindOnnxHandler(DomainOf(proto), proto.op_type())(node);
  node.RejectUnread();
  import.opset = outside;
  return node.status();
}

// Returns whether a node reads a value whose producer was rejected.
bool ReadsRefused(const NodeProto& node, const OnnxImport& import) {
  if (import.refused.empty()) return false;
  const auto refused = [&](const std::string& name) { return import.refused.contains(name); };
  return std::ranges::any_of(node.input(), refused) ||
         std::ranges::any_of(CapturedValues(node), refused);
}

// Imports all nodes that can be imported. Adds the errors of other nodes to the diagnostics and
// their results to the rejected values. Stops after very many errors.
// Returns errors that concern all nodes together.
Status ImportNodes(const OnnxNodes& nodes, OnnxImport& import, Expansion& expansion) {
  TW_ASSIGN_OR_RETURN(auto order, NodeOrder(nodes, import));
  const std::string outside = import.place;
  for (int position : order) {
    const NodeProto& proto = *nodes[static_cast<std::size_t>(position)];
    const int left_out = expansion.left_out;
    if (expansion.exhausted() || ReadsRefused(proto, import) ||
        IsUnsupported(proto, expansion.functions)) {
      ++expansion.left_out;
    } else {
      if (!expansion.own) {
        import.place =
            ShortPlace((outside.empty() ? "" : outside + ": ") + DescribeNode(proto, position));
      }
      Status status = ImportNode(proto, import, expansion);
      if (!status.ok()) {
        expansion.diagnostics.Add(import.place, status);
        ++expansion.left_out;
        ++expansion.failures;
      }
      import.place = outside;
    }
    if (expansion.left_out == left_out) continue;
    for (const std::string& output : proto.output()) {
      if (output.empty()) continue;
      if (!import.Knows(output) || import.omitted_outputs.contains(output))
        import.refused.insert(output);
    }
  }
  return Status();
}

}  // namespace

Result<Graph> ImportOnnx(std::string_view bytes, std::string name, const LoadOptions& options) {
  return ImportOnnxIn({}, bytes, std::move(name), options);
}

Result<Graph> ImportOnnxIn(const std::string& folder, std::string_view bytes, std::string name,
                           const LoadOptions& options) {
  if (bytes.size() >= (std::size_t{1} << 31)) {
    return InvalidArgument("the file has " + std::to_string(bytes.size()) +
                           " bytes, expected less than 2^31; save larger models with their "
                           "weights as external data");
  }
  google::protobuf::LogSilencer silencer;
  ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the file is not an ONNX model, or is truncated (" +
                           std::to_string(bytes.size()) + " bytes); download or export it again");
  }
  TW_RETURN_IF_ERROR(MakeNamesPrintable(model));
  const GraphProto& graph = model.graph();
  if (!model.has_graph() || graph.node_size() == 0) {
    return InvalidArgument("the file is not an ONNX model: it has no graph with nodes");
  }
  if (graph.node_size() > kMaxNodes) {
    return InvalidArgument("the graph has " + std::to_string(graph.node_size()) +
                           " nodes, expected at most " + std::to_string(kMaxNodes));
  }
  TW_ASSIGN_OR_RETURN(auto functions, LocalFunctions::Of(model));
  Expansion expansion;
  expansion.functions = std::move(functions);
  ImportDiagnostics& diagnostics = expansion.diagnostics;
  AddUnsupported(graph, expansion.functions, expansion.seen, diagnostics);
  TW_RETURN_IF_ERROR(CheckNames(graph));
  OnnxImport import;
  import.opset = OpsetOf(model.opset_import());
  if (import.opset == 0 && model.opset_import_size() == 0) {
    return InvalidArgument("no operator set is imported (opset_import), expected one");
  }
  const bool foreign = std::ranges::none_of(
      graph.node(), [](const NodeProto& node) { return DomainOf(node).empty(); });
  // No imported operator depends on it.
  if (import.opset == 0 && foreign) import.opset = kNewestOpset;
  const Status known = CheckOpset(import.opset);
  if (!known.ok()) diagnostics.Add({}, known);
  import.folder = folder;
  import.requantize = options.requantize;
  import.graph.name = std::move(name);
  import.graph.binding_options = options.bindings.Options();
  if (options.requantize == Requantize::kByIntegers) {
    import.graph.binding_options.emplace_back("--requantize integer");
  }
  TW_RETURN_IF_ERROR(AddInputs(graph, options, import, diagnostics));
  if (known.ok()) {
    const Status status = ImportNodes(PointersTo(graph.node()), import, expansion);
    if (status.ok()) {
      SetOutputs(graph, import, diagnostics);
    } else {
      diagnostics.Add({}, status);
    }
  }
  if (!diagnostics.empty()) return diagnostics.ToStatus();
  if (import.graph.precision == Precision::kAsBFloat16) {
    import.graph.notes.emplace_back(
        "the file computes in bfloat16: products of bfloat16, everything else in float32, inputs "
        "and outputs too");
  }
  return Prune(std::move(import.graph));
}

}  // namespace tilewright
