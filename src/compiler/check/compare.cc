// Matching of the values that two forms of a model have in common, by names, order and quantization
// parameters, and their comparison layer by layer. Quantized values are compared as real numbers.

#include "src/compiler/check/compare.h"
#include "src/base/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "src/compiler/check/check_process.h"
#include "src/compiler/run/real_values.h"
#include "src/compiler/run/run_values.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/operand.h"
#include "src/tensor/layout.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {
namespace {

constexpr double kDefaultSqnrDb = 10;  // below it, more than a third of the signal is error

/// Returns the end of the product `anchor`: after additions and scales of one constant per channel,
/// and after those of a scalar before them (for example a shift to the scale of the bias).
int EndOfProduct(const Graph& graph, const std::vector<std::vector<int>>& users, int anchor) {
  const std::vector<bool> channel = ChannelDimensions(graph.node(anchor));
  const auto constant = [&](int id, OperandKind kind) {
    const Node& operand = graph.node(id);
    return operand.kind == NodeKind::kConstant &&
           OperandKindOf(operand.type, graph.node(anchor).type, channel) == kind;
  };
  int end = anchor, at = anchor;
  for (int user = SingleUser(graph, users, at); user >= 0; user = SingleUser(graph, users, at)) {
    const Node& node = graph.node(user);
    bool ends = node.op.kind == OpKind::kIdentity && at == end;
    bool goes_on = node.op.kind == OpKind::kCast;
    if (node.op.kind == OpKind::kBatchNorm) ends = node.inputs[0] == at;
    if (IsBinaryElementwise(node)) {
      const int operand = node.inputs[node.inputs[0] == at ? 1 : 0];
      ends = operand != at && constant(operand, OperandKind::kChannel);
      goes_on = operand != at && constant(operand, OperandKind::kScalar);
    }
    if ((!ends && !goes_on) || node.type.shape != graph.node(at).type.shape) break;
    at = user;
    if (ends) end = at;
  }
  return end;
}

/// Returns the layout of a product's or a pool's result; empty if unknown.
std::string LayoutOf(const Node& node) {
  const std::string& layout = node.op.attributes.data_layout;
  if (node.op.kind == OpKind::kDense && node.type.shape.size() == 2) return "MK";
  return node.type.shape.size() >= 4 ? layout : "";
}

/// Returns the layouts of a graph's values, by their ids.
std::vector<std::string> LayoutsOf(const Graph& graph) {
  std::vector<std::string> layouts(static_cast<std::size_t>(graph.size()));
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator) continue;
    std::string& layout = layouts[static_cast<std::size_t>(id)];
    if (IsAnchor(node.op.kind) || node.op.kind == OpKind::kMaxPool2d ||
        node.op.kind == OpKind::kAvgPool2d) {
      layout = LayoutOf(node);
    } else if (IsElementwise(node.op.kind) || node.op.kind == OpKind::kIdentity ||
               node.op.kind == OpKind::kConcat || node.op.kind == OpKind::kBatchNorm) {
      for (int input : node.inputs) {
        const bool alike = graph.node(input).type.shape.size() == node.type.shape.size();
        if (layout.empty() && alike) layout = layouts[static_cast<std::size_t>(input)];
      }
    }
  }
  return layouts;
}

