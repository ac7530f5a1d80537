#include "src/graph/passes/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "src/graph/ir/evaluate.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/graph/relay/export.h"
#include "src/models/models.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/onnx/builder.h"
#include "tests/graph/quantized_graph.h"

namespace tilewright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr int kThreads = 2;

vta::Design Design4x8() {
  auto design = vta::Design::Parse(R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3,
      "LOG_WGT_WIDTH": 3, "LOG_ACC_WIDTH": 5, "LOG_BATCH": 2, "LOG_BLOCK": 3,
      "LOG_UOP_BUFF_SIZE": 15, "LOG_INP_BUFF_SIZE": 16, "LOG_WGT_BUFF_SIZE": 16,
      "LOG_ACC_BUFF_SIZE": 18})",
                                   "4x8");
  EXPECT_TRUE(design.ok()) << design.status().message();
  return *design;
}

std::vector<Tensor> AllOutputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(MakeSyntheticInput(graph.node(id).name, graph.node(id).type,
                                        SyntheticInputRule::kSeededQuantized));
  }
  auto outputs = EvaluateGraph(graph, inputs, KeepValues::kOutputs, kThreads);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  return *std::move(outputs);
}

void ExpectEqual(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].type(), expected[i].type());
    EXPECT_TRUE(Compare(actual[i], expected[i], 0).ok) << "output " << i;
  }
}

/// Packs a graph and reads the written result.
Graph Packed(Graph graph, const vta::Design& design, const PackOptions& options,
             PackReport& report) {
  auto packed = PackForVta(std::move(graph), design, options, &report);
  EXPECT_TRUE(packed.ok()) << packed.status().message();
  auto text = ExportRelay(*packed);
  EXPECT_TRUE(text.ok()) << text.status().message();
  auto read = ImportRelay(*text, "packed");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return *std::move(read);
}

TEST(Pack, ComputesTheSame) {
  for (const vta::Design& design : {vta::Design::Default(), Design4x8()}) {
    SCOPED_TRACE(design.Name());
    const Graph graph = MakeQuantizedGraph(4);
    PackReport report;
    const Graph packed = Packed(MakeQuantizedGraph(4), design, {}, report);
    ExpectEqual(AllOutputs(packed), AllOutputs(graph));
    EXPECT_EQ(report.convolutions, 6);  // all but the first one
    EXPECT_THAT(report.left, ElementsAre(Pair("first", HasSubstr("3 channels"))));
    EXPECT_EQ(report.entering, 1);
    EXPECT_EQ(report.leaving, 2);
  }
}

TEST(Pack, EveryKindOfProductIsTheSame) {
  for (const vta::Design& design : {vta::Design::Default(), Design4x8()}) {
    SCOPED_TRACE(design.Name());
    PackReport report;
    const Graph packed = Packed(MakeProductGraph(4), design, {}, report);
    ExpectEqual(AllOutputs(packed), AllOutputs(MakeProductGraph(4)));
    EXPECT_EQ(report.convolutions, 4);
    EXPECT_EQ(report.products, 2);
    EXPECT_THAT(report.left, ElementsAre());
    EXPECT_EQ(report.entering, 1);
    EXPECT_EQ(report.leaving, 2);
  }
  PackReport report;
  const Graph packed = Packed(MakeProductGraph(1), vta::Design::Default(), {}, report);
  const auto tasks = ExtractTasks(packed, {.fuse = FuseRule::kUntilInt8});
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  std::vector<std::string> keys;
  for (const ExtractedTask& task : *tasks) keys.push_back(task.workload.Key());
  // Four groups of 4 to 8 channels become one group of one to two blocks.
  EXPECT_THAT(
      keys,
      ElementsAre("group_conv2d(int8[1,2,3,3,1,16]NCHW1n16c,int8[4,1,3,3,16,16]OIHW16o16i,s1x1,"
                  "p1x1x1x1,d1x1,g2)->int32",
                  "group_conv2d(int8[1,4,3,3,1,16]NCHW1n16c,int8[4,2,3,3,16,16]OIHW16o16i,s1x1,"
                  "p1x1x1x1,d1x1,g2)->int32",
                  "conv2d_transpose(int8[1,4,3,3,1,16]NCHW1n16c,int8[2,4,4,4,16,16]OIHW16o16i,s2x2,"
                  "p1x1x1x1,d1x1,g1,o0x0)->int32",
                  "group_conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,1,3,3,16,16]OIHW16o16i,s1x1,"
                  "p1x1x1x1,d1x1,g2)->int32",
                  "dense(int8[1,2,1,16]MK1m16k,int8[3,2,16,16]NK16n16k)->int32",
                  "dense(int8[1,3,1,16]MK1m16k,int8[2,3,16,16]NK16n16k)->int32",
                  "max_pool2d(int8[1,2,6,6,1,16]NCHW1n16c,k6x6,s1x1,p0x0x0x0)->int8"));
  for (const ExtractedTask& task : *tasks) {
    if (!IsAnchor(task.workload.op)) continue;
    EXPECT_THAT(task.epilogue.ToString(), HasSubstr("add(channel:int32);")) << task.workload.Key();
    EXPECT_THAT(task.epilogue.ToString(), HasSubstr(";cast(int8)")) << task.workload.Key();
  }
}

