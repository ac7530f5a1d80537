// Interface of a compiled library, reports of the compilation, and rejections.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "src/base/files/file.h"
#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/target/cpu_instruction_sets.h"
#include "src/tensor/reference/error_bound.h"
#include "tests/compiler/library_fixture.h"

namespace tilewright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A library of the output of quantize: its values are integers, and the text has their quantization
// parameters.
TEST_F(Library, KeepsWhatItsValuesStandFor) {
  Graph graph = Load(R"(def @main(%x: Tensor[(1, 4, 6, 6), int8]) {
  %0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(8, 4, 3, 3), int8] */, out_dtype="int32");
  %1 = nn.relu(%0);
  %2 = add(%1, 4);
  %3 = right_shift(%2, 3);
  %4 = clip(%3, a_min=-127f, a_max=127f);
  %5 = cast(%4, dtype="int8");
  %6 = nn.max_pool2d(%5, pool_size=[2, 2], strides=[2, 2]);
  nn.max_pool2d(%6, pool_size=[2, 2], strides=[2, 2])
})");
  graph.quantization["x"] = {{0.25F}, 0, 3};
  graph.quantization["%1"] = {{0.5F}, 0, 0, "relu"};
  graph.quantization["%6"] = {{4, 4, 4, 4, 4, 4, 4, 4}, 1, 0, "pool"};
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  const auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->synthetic_constants(), 1);
  const TensorType floats{{1, 4, 6, 6}, kFloat32};
  std::vector<Tensor> inputs;
  inputs.push_back(MakeSyntheticInput("x", floats, SyntheticInputRule::kRamp));
  auto fed = InputsFor(model->inputs(), {{"x", floats}}, inputs, model->quantization_map(), {});
  ASSERT_TRUE(fed.ok()) << fed.status().message();
  EXPECT_EQ((*fed)[0].At(143), 7);  // 143 / 144 in steps of 0.25, and 3
  auto trace = TraceLibrary(*model, *fed);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->synthetic_constants, 1);
  std::map<std::string, const TracedValue*> by_source;
  for (const TracedValue& value : trace->values) by_source[value.source] = &value;
  ASSERT_TRUE(by_source.contains("relu") && by_source.contains("pool"));
  EXPECT_EQ(by_source["relu"]->name, "%5");  // rounded to steps of 4
  EXPECT_EQ(by_source["relu"]->layout, "NCHW");
  EXPECT_EQ(by_source["relu"]->quantization_params->scales, std::vector<float>{4});
  EXPECT_EQ(by_source["pool"]->quantization_params->axis, 1);
}

TEST_F(Library, ExportsTheFunctionsOfItsHeader) {
  auto model = Compile(Load(kTwoConvs), options_, Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_FALSE(FileExists(Path("model.so.constants.o")));
  auto library = SharedLibrary::Open(Path("model.so"));
  ASSERT_TRUE(library.ok()) << library.status().message();
  for (const char* function : {"run", "run_observed", "set_threads", "release", "input_count",
                               "output_count", "operator_count", "input", "output", "operator"}) {
    const std::string symbol = std::string("small_") + function;
    EXPECT_NE(library->Symbol(symbol), nullptr) << symbol;
    EXPECT_THAT(model->header, HasSubstr(symbol + "("));
  }
  // Sizes are constants of the preprocessor, for memory of the caller.
  EXPECT_THAT(model->header, HasSubstr("#define SMALL_INPUTS 1\n#define SMALL_INPUT_0_BYTES "));
  const Graph source = Load(kTwoConvs);
  const TensorType& type = source.node(source.inputs().front()).type;
  EXPECT_THAT(model->header, HasSubstr("SMALL_INPUT_0_ELEMENTS " + std::to_string(type.elements()) +
                                       "\n#define SMALL_OUTPUTS 1\n"));
  // Runtime and constants are local: the library of another model cannot use them.
  EXPECT_EQ(library->Symbol("TwModelRun"), nullptr);
  EXPECT_EQ(library->Symbol("tw_constants"), nullptr);
  const auto input =
      reinterpret_cast<const TwValue* (*)(std::int64_t)>(library->Symbol("small_input"));
  ASSERT_NE(input(0), nullptr);
  EXPECT_STREQ(input(0)->name, "data");
  EXPECT_EQ(input(0)->bytes, 4096);
  EXPECT_EQ(input(1), nullptr);
}

/// Returns the result of a library at `path` with one input and output for `value`.
float ResultOf(const std::string& path, int scope, float value) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | scope);
  EXPECT_NE(library, nullptr) << ::dlerror();
  using Run = int (*)(const void* const*, void* const*);
  const auto run = reinterpret_cast<Run>(::dlsym(library, "small_run"));
  alignas(64) float result = 0;
  const void* input = &value;
  void* output = &result;
  EXPECT_EQ(run(&input, &output), 0);
  return result;
}

