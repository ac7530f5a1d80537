// Folds scales and shifts per channel.
//
// A chain is a run of operators x -> a * x + b with one a and one b per channel: batch
// normalizations, and additions and multiplications of constants. Each value in it but the last
// has one use.
//  - After a convolution or matrix product with a constant weight, a is folded into the weight and
//    b becomes one addition: conv(x, w * a) + b.
//  - Any other chain with a normalization becomes x * a + b: two elementwise operators.
// If a constant has no contents (Relay text), the constants computed from it have none either.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "src/graph/ir/operand.h"
#include "src/graph/ir/output_channels.h"
#include "src/graph/ir/rewrite.h"
#include "src/graph/passes/passes.h"

namespace tilewright {
namespace {

struct Chain {
  int start = -1;             // value that the first step reads
  bool anchor = false;        // start is an anchor whose weight takes the scale
  std::vector<int> steps;     // operators
  std::vector<bool> channel;  // channel dimensions of the value
};

// a and b for every channel; empty unless every constant has contents.
struct Affine {
  std::vector<double> scale, shift;
  bool has_scale = false, has_shift = false;
  bool known = true;
};

bool AllConstant(const Graph& graph, const std::vector<int>& ids, std::size_t from) {
  return std::all_of(ids.begin() + static_cast<std::ptrdiff_t>(from), ids.end(),
                     [&](int id) { return graph.node(id).kind == NodeKind::kConstant; });
}

// Returns the only dimension that `channel` flags; -1 if it flags none or several.
std::int64_t OnlyChannel(const std::vector<bool>& channel) {
  if (std::ranges::count(channel, true) != 1) return -1;
  return std::ranges::find(channel, true) - channel.begin();
}

bool IsStep(const Graph& graph, int id, int value, const std::vector<bool>& channel) {
  const Node& node = graph.node(id);
  switch (node.op.kind) {
    case OpKind::kBatchNorm: {
      const std::int64_t axis = node.op.attributes.axis;
      const std::int64_t rank = std::ssize(node.type.shape);
      return node.inputs[0] == value && AllConstant(graph, node.inputs, 1) &&
             (axis < 0 ? axis + rank : axis) == OnlyChannel(channel);
    }
    case OpKind::kAdd:
    case OpKind::kMul:
    case OpKind::kSub:
    case OpKind::kDiv: {
      const bool commutes = node.op.kind == OpKind::kAdd || node.op.kind == OpKind::kMul;
      const bool first = node.inputs[0] == value;
      if (!first && !commutes) return false;
      const Node& operand = graph.node(node.inputs[first ? 1 : 0]);
      if (operand.kind != NodeKind::kConstant) return false;
      if (node.type.shape != graph.node(value).type.shape) return false;
      const auto kind = OperandKindOf(operand.type, node.type, channel);
      return kind == OperandKind::kScalar || kind == OperandKind::kChannel;
    }
    default:
      return false;
  }
}

// Returns true if a scale per output channel can be folded into the weight of an anchor: one
// dimension counts the channels, and the elements are precise enough for another rounding.
bool TakesScale(const Graph& graph, const Node& anchor) {
  if (anchor.op.kind != OpKind::kConv2d && anchor.op.kind != OpKind::kDense) return false;
  const Node& weight = graph.node(anchor.inputs[1]);
  return weight.kind == NodeKind::kConstant && weight.type.dtype == kFloat32 &&
         OutputChannelsOf(graph, anchor).has_value();
}

Chain FindChain(const Graph& graph, const std::vector<std::vector<int>>& users, int start) {
  Chain chain;
  chain.start = start;
  const Node& node = graph.node(start);
  chain.anchor = node.kind == NodeKind::kOperator && TakesScale(graph, node);
  int value = start;
  if (chain.anchor) {
    chain.channel = ChannelDimensions(node);
  } else {  // the chain starts at a normalization
    chain.start = node.inputs[0];
    chain.channel.assign(node.type.shape.size(), false);
    const std::int64_t axis = node.op.attributes.axis;
    const std::size_t rank = node.type.shape.size();
    chain.channel[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank)
                                                    : axis)] = true;
    chain.steps.push_back(start);
  }
  for (;;) {
    const int next = SingleUser(graph, users, value);
    if (next < 0 || !IsStep(graph, next, value, chain.channel)) return chain;
    chain.steps.push_back(next);
    value = next;
  }
}

