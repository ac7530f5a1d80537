// Comparison of two networks: which values correspond, how numbers are read, and the first
// divergence.

#include "src/compiler/check/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/graph/passes/pack.h"
#include "src/tensor/synthetic_data.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Tensor Filled(DataType dtype, std::vector<std::int64_t> shape, const std::vector<double>& values) {
  Tensor tensor(TensorType{std::move(shape), dtype});
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.Set(static_cast<std::int64_t>(i), values[i]);
  }
  return tensor;
}

TracedValue Value(std::string name, Tensor contents, int product = -1, std::string layout = "") {
  TracedValue value;
  value.name = std::move(name);
  value.op = "conv2d";
  value.contents = std::move(contents);
  value.product = product;
  value.layout = std::move(layout);
  return value;
}

template <typename... Values>
Trace MakeTrace(std::string name, Values... values) {
  Trace trace;
  trace.name = std::move(name);
  (trace.values.push_back(std::move(values)), ...);
  return trace;
}

DifferenceReport Compared(const Trace& reference, const Trace& other,
                          const DifferenceOptions& options = {}) {
  auto report = CompareTraces(reference, other, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *std::move(report) : DifferenceReport();
}

constexpr char kConvs[] = R"(def @main(%data: Tensor[(1, 3, 6, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(4, 3, 3, 3), float32] */);
  %1 = add(%0, meta[relay.Constant][1] /* ty=Tensor[(4, 1, 1), float32] */);
  %2 = nn.relu(%1);
  %3 = nn.conv2d(%2, meta[relay.Constant][2] /* ty=Tensor[(4, 4, 3, 3), float32] */);
  nn.relu(%3)
})";

Graph Convs() {
  auto graph = ImportRelay(kConvs, "convs");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  return *std::move(graph);
}

Trace TraceOf(const Graph& graph) {
  const Node& input = graph.node(graph.inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(MakeSyntheticInput(input.name, input.type, SyntheticInputRule::kRandom));
  auto trace = TraceGraph(graph, inputs, 1);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? *std::move(trace) : Trace();
}

TEST(CompareTraces, OneNetworkEqualsItself) {
  const DifferenceReport report = Compared(TraceOf(Convs()), TraceOf(Convs()));
  EXPECT_TRUE(report.ok()) << report.Summary();
  ASSERT_EQ(report.layers.size(), 5U);
  EXPECT_TRUE(std::isinf(report.layers[4].sqnr_db));
  EXPECT_EQ(report.layers[4].same_top, std::optional(true));
  EXPECT_EQ(report.unmatched, 0U);
}

TEST(CompareTraces, NamesTheFirstLayerThatDiverges) {
  Graph changed = Convs();
  const auto conv = std::ranges::find(changed.nodes(), "%3", &Node::name);
  ASSERT_NE(conv, changed.nodes().end());
  const int weight = conv->inputs[1];
  changed.SetContents(weight, Tensor(changed.node(weight).type));
  const DifferenceReport report = Compared(TraceOf(Convs()), TraceOf(changed));
  ASSERT_TRUE(report.first_bad.has_value());
  EXPECT_EQ(*report.first_bad, 3U);
  EXPECT_THAT(report.Summary(), HasSubstr("layer 3 (%3, conv2d) is the first to diverge"));
  EXPECT_THAT(report.Summary(), HasSubstr("the 3 before it agree"));
}

// A large addend that is subtracted again: the rest has the rounding error of the large sum.
constexpr char kCancels[] = R"(def @main(%data: Tensor[(1, 8), float32]) {
  %0 = add(%data, 1000f);
  %1 = subtract(%0, 1000f);
  nn.relu(%1)
})";