/// Returns a name without the suffix that quantizing exporters append to that of the float value.
std::string_view PlainName(std::string_view name) {
  constexpr std::array<std::string_view, 8> kSuffixes = {
      "_QuantizeLinear_Output", "_DequantizeLinear_Output", "_quantized", "_dequantized",
      "_QuantizeLinear",        "_DequantizeLinear",        "_q",         "_dq"};
  for (std::string_view suffix : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

std::optional<QuantizationParams> QuantizationParamsOf(const QuantizationMap& quantization_map,
                                                       const std::string& name) {
  const auto found = quantization_map.find(name);
  if (found == quantization_map.end() || found->second.scales.empty()) return std::nullopt;
  return found->second;
}

struct Pair {
  const TracedValue* reference;
  const TracedValue* other;
};

/// Returns true if one side is quantized, or both are in different ways. Numbers of one type whose
/// parameters only one side states count as the same numbers elsewhere, for example after a layout
/// change.
bool DiffersInType(const Pair& pair) {
  const auto &left = pair.reference->quantization_params, &right = pair.other->quantization_params;
  if (pair.reference->contents.dtype() != pair.other->contents.dtype()) return true;
  return left && right && (left->scales != right->scales || left->zero_point != right->zero_point);
}

/// Returns true if some values are small integers. The results may still be floats.
bool IsQuantized(const Trace& trace) {
  return std::ranges::any_of(trace.values, [](const TracedValue& value) {
    const DataType dtype = value.contents.dtype();
    return dtype.is_integer() && dtype.bytes() <= 2;
  });
}

/// Returns true if two traces are of one graph: the same values in the same order.
bool SameValues(const Trace& a, const Trace& b) {
  return std::ranges::equal(a.values, b.values, [](const TracedValue& x, const TracedValue& y) {
    return x.name == y.name && x.op == y.op && x.contents.type() == y.contents.type();
  });
}

/// Returns the common name of a value on both sides; empty if only its own file has a name for it.
std::string_view CommonName(const TracedValue& value, bool same_graph) {
  if (same_graph) return value.name;
  if (!value.source.empty()) return value.source;
  return IsLocalName(value.name) ? std::string_view() : std::string_view(value.name);
}

/// Returns the value at position `index` of the outputs; null for an input or a constant.
const TracedValue* OutputOf(const Trace& trace, std::size_t index) {
  const int position = trace.outputs[index];
  return position < 0 ? nullptr : &trace.values[static_cast<std::size_t>(position)];
}

bool IsOutput(const Trace& trace, const TracedValue* value) {
  return std::ranges::count(trace.outputs, value - trace.values.data()) != 0;
}

/// Returns true if two layouts have the same dimensions, in another order or in blocks.
bool AreForms(const std::string& a, const std::string& b) {
  const auto left = Layout::Parse(a), right = Layout::Parse(b);
  if (a == b || !left.ok() || !right.ok()) return false;
  std::string one = left->primal(), two = right->primal();
  std::ranges::sort(one);
  std::ranges::sort(two);
  return one == two;
}

/// Returns true if the elements of two values of one name can be brought into one order. Blocks of
/// `other` may be padded.
bool HaveOneOrder(const TracedValue& reference, const TracedValue& other) {
  const std::int64_t count = reference.contents.elements(), others = other.contents.elements();
  const bool known = !reference.layout.empty() && !other.layout.empty();
  if (known && AreForms(reference.layout, other.layout)) return others >= count;
  const bool same_rank = reference.contents.shape().size() == other.contents.shape().size();
  return others == count && (known || same_rank);
}

std::vector<Pair> PairByName(const Trace& reference, const Trace& other) {
  const bool same = SameValues(reference, other);
  std::map<std::string_view, const TracedValue*> exact, plain;
  for (const bool outputs : {true, false}) {  // of two that are one value, the output
    for (const TracedValue& value : other.values) {
      const std::string_view name = CommonName(value, same);
      if (name.empty() || IsOutput(other, &value) != outputs) continue;
      exact.emplace(name, &value);
      plain.emplace(PlainName(name), &value);
    }
  }
  std::vector<Pair> pairs;
  std::map<const TracedValue*, bool> taken;
  for (const bool whole : {true, false}) {  // the exact name precedes one with another suffix
    const auto& named = whole ? exact : plain;
    for (const TracedValue& value : reference.values) {
      const std::string_view name = CommonName(value, same);
      if (name.empty() || (!whole && exact.contains(name))) continue;
      const auto found = named.find(whole ? name : PlainName(name));
      if (found == named.end() || !HaveOneOrder(value, *found->second)) continue;
      if (taken.emplace(found->second, true).second) pairs.push_back({&value, found->second});
    }
  }
  return pairs;
}

std::vector<const TracedValue*> ProductsOf(const Trace& trace) {
  std::vector<const TracedValue*> products;
  for (const TracedValue& value : trace.values) {
    if (value.product >= 0) products.push_back(&value);
  }
  std::ranges::sort(products, {}, [](const TracedValue* value) { return value->product; });
  return products;
}

bool HasReference(const std::vector<Pair>& pairs, const TracedValue* value) {
  return std::ranges::any_of(pairs, [&](const Pair& pair) { return pair.reference == value; });
}

/// Adds the products without a common name, if there are equally many on both sides and those with
/// one are at equal positions. (An output that is a product on one side may follow it on the other,
/// dequantized.) Returns true if it added them.
bool AddProducts(const Trace& reference, const Trace& other, std::vector<Pair>& pairs) {
  const auto left = ProductsOf(reference), right = ProductsOf(other);
  const bool alike =
      left.size() == right.size() && std::ranges::all_of(pairs, [](const Pair& pair) {
        return pair.reference->product < 0 || pair.other->product < 0 ||
               pair.reference->product == pair.other->product;
      });
  const std::size_t named = pairs.size();
  for (std::size_t i = 0; alike && i < left.size(); ++i) {
    const bool same_count = left[i]->contents.elements() == right[i]->contents.elements();
    const bool fits = same_count || HaveOneOrder(*left[i], *right[i]);
    if (fits && !HasReference(pairs, left[i])) pairs.push_back({left[i], right[i]});
  }
  return pairs.size() > named;
}

/// Adds the outputs without a common name, also those whose product is paired, because values after
/// it may be wrong. Returns true if it added any.
/// Errors: kInvalidArgument for one without a counterpart, which would stay unseen.
Result<bool> AddOutputs(const Trace& reference, const Trace& other, std::vector<Pair>& pairs) {
  const std::size_t named = pairs.size();
  const bool counted = reference.outputs.size() == other.outputs.size();
  for (std::size_t i = 0; i < reference.outputs.size(); ++i) {
    const TracedValue* left = OutputOf(reference, i);
    const bool known = left == nullptr || std::ranges::any_of(pairs, [&](const Pair& pair) {
                         return pair.reference == left && IsOutput(other, pair.other);
                       });
    if (known) continue;
    if (const TracedValue* right = counted ? OutputOf(other, i) : nullptr; right != nullptr) {
      pairs.push_back({left, right});
    } else if (!HasReference(pairs, left)) {
      return InvalidArgument(fmt::format(
          "output {} of {}, {} of {}, has no counterpart among the {} of {}", left->name,
          reference.name, i + 1, reference.outputs.size(), other.outputs.size(), other.name));
    }
  }
  return pairs.size() > named;
}

/// Returns `value` in the element order of `wanted`.
/// Errors: kInvalidArgument if they have different elements.
Result<Tensor> InOrderOf(const TracedValue& value, const TracedValue& wanted) {
  const auto differ = [&] {
    return InvalidArgument(fmt::format("{} is {} and {} is {}: they do not correspond", wanted.name,
                                       wanted.contents.type().ToString(), value.name,
                                       value.contents.type().ToString()));
  };
  const auto as_is = [&]() -> Result<Tensor> {
    if (value.contents.elements() != wanted.contents.elements()) return differ();
    return value.contents.Clone();
  };
  if (value.layout == wanted.layout || value.layout.empty() || wanted.layout.empty()) {
    return as_is();
  }
  TW_ASSIGN_OR_RETURN(auto from, Layout::Parse(value.layout));
  TW_ASSIGN_OR_RETURN(auto to, Layout::Parse(wanted.layout));
  const auto sizes = to.Unpack(wanted.contents.shape());
  std::vector<std::int64_t> logical;
  for (char letter : from.primal()) {
    const std::size_t position = to.primal().find(letter);
    if (position == std::string::npos) return as_is();  // a matrix product and a convolution
    logical.push_back(sizes[position]);
  }
  TW_ASSIGN_OR_RETURN(auto moved,
                      TransformLayout(value.contents, value.layout, wanted.layout, logical));
  if (moved.type().shape != wanted.contents.shape()) return differ();
  return moved;
}

/// outputs: the values are outputs of both networks.
Result<LayerDifference> Difference(const Pair& pair, bool outputs,
                                   const DifferenceOptions& options) {
  const TracedValue& reference = *pair.reference;
  const TracedValue& other = *pair.other;
  LayerDifference layer;
  layer.value = reference.name;
  layer.other = other.name;
  layer.op = other.op;
  layer.type = reference.contents.type().ToString();
  layer.other_type = other.contents.type().ToString();
  TW_ASSIGN_OR_RETURN(auto ordered, InOrderOf(other, reference));
  const bool differs = DiffersInType(pair);
  const auto quantization_params_of = [&](const TracedValue& value, const TracedValue& same) {
    return value.quantization_params || differs ? value.quantization_params
                                                : same.quantization_params;
  };
  const RealValues expected =
      RealValues::Of(reference.contents, quantization_params_of(reference, other));
  RealValues actual = RealValues::Of(ordered, quantization_params_of(other, reference));
  if (differs) {
    const bool numbers = other.contents.dtype().is_integer() && !other.quantization_params;
    layer.scale_source = numbers ? ScaleSource::kFit : ScaleSource::kSource;
    if (numbers) actual = RealValues::Fitted(ordered, expected, other.product >= 0);
    layer.scale = actual.scale();
  }
  const ErrorStatistics errors = CompareReals(actual, expected);
  layer.max_abs_error = errors.max_abs;
  layer.rms_error = errors.rms;
  layer.reference_rms = errors.reference_rms;
  layer.sqnr_db = errors.sqnr_db;
  layer.factor = errors.factor;
  layer.non_finite_mismatches = errors.non_finite_mismatches;
  layer.factored_sqnr_db = errors.factored_sqnr_db;
  if (outputs && expected.elements() > 1) {
    layer.same_top = actual.Largest() == expected.Largest();
  }
  if (options.min_sqnr_db) {
    layer.ok = layer.sqnr_db >= *options.min_sqnr_db;
  } else {
    ordered.Reshape(reference.contents.shape());
    layer.ok = Compare(ordered, reference.contents, options.tolerance).ok;
  }
  return layer;
}

/// Judges failed layers again, each operator on the operands of the other network. Errors of one
/// operator then do not count against those after it.
Status JudgeByMagnitudes(const std::vector<Pair>& pairs, const DifferenceOptions& options,
                         std::vector<LayerDifference>& layers) {
  std::map<std::string_view, int> ids;
  for (int id = 0; id < options.graph->size(); ++id) {
    ids.emplace(options.graph->node(id).name, id);
  }
  RunValues values(*options.graph, options.inputs, options.threads);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const TracedValue& reference = *pairs[i].reference;
    const auto id = ids.find(reference.name);
    TW_ASSIGN_OR_RETURN(auto own, InOrderOf(*pairs[i].other, reference));
    own.Reshape(reference.contents.shape());
    if (id == ids.end() || own.type() != options.graph->node(id->second).type) continue;
    if (!layers[i].ok && own.dtype().is_float()) {
      TW_ASSIGN_OR_RETURN(const auto expected, values.Reference(id->second));
      TW_ASSIGN_OR_RETURN(const auto bounded, values.Bounded());
      layers[i].ok = CompareBounded(own, bounded, expected.tolerance).ok;
    }
    values.Observe(id->second, std::move(own));
  }
  return {};
}

std::string Decibels(double value) {
  return std::isinf(value) && value > 0 ? "infinite" : fmt::format("{:.1f} dB", value);
}

}  // namespace