// Returns the element of a channel; a tensor of one element has the same one for all channels.
double ElementOf(const Tensor& tensor, std::size_t channel) {
  return tensor.At(tensor.elements() == 1 ? 0 : static_cast<std::int64_t>(channel));
}

// Returns the contents of a constant of the source graph; null if it has none.
using FindContents = std::function<const Tensor*(int id)>;

void Apply(const FindContents& contents, const Node& step, int value, Affine& affine) {
  const bool norm = step.op.kind == OpKind::kBatchNorm;
  std::vector<const Tensor*> constants;
  for (int input : step.inputs) {
    if (input != value) constants.push_back(contents(input));
  }
  const OpKind kind = step.op.kind;
  for (std::size_t c = 0; c < affine.scale.size(); ++c) {
    double scale = 1, shift = 0;
    const double x = ElementOf(*constants[0], c);
    if (norm) {
      scale = x / std::sqrt(ElementOf(*constants[3], c) + step.op.attributes.epsilon);
      shift = ElementOf(*constants[1], c) - ElementOf(*constants[2], c) * scale;
    } else if (kind == OpKind::kMul) {
      scale = x;
    } else if (kind == OpKind::kDiv) {
      scale = 1 / x;
    } else {
      shift = kind == OpKind::kAdd ? x : -x;
    }
    affine.scale[c] *= scale;
    affine.shift[c] = affine.shift[c] * scale + shift;
  }
}

Affine AffineOf(const Graph& source, const FindContents& contents, const Chain& chain) {
  std::int64_t channels = 1;
  const TensorType& type = source.node(chain.steps.back()).type;
  for (std::size_t i = 0; i < chain.channel.size(); ++i) {
    if (chain.channel[i]) channels *= type.shape[i];
  }
  Affine affine;
  for (int id : chain.steps) {
    const Node& step = source.node(id);
    const OpKind kind = step.op.kind;
    const bool norm = kind == OpKind::kBatchNorm;
    affine.has_scale |= norm || kind == OpKind::kMul || kind == OpKind::kDiv;
    affine.has_shift |= norm || kind == OpKind::kAdd || kind == OpKind::kSub;
    for (int input : step.inputs) {
      const bool constant = source.node(input).kind == NodeKind::kConstant;
      affine.known &= !constant || contents(input) != nullptr;
    }
  }
  if (!affine.known) return affine;
  affine.scale.assign(static_cast<std::size_t>(channels), 1);
  affine.shift.assign(static_cast<std::size_t>(channels), 0);
  int value = chain.start;
  for (int step : chain.steps) {
    Apply(contents, source.node(step), value, affine);
    value = step;
  }
  return affine;
}

// Adds a constant that broadcasts along the channel dimensions of `type`.
int AddChannelConstant(Graph& graph, const std::string& name, const std::vector<double>& values,
                       bool known, const TensorType& type, const std::vector<bool>& channel) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < channel.size(); ++i) {
    if (channel[i] || !shape.empty()) shape.push_back(channel[i] ? type.shape[i] : 1);
  }
  const TensorType constant{shape, type.dtype};
  if (!known) return graph.AddConstant(name, constant);
  Tensor contents(constant);
  for (std::size_t i = 0; i < values.size(); ++i) {
    contents.Set(static_cast<std::int64_t>(i), values[i]);
  }
  return graph.AddConstant(name, std::move(contents));
}