TEST(CompareTraces, FloatsAreJudgedByWhatTheyWereMadeOf) {
  auto graph = ImportRelay(kCancels, "cancels");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(kFloat32, {1, 8}, {0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08}));
  DifferenceOptions options;
  options.graph = &*graph;
  options.inputs = inputs;
  const Trace reference = *TraceGraph(*graph, inputs, 1);
  constexpr double kShare = 0.05;  // of 1000 within the tolerance, but not of the rest
  const auto other = [&](bool also_the_sum) {
    Trace trace = *TraceGraph(*graph, inputs, 1);
    for (std::size_t i = also_the_sum ? 0 : 1; i < trace.values.size(); ++i) {
      Tensor& contents = trace.values[i].contents;
      contents.Set(3, contents.At(3) + kShare);
    }
    return trace;
  };
  EXPECT_FALSE(Compared(reference, other(true)).ok());
  const DifferenceReport rounded = Compared(reference, other(true), options);
  EXPECT_TRUE(rounded.ok()) << rounded.Summary();
  const DifferenceReport wrong = Compared(reference, other(false), options);
  EXPECT_EQ(wrong.first_bad, std::optional<std::size_t>(1));
  DifferenceOptions strict = options;
  strict.tolerance = 1e-6;
  EXPECT_FALSE(Compared(reference, other(true), strict).ok());
}

TEST(CompareTraces, AProductEndsBehindItsBias) {
  const Trace trace = TraceOf(Convs());
  EXPECT_EQ(trace.values[0].product, -1);
  EXPECT_EQ(trace.values[1].product, 0);  // the sum with one constant per channel
  EXPECT_EQ(trace.values[3].product, 1);
}

// As if the sums have smaller steps than the bias.
TEST(CompareTraces, AProductEndsBehindTheBiasOfItsShiftedSums) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(1, 4, 6, 6), int8]) {
  %0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(4, 4, 3, 3), int8] */, out_dtype="int32");
  %1 = add(%0, 8);
  %2 = right_shift(%1, 4);
  %3 = add(%2, meta[relay.Constant][1] /* ty=Tensor[(4, 1, 1), int32] */);
  %4 = add(%3, 2);
  clip(%4, a_min=-127f, a_max=127f)
})",
                           "shifted");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  const Trace trace = TraceOf(*graph);
  const auto product = std::ranges::find(trace.values, 0, &TracedValue::product);
  ASSERT_NE(product, trace.values.end());
  EXPECT_EQ(product->name, "%3");
}

// Errors of 0.25 on values of 2: 10 log10(4 / 0.0625) dB.
TEST(CompareTraces, ReadsNumbersByTheScaleOfTheSource) {
  TracedValue numbers = Value("r_quantized", Filled(kUInt8, {4}, {7, 3, 7, 3}));
  numbers.quantization_params = QuantizationParams{{0.5F}, 0, 5};
  const DifferenceReport report =
      Compared(MakeTrace("a", Value("r", Filled(kFloat32, {4}, {1.25, -1.25, 0.75, -0.75}))),
               MakeTrace("b", std::move(numbers)));
  const LayerDifference& layer = report.layers.at(0);
  EXPECT_EQ(layer.scale_source, ScaleSource::kSource);
  EXPECT_DOUBLE_EQ(layer.scale, 0.5);
  EXPECT_DOUBLE_EQ(layer.max_abs_error, 0.25);
  EXPECT_DOUBLE_EQ(layer.rms_error, 0.25);
  EXPECT_NEAR(layer.sqnr_db, 10 * std::log10((1.25 * 1.25 + 0.75 * 0.75) / 2 / 0.0625), 1e-9);
  EXPECT_TRUE(report.ok());
}

TEST(CompareTraces, FitsAScaleWhereNobodySaysIt) {
  std::vector<double> numbers(32), reals(32);
  for (std::size_t i = 0; i < 32; ++i) {
    numbers[i] = static_cast<double>(i);
    reals[i] = 0.25 * (numbers[i] - 9);
  }
  const DifferenceReport report =
      Compared(MakeTrace("a", Value("r", Filled(kFloat32, {32}, reals))),
               MakeTrace("b", Value("r", Filled(kUInt8, {32}, numbers))));
  EXPECT_EQ(report.layers.at(0).scale_source, ScaleSource::kFit);
  EXPECT_NEAR(report.layers.at(0).scale, 0.25, 1e-9);
  EXPECT_GT(report.layers.at(0).sqnr_db, 100);
}

TEST(CompareTraces, BelowTheLeastRatioALayerIsBad) {
  const Trace a = MakeTrace("a", Value("r", Filled(kFloat32, {2}, {1, -1})));
  const Trace b = MakeTrace("b", Value("r", Filled(kFloat32, {2}, {1.1, -0.9})));  // 20 dB
  EXPECT_FALSE(Compared(a, b).ok());
  EXPECT_TRUE(Compared(a, b, {.min_sqnr_db = 19}).ok());
  EXPECT_FALSE(Compared(a, b, {.min_sqnr_db = 21}).ok());
}