Result<Trace> TraceGraph(const Graph& graph, std::span<const Tensor> inputs, int threads) {
  TW_ASSIGN_OR_RETURN(auto values, EvaluateGraph(graph, inputs, KeepValues::kAll, threads));
  const auto users = graph.Users();
  const std::vector<std::string> layouts = LayoutsOf(graph);
  std::map<int, int> products;  // their positions, by their ends
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const int position = static_cast<int>(products.size());
    products.emplace(EndOfProduct(graph, users, id), position);
  }
  Trace trace;
  trace.name = graph.name;
  trace.synthetic_constants = graph.synthetic_constants;
  std::map<int, int> positions;  // by their node
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOperator) continue;
    TracedValue value;
    value.name = node.name;
    value.op = OpName(node.op.kind);
    value.source = graph.FloatName(id);
    value.contents = std::move(values[static_cast<std::size_t>(id)]);
    value.quantization_params = QuantizationParamsOf(graph.quantization, node.name);
    value.layout = layouts[static_cast<std::size_t>(id)];
    if (const auto product = products.find(id); product != products.end()) {
      value.product = product->second;
    }
    positions.emplace(id, static_cast<int>(trace.values.size()));
    trace.values.push_back(std::move(value));
  }
  for (int id : graph.outputs()) {
    const auto found = positions.find(id);
    trace.outputs.push_back(found == positions.end() ? -1 : found->second);
  }
  return trace;
}