// Returns the weight with row c of dimension `position` (the outputs) multiplied by scale[c].
Tensor ScaleWeight(const Tensor& weight, std::size_t position, const std::vector<double>& scale) {
  Tensor scaled(weight.type());
  std::size_t inner = 1;
  for (std::size_t i = position + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const auto in = weight.As<float>();
  const auto out = scaled.As<float>();
  for (std::size_t i = 0; i < in.size(); i += inner) {
    const double factor = scale[i / inner % scale.size()];
    for (std::size_t j = i; j < i + inner; ++j) {
      out[j] = static_cast<float>(static_cast<double>(in[j]) * factor);
    }
  }
  return scaled;
}

// Emits the scaled anchor. Its value does not exist in the source, so it gets a suffixed name.
Result<int> EmitAnchor(Rewriter& rewriter, const Chain& chain, const Affine& affine) {
  const Graph& source = rewriter.source();
  const Node& anchor = source.node(chain.start);
  const std::string name(SourceName(anchor.name));
  int weight = rewriter.At(anchor.inputs[1]);
  if (affine.has_scale) {
    const Tensor* contents = rewriter.result().Contents(weight);
    const std::string weight_name = name + "#weight";
    const std::size_t outputs = OutputChannelsOf(source, anchor)->weight;
    weight = affine.known && contents != nullptr
                 ? rewriter.result().AddConstant(weight_name,
                                                 ScaleWeight(*contents, outputs, affine.scale))
                 : rewriter.result().AddConstant(weight_name, source.node(anchor.inputs[1]).type);
  }
  const bool last = !affine.has_shift;
  auto scaled =
      rewriter.result().AddOperator(last ? source.node(chain.steps.back()).name : name + "#anchor",
                                    anchor.op, {rewriter.At(anchor.inputs[0]), weight});
  if (scaled.ok()) rewriter.result().SetSite(*scaled, anchor.site);
  return scaled;
}

Status EmitChain(Rewriter& rewriter, const Chain& chain) {
  const FindContents contents = [&](int id) {  // moved by the rewriter
    return rewriter.result().Contents(rewriter.At(id));
  };
  const Affine affine = AffineOf(rewriter.source(), contents, chain);
  const Node& last = rewriter.source().node(chain.steps.back());
  int value = -1;
  if (chain.anchor) {
    TW_ASSIGN_OR_RETURN(value, EmitAnchor(rewriter, chain, affine));
  } else {
    const int scale = AddChannelConstant(rewriter.result(), last.name + "#scale", affine.scale,
                                         affine.known, last.type, chain.channel);
    TW_ASSIGN_OR_RETURN(
        value, rewriter.result().AddOperator(last.name + "#scaled", Operator{OpKind::kMul, {}},
                                             {rewriter.At(chain.start), scale}));
  }
  if (!chain.anchor || affine.has_shift) {
    const int shift = AddChannelConstant(rewriter.result(), last.name + "#shift", affine.shift,
                                         affine.known, last.type, chain.channel);
    TW_ASSIGN_OR_RETURN(value, rewriter.result().AddOperator(last.name, Operator{OpKind::kAdd, {}},
                                                             {value, shift}));
  }
  rewriter.Map(chain.steps.back(), value);
  return Status();
}

// Returns false for a chain without steps and for a single addition after an anchor: folding saves
// nothing.
bool WorthFolding(const Graph& graph, const Chain& chain) {
  if (chain.steps.empty()) return false;
  if (!chain.anchor) return true;
  const OpKind first = graph.node(chain.steps[0]).op.kind;
  return chain.steps.size() > 1 || (first != OpKind::kAdd && first != OpKind::kSub);
}

// Returns true if the type represents the number with full precision: neither overflow nor a
// subnormal number that loses digits.
bool KeepsPrecision(DataType dtype, double number) {
  const double largest = dtype == kFloat16 ? 65504.0 : std::numeric_limits<float>::max();
  const double least = dtype == kFloat16 ? 0x1p-14 : std::numeric_limits<float>::min();
  const double magnitude = std::abs(number);
  return number == 0 || std::isnan(number) || (magnitude >= least && magnitude <= largest);
}

// Returns true if the scaled weights of every channel keep their precision in float32. Weights that
// are tiny relative to the largest one of their channel may lose digits.
bool WeightHolds(const Tensor& weight, std::size_t position, const std::vector<double>& scale) {
  constexpr double kDigits = 0x1p24;
  std::vector<double> largest(scale.size(), 0);
  std::size_t inner = 1;
  for (std::size_t i = position + 1; i < weight.shape().size(); ++i) {
    inner *= static_cast<std::size_t>(weight.shape()[i]);
  }
  const auto in = weight.As<float>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    double& channel = largest[i / inner % scale.size()];
    channel = std::max(channel, std::abs(static_cast<double>(in[i])));
  }
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double scaled = largest[c] * std::abs(scale[c]);
    const bool shrinks = std::abs(scale[c]) < 1 && scaled > 0;
    if (!std::isfinite(largest[c]) || std::isnan(scaled)) continue;  // not caused by the scale
    if (scaled > std::numeric_limits<float>::max()) return false;
    if (shrinks && scaled < kDigits * std::numeric_limits<float>::min()) return false;
  }
  return true;
}

