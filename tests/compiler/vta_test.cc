// Networks on the simulated VTA, compared with the reference; and ResNet-18, compared with
// published numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "records/autotvm/import.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/compiler/check/check_plan.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/vta_run.h"
#include "src/compiler/vta_bundle.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/pack.h"
#include "src/templates/device.h"
#include "src/tensor/reference/reference.h"
#include "src/tensor/synthetic_data.h"
#include "tests/graph/quantized_graph.h"
#include "tests/records/shared_file.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kThreads = 2;

constexpr const char* kDesign1x16 = "1x16_i8w8a32_15_15_18_17";
constexpr const char* kDesign4x8 = "4x8_i8w8a32_15_16_16_18";

CompileOptions OptionsFor(const std::string& board, const std::string& design = kDesign1x16) {
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  options.target = *Target::Parse("vta -model=" + board + "_" + design);
  options.device = *DeviceFor(options.target);
  return options;
}

std::vector<Tensor> SyntheticInputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (int id : graph.inputs()) {
    inputs.push_back(MakeSyntheticInput(graph.node(id).name, graph.node(id).type,
                                        SyntheticInputRule::kSeededQuantized));
  }
  return inputs;
}

Graph PackedGraph(const std::string& design = kDesign1x16,
                  Graph (*make)(std::int64_t batch) = &MakeQuantizedGraph) {
  const auto parsed = vta::Design::FromModel("sim_" + design);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  PackReport report;
  auto packed = PackForVta(make(parsed->batch()), *parsed, {}, &report);
  EXPECT_TRUE(packed.ok()) << packed.status().message();
  return *std::move(packed);
}

Plan VtaPlan(Graph graph, const CompileOptions& options) {
  auto plan = MakeCheckedPlan(std::move(graph), options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

struct Ran {
  explicit Ran(const Plan& plan) {
    auto executor = VtaExecutor::Create(plan, {vta::CycleModel::Pynq()}, kThreads);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    auto run = PlannedNetwork(plan, *executor).Run(SyntheticInputs(plan.graph));
    EXPECT_TRUE(run.ok()) << run.status().message();
    outputs = *std::move(run);
    costs = executor->costs();
  }
  std::vector<Tensor> outputs;
  VtaCosts costs;
};

VerifyReport Verified(const Plan& plan, const Graph& source) {
  auto executor = VtaExecutor::Create(plan, {}, kThreads);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  auto report = VerifyPlanned(plan, PlannedNetwork(plan, *executor), &source,
                              SyntheticInputs(source), {.threads = kThreads});
  EXPECT_TRUE(report.ok()) << report.status().message();
  return *std::move(report);
}

std::int64_t StoredBytes(const Ran& run) {
  const VtaCosts& costs = run.costs;
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < costs.cost.size(); ++k) {
    bytes += costs.launches[k] * costs.cost[k].summary.statistics.out_store_nbytes;
  }
  return bytes;
}

std::vector<std::string> OnTheVta(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanStep& step : plan.steps) {
    if (step.stream() != nullptr) {
      names.emplace_back(SourceName(plan.graph.node(step.node).name));
    }
  }
  return names;
}

class VtaDesigns : public testing::TestWithParam<const char*> {};

TEST_P(VtaDesigns, ComputeWhatTheUnpackedNetworkDoes) {
  const Graph graph = MakeQuantizedGraph(std::string(GetParam()) == kDesign4x8 ? 4 : 1);
  auto expected = EvaluateGraph(graph, SyntheticInputs(graph), KeepValues::kOutputs, kThreads);
  ASSERT_TRUE(expected.ok());
  for (const bool fuse_residuals : {false, true}) {
    CompileOptions options = OptionsFor("sim", GetParam());
    options.fuse_residuals = fuse_residuals;
    const Plan plan = VtaPlan(PackedGraph(GetParam()), options);
    const Ran run(plan);
    ASSERT_EQ(run.outputs.size(), expected->size());
    for (std::size_t i = 0; i < expected->size(); ++i) {
      EXPECT_TRUE(Compare(run.outputs[i], (*expected)[i], 0).ok) << "output " << i;
    }
    const VerifyReport report = Verified(plan, graph);
    EXPECT_TRUE(report.ok()) << report.Summary();
    EXPECT_EQ(report.checks.size(), OnTheVta(plan).size() + 2);  // and the outputs
    EXPECT_GE(OnTheVta(plan).size(), 5u);
  }
}

