#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/graph/graph.h"
#include "src/graph/relay/export.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::quantize {

/// The function of a body in Relay text with input %x, float32[1,4,4,4].
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

/// The listing of a graph without types and attributes, but the kind and scale of marks:
/// "0 = conv2d(x, c0); add(0, c1)".
inline std::string Outline(const Graph& graph) {
  auto listing = ListRelay(graph);
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

}  // namespace tilewright::quantize
