#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/evaluate.h"
#include "src/graph/ir/graph.h"
#include "src/graph/quantize/passes.h"
#include "src/graph/relay/export.h"
#include "src/graph/relay/syntax.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright::quantize {

/// Returns the function with a body in Relay text and the input %x, float32[1,4,4,4].
inline Graph GraphOf(const std::string& body) {
  auto graph =
      ImportRelay("def @main(%x: Tensor[(1, 4, 4, 4), float32]) {\n" + body + "\n}\n", "g");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

/// A 1x1 convolution of `data` with constant `index`.
inline std::string Conv(const std::string& data, int index) {
  return fmt::format(
      "nn.conv2d({}, meta[relay.Constant][{}] /* ty=Tensor[(4, 4, 1, 1), float32] */, "
      "padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1])",
      data, index);
}

/// Constant `index`, one float per channel.
inline std::string Bias(int index) {
  return fmt::format("meta[relay.Constant][{}] /* ty=Tensor[(4, 1, 1), float32] */", index);
}

/// Returns the listing of a graph without types and attributes, except for the kind and scale of
/// annotations: "0 = conv2d(x, c0); add(0, c1)".
inline std::string Outline(const Graph& graph) {
  auto listing = PrintRelay(graph);
  EXPECT_TRUE(listing.ok()) << listing.status().message();
  auto module = relay::Parse(*listing);
  EXPECT_TRUE(module.ok()) << *listing;
  const relay::Function& main = module->function(0);
  const auto name_of = [&](int id) {
    const relay::Expr& expr = module->expr(id);
    return expr.kind == relay::ExprKind::kConstant ? fmt::format("c{}", expr.index)
           : expr.bound_name.empty()               ? expr.text
                                                   : expr.bound_name;
  };
  const auto call = [&](int id) {
    const relay::Expr& expr = module->expr(id);
    std::string text = expr.text.substr(expr.text.rfind('.') + 1) + "(";
    for (std::size_t i = 0; i < expr.args.size(); ++i) {
      text += (i == 0 ? "" : ", ") + name_of(expr.args[i]);
    }
    for (const relay::Attribute& attribute : expr.attributes) {
      if (attribute.name == "kind" || attribute.name == "scale") text += ", " + attribute.value;
    }
    return text + ")";
  };
  std::string outline;
  for (int id : main.statements) outline += name_of(id) + " = " + call(id) + "; ";
  return outline + call(main.body);
}

/// The latest rules of TVM.
inline Config TvmRules() {
  Config config;
  config.rules = kLatestTvmRules;
  return config;
}

/// The latest TVM rules without the exception for the first convolution.
inline Config AllConvolutions() {
  Config config = TvmRules();
  config.skip_conv_layers.clear();
  return config;
}

/// Synthetic inputs of a graph.
inline Sample SyntheticSample(const Graph& graph, int seed) {
  Sample sample;
  for (int id : graph.inputs()) {
    const Node& node = graph.node(id);
    sample.push_back(MakeSyntheticInput(node.name + std::to_string(seed), node.type,
                                        SyntheticInputRule::kRandom));
  }
  return sample;
}

inline std::vector<Sample> SyntheticSamples(const Graph& graph) {
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back(SyntheticSample(graph, i));
  return samples;
}

/// Returns the signal-to-noise ratio of a quantized network's first output in decibels. sample_of:
/// the inputs by number, 0 to 3.
inline double Sqnr(const Graph& quantized, const Graph& reference,
                   const std::function<Sample(int)>& sample_of) {
  double signal = 0, noise = 0;
  for (int i = 0; i < 4; ++i) {
    const Sample inputs = sample_of(i);
    auto actual = EvaluateGraph(quantized, inputs);
    auto expected = EvaluateGraph(reference, inputs);
    EXPECT_TRUE(actual.ok()) << actual.status().message();
    EXPECT_EQ((*actual)[0].type(), (*expected)[0].type());
    if ((*actual)[0].type() != (*expected)[0].type()) return 0;
    for (std::int64_t j = 0; j < (*actual)[0].elements(); ++j) {
      const double x = (*expected)[0].At(j), error = (*actual)[0].At(j) - x;
      signal += x * x;
      noise += error * error;
    }
  }
  return 10 * std::log10(signal / noise);
}
inline double Sqnr(const Graph& quantized, const Graph& reference) {
  return Sqnr(quantized, reference, [&](int i) { return SyntheticSample(reference, 100 + i); });
}

}  // namespace tilewright::quantize