// Numbers in a listing are not names: products are matched by count, blocks of channels are
// unpacked, and each channel has a scale.
TEST(CompareTraces, CountsProductsWhereThereAreNoNames) {
  std::vector<double> reals(2 * 16), packed(16 * 16, 0.0);
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 16; ++i) {
      const double q = static_cast<double>(i) - 5;
      reals[16 * c + i] = q * (c == 0 ? 0.5 : 0.125);
      packed[16 * i + c] = q;
    }
  }
  const Trace a = MakeTrace("a", Value("%0", Filled(kFloat32, {1, 2, 4, 4}, reals), 0, "NCHW"));
  const Trace b =
      MakeTrace("b", Value("%0", Filled(kInt8, {1, 1, 4, 4, 1, 16}, packed)),
                Value("%7", Filled(kInt32, {1, 1, 4, 4, 1, 16}, packed), 0, "NCHW1n16c"));
  const DifferenceReport report = Compared(a, b);
  EXPECT_TRUE(report.by_position);
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_EQ(report.layers[0].other, "%7");
  EXPECT_GT(report.layers[0].sqnr_db, 100);
}

// The comparison finds a wrong concatenation after correct products; a library has no products to
// count.
TEST(CompareTraces, ComparesOutputsWhereThereAreNoNames) {
  const auto trace = [](const std::string& name, int product, double last) {
    const std::string number = name == "a" ? "%" : "%2";
    Trace made = MakeTrace(name, Value(number + "0", Filled(kFloat32, {2}, {1, 2}), product),
                           Value(number + "1", Filled(kFloat32, {2}, {3, last})));
    made.outputs = {1};
    return made;
  };
  const DifferenceReport wrong = Compared(trace("a", 0, 4), trace("b", 0, 5));
  ASSERT_EQ(wrong.layers.size(), 2U);
  EXPECT_EQ(wrong.first_bad, 1U);
  Trace other = trace("b", -1, 4.5);
  const DifferenceReport library = Compared(trace("a", 0, 4), other);
  ASSERT_EQ(library.layers.size(), 1U);
  EXPECT_FALSE(library.ok());
  // For a library that works on integers, the same difference is expected.
  other.values[0].contents = Filled(kInt8, {2}, {1, 2});
  EXPECT_TRUE(Compared(trace("a", 0, 4), other).ok());
}

// An output without comparison would count as equal.
TEST(CompareTraces, OutputsCorrespondOrAreAnError) {
  const auto trace = [](const std::string& name, std::vector<std::int64_t> shape) {
    Trace made = MakeTrace(name, Value("conv", Filled(kFloat32, {2}, {1, 2}), 0),
                           Value("%" + name, Tensor(TensorType{std::move(shape), kFloat32})));
    made.outputs = {1};
    return made;
  };
  const auto message = [](const Trace& a, const Trace& b) {
    return CompareTraces(a, b, {}).status().message();
  };
  EXPECT_EQ(message(trace("a", {10}), trace("b", {12})),
            "%a is float32[10] and %b is float32[12]: they do not correspond");
  Trace other = trace("b", {10});
  other.outputs = {1, 0};
  EXPECT_EQ(message(trace("a", {10}), other),
            "output %a of a, 1 of 1, has no counterpart among the 2 of b");
  // Outputs are matched in the order of the network.
  Trace two = trace("a", {10});
  two.outputs = {0, 1};
  two.values[0].name = "%0";
  other.values[0].name = "%1";
  std::swap(other.values[0], other.values[1]);
  const DifferenceReport report = Compared(two, other);
  EXPECT_EQ(report.layers.size(), 2U);
  EXPECT_TRUE(report.ok()) << report.Summary();
}

