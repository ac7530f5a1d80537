#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/tensor.h"

namespace tilewright {

class CheckProgress;

/// Result of an operator, with the data for matching and reading it beside another network's.
struct TracedValue {
  std::string name, op;
  std::string source;  ///< its name in the float network, if known
  Tensor contents;
  std::optional<QuantizationParams>
      quantization_params;  ///< of the numbers, if the source states them
  /// Layout of convolutions, matrix products, pools, and elementwise operators on their results:
  /// "NCHW", "NCHW1n16c", …; else empty.
  std::string layout;
  /// Position among the network's convolutions and matrix products; -1 for other values. It is set
  /// on the last of the additions per channel (bias, batch normalization) that follow the product.
  int product = -1;
};

/// Values that a network computes for some inputs, in execution order.
struct Trace {
  std::string name;
  std::vector<TracedValue> values;
  /// The network's outputs: positions in `values`, -1 for an input or a constant.
  std::vector<int> outputs;
  std::int64_t synthetic_constants = 0;  ///< of the network
};
/// Traces a graph with the reference evaluator. Errors: those of EvaluateGraph.
Result<Trace> TraceGraph(const Graph& graph, std::span<const Tensor> inputs, int threads);
/// Traces a library: results of its kernels and its outputs only, without `product`. Names, scales
/// and layouts are those that the library exports.
/// progress: gets the kernel that runs; may be null.
/// Errors: those of its run.
Result<Trace> TraceLibrary(const ModelLibrary& model, std::span<const Tensor> inputs,
                           CheckProgress* progress = nullptr);

/// Converts inputs for another network: quantizes or dequantizes where the element types differ.
/// expected_quantization_map, actual_quantization_map: quantization parameters of their values.
/// Errors: kInvalidArgument naming an input of another shape, or one without quantization
/// parameters.
Result<std::vector<Tensor>> InputsFor(const std::vector<ModelValue>& wanted,
                                      const std::vector<ModelValue>& given,
                                      std::span<const Tensor> inputs,
                                      const QuantizationMap& expected_quantization_map,
                                      const QuantizationMap& actual_quantization_map);

/// Source of a value's scale.
enum class ScaleSource : std::uint8_t {
  kAsIs,    ///< both sides have the same element type
  kSource,  ///< scale and zero point are the source's
  /// The scale is unknown: the one that fits the reference best (least squares) is used. Numbers
  /// that are all wrong by one factor then pass as right.
  kFit,
};

/// One value that both networks have.
struct LayerDifference {
  std::string value, other, op;  ///< names on both sides; the other side's operator
  std::string type, other_type;  ///< "float32[1,64,56,56]"
  ScaleSource scale_source = ScaleSource::kAsIs;
  double scale = 1;  ///< of the other side's numbers; the first one if there are several
  double max_abs_error = 0, rms_error = 0, reference_rms = 0;
  double sqnr_db = 0;  ///< infinite if nothing differs
  /// Factor that brings the other side nearest to the reference, and the SQNR with it.
  double factor = 1, factored_sqnr_db = 0;
  /// Elements that are infinite or NaN on one side, or on both in different ways.
  std::int64_t non_finite_mismatches = 0;
  bool ok = false;
  /// Returns true if a wrong scale, by more than kScaleError, explains a part of the difference.
  bool IsOffScale() const;
  static constexpr double kScaleError = 0.05;
  /// Of an output: whether its largest element is the same one on both sides.
  std::optional<bool> same_top;
};

struct DifferenceReport {
  std::string reference, other;
  std::vector<LayerDifference> layers;   ///< in the reference's order
  std::optional<std::size_t> first_bad;  ///< position in `layers`
  bool by_position = false;           ///< some values without common names were matched by position
  std::size_t unmatched = 0;          ///< values of the reference without a counterpart
  std::optional<double> min_sqnr_db;  ///< limit that each layer was compared with
  std::int64_t synthetic_constants = 0;  ///< of both networks
  bool ok() const { return !first_bad.has_value(); }
  /// "layer 3 (conv2, …) is the first to diverge: SQNR 3.1 dB, …"
  std::string Summary() const;
};

struct DifferenceOptions {
  /// Tolerance of floats, relative to the reference's RMS. None: that of Compare for the type.
  std::optional<double> tolerance = std::nullopt;
  /// Least SQNR of a value in dB, instead of equality and tolerance. Default: 10 if the element
  /// types or scales of any value differ, because quantization also changes the values after it.
  std::optional<double> min_sqnr_db;
  /// The reference's network and its inputs, which outlive the call. Without either limit, a float
  /// beyond the tolerance of its type is judged by the magnitudes that were summed
  /// (CompareBounded), on the operands of the other network. Null: by the tolerance alone.
  const Graph* graph = nullptr;
  std::span<const Tensor> inputs = {};
  int threads = 1;  ///< of the reference evaluator
};

/// Compares value by value. Values with one name match (except for suffixes that exporters append
/// to a quantized one's). Products and outputs without a common name match by position, if both
/// graphs have equally many. Integers of one type must be equal, floats within the tolerance; other
/// types are read as real numbers. Errors: kInvalidArgument if nothing matches, or if an output of
/// the reference has no counterpart or one of another element count.
Result<DifferenceReport> CompareTraces(const Trace& reference, const Trace& other,
                                       const DifferenceOptions& options);

}  // namespace tilewright