TEST(Pack, ValuesKeepTheirMeanings) {
  Graph graph = MakeQuantizedGraph(1);
  graph.quantization["wide_sum"] = {{0.5F}, 0, 0, "wide"};
  graph.quantization["odd_sum"] = {{0.25F}};
  graph.quantization["even_sum"] = {std::vector<float>(48, 0.5F), 1};  // along split channels
  PackReport report;
  const Graph packed = Packed(std::move(graph), vta::Design::Default(), {}, report);
  std::map<std::string, std::vector<float>> scales;
  for (const Node& node : packed.nodes()) {
    const auto quantization_params = packed.quantization.find(node.name);
    const bool known =
        node.type.shape.size() == 6 && quantization_params != packed.quantization.end();
    if (known) scales[quantization_params->second.value] = quantization_params->second.scales;
  }
  EXPECT_EQ(scales["wide"], std::vector<float>{0.5F});
  EXPECT_EQ(scales["odd_sum"], std::vector<float>{0.25F});
  EXPECT_EQ(scales.count("odd_relu"), 1U);  // a name without a scale
  EXPECT_EQ(scales.count("even_sum"), 0U);
}

// For code that ignores the layout, blocks of sixteen are ordinary channels.
TEST(Pack, WhatIsPackedStaysAsItIs) {
  auto graph = ImportRelay(
      "def @main(%x: Tensor[(1, 256), int8], %w: Tensor[(16, 256), int8]) {\n"
      "  nn.dense(%x, %w, out_dtype=\"int32\")\n}\n",
      "g");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  PackReport first, second;
  Graph packed = Packed(*std::move(graph), vta::Design::Default(), {}, first);
  EXPECT_EQ(first.products, 1);
  const Graph again = Packed(std::move(packed), vta::Design::Default(), {}, second);
  EXPECT_EQ(second.products, 0);
  EXPECT_THAT(second.left, ElementsAre(Pair(testing::_, "in blocks already")));
}

TEST(Pack, GroupsThatDoNotFitBlocksStay) {
  QuantizedGraph net;
  const int image = net.Input("image", {1, 48, 4, 4});
  net.graph.SetOutputs({net.Layer("layer", image, {.channels = 48, .groups = 4})});
  PackReport report;
  const auto packed = PackForVta(std::move(net.graph), vta::Design::Default(), {}, &report);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_THAT(report.left, ElementsAre(Pair("layer", HasSubstr("4 groups of 12 to 12 channels"))));
}

