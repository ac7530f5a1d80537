#include "src/optimize/network_formats.h"

#include <algorithm>
#include <utility>

#include "src/graph/passes/passes.h"
#include "src/target/cpu.h"

namespace tilewright::optimize {
namespace {

bool IsProduct(const Node& node) {
  return node.kind == NodeKind::kOperator && IsAnchor(node.op.kind);
}

/// The fields that quantize --calibrate auto sets, for all products, and on a CPU that multiplies
/// pairs of bytes only with such weights, 7-bit weights.
quantize::Config Int8Config(const Target& target) {
  quantize::Config config;
  const auto features = FeaturesOf(target);
  if (features.ok() && features->has_saturating_dot()) config.nbit_weight = 7;
  config.weight_scale = quantize::WeightScale::kMax;
  config.skip_conv_layers.clear();
  config.skip_dense_layer = false;
  return config;
}

}  // namespace

std::string_view FormatName(Format format) {
  constexpr std::string_view kNames[] = {"float32", "bfloat16", "int8"};
  return kNames[static_cast<std::size_t>(format)];
}

std::size_t Site::PositionOf(Format format) const {
  return static_cast<std::size_t>(std::ranges::find(formats, format) - formats.begin());
}

std::string CodeOf(const Formats& formats) {
  std::string code;
  for (const Format format : formats) code += FormatName(format)[0];
  return code;
}

Result<Formats> ParseCode(std::string_view code) {
  Formats formats;
  for (const char letter : code) {
    const auto* const found = std::ranges::find_if(
        kFormats, [letter](Format format) { return FormatName(format)[0] == letter; });
    if (found == std::end(kFormats)) {
      return Corrupt("formats '" + std::string(code.substr(0, 40)) + "', expected letters f, b, i");
    }
    formats.push_back(*found);
  }
  return formats;
}

std::string Calibration::ToString() const {
  return std::string(quantize::CalibrateModeName(mode)) +
         (per_channel ? ", a scale for each channel of weights" : ", one scale for all weights") +
         (unsigned_inputs ? "" : ", no uint8");
}

Result<NetworkFormats> NetworkFormats::Create(Graph graph, Target target,
                                              std::vector<quantize::Sample> calibration,
                                              int threads) {
  if (graph.precision != Precision::kAsInModel) {
    return InvalidArgument("--precision bfloat16: the search chooses the formats; leave it out");
  }
  NetworkFormats network;
  network.source_ = std::move(graph);
  network.target_ = std::move(target);
  network.quantization_.config = Int8Config(network.target_);
  network.SetCalibration({});
  network.quantization_.samples = std::move(calibration);
  network.quantization_.threads = threads;
  TW_ASSIGN_OR_RETURN(network.folded_, Optimize(network.source_.Clone()));
  TW_RETURN_IF_ERROR(network.FindSites());
  TW_RETURN_IF_ERROR(network.FindBFloat16());
  TW_RETURN_IF_ERROR(network.FindInt8());
  return network;
}

Status NetworkFormats::FindSites() {
  std::vector<int> before(folded_.nodes().size(), -1);  // the last site on the way to each value
  for (int id = 0; id < folded_.size(); ++id) {
    const Node& node = folded_.node(id);
    if (node.kind != NodeKind::kOperator) continue;
    int last = -1;
    for (const int input : node.inputs)
      last = std::max(last, before[static_cast<std::size_t>(input)]);
    if (IsProduct(node)) {
      const int from = before[static_cast<std::size_t>(node.inputs[0])];
      last = SiteOf(node.name);
      if (last < 0) {
        last = static_cast<int>(sites_.size());
        Site site;
        site.name = SourceName(node.name);
        site.op = OpName(node.op.kind);
        site.formats = {Format::kFloat32};
        site.before = from;
        site.elements = folded_.node(node.inputs[0]).type.elements();
        sites_.push_back(std::move(site));
      }
    }
    before[static_cast<std::size_t>(id)] = last;
  }
  if (sites_.empty()) {
    return InvalidArgument("no convolutions or matrix products: there is no format to choose");
  }
  return {};
}

Status NetworkFormats::FindBFloat16() {
  Graph graph = folded_.Clone();
  graph.precision = Precision::kAsBFloat16;
  TW_ASSIGN_OR_RETURN(const auto parts, Partition(std::move(graph), target_, false));
  std::vector<bool> found(sites_.size(), false);
  for (const Node& node : parts.graph.nodes()) {
    if (!IsProduct(node)) continue;
    const int site = SiteOf(node.name);
    if (site < 0) continue;
    found[static_cast<std::size_t>(site)] =
        found[static_cast<std::size_t>(site)] ||
        parts.graph.node(node.inputs[0]).type.dtype == kBFloat16;
  }
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (found[i]) sites_[i].formats.push_back(Format::kBFloat16);
  }
  return {};
}

