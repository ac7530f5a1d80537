#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/float_layer.h"

/// Passes from a float graph to an integer one, in order. Intermediate values are named after their
/// source value with a suffix ("r0#q3"); inputs and names of outputs stay. Each pass accepts the
/// output of the one before, also after a round trip through text.
namespace tilewright::quantize {

/// Opens low-precision sections after every convolution. A cast_hint and a stop_fusion end a
/// section where a value will be stored as dtype_input. The rules `accurate` leave the graph
/// unchanged.
/// Errors: kUnsupported for a kernel computed in such a section, and (rules before 2023-03) for a
/// product of which only the right side is in one.
Result<Graph> Partition(Graph graph, const Config& config);

/// Annotates the values to be rounded with their roles in their users.
/// left: gets the convolutions and matrix products that stay float; may be null.
Result<Graph> Annotate(Graph graph, const Config& config, std::vector<FloatLayer>* left);

/// Inputs of one run of a network: a tensor for each of graph.inputs().
using Sample = std::vector<Tensor>;

/// Measured ranges of values by their name and the type that they are rounded to ("r0 uint8").
using RangeMap = std::map<std::string, double, std::less<>>;

/// Sets the scales of all quantization annotations.
///
/// ranges: of a float graph and a mode; those of known values are not measured again, and others
/// are added. May be null.
/// samples: required by all modes except global_scale.
/// threads: maximum number of threads per operator.
/// Errors: kInvalidArgument if the mode needs samples and there are none, or if a weight has no
/// contents (see SeedConstants); those of EvaluateGraph.
Result<Graph> Calibrate(Graph graph, const Config& config, std::span<const Sample> samples,
                        int threads, RangeMap* ranges = nullptr);

/// Value of the float graph and the integers that represent it: `value` is about the integer times
/// its scale (one, or one per channel).
struct IntegerValue {
  std::string value, integers;
  std::vector<double> scales;
};

/// Replaces annotated values by integers. `values` gets an entry for each operator on integers.
/// Errors: kInvalidArgument for annotations without scales; kUnsupported if partition_conversions
/// is fully_integral and an operator between quantized values works on floats.
Result<Graph> Realize(Graph graph, const Config& config, std::vector<IntegerValue>* values);

/// Rounds like Realize, but with float operators; the alternative to Realize.
Result<Graph> Simulate(Graph graph, const Config& config);

}  // namespace tilewright::quantize