TEST_F(Library, RunsItsOwnKernelsBesideOthersOfTheSameNames) {
  const auto compile = [&](const char* name, const char* addend) {
    const std::string text =
        std::string("def @main(%x: Tensor[(1), float32]) { add(%x, ") + addend + ") }";
    EXPECT_TRUE(Compile(Load(text.c_str()), options_, Path(name)).ok());
  };
  compile("one.so", "1f");
  compile("two.so", "100f");
  EXPECT_EQ(ResultOf(Path("one.so"), RTLD_GLOBAL, 3), 4);
  EXPECT_EQ(ResultOf(Path("two.so"), RTLD_LOCAL, 3), 103);
}

TEST_F(Library, TakesPointersOfAnyAlignment) {
  Graph graph = Load(kTwoConvs);
  const std::vector<Tensor> inputs = Inputs(graph);
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto expected = model->Run(inputs);
  ASSERT_TRUE(expected.ok());
  auto library = SharedLibrary::Open(Path("model.so"));
  const auto run = reinterpret_cast<std::int32_t (*)(const void* const*, void* const*)>(
      library->Symbol("small_run"));
  std::vector<std::byte> in(4096 + 68), out(4096 + 68);
  const std::size_t shift = 4;
  std::memcpy(in.data() + shift, inputs[0].data(), 4096);
  const void* ins[] = {in.data() + shift};
  void* outs[] = {out.data() + shift};
  ASSERT_EQ(run(ins, outs), 0);
  EXPECT_EQ(std::memcmp(outs[0], (*expected)[0].data(), 4096), 0);
  EXPECT_EQ(run(nullptr, outs), TW_MODEL_NULL_POINTER);
}

TEST_F(Library, SharesKernelsAndKeepsLayouts) {
  auto model = Compile(Load(kTwoConvs), options_, Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::vector<std::string> ops;
  for (const OperatorReport& report : model->operators) ops.push_back(report.op);
  // No layout transform between the two convolutions, and one kernel for both.
  EXPECT_THAT(
      ops, ElementsAre("layout_transform", "conv2d + relu", "conv2d + relu", "layout_transform"));
  EXPECT_EQ(model->operators[1].kernel, model->operators[2].kernel);
  EXPECT_EQ(model->kernels, 3);
  EXPECT_EQ(model->transforms, 2);
}

// A block of a detector: a value is split, one half is processed, and all are concatenated.
constexpr char kSplit[] = R"(def @main(%data: Tensor[(1, 16, 6, 6), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(32, 16, 1, 1), float32] */);
  %1 = strided_slice(%0, begin=[0, 0, 0, 0], end=[1, 16, 6, 6], strides=[1, 1, 1, 1]);
  %2 = strided_slice(%0, begin=[0, 16, 0, 0], end=[1, 32, 6, 6], strides=[1, 1, 1, 1]);
  %3 = nn.conv2d(%2, meta[relay.Constant][1] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  %4 = (%1, %2, %3);
  %5 = concatenate(%4, axis=1);
  %6 = nn.conv2d(%5, meta[relay.Constant][2] /* ty=Tensor[(16, 48, 1, 1), float32] */);
  %7 = (%6, %5);
  %8 = concatenate(%7, axis=1);
  (%8, %3)
})";

