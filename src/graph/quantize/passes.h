#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/float_layer.h"

/// The passes from a float graph to one of integers, in their order. What they make of a value has
/// its name and a part ("r0#q3"); inputs, and the names of outputs, stay. Each of them takes what
/// the one before gives, also when it has been written as text and read again.
namespace tilewright::quantize {

/// Opens low-precision sections: behind every convolution, up to where a cast_hint and a
/// stop_fusion mark where a value is to be stored as dtype_input. The rules `accurate` have none:
/// the graph stays as it is.
/// Errors: kUnsupported for a kernel that is computed in such a section, and (rules before
/// 2023-03) for a product whose right side alone is.
Result<Graph> Partition(Graph graph, const Config& config);

/// Marks the values that are to be rounded, with what they are to their user.
/// left: gets the convolutions and matrix products that stay float; may be null.
Result<Graph> Annotate(Graph graph, const Config& config, std::vector<FloatLayer>* left);

/// What a network is fed with in one run: a tensor for each of graph.inputs().
using Sample = std::vector<Tensor>;

/// Gives every mark of Annotate its scales.
///
/// samples: needed by all modes but global_scale.
/// threads: at most this many are used per operator.
/// Errors: kInvalidArgument if there are no samples though the mode needs them, or if a weight has
/// no contents (see SeedConstants); those of EvaluateGraph.
Result<Graph> Calibrate(Graph graph, const Config& config, std::span<const Sample> samples,
                        int threads);

/// A value of the float graph, and the integers that stand for it: `value` is about the integer
/// times its scale (one, or one per channel).
struct IntegerValue {
  std::string value, integers;
  std::vector<double> scales;
};

/// Replaces marked values by integers. `values` gets an entry for each operator that works on them.
/// Errors: kInvalidArgument for marks without scales; kUnsupported where partition_conversions is
/// fully_integral and an operator between quantized values works on floats.
Result<Graph> Realize(Graph graph, const Config& config, std::vector<IntegerValue>* values);

/// Instead of Realize: the same rounding, written with float operators.
Result<Graph> Simulate(Graph graph, const Config& config);

}  // namespace tilewright::quantize
