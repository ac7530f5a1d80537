#include "src/graph/quantize/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/ir/evaluate.h"
#include "src/tensor/synthetic_data.h"
#include "src/tensor/workload.h"

namespace tilewright::quantize {
namespace {

struct SignalAndNoise {
  double signal = 0, noise = 0;
  void Add(const Tensor& expected, const Tensor& actual) {
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
      const double x = expected.At(i), error = actual.At(i) - x;
      signal += x * x;
      noise += error * error;
    }
  }
  double Decibels() const {
    if (noise == 0) return std::numeric_limits<double>::infinity();
    return 10 * std::log10(signal / noise);
  }
};

}  // namespace

Result<std::vector<Sample>> OutputsFor(const Graph& graph, std::span<const Sample> samples,
                                       int threads) {
  std::vector<Sample> results;
  for (const Sample& sample : samples) {
    TW_ASSIGN_OR_RETURN(auto outputs, EvaluateGraph(graph, sample, KeepValues::kOutputs, threads));
    results.push_back(std::move(outputs));
  }
  return results;
}

double MacsOf(const Graph& graph) {
  double macs = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    const auto workload = Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                                 graph.node(node.inputs[1]).type);
    if (workload.ok()) macs += static_cast<double>(workload->macs());
  }
  return macs;
}

Quality QualityOf(std::span<const Sample> expected, std::span<const Sample> actual) {
  SignalAndNoise total;
  std::vector<SignalAndNoise> each(expected.empty() ? 0 : expected[0].size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < each.size(); ++j) {
      total.Add(expected[i][j], actual[i][j]);
      each[j].Add(expected[i][j], actual[i][j]);
    }
  }
  Quality quality{total.Decibels(), {}};
  for (const SignalAndNoise& output : each) quality.outputs.push_back(output.Decibels());
  return quality;
}

std::vector<Sample> SyntheticSamples(const Graph& graph, int count) {
  std::vector<Sample> samples(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    for (int id : graph.inputs()) {
      const Node& node = graph.node(id);
      samples[static_cast<std::size_t>(i)].push_back(MakeSyntheticInput(
          fmt::format("{}#{}", node.name, i), node.type, SyntheticInputRule::kRandom));
    }
  }
  return samples;
}

std::vector<FloatLayer> FloatLayersOf(const Graph& quantized, std::span<const FloatLayer> known) {
  std::vector<FloatLayer> layers;
  for (const Node& node : quantized.nodes()) {
    if (node.kind != NodeKind::kOperator || !IsAnchor(node.op.kind)) continue;
    if (!node.type.dtype.is_float()) continue;
    const auto found = std::ranges::find(known, node.name, &FloatLayer::name);
    layers.push_back({node.name, node.op.kind,
                      found != known.end() ? found->reason : "its data has no single scale"});
  }
  return layers;
}

}  // namespace tilewright::quantize