Result<Trace> TraceLibrary(const ModelLibrary& model, std::span<const Tensor> inputs,
                           CheckProgress* progress) {
  CheckProgress unused;
  if (progress == nullptr) progress = &unused;
  Trace trace;
  trace.name = model.name();
  trace.synthetic_constants = model.synthetic_constants();
  const auto observe = [&](std::size_t index, Tensor result) -> Status {
    progress->Begin(static_cast<std::int64_t>(index) + 1);
    const ModelOperator& op = model.operators()[index];
    TracedValue value;
    value.name = op.result.name;
    value.op = op.op;
    value.layout = op.logical_layout;
    value.quantization_params = QuantizationParamsOf(model.quantization_map(), value.name);
    const auto known = model.quantization_map().find(value.name);
    if (known != model.quantization_map().end()) value.source = known->second.value;
    value.contents = std::move(result);
    trace.values.push_back(std::move(value));
    return Status();
  };
  progress->Begin(0);
  auto outputs = model.RunObserved(inputs, observe);
  progress->End();
  TW_RETURN_IF_ERROR(outputs);
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    const auto found = std::ranges::find(trace.values, name, &TracedValue::name);
    trace.outputs.push_back(static_cast<int>(found - trace.values.begin()));
    if (found != trace.values.end()) continue;
    TracedValue value;  // an input or a constant, or an alias of a result
    value.name = name;
    value.contents = std::move((*outputs)[i]);
    trace.values.push_back(std::move(value));
  }
  return trace;
}

