// VTA templates: the workloads they serve, their spaces, the conversion of epilogues to ALU
// operations, and the distinction of streams from loops by callers.

#include <gtest/gtest.h>

#include "src/templates/registry.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/simulator/simulator.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

constexpr const char* kSim = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr const char* kWide =
    "ext_dev -device=vta -keys=vta,cpu -model=pynq_4x8_i8w8a32_15_16_16_18";
constexpr const char* kPackedConv =
    "conv2d(int8[1,4,56,56,1,16]NCHW1n16c,int8[4,4,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
    "int32";
constexpr const char* kWideConv =
    "conv2d(int8[1,8,56,56,4,8]NCHW4n8c,int8[16,8,1,1,8,8]OIHW8o8i,s2x2,p0x0x0x0,d1x1,g1)->int32";
constexpr const char* kAdd =
    "add(int8[1,4,56,56,1,16]NCHW1n16c,int8[1,4,56,56,1,16]NCHW1n16c)->int32";
constexpr const char* kMultiply =
    "mul(int32[1,4,56,56,1,16]NCHW1n16c,int8[1,4,56,56,1,16]NCHW1n16c)->int32";
constexpr const char* kIdentity = "identity(int8[1,4,56,56,1,16]NCHW1n16c)->int32";
constexpr const char* kPool =
    "max_pool2d(int8[1,4,112,112,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8";
constexpr const char* kEpilogue =
    "add(channel:int32);add(64);shift_right(7);clip(-127,127);"
    "cast(int8)";

// From records in the public package.
constexpr const char* kGroupConv =
    "group_conv2d(int8[1,2,112,112,1,16]NCHW1n16c,int8[2,1,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,"
    "g2)->int32";
constexpr const char* kTransposed =
    "conv2d_transpose(int8[1,64,4,4,1,16]NCHW1n16c,int8[32,64,4,4,16,16]OIHW16o16i,s2x2,p1x1x1x1,"
    "d1x1,g1,o0x0)->int32";
constexpr const char* kProduct = "dense(int8[1,16,1,16]MK1m16k,int8[8,16,16,16]NK16n16k)->int32";

std::string Shown(const VtaEpilogue& epilogue) {
  using Operand = vta::EpilogueStep::Operand;
  std::string text;
  for (const vta::EpilogueStep& step : epilogue.steps) {
    text += text.empty() ? "" : " ";
    text += AluOpName(step.op);
    if (step.operand == Operand::kImmediate) text += " " + std::to_string(step.immediate);
    if (step.operand == Operand::kPerChannel) text += " channel";
    if (step.operand == Operand::kTensor) text += " tensor";
    if (step.operand == Operand::kTensorInt8) text += " int8";
  }
  for (std::int32_t addend : epilogue.operand_addends) text += " +" + std::to_string(addend);
  return text;
}

TEST(VtaTargetTest, ReadsDesignCycleModelAndMetric) {
  const auto plain = VtaTargetOf(*Target::Parse(kSim));
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->design, vta::Design::Default("sim"));
  EXPECT_EQ(plain->cycles, vta::CycleModel::Pynq());
  EXPECT_EQ(plain->metric, "cycles");
  const auto other =
      VtaTargetOf(*Target::Parse(std::string(kWide) + " -cycles=rtl -metric=dram_bytes"));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->design.Name(), "4x8_i8w8a32_15_16_16_18");
  EXPECT_EQ(other->cycles, vta::CycleModel::Rtl());
  EXPECT_EQ(other->metric, "dram_bytes");
  struct Case {
    std::string target, message;
  };
  for (const Case& c :
       {Case{"llvm", "target 'llvm': expected a VTA"},
        Case{"vta",
             "target option -model: VTA model '': 1 parts between '_', expected a name such "
             "as sim_1x16_i8w8a32_15_15_18_17"},
        Case{kSim + std::string(" -cycles=fast"),
             "target option -cycles: cycle model 'fast': unknown, expected pynq, rtl or "
             "pynq_shared_bus"},
        Case{kSim + std::string(" -metric=joules"),
             "target option -metric: 'joules', expected cycles or dram_bytes"}}) {
    EXPECT_EQ(VtaTargetOf(*Target::Parse(c.target)).status().message(), c.message);
  }
}

