#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/quantize/passes.h"

namespace tilewright::quantize {

/// fold, partition, annotate, calibrate, realize, simulate: those that RunPasses knows.
std::span<const std::string_view> PassNames();
/// All that a configuration asks for, in order: simulate instead of realize with do_simulation.
std::vector<std::string> DefaultPasses(const Config& config);

struct PipelineOptions {
  Config config;
  std::vector<std::string> passes;
  std::vector<Sample> samples;
  int threads = 1;
  /// Called with the name of a pass and the graph behind it.
  std::function<Status(std::string_view, const Graph&)> after;
  /// Gets what `annotate` leaves float; may be null.
  std::vector<FloatLayer>* left = nullptr;
};

/// Runs passes one by one, in the order given.
/// values: of Realize.
/// Errors: kNotFound for an unknown pass; those of the passes, with the pass's name.
Result<Graph> RunPasses(Graph graph, const PipelineOptions& options,
                        std::vector<IntegerValue>* values);

}  // namespace tilewright::quantize