TEST(Pack, PackedConvolutionsHaveBlocksOfChannels) {
  PackReport report;
  const Graph packed = Packed(MakeQuantizedGraph(1), vta::Design::Default(), {}, report);
  const auto tasks = ExtractTasks(packed, {.fuse = FuseRule::kUntilInt8});
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  std::vector<std::string> keys;
  for (const ExtractedTask& task : *tasks) keys.push_back(task.workload.Key());
  EXPECT_THAT(keys, Contains("conv2d(int8[1,2,6,6,1,16]NCHW1n16c,int8[2,2,1,1,16,16]OIHW16o16i,"
                             "s1x1,p0x0x0x0,d1x1,g1)->int32"));
  // Work of the ALU alone comes last.
  EXPECT_THAT(keys,
              Contains("add(int8[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32"));
  EXPECT_EQ(keys.back(), "max_pool2d(int8[1,2,6,6,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8");
  // A chain ends where it produces int8, so the residual is not part of the convolution.
  EXPECT_EQ((*tasks)[1].epilogue.ToString(),
            "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8)");
  const auto wide = ExtractTasks(packed);
  ASSERT_TRUE(wide.ok());
  EXPECT_THAT((*wide)[1].epilogue.ToString(), HasSubstr("add(tensor:int8)"));
}

TEST(Pack, StartAndStopLimitIt) {
  PackReport report;
  PackOptions options{.start = "nn.conv2d", .stop = "max_pool2d"};
  const Graph packed = Packed(MakeQuantizedGraph(1), vta::Design::Default(), options, report);
  ExpectEqual(AllOutputs(packed), AllOutputs(MakeQuantizedGraph(1)));
  EXPECT_EQ(report.convolutions, 5);
  EXPECT_THAT(report.left, Contains(Pair("last", "outside start and stop")));

  Graph named = MakeQuantizedGraph(1);
  named.quantization["first"].value = "first_of_floats";
  options.start = "first_of_floats";
  PackReport by_name;
  Packed(std::move(named), vta::Design::Default(), options, by_name);
  EXPECT_EQ(by_name.convolutions, 5);

  options.start = "nowhere";
  auto refused = PackForVta(MakeQuantizedGraph(1), vta::Design::Default(), options, &report);
  EXPECT_EQ(refused.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(refused.status().message(), HasSubstr("nowhere"));
}

TEST(Pack, MobilenetIsTheSame) {
  ModelOptions options;
  options.int8 = true;
  auto bytes = MakeModelOnnx("mobilenet_v2", options);
  ASSERT_TRUE(bytes.ok());
  auto graph = ImportOnnx(*bytes, "mobilenet_v2");
  auto again = ImportOnnx(*bytes, "mobilenet_v2");
  ASSERT_TRUE(graph.ok() && again.ok());
  PackReport report;
  const Graph packed = Packed(*std::move(again), vta::Design::Default(), {}, report);
  ExpectEqual(AllOutputs(packed), AllOutputs(*graph));
  EXPECT_EQ(report.convolutions, 51);  // all but the first one
  EXPECT_EQ(report.left.size(), 2u);   // and the classifier, which is float
}

TEST(RelayExport, RefusesWhatRelayLacks) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{2}, kFloat32});
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_max = std::numeric_limits<double>::infinity();
  auto y = graph.AddOperator("y", std::move(clip), {x});
  ASSERT_TRUE(y.ok());
  graph.SetOutputs({*y});
  const auto text = ExportRelay(graph);
  EXPECT_EQ(text.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(text.status().message(), HasSubstr("clip (1)"));
}

TEST(RelayExport, RefusesMoreDimensionsThanTheTextTakes) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{1, 1, 1, 1, 1, 1, 1, 1, 2}, kFloat32});
  graph.SetOutputs({*graph.AddOperator("y", Operator{OpKind::kRelu, {}}, {x})});
  EXPECT_THAT(ExportRelay(graph).status().message(), HasSubstr("at most 8 dimensions"));
}

