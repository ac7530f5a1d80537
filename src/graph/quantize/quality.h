#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/graph/quantize/passes.h"

namespace tilewright::quantize {

/// Signal-to-noise ratio in decibels of a network's outputs relative to the float network's;
/// infinite if they are equal.
struct Quality {
  double total = 0;  ///< over the elements of all outputs
  std::vector<double> outputs;
};

/// Computes the outputs of a graph for each sample. Errors: those of EvaluateGraph.
Result<std::vector<Sample>> OutputsFor(const Graph& graph, std::span<const Sample> samples,
                                       int threads);

/// Returns the multiply-adds of a graph's convolutions and matrix products for one sample.
double MacsOf(const Graph& graph);

/// Compares two results of OutputsFor, of networks with the same outputs.
Quality QualityOf(std::span<const Sample> expected, std::span<const Sample> actual);

/// Returns `count` synthetic samples for a graph's inputs (SyntheticInputRule::kRandom).
std::vector<Sample> SyntheticSamples(const Graph& graph, int count);

/// Returns the convolutions and matrix products of a quantized graph that are float, with the
/// reasons from Annotate. For others, gives the reason why the anchor cannot work on integers.
std::vector<FloatLayer> FloatLayersOf(const Graph& quantized, std::span<const FloatLayer> known);

}  // namespace tilewright::quantize