// Returns true if the types of the chain can represent the folded constants.
bool CanBeFolded(const Graph& graph, const Chain& chain) {
  const FindContents contents = [&](int id) {
    return graph.HasContents(id) ? graph.Contents(id) : nullptr;
  };
  const Affine affine = AffineOf(graph, contents, chain);
  if (!affine.known) return true;
  const DataType dtype = graph.node(chain.steps.back()).type.dtype;
  const auto holds = [&](double number) { return KeepsPrecision(dtype, number); };
  const auto finite = [&](double number) {
    return number == 0 || holds(number) || std::abs(number) < 1;
  };
  if (!std::ranges::all_of(affine.shift, finite)) return false;
  if (!chain.anchor) return std::ranges::all_of(affine.scale, holds);
  const Node& anchor = graph.node(chain.start);
  const Tensor* weight = contents(anchor.inputs[1]);
  if (!affine.has_scale || weight == nullptr) return true;
  return WeightHolds(*weight, OutputChannelsOf(graph, anchor)->weight, affine.scale);
}

}  // namespace

Result<Graph> FoldBatchNorm(Graph graph) {
  const auto users = graph.Users();
  std::vector<bool> skipped(graph.nodes().size(), false);  // inside a chain
  std::map<int, Chain> chains;                             // by last step
  for (int id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const auto position = static_cast<std::size_t>(id);
    if (node.kind != NodeKind::kOperator || skipped[position] || chains.contains(id)) continue;
    if (node.type.dtype != kFloat32 && node.type.dtype != kFloat16) continue;
    const bool norm = node.op.kind == OpKind::kBatchNorm && AllConstant(graph, node.inputs, 1);
    if (!norm && !TakesScale(graph, node)) continue;
    Chain chain = FindChain(graph, users, id);
    if (!WorthFolding(graph, chain) || !CanBeFolded(graph, chain)) continue;
    if (chain.anchor) skipped[position] = true;
    for (std::size_t i = 0; i + 1 < chain.steps.size(); ++i) {
      skipped[static_cast<std::size_t>(chain.steps[i])] = true;
    }
    chains.emplace(chain.steps.back(), std::move(chain));
  }
  Rewriter rewriter(std::move(graph));
  for (int id = 0; id < rewriter.source().size(); ++id) {
    if (const auto chain = chains.find(id); chain != chains.end()) {
      TW_RETURN_IF_ERROR(EmitChain(rewriter, chain->second));
    } else if (!skipped[static_cast<std::size_t>(id)]) {
      TW_RETURN_IF_ERROR(rewriter.Copy(id));
    }
  }
  return rewriter.Finish();
}

}  // namespace tilewright