TEST(VtaTargetTest, DevicesDifferInAllThatCounts) {
  const auto device = [](const std::string& more) {
    return VtaDevice(*VtaTargetOf(*Target::Parse(kSim + more)));
  };
  const DeviceFingerprint plain = device("");
  EXPECT_EQ(plain, device(" -cycles=pynq -metric=cycles"));
  EXPECT_NE(plain.isa, device(" -cycles=rtl").isa);
  EXPECT_NE(plain.isa, device(" -cycles=pynq_shared_bus").isa);
  EXPECT_NE(plain.isa, device(" -metric=dram_bytes").isa);
  EXPECT_NE(plain.isa, VtaDevice(*VtaTargetOf(*Target::Parse(kWide))).isa);
  EXPECT_TRUE(std::ranges::is_sorted(plain.isa));
}

TEST(VtaEpilogueTest, BecomesAluOperations) {
  struct Case {
    const char *epilogue, *steps;
  };
  for (const Case& c : {
           Case{"cast(int8)", ""},
           Case{kEpilogue, "add channel shr 7 min 127 max -127 +64"},
           Case{"add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)",
                "add channel max 0 add 256 shr 9 min 127 max -127 +0"},
           Case{"add(channel:int32);add(32);shift_right(6);clip(-127,127);cast(int8);cast(int32);"
                "add(tensor:int8);relu;clip(-127,127);cast(int8)",
                "add channel shr 6 min 127 max -127 add int8 max 0 min 127 max -127 +32 +0"},
           Case{"mul(tensor:int32);max(3);min(-4);cast(int8)", "mul tensor max 3 min -4 +0"},
           Case{"saturate_cast(int8)", "min 127 max -128"},
       }) {
    const auto epilogue = Epilogue::Parse(c.epilogue);
    ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
    const auto steps = VtaEpilogueOf(vta::Design::Default("sim"), *epilogue);
    ASSERT_TRUE(steps.ok()) << steps.status().message();
    EXPECT_EQ(Shown(*steps), c.steps);
  }
}

TEST(VtaEpilogueTest, RefusesWhatTheAluCannotDo) {
  struct Case {
    const char *target, *epilogue, *message;
  };
  for (const Case& c : {
           Case{"sim", "relu",
                "a VTA stores int8: expected an epilogue that ends in cast(int8), "
                "such as \"shift_right(8);clip(-127,127);cast(int8)\""},
           Case{"sim", "shift_right(16);cast(int8)",
                "epilogue step shift_right(16): expected a constant from 0 to 15"},
           Case{"sim", "add(70000);cast(int8)",
                "epilogue step add(70000): constant 70000, expected a whole number of 16 bits"},
           Case{"sim", "shift_right(2);cast(int8);cast(int32);add(tensor:int8);cast(int8)",
                "epilogue step cast(int32): a cast to int8 that is not the last step, expected a "
                "clip before it"},
           Case{"sim", "cast(int8);relu",
                "epilogue step relu: the ALU calculates in int32, expected cast(int32) first"},
           Case{"pynq", "add(tensor:int8);cast(int8)",
                "epilogue step add(tensor:int8): pynq does not load int8 data into the "
                "accumulator"},
           Case{"sim", "relu;add(%0);cast(int8)",
                "epilogue step add(%0): the accumulator keeps no earlier value"},
           Case{"pynq", "mul(channel:int32);cast(int8)",
                "epilogue step mul(channel:int32): pynq does not multiply"},
       }) {
    const auto epilogue = Epilogue::Parse(c.epilogue);
    ASSERT_TRUE(epilogue.ok()) << epilogue.status().message();
    const auto steps = VtaEpilogueOf(vta::Design::Default(c.target), *epilogue);
    ASSERT_FALSE(steps.ok()) << c.epilogue;
    EXPECT_EQ(steps.status().message(), c.message);
  }
}

