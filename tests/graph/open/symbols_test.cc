#include "src/graph/open/symbols.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

namespace tilewright {
namespace {

/// Adds a value with these dimensions; a number is a size.
void AddValue(onnx::ValueInfoProto& value, const std::string& name,
              const std::vector<std::string>& dims) {
  value.set_name(name);
  auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::string& dim : dims) {
    if (dim.find_first_not_of("0123456789") == std::string::npos && !dim.empty()) {
      shape.add_dim()->set_dim_value(std::stoll(dim));
    } else {
      shape.add_dim()->set_dim_param(dim);
    }
  }
}

TEST(Symbols, AreListedWithWhatHasThem) {
  onnx::ModelProto model;
  auto& graph = *model.mutable_graph();
  AddValue(*graph.add_input(), "ids", {"1", "seq"});
  AddValue(*graph.add_input(), "mask", {"batch", "seq"});
  AddValue(*graph.add_input(), "weight", {"width"});
  AddValue(*graph.add_input(), "any", {"?", "None", "-1", ""});
  AddValue(*graph.add_output(), "y", {"seq", "4", "seq"});
  AddValue(*graph.add_output(), "found", {"count"});
  graph.add_initializer()->set_name("weight");

  const auto symbols = SymbolsOf(model.SerializeAsString());
  ASSERT_EQ(symbols.size(), 3U);
  EXPECT_EQ(symbols[0].name, "seq");
  ASSERT_EQ(symbols[0].inputs.size(), 2U);
  EXPECT_EQ(symbols[0].inputs[1].value, "mask");
  EXPECT_EQ(symbols[0].inputs[1].dimension, 1);
  ASSERT_EQ(symbols[0].outputs.size(), 2U);
  EXPECT_EQ(symbols[0].outputs[1].dimension, 2);
  EXPECT_EQ(symbols[1].name, "batch");
  EXPECT_EQ(symbols[2].name, "count");
  EXPECT_TRUE(symbols[2].inputs.empty());
}

TEST(Symbols, OtherTextsHaveNone) {
  EXPECT_TRUE(SymbolsOf("def @main(%x: Tensor[(1, 4), float32]) { %x }").empty());
  EXPECT_TRUE(SymbolsOf("").empty());
  EXPECT_TRUE(SymbolsOf("\xff\xff\xff\xff").empty());
}

}  // namespace
}  // namespace tilewright