TEST_F(Library, StoresEqualConstantsOnce) {
  std::array<std::int64_t, 2> bytes{};
  for (const bool equal : {false, true}) {
    Graph graph = Load(kTwoConvs);
    std::vector<int> weights;
    for (int id = 0; id < graph.size(); ++id) {
      if (graph.node(id).kind == NodeKind::kConstant) weights.push_back(id);
    }
    ASSERT_EQ(weights.size(), 2U);
    if (equal) graph.SetContents(weights[1], graph.Contents(weights[0])->Clone());
    const auto model = Compile(std::move(graph), options_, Path("model.so"));
    ASSERT_TRUE(model.ok()) << model.status().message();
    bytes[equal ? 1 : 0] = model->constant_bytes;
  }
  EXPECT_EQ(bytes[0], 2 * bytes[1]);
}

TEST_F(Library, PartsOfAValueLieInIt) {
  Graph graph = Load(kSplit);
  const std::vector<Tensor> inputs = Inputs(graph);
  const auto expected = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(expected.ok());
  auto compiled = Compile(std::move(graph), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  std::vector<std::string> ops;
  for (const OperatorReport& report : compiled->operators) ops.push_back(report.op);
  EXPECT_THAT(ops, ElementsAre("layout_transform", "conv2d", "conv2d", "conv2d", "layout_transform",
                               "layout_transform"));
  EXPECT_THAT(compiled->check.not_compared, testing::IsEmpty());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto outputs = model->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(Compare((*outputs)[i], (*expected)[i]).ok) << "output " << i;
  }
  const auto report = Verify(*PartitionLike(Load(kSplit), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

// One bright spot: its surroundings are far below the RMS, and the rounding errors of Winograd
// tiles around it exceed those of sums of products.
TEST_F(Library, WinogradIsJudgedByWhatItsTilesRead) {
  constexpr char kSpot[] = R"(def @main(%data: Tensor[(1, 16, 320, 320), float32]) {
  nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(16, 16, 3, 3), float32] */, padding=[1, 1, 1, 1])
})";
  auto compiled = Compile(Load(kSpot), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto op = std::ranges::find_if(
      model->operators(), [](const ModelOperator& each) { return each.winograd_tile > 0; });
  ASSERT_NE(op, model->operators().end());
  EXPECT_THAT(op->Description(), HasSubstr("conv2d, Winograd "));
  EXPECT_EQ(op->winograd_kernel, 3);
  EXPECT_LT(op->ProductShare(), 0.5);
  std::vector<Tensor> inputs;
  inputs.emplace_back(model->inputs()[0].type);
  for (std::int64_t c = 0; c < 16; ++c) {
    inputs[0].Set((c * 320 + 121) * 320 + 121, 1e6 * (c % 3 - 0.7));
  }
  const auto report = Verify(*PartitionLike(Load(kSpot), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();

  const Graph graph = Load(kSpot);
  const Node& node = graph.node(graph.outputs()[0]);
  const BoundedTensor data{inputs[0].Clone(), Tensor()};
  const BoundedTensor weight{graph.Contents(node.inputs[1])->Clone(), Tensor()};
  const auto outputs = model->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const std::array operands = {&data, &weight};
  const auto tiles = EvaluateBounded(node.op, operands, 2, op->winograd_tile);
  const auto sums = EvaluateBounded(node.op, operands, 2);
  ASSERT_TRUE(tiles.ok() && sums.ok());
  EXPECT_TRUE(CompareBounded((*outputs)[0], *tiles).ok);
  EXPECT_FALSE(CompareBounded((*outputs)[0], *sums).ok) << "then the case shows nothing";
  Tensor wrong = (*outputs)[0].Clone();
  wrong.Set(121 * 320 + 121, wrong.At(121 * 320 + 121) * 1.01);
  EXPECT_FALSE(CompareBounded(wrong, *tiles).ok);
}

// From ShuffleNet, with groups of 12 channels, which no block divides.
constexpr char kShuffle[] = R"(def @main(%data: Tensor[(1, 24, 12, 16), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(48, 6, 1, 1), float32] */, groups=4);
  %1 = reshape(%0, newshape=[1, 4, 12, 12, 16]);
  %2 = transpose(%1, axes=[0, 2, 1, 3, 4]);
  %3 = reshape(%2, newshape=[1, 48, 12, 16]);
  %4 = nn.conv2d(%3, meta[relay.Constant][1] /* ty=Tensor[(48, 1, 3, 3), float32] */, padding=[1, 1, 1, 1], groups=48);
  nn.conv2d(%4, meta[relay.Constant][2] /* ty=Tensor[(24, 12, 1, 1), float32] */, groups=4)
})";