struct VtaSpaceCase {
  const char *name, *template_key, *target, *workload;
  std::int64_t size;
  const char* default_config;
};
class VtaSpaceTest : public testing::TestWithParam<VtaSpaceCase> {};

TEST_P(VtaSpaceTest, SizeAndDefaultConfigStay) {
  const VtaSpaceCase& c = GetParam();
  const Target target = *Target::Parse(c.target);
  const Workload workload = *Workload::Parse(c.workload);
  const auto entries = BuiltInTemplates().For(workload, target);
  ASSERT_FALSE(entries.empty());
  const TemplateEntry* entry = BuiltInTemplates().Find(c.template_key);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(std::ranges::count(entries, entry), 1);
  const auto space = entry->define_space(workload, target);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), c.size);
  const auto config = entry->default_config(workload, target);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->ToString(), c.default_config);
  const bool pool = workload.op == OpKind::kMaxPool2d;
  const Epilogue epilogue = *Epilogue::Parse(pool ? "" : kEpilogue);
  const auto stream = BuildVtaStream(*entry, workload, epilogue, target, *config);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  vta::RunOptions options;
  options.allow_tokens_left = !IsAnchor(workload.op);  // like AutoTVM's streams of one thread
  const auto run =
      vta::RunStream(VtaTargetOf(target)->design, stream->instructions, nullptr, options);
  EXPECT_TRUE(run.status().ok()) << run.status().message();
}
INSTANTIATE_TEST_SUITE_P(
    Typical, VtaSpaceTest,
    testing::Values(
        VtaSpaceCase{
            "Conv3x3", "conv2d_packed.vta", kSim, kPackedConv, 2304,
            R"({"index":791,"values":{"tile_b":[1,1],"tile_h":[1,56],"tile_w":[14,4],"tile_ci":[4,1],"tile_co":[2,2],"oc_nthread":2,"h_nthread":1}})"},
        VtaSpaceCase{
            "OwnConv3x3", "conv2d_packed_slots.vta", kSim, kPackedConv, 108864,
            R"({"index":40946,"values":{"tile_h":4,"tile_w":56,"tile_ci":1,"tile_co":4,"inp_slots":2,"wgt_slots":2,"acc_slots":2,"channels_outer":0,"serpentine":0,"unrolled":1}})"},
        VtaSpaceCase{
            "OwnConvOf4x8", "conv2d_packed_slots.vta", kWide, kWideConv, 302400,
            R"({"index":214209,"values":{"tile_h":1,"tile_w":28,"tile_ci":8,"tile_co":16,"inp_slots":2,"wgt_slots":2,"acc_slots":2,"channels_outer":0,"serpentine":0,"unrolled":2}})"},
        VtaSpaceCase{
            "GroupConv", "group_conv2d_packed.vta", kSim, kGroupConv, 800,
            R"({"index":267,"values":{"tile_b":[1,1],"tile_h":[4,28],"tile_w":[7,16],"tile_ci":[1,1],"tile_co":[2,1],"oc_nthread":2,"h_nthread":1}})"},
        VtaSpaceCase{
            "Transposed", "conv2d_transpose_packed.vta", kSim, kTransposed, 2688,
            R"({"index":911,"values":{"tile_b":[1,1],"tile_h":[1,8],"tile_w":[1,8],"tile_ci":[64,1],"tile_co":[8,4],"oc_nthread":2,"h_nthread":1}})"},
        VtaSpaceCase{
            "Product", "dense_packed.vta", kSim, kProduct, 40,
            R"({"index":30,"values":{"tile_b":[1,1],"tile_ci":[16,1],"tile_co":[2,4],"oc_nthread":2}})"},
        VtaSpaceCase{
            "ConvOf4x8", "conv2d_packed.vta", kWide, kWideConv, 2880,
            R"({"index":2046,"values":{"tile_b":[1,1],"tile_h":[28,1],"tile_w":[1,28],"tile_ci":[8,1],"tile_co":[1,16],"oc_nthread":1,"h_nthread":2}})"},
        VtaSpaceCase{"Add", "add.vta", kSim, kAdd, 192,
                     R"({"index":181,"values":{"tile_co":[2,2],"tile_h":[7,8],"tile_w":[1,56]}})"},
        VtaSpaceCase{"Multiply", "multiply.vta", kSim, kMultiply, 192,
                     R"({"index":181,"values":{"tile_co":[2,2],"tile_h":[7,8],"tile_w":[1,56]}})"},
        VtaSpaceCase{"Identity", "elementwise_packed.vta", kSim, kIdentity, 192,
                     R"({"index":181,"values":{"tile_co":[2,2],"tile_h":[7,8],"tile_w":[1,56]}})"},
        VtaSpaceCase{
            "MaxPool", "max_pool2d_packed.vta", kSim, kPool, 192,
            R"({"index":159,"values":{"tile_co":[4,1],"tile_h":[4,14],"tile_w":[2,28]}})"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(VtaTemplatesTest, IndicesAreAutotvms) {
  struct Case {
    const char *key, *workload;
    std::int64_t index;
    const char* config;
  };
  for (
      const Case& c : {
          Case{
              "group_conv2d_packed.vta", kGroupConv, 285,
              R"({"index":285,"values":{"tile_b":[1,1],"tile_h":[8,14],"tile_w":[2,56],"tile_ci":[1,1],"tile_co":[2,1],"oc_nthread":2,"h_nthread":1}})"},
          Case{
              "conv2d_transpose_packed.vta", kTransposed, 1135,
              R"({"index":1135,"values":{"tile_b":[1,1],"tile_h":[1,8],"tile_w":[1,8],"tile_ci":[64,1],"tile_co":[2,16],"oc_nthread":2,"h_nthread":1}})"},
          Case{
              "dense_packed.vta", kProduct, 4,
              R"({"index":4,"values":{"tile_b":[1,1],"tile_ci":[1,16],"tile_co":[8,1],"oc_nthread":1}})"},
      }) {
    const Target target = *Target::Parse(kSim);
    const Workload workload = *Workload::Parse(c.workload);
    const auto space = BuiltInTemplates().Find(c.key)->define_space(workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    const Config config = space->At(c.index);
    EXPECT_EQ(config.ToString(), c.config);
    // As measured there: with a bias, the second would not have enough accumulators.
    const Epilogue epilogue = *Epilogue::Parse("shift_right(8);clip(-127,127);cast(int8)");
    const auto stream =
        BuildVtaStream(*BuiltInTemplates().Find(c.key), workload, epilogue, target, config);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    vta::RunOptions options;
    options.allow_tokens_left = true;
    const auto run =
        vta::RunStream(VtaTargetOf(target)->design, stream->instructions, nullptr, options);
    EXPECT_TRUE(run.status().ok()) << run.status().message();
  }
}

TEST(VtaTemplatesTest, EachServesItsKindOfOperator) {
  const Target target = *Target::Parse(kSim);
  const auto serving = [&](const char* key) {
    std::string keys;
    for (const TemplateEntry* entry : BuiltInTemplates().For(*Workload::Parse(key), target)) {
      keys += std::string(entry->key) + " ";
    }
    return keys;
  };
  EXPECT_EQ(serving(kPackedConv), "conv2d_packed_slots.vta conv2d_packed.vta ");
  EXPECT_EQ(serving(kGroupConv), "group_conv2d_packed.vta ");
  EXPECT_EQ(serving(kTransposed), "conv2d_transpose_packed.vta ");
  EXPECT_EQ(serving(kProduct), "dense_packed.vta ");
  EXPECT_EQ(serving("dense(int8[16,16]MK,int8[16,16]NK)->int32"), "");
  EXPECT_EQ(BuiltInTemplates()
                .Find("conv2d_transpose_packed.vta")
                ->refuses(*Workload::Parse(
                              "conv2d_transpose(int8[1,1,4,4,1,16]NCHW1n16c,int8[1,1,1,1,16,16]"
                              "OIHW16o16i,s2x2,p0x0x0x0,d1x1,g1,o0x0)->int32"),
                          target),
            "expected a kernel that is not smaller than the strides");
}

TEST(VtaTemplatesTest, ServeOnlyTheirTargetAndLayout) {
  const TemplateEntry* entry = BuiltInTemplates().Find("conv2d_packed.vta");
  const Workload conv = *Workload::Parse(kPackedConv);
  EXPECT_EQ(entry->refuses(conv, *Target::Parse("llvm")), "target 'llvm': expected a VTA");
  EXPECT_EQ(entry->refuses(conv, *Target::Parse(kWide)),
            "layouts NCHW1n16c and OIHW16o16i, expected NCHW4n8c and OIHW8o8i");
  for (const TemplateEntry* served : BuiltInTemplates().For(conv, *Target::Parse("llvm"))) {
    EXPECT_NE(served->apply, nullptr) << served->key;
  }
}

// No other template accepts operators without products.
TEST(VtaTemplatesTest, OperatorsWithoutProductsHaveOneTemplate) {
  struct Case {
    const char *workload, *template_key, *refusal;
  };
  for (const Case& c : {
           Case{kAdd, "add.vta", "pynq does not load int8 data into the accumulator"},
           Case{kMultiply, "multiply.vta", "pynq does not load int8 data into the accumulator"},
           Case{kIdentity, "elementwise_packed.vta",
                "pynq does not load int8 data into the accumulator"},
           Case{kPool, "max_pool2d_packed.vta",
                "pynq does not load int8 data into the accumulator"},
           Case{"mul(int32[1,4,5,5,1,16]NCHW1n16c,int32[1,4,5,5,1,16]NCHW1n16c)->int32",
                "multiply.vta", "pynq does not multiply"},
       }) {
    const Workload workload = *Workload::Parse(c.workload);
    const auto served = BuiltInTemplates().For(workload, *Target::Parse(kSim));
    ASSERT_EQ(served.size(), 1U) << c.workload;
    EXPECT_EQ(served[0]->key, c.template_key);
    const Target board = *Target::Parse("vta -model=pynq_1x16_i8w8a32_15_15_18_17");
    EXPECT_EQ(served[0]->refuses(workload, board), c.refusal);
    for (const char* other : {"llvm -mcpu=znver4", "cuda -arch=sm_80", kWide}) {
      EXPECT_TRUE(BuiltInTemplates().For(workload, *Target::Parse(other)).empty()) << other;
    }
  }
}

TEST(VtaTemplatesTest, StreamsAreNoLoops) {
  const Workload conv = *Workload::Parse(kPackedConv);
  const Target target = *Target::Parse(kSim);
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    EXPECT_NE(entry.apply == nullptr, entry.build_stream == nullptr) << entry.key;
    EXPECT_EQ(entry.build_stream != nullptr, entry.device == "vta") << entry.key;
    if (entry.device == "vta") {
      EXPECT_EQ(ApplyTemplate(entry, conv, {}, target, {}).status().message(),
                "template " + std::string(entry.key) + " writes VTA streams, not loops");
    } else {
      EXPECT_EQ(BuildVtaStream(entry, conv, {}, target, {}).status().message(),
                "template " + std::string(entry.key) + " makes loops, not VTA streams");
    }
  }
}

}  // namespace
}  // namespace tilewright