INSTANTIATE_TEST_SUITE_P(Designs, VtaDesigns, testing::Values(kDesign1x16, kDesign4x8),
                         [](const auto& tested) {
                           return tested.param == kDesign1x16 ? "OneBySixteen" : "FourByEight";
                         });

TEST(Vta, TakesConvolutionsResidualsAndPoolsAndNothingElse) {
  const Plan plan = VtaPlan(PackedGraph(), OptionsFor("sim"));
  EXPECT_THAT(OnTheVta(plan),
              ElementsAre("wide_int8", "sum_int8", "odd_int8", "odd_again_int8", "odd_sum_int8",
                          "depthwise_int8", "even_int8", "pooled", "last_int8"));
  for (const PlanStep& step : plan.steps) EXPECT_FALSE(step.report.explanation.empty());
  const auto step_of = [&](const std::string& name) {
    for (const PlanStep& step : plan.steps) {
      if (plan.graph.node(step.node).name == name) return step;
    }
    return PlanStep();
  };
  EXPECT_THAT(step_of("first_int8").report.explanation, HasSubstr("layouts NCHW and OIHW"));
  EXPECT_EQ(step_of("pooled#packed").report.op, "max_pool2d");
  EXPECT_EQ(step_of("sum_int8#packed").report.op, "add + relu, clip, cast");
  EXPECT_EQ(step_of("wide_int8#packed").report.op, "conv2d + add, add, shift_right, clip, cast");
}

TEST_P(VtaDesigns, TakeEveryKindOfProduct) {
  const Graph graph = MakeProductGraph(std::string(GetParam()) == kDesign4x8 ? 4 : 1);
  const Plan plan =
      VtaPlan(PackedGraph(GetParam(), &MakeProductGraph), OptionsFor("sim", GetParam()));
  EXPECT_THAT(OnTheVta(plan), ElementsAre("parts_int8", "blocks_int8", "doubled_int8",
                                          "depthwise_int8", "pooled", "rows_int8", "more_int8"));
  const VerifyReport report = Verified(plan, graph);
  EXPECT_TRUE(report.ok()) << report.Summary();
}

TEST(Vta, ResidualsBehindTheirConvolutionsAreStoredOnce) {
  CompileOptions options = OptionsFor("sim");
  const Plan apart = VtaPlan(PackedGraph(), options);
  options.fuse_residuals = true;
  const Plan fused = VtaPlan(PackedGraph(), options);
  EXPECT_EQ(OnTheVta(fused).size() + 2, OnTheVta(apart).size());
  EXPECT_EQ(StoredBytes(Ran(apart)) - StoredBytes(Ran(fused)), 2 * 2 * 36 * 16);
}

TEST(Vta, BoardsThatCannotAddInt8LeaveResidualsToTheHost) {
  CompileOptions options = OptionsFor("pynq");
  const Plan plan = VtaPlan(PackedGraph(), options);
  EXPECT_THAT(OnTheVta(plan), ElementsAre("wide_int8", "odd_int8", "odd_again_int8",
                                          "depthwise_int8", "even_int8", "last_int8"));
  for (const PlanStep& step : plan.steps) {
    if (plan.graph.node(step.node).name == "sum_int8#packed") {
      EXPECT_THAT(step.report.explanation, HasSubstr("pynq does not load int8 data"));
    }
  }
}