TEST_F(Library, AChannelShuffleIsNoStep) {
  Graph graph = Load(kShuffle);
  const std::vector<Tensor> inputs = Inputs(graph);
  const auto expected = EvaluateGraph(graph, inputs);
  ASSERT_TRUE(expected.ok());
  auto compiled = Compile(std::move(graph), options_, Path("model.so"));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  std::vector<std::string> ops;
  for (const OperatorReport& report : compiled->operators) ops.push_back(report.op);
  EXPECT_THAT(ops, ElementsAre("group_conv2d", "depthwise_conv2d", "group_conv2d"));
  EXPECT_EQ(compiled->operators[0].layout, "N12cCHW");
  EXPECT_GT(compiled->layouts.changed, 0);
  EXPECT_LT(compiled->layouts.seconds, compiled->layouts.rule_seconds);
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto outputs = model->Run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_TRUE(Compare((*outputs)[0], (*expected)[0]).ok);
  const auto report = Verify(*PartitionLike(Load(kShuffle), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->ok()) << report->Summary();
}

// The second convolution alone would use blocks of 16 channels for its 18.
constexpr char kOdd[] = R"(def @main(%data: Tensor[(1, 64, 32, 32), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(64, 64, 3, 3), float32] */, padding=[1, 1, 1, 1]);
  nn.conv2d(%0, meta[relay.Constant][1] /* ty=Tensor[(18, 64, 1, 1), float32] */)
})";

TEST_F(Library, LayoutsAreChosenForTheWholeNetwork) {
  options_.target = *Target::Parse("llvm -mcpu=cascadelake");
  options_.device = *GenericCpuFor(options_.target);
  const auto plan = MakeCheckedPlan(Load(kOdd), options_);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->layouts.exact);
  EXPECT_LT(plan->layouts.seconds, plan->layouts.rule_seconds);
  const OperatorReport& last = plan->steps.back().report;
  EXPECT_EQ(last.op, "conv2d");
  EXPECT_EQ(last.template_key, "conv2d_pixels.cpu");
  EXPECT_THAT(last.explanation, HasSubstr("in layouts that cost the network less"));
}

// A bottleneck of 24 channels: a vector and a half.
constexpr char kBottleneck[] = R"(def @main(%data: Tensor[(1, 96, 28, 28), float32]) {
  %0 = nn.conv2d(%data, meta[relay.Constant][0] /* ty=Tensor[(24, 96, 1, 1), float32] */);
  %1 = nn.conv2d(%0, meta[relay.Constant][1] /* ty=Tensor[(144, 24, 1, 1), float32] */);
  %2 = nn.relu(%1);
  %3 = nn.conv2d(%2, meta[relay.Constant][2] /* ty=Tensor[(24, 144, 1, 1), float32] */);
  %4 = add(%0, %3);
  nn.conv2d(%4, meta[relay.Constant][3] /* ty=Tensor[(144, 24, 1, 1), float32] */)
})";

TEST_F(Library, ChannelsOfAVectorAndAHalfAreHalvesWhereVectorsAreSplit) {
  const auto templates = [&](const char* target) {
    options_.target = *Target::Parse(target);
    options_.device = *GenericCpuFor(options_.target);
    const auto plan = MakeCheckedPlan(Load(kBottleneck), options_);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    std::vector<std::string> keys;
    for (const PlanStep& step : plan->steps) {
      if (!step.report.template_key.empty()) keys.push_back(step.report.template_key);
    }
    return keys;
  };
  // The ends have the layout of the network's inputs and outputs.
  EXPECT_THAT(templates("llvm -mcpu=znver4"),
              ElementsAre("conv2d_pixels.cpu", "conv2d_half_blocks.cpu", "conv2d_half_blocks.cpu",
                          "conv2d_pixels.cpu"));
  EXPECT_THAT(templates("llvm -mcpu=cascadelake"), Not(Contains("conv2d_half_blocks.cpu")));
}

