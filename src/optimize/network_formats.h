#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/partition.h"
#include "src/graph/quantize/config.h"
#include "src/graph/quantize/pipeline.h"
#include "src/target/target.h"

namespace tilewright::optimize {

/// Number format of the operands of a convolution or matrix product.
enum class Format : std::uint8_t {
  kFloat32,
  kBFloat16,  ///< rounded operands, float32 sums (Precision::kAsBFloat16)
  kInt8,      ///< static int8, or uint8 for data that cannot be negative (src/graph/quantize)
};
inline constexpr Format kFormats[] = {Format::kFloat32, Format::kBFloat16, Format::kInt8};
std::string_view FormatName(Format format);

/// Convolution or matrix product of the source network, or several that one source operator became;
/// they share a format.
struct Site {
  std::string name;  ///< source name of the value
  std::string op;
  std::vector<Format> formats;  ///< that it can have; the first is float32
  std::string why_not_int8;     ///< empty if it can
  int before = -1;              ///< site whose result leads to its data; -1: none
  std::int64_t elements = 0;    ///< of the data that it reads

  /// Returns the position of one of `formats`.
  std::size_t PositionOf(Format format) const;
};

/// Format of each site.
using Formats = std::vector<Format>;
/// "f32,bf16,int8" as one letter each: "fbi".
std::string CodeOf(const Formats& formats);
/// Parses such letters. Errors: kCorrupt.
Result<Formats> ParseCode(std::string_view code);

/// How the ranges of int8 are chosen, the same for all sites.
struct Calibration {
  quantize::CalibrateMode mode = quantize::CalibrateMode::kPercentile;  ///< of data
  bool per_channel = true;      ///< one scale of the weights for each output channel
  bool unsigned_inputs = true;  ///< uint8 for data that cannot be negative

  /// "mse, a scale for each channel of weights"
  std::string ToString() const;
  friend bool operator==(const Calibration&, const Calibration&) = default;
};

/// A float network whose sites can have several formats, and the graphs of their combinations.
class NetworkFormats {
 public:
  /// graph: as imported, its constants with contents. calibration: samples whose ranges int8 gets.
  /// threads: of the reference evaluator.
  /// Errors: kInvalidArgument for a graph with another precision; those of the passes.
  static Result<NetworkFormats> Create(Graph graph, Target target,
                                       std::vector<quantize::Sample> calibration, int threads);

  const std::vector<Site>& sites() const { return sites_; }
  /// Returns the formats in which each site has `format` if it can have it, else float32.
  Formats Uniform(Format format) const;
  /// Returns true if there is a format for each site, which it can have.
  bool CanHave(const Formats& formats) const;
  /// Chooses how ranges of values are calibrated. ranges: those that are known of this calibration;
  /// the others are measured when a graph needs them.
  void SetCalibration(const Calibration& calibration, quantize::RangeMap ranges = {});
  const quantize::RangeMap& ranges() const { return ranges_; }

  /// Returns the graph of a combination, to be compiled. Only float32: the graph as imported.
  Result<Graph> Build(const Formats& formats);
  /// Returns a graph for the reference evaluator that computes what the compiled one does.
  Result<Graph> BuildToEvaluate(const Formats& formats);
  /// Returns the groups of Build's graph, whose results have the names of the library's operators.
  Result<PartitionedGraph> PartitionOf(const Formats& formats);
  /// Returns the site of an operator of any of these graphs by its name; -1 if it is none.
  int SiteOf(std::string_view value_name) const;

 private:
  NetworkFormats() = default;
  Status FindSites();
  Status FindInt8();
  Status FindBFloat16();

  Graph source_;  ///< as imported
  Graph folded_;  ///< optimized
  Target target_;
  quantize::PipelineOptions quantization_;
  quantize::RangeMap ranges_;  ///< of the present calibration
  std::vector<Site> sites_;
};

}  // namespace tilewright::optimize