TEST(Vta, BoardsThatCannotAddInt8AddResidualsByProducts) {
  CompileOptions options = OptionsFor("pynq");
  options.fuse_residuals = true;
  const Plan plan = VtaPlan(PackedGraph(), options);
  EXPECT_THAT(OnTheVta(plan), ElementsAre("sum_int8", "odd_int8", "odd_sum_int8", "depthwise_int8",
                                          "even_int8", "last_int8"));
  const Graph graph = MakeQuantizedGraph(1);
  const VerifyReport report = Verified(plan, graph);
  EXPECT_TRUE(report.ok()) << report.Summary();
}

TEST(Vta, AutotvmsRuleLeavesWhatAutotvmHasNoTemplateForToTheHost) {
  CompileOptions options = OptionsFor("sim");
  options.autotvm = records::AutotvmLookup();
  const Plan plan = VtaPlan(PackedGraph(), options);
  EXPECT_THAT(OnTheVta(plan), Not(Contains("pooled")));
  EXPECT_THAT(OnTheVta(plan), Contains("sum_int8"));
  for (const StreamKernel& kernel : plan.streams) {
    if (kernel.report.template_key != "add.vta") continue;
    EXPECT_THAT(kernel.report.config, HasSubstr("\"tile_w\":[6,1]"));  // one tile at a time
  }
}

// One of each kind of purely elementwise operator.
TEST(Vta, ElementwiseOperatorsRunAlone) {
  QuantizedGraph net;
  const auto packed = [&](const std::string& name, DataType dtype) {
    return net.graph.AddInput(name, TensorType{{1, 2, 6, 6, 1, 16}, dtype});
  };
  const int a = packed("a", kInt8), b = packed("b", kInt8), sums = packed("sums", kInt32);
  const int relu = net.Op("relu", OpKind::kRelu, {a});
  const int shifted =
      net.Narrow("shifted", net.Op("by_four", OpKind::kShiftRight, {sums, net.Scalar("four", 4)}));
  const int bias = net.graph.AddConstant(
      "bias", MakeSeededInteger("bias", TensorType{{2, 1, 1, 1, 16}, kInt32}, 100));
  const int biased = net.Narrow("biased", net.Op("with_bias", OpKind::kAdd, {sums, bias}));
  const int product = net.Narrow(
      "product",
      net.Op("times", OpKind::kMul, {net.Cast("a32", kInt32, a), net.Cast("b32", kInt32, b)}));
  const int wrapped = net.Op("wrapped", OpKind::kAdd, {a, b});
  net.graph.SetOutputs({relu, shifted, biased, product, wrapped});
  const Plan plan = VtaPlan(std::move(net.graph), OptionsFor("sim"));
  ASSERT_EQ(plan.steps.size(), 5U);
  for (const PlanStep& step : plan.steps)
    EXPECT_NE(step.stream(), nullptr) << step.report.op << step.report.explanation;
  const VerifyReport report = Verified(plan, plan.graph);
  EXPECT_TRUE(report.ok()) << report.Summary();
}

TEST(Vta, TheTimelineHasEveryLaunch) {
  const Plan plan = VtaPlan(PackedGraph(), OptionsFor("sim"));
  auto trace = TraceVta(plan, vta::CycleModel::Rtl());
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  for (const std::string& name : OnTheVta(plan)) EXPECT_THAT(*trace, HasSubstr(name));
}

