#include "src/report/networks/quantized.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/report/networks/compiled.h"

namespace tilewright::report {
namespace {

Json Decibels(double db) { return std::isfinite(db) ? Json(db) : Json(); }

std::string FloatLayersText(const std::vector<quantize::FloatLayer>& left, const Graph& result) {
  const auto count = std::ranges::count_if(result.nodes(), [](const Node& node) {
    return node.kind == NodeKind::kOperator && IsAnchor(node.op.kind);
  });
  std::string text =
      FormatPrintable("{} of {} convolutions and matrix products are of integers{}\n",
                      count - std::ssize(left), count, left.empty() ? "" : "; float stay:");
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& layer : left) names[layer.reason].emplace_back(SourceName(layer.name));
  for (auto& [reason, list] : names) {
    constexpr std::size_t kShown = 4;
    const std::size_t more = list.size() - std::min(list.size(), kShown);
    list.resize(list.size() - more);
    text += FormatPrintable("  {}: {}{}\n", reason, fmt::join(list, ", "),
                            more == 0 ? "" : fmt::format(" and {} more (--json names all)", more));
  }
  return text;
}

std::string QualityText(const QuantizedNetwork& network) {
  const quantize::Quality& quality = network.result.quality;
  const std::size_t inputs = network.expected.inputs();
  std::string each;
  for (std::size_t i = 0; quality.outputs.size() > 1 && i < quality.outputs.size(); ++i) {
    each += fmt::format("{}{} {:.2f}", i == 0 ? " (" : ", ", network.expected.output_names()[i],
                        quality.outputs[i]);
  }
  const std::string of_inputs =
      network.synthetic_inputs
          ? Counted(static_cast<std::int64_t>(inputs), "synthetic input")
          : fmt::format("{} {} of --data", inputs, inputs == 1 ? "input" : "inputs");
  return FormatPrintable("outputs beside the float network's: {:.2f} dB{}{} on {}; {}\n",
                         quality.total, each, each.empty() ? "" : ")", of_inputs,
                         quantize::CalibrateModeName(network.result.mode));
}

}  // namespace

Json QuantizedNetwork::ToJson() const {
  Json list = Json::array(), floats = Json::array(), candidates = Json::array();
  for (const quantize::IntegerValue& value : result.values) {
    list.push_back({{"value", value.value}, {"scales", value.scales}});
  }
  for (const quantize::FloatLayer& layer : left) {
    floats.push_back({{"value", SourceName(layer.name)},
                      {"operator", OpName(layer.op)},
                      {"reason", layer.reason}});
  }
  for (const auto& [mode, db] : tried) {
    candidates.push_back({{"calibrate_mode", mode}, {"sqnr_db", Decibels(db)}});
  }
  Json sqnr;
  if (expected.inputs() > 0) {
    Json each = Json::array();
    for (std::size_t i = 0; i < result.quality.outputs.size(); ++i) {
      each.push_back({{"output", expected.output_names()[i]},
                      {"sqnr_db", Decibels(result.quality.outputs[i])}});
    }
    sqnr = {{"sqnr_db", Decibels(result.quality.total)},
            {"inputs", expected.inputs()},
            {"made_up_inputs", synthetic_inputs},
            {"outputs", std::move(each)}};
  }
  return {{"file", file},
          {"passes", options.passes},
          {"samples", options.samples.size()},
          {"made_up_constants", SyntheticConstantsJson(result.graph.synthetic_constants)},
          {"calibrate_mode", quantize::CalibrateModeName(result.mode)},
          {"quality", std::move(sqnr)},
          {"candidates", std::move(candidates)},
          {"float", std::move(floats)},
          {"integers", std::move(list)}};
}

std::string QuantizedNetwork::ToText() const {
  std::string text = FormatPrintable("{}: {}; {} operators work on integers\n", file,
                                     fmt::join(options.passes, ", "), result.values.size());
  if (EndsQuantized(options)) text += FloatLayersText(left, result.graph);
  if (expected.inputs() > 0) text += QualityText(*this);
  return text;
}

void QuantizedNetwork::NoteWeakness(const session::NoteSink& note) const {
  if (!EndsQuantized(options)) return;
  const bool measured = result.mode != quantize::CalibrateMode::kGlobalScale || chose_mode;
  if (!measured && std::ranges::find(options.passes, "calibrate") != options.passes.end()) {
    note(
        fmt::format("note: ranges were not measured: what is beyond +-{:g} (global_scale) is "
                    "clipped; --calibrate auto --data FILES measures them",
                    options.config.global_scale));
  }
  constexpr double kMinDecibels = 10;  // below, more than a third of the signal is error
  if (expected.inputs() > 0 && !(result.quality.total >= kMinDecibels)) {
    note(
        fmt::format("warning: little of the results is left ({:.1f} dB): see --calibrate auto, "
                    "--data, and skip_conv_layers",
                    result.quality.total));
  }
}

}  // namespace tilewright::report