Status NetworkFormats::FindInt8() {
  std::vector<quantize::FloatLayer> left;
  const auto annotated = quantize::Annotate(folded_.Clone(), quantization_.config, &left);
  TW_RETURN_IF_ERROR(annotated);
  for (const quantize::FloatLayer& layer : left) {
    const int site = SiteOf(layer.name);
    if (site >= 0) sites_[static_cast<std::size_t>(site)].why_not_int8 = layer.reason;
  }
  for (Site& site : sites_) {
    if (site.why_not_int8.empty()) site.formats.push_back(Format::kInt8);
  }
  return {};
}

int NetworkFormats::SiteOf(std::string_view value_name) const {
  const std::string_view name = SourceName(value_name);
  const auto found = std::ranges::find(sites_, name, &Site::name);
  return found == sites_.end() ? -1 : static_cast<int>(found - sites_.begin());
}

Formats NetworkFormats::Uniform(Format format) const {
  Formats formats;
  for (const Site& site : sites_) {
    const bool can = std::ranges::find(site.formats, format) != site.formats.end();
    formats.push_back(can ? format : Format::kFloat32);
  }
  return formats;
}

bool NetworkFormats::CanHave(const Formats& formats) const {
  bool can = formats.size() == sites_.size();
  for (std::size_t i = 0; can && i < formats.size(); ++i) {
    can = sites_[i].PositionOf(formats[i]) < sites_[i].formats.size();
  }
  return can;
}

void NetworkFormats::SetCalibration(const Calibration& calibration, quantize::RangeMap ranges) {
  quantize::Config& config = quantization_.config;
  config.calibrate_mode = calibration.mode;
  config.per_channel = calibration.per_channel;
  config.unsigned_inputs = calibration.unsigned_inputs;
  ranges_ = std::move(ranges);
}

Result<Graph> NetworkFormats::Build(const Formats& formats) {
  const auto has = [&](Format format) {
    return std::ranges::find(formats, format) != formats.end();
  };
  if (!has(Format::kBFloat16) && !has(Format::kInt8)) return source_.Clone();
  Graph graph = folded_.Clone();
  std::vector<std::string> floats;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (formats[i] != Format::kInt8) floats.push_back(sites_[i].name);
  }
  if (has(Format::kInt8)) {
    quantization_.config.float_layers = std::move(floats);
    quantization_.passes = {"annotate", "calibrate", "realize"};
    quantization_.ranges = &ranges_;
    std::vector<quantize::IntegerValue> values;
    TW_ASSIGN_OR_RETURN(graph, quantize::RunPasses(std::move(graph), quantization_, &values));
  }
  if (has(Format::kBFloat16)) {
    graph.precision = Precision::kAsBFloat16;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (formats[i] != Format::kBFloat16) graph.float32_products.insert(sites_[i].name);
    }
  }
  return graph;
}

Result<PartitionedGraph> NetworkFormats::PartitionOf(const Formats& formats) {
  TW_ASSIGN_OR_RETURN(auto graph, Build(formats));
  return Partition(std::move(graph), target_, false);
}

Result<Graph> NetworkFormats::BuildToEvaluate(const Formats& formats) {
  TW_ASSIGN_OR_RETURN(auto graph, Build(formats));
  if (graph.precision == Precision::kAsInModel) return graph;
  TW_ASSIGN_OR_RETURN(auto parts, Partition(std::move(graph), target_, false));
  return std::move(parts.graph);
}

}  // namespace tilewright::optimize