TEST(Vta, ABundleRunsAlone) {
  auto folder = ScopedTempDir::Create("tilewright-vta-bundle");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/net";
  CompileOptions options = OptionsFor("sim");
  options.fuse_residuals = true;
  const Plan plan = VtaPlan(PackedGraph(), options);
  const Status written = WriteVtaBundle(plan, path);
  ASSERT_TRUE(written.ok()) << written.message();
  auto read = ReadVtaBundle(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(OnTheVta(*read).size(), OnTheVta(plan).size());
  const Ran expected(plan), actual(*read);
  EXPECT_EQ(StoredBytes(actual), StoredBytes(expected));
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
  for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
    EXPECT_TRUE(Compare(actual.outputs[i], expected.outputs[i], 0).ok) << "output " << i;
  }

  const std::string index = path + "/kernels.json";
  const std::string text = *ReadFile(index);
  const auto refusal = [&](std::string from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_TRUE(WriteFile(index, changed).ok());
    return ReadVtaBundle(path).status().message();
  };
  EXPECT_THAT(refusal("sim_1x16", "pynq_1x16"), HasSubstr("made for sim_1x16"));
  EXPECT_THAT(refusal("bundle-1", "bundle-9"), HasSubstr("expected tilewright-vta-bundle-1"));
  EXPECT_THAT(refusal("\"epilogue\"", "\"epilog\""), HasSubstr("kernel 0: field epilogue"));
  ASSERT_TRUE(WriteFile(index, text).ok());
  const std::string stream = path + "/streams/0.vta";
  const std::string bytes = *ReadFile(stream);
  ASSERT_TRUE(WriteFile(stream, bytes.substr(0, bytes.size() - 1)).ok());
  EXPECT_THAT(ReadVtaBundle(path).status().message(), HasSubstr("streams/0.vta"));
  EXPECT_EQ(ReadVtaBundle(path + "/nowhere").status().code(), StatusCode::kNotFound);
}

TEST(Vta, ItsStepsLieInMemoryThatIsChecked) {
  const auto refusal = [](const std::function<void(Plan&, PlanStep&)>& change) {
    Plan plan = VtaPlan(PackedGraph(), OptionsFor("sim"));
    EXPECT_TRUE(CheckPlan(plan).ok());
    const auto second = [](const PlanStep& step) {
      return step.stream() != nullptr && step.stream()->reads.size() > 1;
    };
    change(plan, *std::ranges::find_if(plan.steps, second));
    return CheckPlan(plan).message();
  };
  EXPECT_THAT(refusal([](Plan& plan, PlanStep& step) {
                // Its own result, whose size differs from that of its input.
                step.buffers.front() = static_cast<int>(plan.buffers.size());
                PlanBuffer other = plan.buffers[static_cast<std::size_t>(step.buffers.back())];
                other.bytes += 1;
                plan.buffers.push_back(other);
              }),
              HasSubstr("its memory "));
  EXPECT_THAT(
      refusal([](Plan&, PlanStep& step) { step.buffers.insert(step.buffers.end() - 1, 0); }),
      HasSubstr("an extra buffer"));
  EXPECT_THAT(refusal([](Plan&, PlanStep& step) { step.buffers.erase(step.buffers.begin()); }),
              HasSubstr("no memory for "));
}

TEST(Vta, ABundleWithAStreamForOtherOperatorsIsRefused) {
  const Plan plan = VtaPlan(PackedGraph(), OptionsFor("sim"));
  CompileOptions options = OptionsFor("sim");
  std::vector<StreamKernel> streams = plan.streams;
  for (StreamKernel& kernel : streams) kernel.stream.buffers.pop_back();
  EXPECT_THAT(MakeCheckedPlan(PackedGraph(), options, &streams).status().message(),
              HasSubstr("tensors, expected"));
  streams.clear();
  const Plan host = *MakeCheckedPlan(PackedGraph(), options, &streams);
  EXPECT_THAT(OnTheVta(host), IsEmpty());
  EXPECT_TRUE(Verified(host, MakeQuantizedGraph(1)).ok());
}

TEST(Vta, RefusesWhatItCannotRun) {
  CompileOptions options = OptionsFor("sim");
  options.target.SetOption("model", "sim_1x16_i8w4a32_15_15_17_17");
  EXPECT_THAT(MakeCheckedPlan(PackedGraph(), options).status().message(), HasSubstr("expected 8"));
  Graph graph;
  const int x = graph.AddInput("x", TensorType{{2}, kInt32});
  auto sum = graph.AddOperator("sum", Operator{OpKind::kAdd, {}},
                               {x, graph.AddConstant("c", TensorType{{2}, kInt32})});
  graph.SetOutputs({*sum});
  EXPECT_THAT(MakeCheckedPlan(std::move(graph), OptionsFor("sim")).status().message(),
              HasSubstr("constant c has no contents"));
  const Plan plan = VtaPlan(PackedGraph(), OptionsFor("sim"));
  auto executor = VtaExecutor::Create(plan, {}, kThreads);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  EXPECT_EQ(PlannedNetwork(plan, *executor).Run({}).status().code(), StatusCode::kInvalidArgument);
}

