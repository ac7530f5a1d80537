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

/// The result of an operator, with what is needed to find and read it beside another network's.
struct TracedValue {
  std::string name, op;
  std::string source;  ///< its name in the float network, if somebody says so
  Tensor contents;
  std::optional<QuantizationParams> quantization_params;  ///< of the numbers, if the source says it
  /// Of convolutions, matrix products, pools, and what is computed of them element by element:
  /// "NCHW", "NCHW1n16c", …; else empty.
  std::string layout;
  /// Position among the network's convolutions and matrix products; -1 for other values. It is on
  /// the last of the additions per channel (bias, batch normalization) that follow the product.
  int product = -1;
};

/// What a network computes for some inputs, in the order of execution.
struct Trace {
  std::string name;
  std::vector<TracedValue> values;
  /// The network's outputs: positions in `values`, -1 for an input or a constant.
  std::vector<int> outputs;
  std::int64_t synthetic_constants = 0;  ///< of the network
};
/// By the reference evaluator. Errors: those of EvaluateGraph.
Result<Trace> TraceGraph(const Graph& graph, std::span<const Tensor> inputs, int threads);
/// By the library; results of its kernels and its outputs only, without `product`: names, scales
/// and layouts are those that it says of them.
/// progress: told which kernel runs; may be null.
/// Errors: those of its run.
Result<Trace> TraceLibrary(const ModelLibrary& model, std::span<const Tensor> inputs,
                           CheckProgress* progress = nullptr);

/// The same inputs for another network: quantized or dequantized where the element types differ.
/// expected_quantization_map, actual_quantization_map: what the numbers of their values stand for.
/// Errors: kInvalidArgument naming an input of another shape, or whose numbers nobody explains.
Result<std::vector<Tensor>> InputsFor(const std::vector<ModelValue>& wanted,
                                      const std::vector<ModelValue>& given,
                                      std::span<const Tensor> inputs,
                                      const QuantizationMap& expected_quantization_map,
                                      const QuantizationMap& actual_quantization_map);

/// How the numbers of a value were read.
enum class ScaleSource : std::uint8_t {
  kAsIs,    ///< both sides have the same element type
  kSource,  ///< scale and zero point are the source's
  /// Nobody says the scale: the one that fits the reference best (least squares). Numbers that are
  /// all wrong by one factor are taken for right ones.
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
  /// What the other side would have to be multiplied by to come nearest to the reference, and the
  /// SQNR that it would have then.
  double factor = 1, factored_sqnr_db = 0;
  /// Elements that are infinite or no numbers on one side, or on both in two ways.
  std::int64_t non_finite_mismatches = 0;
  bool ok = false;
  /// Whether a wrong scale, by more than kScaleError, explains a part of the difference.
  bool IsOffScale() const;
  static constexpr double kScaleError = 0.05;
  /// Of an output: its largest element is the same one on both sides.
  std::optional<bool> same_top;
};

struct DifferenceReport {
  std::string reference, other;
  std::vector<LayerDifference> layers;   ///< in the reference's order
  std::optional<std::size_t> first_bad;  ///< position in `layers`
  bool by_position = false;              ///< some without common names were counted
  std::size_t unmatched = 0;             ///< values of the reference without a counterpart
  std::optional<double> min_sqnr_db;     ///< that was asked of every layer
  std::int64_t synthetic_constants = 0;  ///< of both networks
  bool ok() const { return !first_bad.has_value(); }
  /// "layer 3 (conv2, …) is the first to diverge: SQNR 3.1 dB, …"
  std::string Summary() const;
};

struct DifferenceOptions {
  /// Of floats, relative to the reference's RMS. None: that of Compare for the type.
  std::optional<double> tolerance = std::nullopt;
  /// Least SQNR of a value in dB, in the place of equality and tolerance; 10 if the element types
  /// or scales of any value differ, because quantization changes those behind it too.
  std::optional<double> min_sqnr_db;
  /// The reference's network and its inputs, which outlive the call. Where neither limit is given,
  /// a float beyond the tolerance of its type is then judged by the magnitudes that it was made of
  /// (CompareBounded), on the operands that the other network had. Null: by the tolerance alone.
  const Graph* graph = nullptr;
  std::span<const Tensor> inputs = {};
  int threads = 1;  ///< of the reference evaluator
};

/// Compares value by value. Values are the same if they have one name (but for what exporters
/// append to a quantized one's). Products and outputs without one are counted: the n-th product is
/// the n-th one, between two graphs of equally many. Integers of one type must be equal, floats
/// within the tolerance; others are read as real numbers. Errors: kInvalidArgument if nothing
/// corresponds, or an output of the reference has no counterpart or one of other elements.
Result<DifferenceReport> CompareTraces(const Trace& reference, const Trace& other,
                                       const DifferenceOptions& options);

}  // namespace tilewright