// A correct product that is unpacked incorrectly.
TEST(CompareTraces, ComparesOutputsBehindProducts) {
  Trace reference = MakeTrace("a", Value("%1", Filled(kInt32, {2}, {1, 2}), 0));
  reference.outputs = {0};
  Trace other = MakeTrace("b", Value("%7", Filled(kInt32, {2}, {1, 2}), 0),
                          Value("%8", Filled(kInt32, {2}, {2, 1})));
  other.outputs = {1};
  const DifferenceReport report = Compared(reference, other);
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_EQ(report.layers[0].other, "%7");
  EXPECT_EQ(report.first_bad, 1U);
  EXPECT_EQ(report.unmatched, 0U);
}

// 3 rows of 10 in blocks of 2 x 16.
TEST(CompareTraces, CutsTheBlocksOfMatrixProducts) {
  Tensor plain(TensorType{{3, 10}, kInt32}), packed(TensorType{{2, 1, 2, 16}, kInt32});
  for (std::int64_t i = 0; i < 30; ++i) {
    plain.Set(i, static_cast<double>(i * i));
    packed.Set(i / 10 * 16 + i % 10, static_cast<double>(i * i));
  }
  packed.Set(11, 77);  // in the padding
  const Trace reference = MakeTrace("a", Value("%1", plain.Clone(), 0, "MK"));
  EXPECT_TRUE(Compared(reference, MakeTrace("b", Value("%7", packed.Clone(), 0, "MK2m16k"))).ok());
  packed.Set(9, 77);
  EXPECT_FALSE(Compared(reference, MakeTrace("b", Value("%7", packed.Clone(), 0, "MK2m16k"))).ok());
  const Trace convolution =
      MakeTrace("c", Value("%2", Tensor(TensorType{{3, 10, 1, 1}, kInt32}), 0, "NCHW"));
  EXPECT_FALSE(Compared(reference, convolution).ok());  // other numbers, but they correspond
}

// The trace of a matrix product that is packed and then unpacked.
TEST(TraceGraph, NamesTheLayoutOfMatrixProducts) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(1, 8), float32]) {
  nn.dense(%x, meta[relay.Constant][0] /* ty=Tensor[(4, 8), float32] */, units=4)
})",
                           "dense");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  const Trace trace = TraceOf(*graph);
  EXPECT_EQ(trace.values.at(0).layout, "MK");
  EXPECT_EQ(trace.outputs, std::vector<int>{0});
}

TEST(CompareTraces, PairsByTheNameInTheFloatNetwork) {
  Trace reference = MakeTrace("a", Value("conv", Filled(kFloat32, {4}, {1, 2, 3, 4}), 0),
                              Value("relu", Filled(kFloat32, {4}, {1, 2, 3, 4})));
  Trace other = MakeTrace("b", Value("%3", Filled(kInt32, {4}, {10, 20, 30, 40}), 0),
                          Value("%8", Filled(kInt8, {4}, {2, 4, 6, 8})));
  other.values[0].source = "conv";
  other.values[0].quantization_params = QuantizationParams{{0.1F}, 0, 0};
  other.values[1].source = "relu";
  other.values[1].quantization_params = QuantizationParams{{0.5F}, 0, 0};
  const DifferenceReport report = Compared(reference, other);
  EXPECT_FALSE(report.by_position);
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_EQ(report.layers[1].other, "%8");
  EXPECT_TRUE(report.ok()) << report.Summary();
}