/// ResNet-18 with the public package for the VTA, planned with AutoTVM's selection rule.
class Resnet18 : public testing::Test {
 protected:
  void SetUp() override {
    const std::string relay = SharedFile("relay/resnet18_v1_vta_packed.relay");
    const std::string package = SharedFile("tophub/vta_v0.10.log");
    for (const std::string& path : {relay, package}) TW_NEEDS_SHARED(path);
    auto folder = ScopedTempDir::Create("tilewright-vta-test");
    ASSERT_TRUE(folder.ok());
    auto store =
        records::Store::Open(folder->path() + "/records.db", records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto imported = records::ImportAutotvm(*store, {package}, {});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    auto graph = LoadGraph(relay);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    SeedConstants(*graph, SeedRule::kMissing);
    folder_ = *std::move(folder);
    for (const Node& node : graph->nodes()) {
      if (node.kind != NodeKind::kOperator || node.op.kind != OpKind::kIdentity) continue;
      marked_.emplace(graph->node(node.inputs[0]).name, node.name);
    }
    graph_ = *std::move(graph);
    store_ = *std::move(store);
  }

  Plan PlanOn(const std::string& model) {
    CompileOptions options = OptionsFor("sim");
    options.target.SetOption("model", model);
    options.autotvm = records::AutotvmLookup();
    records::Catalog catalog;
    catalog.AddStore(*std::move(store_));
    options.catalog = &catalog;
    return VtaPlan(std::move(graph_), options);
  }

  /// Returns checksums of the listed values by name. Some names are annotations that optimizing
  /// removes: those checksums belong to the annotated value.
  std::map<std::string, std::string> Checksums(const Json& seeded) const {
    std::map<std::string, std::string> checksums = marked_;
    for (auto& [value, mark] : checksums) {
      for (const Json& row : seeded["values"]) {
        if (row[0] == mark) mark = row[8];
      }
    }
    for (const Json& row : seeded["values"]) checksums.emplace(row[0], row[8]);
    return checksums;
  }

  /// Returns the step that computes the value of this name.
  static const PlanStep* StepOf(const Plan& plan, const std::string& name) {
    for (const PlanStep& step : plan.steps) {
      const HostStep* host = step.host();
      if (host == nullptr && step.stream() == nullptr) continue;
      for (int id : host != nullptr ? host->nodes : step.stream()->nodes) {
        if (plan.graph.node(id).name == name) return &step;
      }
    }
    return nullptr;
  }

  std::optional<ScopedTempDir> folder_;
  Graph graph_;
  std::map<std::string, std::string> marked_;  // value to its first annotation
  std::optional<records::Store> store_;
};

void ExpectCounters(const vta::Statistics& s, const Json& expected) {
  EXPECT_EQ(s.inp_load_nbytes, expected["inp_load_nbytes"].get<std::int64_t>());
  EXPECT_EQ(s.wgt_load_nbytes, expected["wgt_load_nbytes"].get<std::int64_t>());
  EXPECT_EQ(s.acc_load_nbytes, expected["acc_load_nbytes"].get<std::int64_t>());
  EXPECT_EQ(s.uop_load_nbytes, expected["uop_load_nbytes"].get<std::int64_t>());
  EXPECT_EQ(s.out_store_nbytes, expected["out_store_nbytes"].get<std::int64_t>());
  EXPECT_EQ(s.gemm_counter, expected["gemm_counter"].get<std::int64_t>());
  EXPECT_EQ(s.alu_counter, expected["alu_counter"].get<std::int64_t>());
}

TEST_F(Resnet18, PublishedStatisticsComeOutExactly) {
  const std::string layers = SharedFile("expected/vta_resnet18.json");
  const std::string values = SharedFile("expected/seeded_resnet18_vta_packed.json");
  TW_NEEDS_SHARED(layers);
  TW_NEEDS_SHARED(values);
  const Plan plan = PlanOn("sim_1x16_i8w8a32_15_15_18_17");
  const Json expected = *ParseJson(*ReadFile(layers));
  const Json seeded = *ParseJson(*ReadFile(values));
  const auto checksums = Checksums(seeded);
  int compared = 0;
  const auto observe = [&](std::size_t s, const Tensor& value) -> Status {
    const std::string& name = plan.graph.node(plan.steps[s].node).name;
    const auto checksum = checksums.find(name);
    if (checksum == checksums.end()) {
      EXPECT_EQ(plan.steps[s].stream(), nullptr) << name << " is not compared";
      return Status();
    }
    const std::span bytes(value.data(), static_cast<std::size_t>(value.bytes()));
    EXPECT_EQ(HexOf(Crc32(bytes)).substr(8), checksum->second) << name;
    ++compared;
    return Status();
  };
  auto executor = VtaExecutor::Create(plan, {}, kThreads);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  auto outputs = PlannedNetwork(plan, *executor).RunObserved(SyntheticInputs(plan.graph), observe);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  const VtaCosts& costs = executor->costs();
  EXPECT_GE(compared, 27);
  const auto logits = seeded["output"].get<std::vector<double>>();
  ASSERT_EQ(static_cast<std::size_t>(outputs->front().elements()), logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_NEAR(outputs->front().At(static_cast<std::int64_t>(i)), logits[i], 5e-4) << i;
  }

  vta::Statistics total;
  std::int64_t dram_bytes = 0, instructions = 0;
  for (const Json& layer : expected["layers"]) {
    SCOPED_TRACE(layer["node"].get<std::string>());
    const PlanStep* step = StepOf(plan, layer["node"]);
    ASSERT_NE(step, nullptr);
    const StreamStep* stream = step->stream();
    ASSERT_NE(stream, nullptr) << step->report.explanation;
    const vta::StreamSummary& summary =
        costs.cost[static_cast<std::size_t>(stream->stream)].summary;
    ExpectCounters(summary.statistics, layer["counters"]);
    EXPECT_EQ(summary.dram_bytes, layer["bus_bytes"].get<std::int64_t>());
    EXPECT_EQ(summary.counts.Total(), layer["instructions"]["total"].get<std::int64_t>());
    total += summary.statistics;
    dram_bytes += summary.dram_bytes;
    instructions += summary.counts.Total();
    const StreamKernel& kernel = plan.StreamOf(*stream);
    if (layer.contains("config_index")) {
      EXPECT_TRUE(kernel.report.tuned);
      EXPECT_THAT(kernel.report.source, HasSubstr("vta_v0.10.log:"));
      EXPECT_EQ((*ParseJson(kernel.report.config))["index"], layer["config_index"]);
    }
  }
  ExpectCounters(total, expected["published_totals"]);
  EXPECT_EQ(dram_bytes, expected["bus_bytes"]["convolutions"].get<std::int64_t>() +
                            expected["bus_bytes"]["alu"].get<std::int64_t>());
  EXPECT_EQ(instructions, expected["instructions"]["convolutions"].get<std::int64_t>() +
                              expected["instructions"]["alu"].get<std::int64_t>());
  int launches = 0;
  for (int count : costs.launches) launches += count;
  EXPECT_EQ(launches, static_cast<int>(expected["layers"].size()));  // and nothing else
}

TEST_F(Resnet18, RecordsOfAnotherDesignAreNotServed) {
  // Half the accumulators: none of the recorded schedules can be used.
  const Plan plan = PlanOn("sim_1x16_i8w8a32_15_15_18_16");
  for (const StreamKernel& kernel : plan.streams) {
    EXPECT_FALSE(kernel.report.tuned);
    if (kernel.report.template_key != "conv2d_packed.vta") continue;
    EXPECT_THAT(kernel.report.explanation, HasSubstr("no record of a board with the design"));
    EXPECT_THAT(kernel.report.explanation, HasSubstr("default config"));
  }
}

}  // namespace
}  // namespace tilewright
