// Records of a VTA are served only for the design, cycle model and metric that they were made with.
// The records of ResNet-18 in the public package give the same results with Tilewright's template.

#include <gtest/gtest.h>

#include "records/autotvm/import.h"
#include "records/autotvm/tuple.h"
#include "records/imported.h"
#include "src/base/json.h"
#include "src/graph/partition/tasks.h"
#include "src/templates/device.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/simulator/statistics.h"
#include "tests/records/sample_trials.h"
#include "tests/records/shared_file.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

constexpr const char* kSim = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr const char* kConv =
    "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[4,4,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
    "int32";

class VtaRecords : public SampleStores {};

TEST_F(VtaRecords, AreServedForTheirDesignCycleModelAndMetricOnly) {
  const Workload conv = *Workload::Parse(kConv);
  const Target sim = *Target::Parse(kSim);
  Trial trial = SampleTrial(3, 500'000, conv, sim);
  trial.metric = "cycles";
  trial.device = *DeviceFor(sim);
  const std::string path = Path("vta.db");
  Add(path, {trial});
  auto store = Store::Open(path, Store::Mode::kReadOnly);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto ask = [&](const std::string& target_text) {
    const Target target = *Target::Parse(target_text);
    const auto answer = store->Query(BuiltInTemplates(), conv, target, *DeviceFor(target));
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer->kind;
  };
  EXPECT_EQ(ask(kSim), AnswerKind::kHit);
  // The same target written differently: a near match, because the text differs.
  EXPECT_EQ(ask(std::string(kSim) + " -cycles=pynq"), AnswerKind::kNearMatch);
  for (const char* other :
       {"vta -model=pynq_1x16_i8w8a32_15_15_18_17", "vta -model=sim_1x16_i8w8a32_15_15_17_17",
        "vta -model=sim_1x16_i8w8a32_15_15_18_17 -cycles=rtl",
        "vta -model=sim_1x16_i8w8a32_15_15_18_17 -cycles=pynq_shared_bus",
        "vta -model=sim_1x16_i8w8a32_15_15_18_17 -metric=dram_bytes", "llvm"}) {
    EXPECT_EQ(ask(other), AnswerKind::kMiss) << other;
  }
}

/// Returns the tuple of a convolution's AutoTVM task.
std::string TupleOf(const Json& w) {
  const auto n = [&w](const char* key) { return std::to_string(w[key].get<int>()); };
  const int block = 16;
  const auto blocks = [&w](const char* key) { return std::to_string(w[key].get<int>() / block); };
  const auto pair = [&w](const char* key, int i) { return std::to_string(w[key][i].get<int>()); };
  return "('conv2d_packed.vta', ('TENSOR', (" + n("batch") + ", " + blocks("in_channels") + ", " +
         n("height") + ", " + n("width") + ", 1, 16), 'int8'), ('TENSOR', (" +
         blocks("out_channels") + ", " + blocks("in_channels") + ", " + pair("kernel", 0) + ", " +
         pair("kernel", 1) + ", 16, 16), 'int8'), (" + pair("strides", 0) + ", " +
         pair("strides", 1) + "), (" + pair("padding", 0) + ", " + pair("padding", 1) + ", " +
         pair("padding", 0) + ", " + pair("padding", 1) + "), (1, 1), 'NCHW1n16c', 'int32')";
}

// A config has the same index in Tilewright's template and in AutoTVM, and its stream has the
// published counters.
TEST(VtaTemplate, GivesThePublishedCountersOfResnet18) {
  const std::string path = SharedFile("expected/vta_resnet18.json");
  TW_NEEDS_SHARED(path);
  const Json expected = *ParseJson(*ReadFile(path));
  const Target target = *Target::Parse("vta -model=pynq_1x16_i8w8a32_15_15_18_17");
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_packed.vta");
  int layers = 0;
  for (const Json& layer : expected["layers"]) {
    if (layer["kind"] != "conv") continue;
    ++layers;
    const auto workload = records::ParseAutotvmTuple(TupleOf(layer["workload"]));
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    const auto space = entry->define_space(*workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    const Config config = space->At(layer["config_index"].get<std::int64_t>());
    for (const auto& [knob, value] : config.values) {
      EXPECT_EQ(ParseJson(value.ToString())->dump(), layer["config"][knob].dump()) << knob;
    }
    const bool relu = layer["epilogue"].size() == 6;
    const Epilogue epilogue =
        *Epilogue::Parse(std::string("add(channel:int32);") + (relu ? "relu;" : "") +
                         "add(256);shift_right(9);clip(-127,127);cast(int8)");
    const auto stream = BuildVtaStream(*entry, *workload, epilogue, target, config);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    const vta::StreamSummary summary =
        vta::Summarize(VtaTargetOf(target)->design, stream->instructions);
    const Json& counters = layer["counters"];
    EXPECT_EQ(summary.statistics.inp_load_nbytes, counters["inp_load_nbytes"]);
    EXPECT_EQ(summary.statistics.wgt_load_nbytes, counters["wgt_load_nbytes"]);
    EXPECT_EQ(summary.statistics.acc_load_nbytes, counters["acc_load_nbytes"]);
    EXPECT_EQ(summary.statistics.uop_load_nbytes, counters["uop_load_nbytes"]);
    EXPECT_EQ(summary.statistics.out_store_nbytes, counters["out_store_nbytes"]);
    EXPECT_EQ(summary.statistics.gemm_counter, counters["gemm_counter"]);
    EXPECT_EQ(summary.statistics.alu_counter, counters["alu_counter"]);
    EXPECT_EQ(summary.dram_bytes, layer["bus_bytes"]);
    EXPECT_EQ(summary.counts.Total(), layer["instructions"]["total"]);
  }
  EXPECT_EQ(layers, 19);
}

// Every packed operator of the public package that does not copy another record's result is a legal
// config of Tilewright's template for the design it was tuned on, also those that AutoTVM's rule
// never reaches.
TEST_F(VtaRecords, PublicPackageApplies) {
  const std::string path = SharedFile("tophub/vta_v0.10.log");
  TW_NEEDS_SHARED(path);
  auto store = Store::Open(Path("tophub.db"), Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_TRUE(ImportAutotvm(*store, {path}, {}).ok());
  const Epilogue epilogue = *Epilogue::Parse("shift_right(8);clip(-127,127);cast(int8)");
  int applied = 0, unreachable = 0;
  std::vector<std::string> refused;
  const Status visited = ForEachImported(*store, [&](const ImportedRecord& record) -> Status {
    if (!record.task.ends_with("_packed.vta") || record.agreement != AutotvmAgreement::kExact) {
      return {};
    }
    // They name a second layout, which no compiler requests.
    if ((record.flags & kImportedUnreachable) != 0) ++unreachable;
    SCOPED_TRACE(record.tuple);
    const Target target = *Target::Parse(record.target);
    auto candidate = CandidateOfImported(BuiltInTemplates(), record, target);
    if (!candidate.ok()) {
      refused.push_back(candidate.status().message());
      return {};
    }
    EXPECT_EQ(candidate->config.index, record.index);
    const auto stream =
        BuildVtaStream(*BuiltInTemplates().Find(candidate->template_key), candidate->task.workload,
                       epilogue, target, candidate->config);
    applied += stream.ok() ? 1 : 0;
    EXPECT_TRUE(stream.ok() || (record.flags & kImportedCopy) != 0) << stream.status().message();
    return {};
  });
  EXPECT_TRUE(visited.ok()) << visited.message();
  EXPECT_EQ(applied, 75 + 9 + 3 + 1);  // plain, grouped and transposed convolutions, products
  // One has the tensors of another design than that of its target.
  EXPECT_EQ(refused, std::vector<std::string>{
                         "dense_packed.vta does not serve dense(int8[4,16,1,16]MK1m16k,"
                         "int8[8,16,16,16]NK16n16k)->int32: layouts MK1m16k and NK16n16k, expected "
                         "MK4m8k and NK8n8k"});
  EXPECT_EQ(unreachable, 10);
}

}  // namespace
}  // namespace tilewright::records
