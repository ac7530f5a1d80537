#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/graph/quantize/passes.h"

namespace tilewright::quantize {

/// Signal to noise in decibels of a network's outputs beside the float network's: infinite where
/// they are equal.
struct Quality {
  double total = 0;  ///< of all outputs' elements together
  std::vector<double> outputs;
};

/// The outputs of a graph for each sample. Errors: those of EvaluateGraph.
Result<std::vector<Sample>> OutputsFor(const Graph& graph, std::span<const Sample> samples,
                                       int threads);

/// Multiply-adds of the convolutions and matrix products of a graph, for one sample.
double MacsOf(const Graph& graph);

/// Both are what OutputsFor gives, for networks of the same outputs.
Quality QualityOf(std::span<const Sample> expected, std::span<const Sample> actual);

/// `count` made-up samples for a graph's inputs (SyntheticInputRule::kRandom).
std::vector<Sample> SyntheticSamples(const Graph& graph, int count);

/// The convolutions and matrix products of a quantized graph that are float, with the reasons that
/// Annotate gave; of those it knows nothing of: why integers can be declined behind it.
std::vector<FloatLayer> FloatLayersOf(const Graph& quantized, std::span<const FloatLayer> known);

}  // namespace tilewright::quantize