// The export rejects tensors that the import could not read.
TEST(RelayExport, RefusesTensorsWithoutElements) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{2}, kFloat32});
  const int none = graph.AddConstant("none", Tensor(TensorType{{0}, kFloat32}));
  graph.SetOutputs({*graph.AddOperator("y", Operator{OpKind::kRelu, {}}, {x}), none});
  const auto text = ExportRelay(graph);
  EXPECT_EQ(text.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(text.status().message(), HasSubstr("value none of type float32[0]"));
}

TEST(RelayExport, ActivationsAndNormalizationsComeBack) {
  Operator sigmoid{OpKind::kHardSigmoid, {}};
  sigmoid.attributes.alpha = 0.25;
  sigmoid.attributes.beta = 0.375;
  Operator lrn{OpKind::kLrn, {}};
  lrn.attributes.size = 3;
  lrn.attributes.alpha = 0.5;
  lrn.attributes.beta = 0.25;
  lrn.attributes.bias = 1.5;
  for (const Operator& op : {sigmoid, Operator{OpKind::kHardSwish, {}}, lrn}) {
    Graph graph;
    const int x = graph.AddInput("x", TensorType{{1, 4, 2, 2}, kFloat32});
    graph.SetOutputs({*graph.AddOperator("y", op, {x})});
    const auto text = ExportRelay(graph);
    ASSERT_TRUE(text.ok()) << text.status().message();
    const auto read = ImportRelay(*text, "read");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->node(read->outputs()[0]).op, op) << *text;
  }
}

TEST(RelayExport, BatchNormalizationIsTheFirstOfItsResults) {
  const std::string text =
      R"(#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 2, 4), float32], %v: Tensor[(4), float32]) -> Tensor[(1, 2, 2, 4), float32] {
  %0 = nn.batch_norm(%x, %v, %v, %v, %v, axis=3, epsilon=0.001f) /* ty=(Tensor[(1, 2, 2, 4), float32], Tensor[(4), float32], Tensor[(4), float32]) */;
  %1 = %0.0 /* ty=Tensor[(1, 2, 2, 4), float32] */;
  nn.relu(%1) /* ty=Tensor[(1, 2, 2, 4), float32] */
}
)";
  auto graph = ImportRelay(text, "norm");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto written = ExportRelay(*graph);
  ASSERT_TRUE(written.ok()) << written.status().message();
  auto again = ImportRelay(*written, "again");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ("#[version = \"0.0.5\"]\n" + *PrintRelay(*again), text);
}

TEST(RelayExport, BackwardSlicesAndGroupsSurviveTheText) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{1, 4, 3, 5}, kFloat32});
  Operator slice{OpKind::kSlice, {}};
  slice.attributes.begin = {0, 3, 0, 4};
  slice.attributes.end = {1, -1, 3, 1};
  slice.attributes.steps = {1, -1, 1, -2};
  Operator conv{OpKind::kConv2dTranspose, {}};
  conv.attributes.groups = 2;
  conv.attributes.data_layout = "NCHW";
  conv.attributes.kernel_layout = "IOHW";
  auto backward = graph.AddOperator("backward", slice, {x});
  ASSERT_TRUE(backward.ok()) << backward.status().message();
  const int weight = graph.AddConstant("w", MakeRange(kFloat32, {4, 3, 2, 2}));
  auto y = graph.AddOperator("y", conv, {*backward, weight});
  ASSERT_TRUE(y.ok()) << y.status().message();
  graph.SetOutputs({*y});
  const auto text = ExportRelay(graph);
  ASSERT_TRUE(text.ok()) << text.status().message();
  auto read = ImportRelay(*text, "read");
  ASSERT_TRUE(read.ok()) << read.status().message() << *text;
  ExpectEqual(AllOutputs(*read), AllOutputs(graph));
}

