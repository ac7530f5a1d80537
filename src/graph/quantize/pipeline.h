#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/quantize/passes.h"

namespace tilewright::quantize {

/// Returns the passes of a configuration in order, with simulate instead of realize for
/// do_simulation.
std::vector<std::string> DefaultPasses(const Config& config);

struct PipelineOptions {
  Config config;
  std::vector<std::string> passes;
  std::vector<Sample> samples;
  int threads = 1;
  /// Ranges that earlier runs on this float graph measured in the same mode, for Calibrate; may be
  /// null.
  RangeMap* ranges = nullptr;
  /// Called with the name of a pass and the graph after it.
  std::function<Status(std::string_view, const Graph&)> after = {};
  /// Gets the layers that `annotate` leaves in float32; may be null.
  std::vector<FloatLayer>* left = nullptr;
};

/// Runs passes in the given order: fold, partition, annotate, calibrate, realize, simulate.
/// values: output of Realize.
/// Errors: kNotFound for an unknown pass; those of the passes, with the pass's name.
Result<Graph> RunPasses(Graph graph, const PipelineOptions& options,
                        std::vector<IntegerValue>* values);

}  // namespace tilewright::quantize