Result<std::vector<Tensor>> InputsFor(const std::vector<ModelValue>& wanted,
                                      const std::vector<ModelValue>& given,
                                      std::span<const Tensor> inputs,
                                      const QuantizationMap& expected_quantization_map,
                                      const QuantizationMap& actual_quantization_map) {
  if (wanted.size() != given.size()) {
    return InvalidArgument(fmt::format("the networks have {} and {} inputs, expected equally many",
                                       given.size(), wanted.size()));
  }
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorType &from = inputs[i].type(), &to = wanted[i].type;
    if (from == to) {
      result.push_back(inputs[i].Clone());
      continue;
    }
    const auto to_params = QuantizationParamsOf(expected_quantization_map, wanted[i].name);
    const auto from_params = QuantizationParamsOf(actual_quantization_map, given[i].name);
    const bool readable = (from.dtype.is_float() || from_params) &&
                          (to.dtype.is_float() || to_params) && from.shape == to.shape;
    if (!readable) {
      return InvalidArgument(
          fmt::format("input {} is {} in one network and {} ({}) in the other, and {}",
                      given[i].name, from.ToString(), to.ToString(), wanted[i].name,
                      from.shape == to.shape ? "neither file says what the numbers stand for"
                                             : "their shapes differ"));
    }
    result.push_back(FromReals(RealValues::Of(inputs[i], from_params), to, to_params));
  }
  return result;
}

bool LayerDifference::IsOffScale() const {
  return scale_source != ScaleSource::kFit && std::abs(factor - 1) > kScaleError;
}