// 24 channels fill two blocks, with 8 zeros in the second.
TEST(CompareTraces, ReadsPackedValuesByNameScaleAndLayout) {
  auto graph = ImportRelay(R"(def @main(%x: Tensor[(1, 16, 4, 4), int8]) {
  %0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(24, 16, 1, 1), int8] */, out_dtype="int32");
  %1 = nn.relu(%0);
  right_shift(%1, 1)
})",
                           "net");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  SeedConstants(*graph, SeedRule::kMissing);
  graph->quantization["%0"] = {{0.5F}, 0, 0, "conv"};
  graph->quantization["%1"] = {{0.5F}, 0, 0, "relu"};
  Trace reference;
  const Trace numbers = TraceOf(*graph);
  for (const TracedValue& value : numbers.values) {
    if (!value.quantization_params) continue;
    Tensor reals(TensorType{value.contents.shape(), kFloat32});
    for (std::int64_t i = 0; i < reals.elements(); ++i) reals.Set(i, value.contents.At(i) / 2);
    reference.values.push_back(Value(value.source, std::move(reals), value.product, value.layout));
  }
  PackReport report;
  auto packed = PackForVta(*std::move(graph), vta::Design::Default(), {}, &report);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const DifferenceReport difference = Compared(reference, TraceOf(*packed));
  ASSERT_EQ(difference.layers.size(), 2U);
  EXPECT_FALSE(difference.by_position);
  for (const LayerDifference& layer : difference.layers) {
    EXPECT_EQ(layer.scale_source, ScaleSource::kSource) << layer.value;
    EXPECT_EQ(layer.other_type, "int32[1,2,4,4,1,16]") << layer.value;
    EXPECT_EQ(layer.max_abs_error, 0) << layer.value;
    EXPECT_GT(layer.reference_rms, 0) << layer.value;
  }
  // The zeros have no counterpart, so the reverse comparison covers only the output.
  const DifferenceReport reverse = Compared(TraceOf(*packed), numbers);
  ASSERT_EQ(reverse.layers.size(), 1U);
  EXPECT_EQ(reverse.layers[0].value, "%result");
  EXPECT_TRUE(reverse.ok()) << reverse.Summary();
}

// As pack creates them: the numbers are equal, and only one of the texts has quantization
// parameters.
TEST(CompareTraces, NumbersThatOneSideExplainsMustBeEqual) {
  Trace reference = MakeTrace("a", Value("%3", Filled(kInt32, {4}, {10, 20, 30, 40}), 0));
  reference.values[0].quantization_params = QuantizationParams{{0.1F}, 0, 0};
  Trace other = MakeTrace("b", Value("%9", Filled(kInt32, {4}, {10, 20, 30, 40}), 0));
  EXPECT_TRUE(Compared(reference, other).ok());
  EXPECT_EQ(Compared(reference, other).layers[0].scale_source, ScaleSource::kAsIs);
  other.values[0].contents.Set(3, 41);
  const DifferenceReport wrong = Compared(reference, other);
  EXPECT_FALSE(wrong.ok());
  EXPECT_NEAR(wrong.layers[0].max_abs_error, 0.1, 1e-6);
}

TEST(CompareTraces, NamesAWrongScale) {
  const Trace reference = MakeTrace("a", Value("conv", Filled(kFloat32, {4}, {1, 2, 3, 4}), 0));
  Trace other = MakeTrace("b", Value("conv", Filled(kInt32, {4}, {10, 20, 30, 40}), 0));
  other.values[0].quantization_params = QuantizationParams{{0.05F}, 0, 0};
  const DifferenceReport wrong = Compared(reference, other);
  ASSERT_EQ(wrong.layers.size(), 1U);
  EXPECT_NEAR(wrong.layers[0].factor, 2, 1e-6);
  EXPECT_TRUE(wrong.layers[0].IsOffScale());
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.Summary(), HasSubstr("; times 2 it would agree ("));
  other.values[0].quantization_params.reset();  // then any factor fits, which the report states
  const DifferenceReport fitted = Compared(reference, other);
  EXPECT_TRUE(fitted.ok());
  EXPECT_NEAR(fitted.layers[0].scale, 0.1, 1e-6);
  EXPECT_FALSE(fitted.layers[0].IsOffScale());
  EXPECT_THAT(fitted.Summary(), HasSubstr("the scale of 1 of them is unknown: it was fitted"));
}

TEST(CompareTraces, CountsWhatIsNotFiniteOnOneSide) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto compared = [&](const std::vector<double>& a, const std::vector<double>& b) {
    const auto count = std::ssize(a);
    return Compared(MakeTrace("a", Value("r", Filled(kFloat32, {count}, a))),
                    MakeTrace("b", Value("r", Filled(kFloat32, {count}, b))));
  };
  const DifferenceReport report = compared({1, inf, inf, nan, nan, 2}, {1, inf, nan, nan, 0, inf});
  EXPECT_EQ(report.layers.at(0).non_finite_mismatches, 3);
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(report.Summary(), HasSubstr("; 3 elements are infinite or no numbers on one side"));
  EXPECT_TRUE(compared({1, inf, -inf, nan}, {1, inf, -inf, nan}).ok());
}