TEST(RelayExport, RefusesALayoutChangeThatCuts) {
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{1, 1, 2, 2, 4}, kFloat32});
  Operator change{OpKind::kLayoutTransform, {}};
  change.attributes.src_layout = "NCHW4c";
  change.attributes.dst_layout = "NCHW";
  change.attributes.new_shape = {1, 3, 2, 2};
  auto y = graph.AddOperator("y", change, {x});
  ASSERT_TRUE(y.ok()) << y.status().message();
  graph.SetOutputs({*y});
  EXPECT_EQ(ExportRelay(graph).status().code(), StatusCode::kUnsupported);
}

TEST(RelayExport, ContentsSurviveTheText) {
  Graph graph;
  const int x = graph.AddInput("1 x", TensorType{{3}, kFloat32});
  Tensor values(TensorType{{3}, kFloat32});
  for (int i = 0; i < 3; ++i) values.Set(i, 0.1 * (i + 1));
  const int constant = graph.AddConstant("values", std::move(values));
  Tensor scalar(TensorType{{}, kFloat32});
  scalar.Set(0, 0.0374636);
  auto sum = graph.AddOperator("sum", Operator{OpKind::kAdd, {}}, {x, constant});
  auto product = graph.AddOperator("product", Operator{OpKind::kMul, {}},
                                   {*sum, graph.AddConstant("scale", std::move(scalar))});
  graph.SetOutputs({*product, *sum});
  const auto text = ExportRelay(graph);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("def @main(%v1_x: Tensor[(3), float32])"));
  auto read = ImportRelay(*text, "read");
  ASSERT_TRUE(read.ok()) << read.status().message();
  std::vector<Tensor> inputs;
  inputs.emplace_back(TensorType{{3}, kFloat32});
  auto expected = EvaluateGraph(graph, inputs), actual = EvaluateGraph(*read, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok());
  ExpectEqual(*actual, *expected);

  const std::string damaged = std::string(*text).replace(text->find("P6G0"), 4, "Q6G0");
  EXPECT_THAT(ImportRelay(damaged, "damaged").status().message(),
              HasSubstr("metadata: relay.Constant 0: not a TVM array"));

  // Names of values, and invalid rows about them.
  EXPECT_EQ(read->FloatName(read->outputs()[1]), "sum");
  const auto with_row = [&text](const std::string& row) {
    constexpr std::string_view kRow = R"({\"value\":\"sum\"})";
    std::string changed = *text;
    EXPECT_NE(changed.find(kRow), std::string::npos);
    return ImportRelay(changed.replace(changed.find(kRow), kRow.size(), row), "changed");
  };
  EXPECT_TRUE(with_row(R"({\"scales\":[0.5],\"zero_point\":3})").ok());
  EXPECT_TRUE(with_row(R"({\"scales\":[0.5,1,2],\"axis\":0})").ok());
  for (const char* row : {R"({\"scales\":[0]})", R"({\"scales\":[1e99]})", R"({\"axis\":0.5})",
                          R"({\"other\":1})", "3"}) {
    EXPECT_THAT(with_row(row).status().message(), HasSubstr("metadata: tilewright.values: 0: "))
        << row;
  }
  EXPECT_THAT(with_row(R"({\"scales\":[0.5,1],\"axis\":0})").status().message(),
              HasSubstr("metadata: value 0 of type float32[3] has 2 scales along dimension 0"));
  EXPECT_THAT(with_row("[").status().message(), HasSubstr("metadata: tilewright.values: "));

  // Constants may share an array, but only a bounded number: each gets a copy.
  const auto shared = [&text](int times) {
    constexpr std::string_view kList = "\"data\": [3";
    std::string more;
    for (int i = 0; i < times; ++i) more += ",3";
    std::string changed = *text;
    return ImportRelay(changed.insert(changed.find(kList) + kList.size(), more), "shared");
  };
  EXPECT_TRUE(shared(2).ok());
  EXPECT_THAT(shared(100'000).status().message(), HasSubstr("share arrays of more than 16 times"));
}

}  // namespace
}  // namespace tilewright