TEST_F(Library, NamesEveryOperatorWithoutARecord) {
  auto model = Compile(Load(kTwoConvs), options_, Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(model->untuned(), ElementsAre("%1", "%result"));
  EXPECT_THAT(model->operators[1].explanation, HasSubstr("no record store was given"));
  options_.on_miss = OnMiss::kFail;
  auto refused = Compile(Load(kTwoConvs), options_, Path("other.so"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(refused.status().message(), "2 operators without a record: %1, %result");
  EXPECT_FALSE(FileExists(Path("other.so")));
}

TEST_F(Library, VerifyNamesTheFirstOperatorThatDiffers) {
  Graph graph = Load(kTwoConvs);
  const std::vector<Tensor> inputs = Inputs(graph);
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok());
  Graph changed = Load(kTwoConvs);  // other weights in the second convolution
  for (int id = 0; id < changed.size(); ++id) {
    if (changed.node(id).name == "relay.Constant.1") {
      Tensor contents = changed.Contents(id)->Clone();
      contents.Set(7, 100);
      changed.SetContents(id, std::move(contents));
    }
  }
  auto report = Verify(*PartitionLike(std::move(changed), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->first_bad.has_value());
  EXPECT_EQ(*report->first_bad, 2u);
  EXPECT_THAT(report->Summary(), HasSubstr("operator 2 (%result, conv2d + relu"));
}

TEST_F(Library, VerifyGivesAnOperatorTheOperandsOfTheRun) {
  Graph graph = Load(kTwoConvs);
  const std::vector<Tensor> inputs = Inputs(graph);
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok());
  Graph changed = Load(kTwoConvs);  // other weights in the first convolution
  for (int id = 0; id < changed.size(); ++id) {
    if (changed.node(id).name == "relay.Constant.0") {
      Tensor contents = changed.Contents(id)->Clone();
      contents.Set(7, 100);
      changed.SetContents(id, std::move(contents));
    }
  }
  auto report = Verify(*PartitionLike(std::move(changed), *model), *model, inputs, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(std::ranges::count_if(report->checks,
                                  [](const OperatorCheck& check) { return !check.comparison.ok; }),
            1)
      << "what comes behind it agrees";
}

TEST_F(Library, VerifyHonoursAGivenTolerance) {
  Graph graph = Load(kTwoConvs);
  const std::vector<Tensor> inputs = Inputs(graph);
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok());
  for (const double tolerance : {1e-4, 1e-12}) {
    auto report =
        Verify(*PartitionLike(Load(kTwoConvs), *model), *model, inputs, {.tolerance = tolerance});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->ok(), tolerance == 1e-4);
  }
}

TEST_F(Library, RefusesWhatItCannotCompile) {
  const auto message = [&](Graph graph) {
    return Compile(std::move(graph), options_, Path("model.so")).status().message();
  };
  EXPECT_EQ(message(Load(kTwoConvs, /*seeded=*/false)),
            "value %1: constant relay.Constant.0 has no contents");
  options_.name = "1st";
  EXPECT_EQ(message(Load(kTwoConvs)),
            "name '1st', expected letters, digits and _, and not tilewright");
  options_.name.clear();
  options_.target = *Target::Parse("vta -model=sim_1x16_i8w8a32_15_15_18_17");
  EXPECT_EQ(message(Load(kTwoConvs)),
            "compiling for target kind vta, expected llvm, cuda, opencl or rocm");
}

TEST_F(Library, RefusesWrongInputsAndOtherLibraries) {
  ASSERT_TRUE(Compile(Load(kTwoConvs), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok());
  std::vector<Tensor> inputs;
  EXPECT_EQ(model->Run(inputs).status().message(), "0 inputs, expected 1");
  inputs.emplace_back(TensorType{{1, 16, 8, 8}, kInt8});
  EXPECT_EQ(model->Run(inputs).status().message(),
            "input data is int8[1,16,8,8], expected float32[1,16,8,8]");
  EXPECT_EQ(model->SetThreads(0).message(), "0 threads, expected at least 1");
  EXPECT_EQ(ModelLibrary::Open(Path("missing.so")).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFile(Path("text.so"), "no library").ok());
  EXPECT_EQ(ModelLibrary::Open(Path("text.so")).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Library, AFileNamedAsEveryLibraryGetsAnotherName) {
  Graph graph = Load(kTwoConvs);
  graph.name = "tilewright";
  EXPECT_EQ(ModelName(graph, {}), "model_tilewright");
}

// The other features of the target are checked like those that templates use.
TEST_F(Library, RefusesToOpenWhatThisCpuCannotRun) {
  if (MissingCpuFeature("avx512fp16").empty()) GTEST_SKIP() << "this CPU has avx512fp16";
  options_.target = *Target::Parse("llvm -mcpu=x86-64 -mattr=+avx512fp16");
  auto model = Compile(Load("def @main(%x: Tensor[(8), float32]) {\n  nn.relu(%x)\n}"), options_,
                       Path("model.so"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = ModelLibrary::Open(Path("model.so")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("the model needs a CPU with "));
}

TEST_F(Library, RefusesWhatPointersOf32BitsCannotReach) {
  options_.target = *Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf");
  options_.runtime_path = "/dev/null";  // so that the test needs no cross compiler
  const auto message = [&](const std::string& rows) {
    const std::string text = "def @main(%x: Tensor[(1, " + rows + ", 1024), float32]) {\n" +
                             "  %0 = nn.softmax(%x);\n  %1 = transpose(%0, axes=[0, 2, 1]);\n" +
                             "  %2 = nn.softmax(%1);\n  transpose(%2, axes=[0, 2, 1])\n}";
    const Status status = Compile(Load(text.c_str()), options_, Path("model.so")).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    return status.message();
  };
  EXPECT_THAT(message("300000"), HasSubstr("working memory: 2457600000 bytes, a 32-bit target"));
  EXPECT_THAT(message("600000"), HasSubstr("a tensor of %0: 2457600000 bytes"));
}

// A kernel's padded copy of its data is allocated at the first run.
TEST_F(Library, RefusesAWorkspaceThatPointersOf32BitsCannotReach) {
  options_.target = *Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf");
  options_.runtime_path = "/dev/null";  // so that the test needs no cross compiler
  const auto message = [&](const std::string& size, const std::string& pad) {
    const std::string text =
        "def @main(%x: Tensor[(1, 64, " + size + ", " + size + "), int8], " +
        "%w: Tensor[(64, 64, 3, 3), int8]) {\n  %0 = nn.relu(%x);\n  nn.conv2d(%0, %w, padding=[" +
        pad + ", " + pad + ", " + pad + ", " + pad +
        "], strides=[8, 8], kernel_size=[3, 3], channels=64, " + "out_dtype=\"int32\")\n}";
    const Status status = Compile(Load(text.c_str()), options_, Path("model.so")).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    return status.message();
  };
  EXPECT_EQ(message("2000", "2000"),
            "the workspace of %result: 2304000000 bytes, a 32-bit target has at most 2147483647");
  EXPECT_THAT(message("4400", "600"),
              testing::ContainsRegex("constants, working memory and the workspace of %result: "
                                     "3[0-9]+ bytes, a 32-bit target has at most 3221225472"));
}

TEST_F(Library, UnwritableOutputIsReported) {
  EXPECT_FALSE(Compile(Load(kTwoConvs), options_, Path("no/such/folder/model.so")).ok());
}

TEST_F(Library, BenchMeasuresEveryOperator) {
  Graph graph = Load(kTwoConvs);
  const std::vector<Tensor> inputs = Inputs(graph);
  ASSERT_TRUE(Compile(std::move(graph), options_, Path("model.so")).ok());
  auto model = ModelLibrary::Open(Path("model.so"));
  ASSERT_TRUE(model.ok());
  BenchOptions bench{.seconds = 0, .min_rounds = 3, .peaks = {1e11, 1e11, 1e11, 1e11}};
  auto report = Bench(*model, inputs, bench);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->rows.size(), model->operators().size());
  EXPECT_EQ(report->macs, 2 * 16 * 16 * 9 * 64);
  EXPECT_EQ(report->rounds, 3);
}

}  // namespace
}  // namespace tilewright