// A kernel leaves the quantized value unchanged: the match is that value, not the float it was
// quantized from.
TEST(CompareTraces, TheVeryNameGoesBeforeOneWithAnotherEnding) {
  const Trace reference = MakeTrace("a", Value("g", Filled(kFloat32, {2}, {0.26, 0.5})),
                                    Value("g_q", Filled(kUInt8, {2}, {1, 2})));
  const DifferenceReport report =
      Compared(reference, MakeTrace("b", Value("g_q", Filled(kUInt8, {2}, {1, 2}))));
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_EQ(report.layers[0].value, "g_q");
  EXPECT_TRUE(report.ok());
}

// conv, relu, conv, and bias as the result, compared with the output of quantize: the sums are a
// product, and they represent the result.
TEST(CompareTraces, CountsProductsWhoseLastOneIsTheOutputOfOneSide) {
  Trace reference = MakeTrace("a", Value("%1", Filled(kFloat32, {4}, {1, 2, 3, 4}), 0),
                              Value("%result", Filled(kFloat32, {4}, {2, 4, 6, 8}), 1));
  Trace other = MakeTrace("b", Value("%2", Filled(kInt32, {4}, {10, 20, 30, 40}), 0),
                          Value("%5", Filled(kInt32, {4}, {20, 40, 60, 80}), 1),
                          Value("%result", Filled(kFloat32, {4}, {2, 4, 6, 8})));
  reference.outputs = {1};
  other.outputs = {2};
  const DifferenceReport report = Compared(reference, other);
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_TRUE(report.by_position);
  EXPECT_EQ(report.layers[0].other, "%2");
  EXPECT_EQ(report.layers[1].other, "%result");
  EXPECT_EQ(report.unmatched, 0U);
}

TEST(CompareTraces, AFittedScaleIsPositive) {
  const Trace reference = MakeTrace("a", Value("r", Filled(kFloat32, {4}, {1, 2, 3, 4})));
  const DifferenceReport against =
      Compared(reference, MakeTrace("b", Value("r", Filled(kInt8, {4}, {80, 60, 40, 20}))));
  EXPECT_FLOAT_EQ(against.layers.at(0).scale, 0.05);
  EXPECT_FALSE(against.ok());
  const DifferenceReport sums =
      Compared(MakeTrace("a", Value("%1", Filled(kFloat32, {4}, {1, 2, 3, 4}), 0)),
               MakeTrace("b", Value("%2", Filled(kInt32, {4}, {-10, -20, -30, -40}), 0)));
  EXPECT_FLOAT_EQ(sums.layers.at(0).scale, 0.1);
  EXPECT_FALSE(sums.ok());
}

TEST(CompareTraces, SaysThatNothingCorresponds) {
  const auto report = CompareTraces(MakeTrace("a", Value("p", Filled(kFloat32, {2}, {1, 2}), 0)),
                                    MakeTrace("b", Value("q", Filled(kFloat32, {2}, {1, 2}))), {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(),
            "a and b have no value of one name, 1 and 0 convolutions and matrix products, "
            "and no outputs alike: nothing can be compared");
}

TEST(InputsFor, QuantizesWhatTheOtherNetworkTakes) {
  const QuantizationMap quantization_map = {{"x", {{0.5F}, 0, 10}}};
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(kFloat32, {4}, {0, 1, -20, 0.25}));
  const std::vector<ModelValue> given = {{"x", {{4}, kFloat32}}};
  const std::vector<ModelValue> wanted = {{"x", {{4}, kUInt8}}};
  auto fed = InputsFor(wanted, given, inputs, quantization_map, {});
  ASSERT_TRUE(fed.ok()) << fed.status().message();
  for (const auto& [index, value] : {std::pair(0, 10.0), {1, 12.0}, {2, 0.0}, {3, 10.0}}) {
    EXPECT_EQ((*fed)[0].At(index), value);
  }
  EXPECT_EQ(InputsFor(wanted, given, inputs, {}, {}).status().message(),
            "input x is float32[4] in one network and uint8[4] (x) in the other, and neither file "
            "says what the numbers stand for");
  EXPECT_THAT(InputsFor({{"x", {{5}, kFloat32}}}, given, inputs, {}, {}).status().message(),
              HasSubstr("their shapes differ"));
}

}  // namespace
}  // namespace tilewright