std::string DifferenceReport::Summary() const {
  std::string text;
  if (!first_bad) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const LayerDifference& layer : layers) lowest = std::min(lowest, layer.sqnr_db);
    text = fmt::format("{} of {} agree with {}; lowest SQNR {}",
                       Counted(std::ssize(layers), "layer"), other, reference, Decibels(lowest));
  } else {
    const LayerDifference& bad = layers[*first_bad];
    text = fmt::format(
        "layer {} ({}, {}) is the first to diverge: SQNR {}, largest error {:.3g}, reference RMS "
        "{:.3g}; the {} before it agree",
        *first_bad, bad.value, bad.op, Decibels(bad.sqnr_db), bad.max_abs_error, bad.reference_rms,
        *first_bad);
    const double before = *first_bad > 0 ? layers[*first_bad - 1].sqnr_db : bad.sqnr_db;
    if (*first_bad > 0) text += fmt::format(" (the last one with {})", Decibels(before));
    text += NonFiniteMismatchText(bad.non_finite_mismatches);
    if (bad.IsOffScale() && bad.factored_sqnr_db >= min_sqnr_db.value_or(kDefaultSqnrDb)) {
      text += fmt::format("; times {:.3g} it would agree ({}): its scale is wrong", bad.factor,
                          Decibels(bad.factored_sqnr_db));
    }
  }
  const auto fitted = std::ranges::count(layers, ScaleSource::kFit, &LayerDifference::scale_source);
  if (fitted > 0) {
    text += fmt::format(
        "; the scale of {} of them is unknown: it was fitted, and a wrong one is not detected",
        fitted);
  }
  if (by_position)
    text += "; products without common names and outputs were matched by their position";
  if (unmatched > 0) text += fmt::format("; {} values have no counterpart", unmatched);
  return text;
}

Result<DifferenceReport> CompareTraces(const Trace& reference, const Trace& other,
                                       const DifferenceOptions& options) {
  DifferenceReport report;
  report.reference = reference.name;
  report.other = other.name;
  report.synthetic_constants = reference.synthetic_constants + other.synthetic_constants;
  std::vector<Pair> pairs = PairByName(reference, other);
  const bool any_named = !pairs.empty();
  const bool products = AddProducts(reference, other, pairs);
  TW_ASSIGN_OR_RETURN(auto counted, AddOutputs(reference, other, pairs));
  report.by_position = counted || products;
  std::ranges::stable_sort(pairs, {}, &Pair::reference);  // execution order
  if (pairs.empty()) {
    return InvalidArgument(fmt::format(
        "{} and {} have no value of one name, {} and {} convolutions and matrix products, and no "
        "outputs alike: nothing can be compared",
        reference.name, other.name, ProductsOf(reference).size(), ProductsOf(other).size()));
  }
  DifferenceOptions used = options;
  const bool quantized =
      IsQuantized(reference) != IsQuantized(other) || std::ranges::any_of(pairs, DiffersInType);
  if (!options.min_sqnr_db && quantized) {
    used.min_sqnr_db = kDefaultSqnrDb;
  }
  report.min_sqnr_db = used.min_sqnr_db;
  for (const Pair& pair : pairs) {
    const bool both = IsOutput(reference, pair.reference) && IsOutput(other, pair.other);
    TW_ASSIGN_OR_RETURN(auto layer, Difference(pair, both, used));
    report.layers.push_back(std::move(layer));
  }
  const auto first_bad = [&] {
    return std::ranges::find(report.layers, false, &LayerDifference::ok);
  };
  const bool by_limit = used.tolerance || used.min_sqnr_db;
  if (used.graph != nullptr && !by_limit && first_bad() != report.layers.end()) {
    TW_RETURN_IF_ERROR(JudgeByMagnitudes(pairs, used, report.layers));
  }
  if (const auto bad = first_bad(); bad != report.layers.end()) {
    report.first_bad = static_cast<std::size_t>(bad - report.layers.begin());
  }
  if (any_named || !products) {
    report.unmatched = static_cast<std::size_t>(std::ranges::count_if(
        reference.values, [&](const TracedValue& value) { return !HasReference(pairs, &value); }));
  }
  return report;
}

}  // namespace tilewright
