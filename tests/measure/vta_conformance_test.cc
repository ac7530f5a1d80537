// Every template for a VTA on the sample workloads that it serves and a few configs of each: its
// streams give what the reference gives, on every set of inputs, and enough of them ran. Walks the
// registry, as tests/templates/conformance_test.cc does for templates that make loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "measure/device/vta_candidate.h"
#include "measure/evaluate/inputs.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/templates/registry.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/stream_file.h"
#include "tests/support/built_in.h"

namespace tilewright::measure {
namespace {

struct VtaSample {
  const char *name, *target, *workload, *epilogue;
};

constexpr const char* kSim1x16 = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr const char* kPynq4x8 = "vta -model=pynq_4x8_i8w8a32_15_16_16_18";
constexpr const char* kBias = "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8)";

constexpr VtaSample kVtaSamples[] = {
    {"Conv3x3", kSim1x16,
     "conv2d(int8[1,2,8,8,1,16]NCHW1n16c,int8[4,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     kBias},
    {"Conv1x1Strides", kSim1x16,
     "conv2d(int8[1,4,7,7,1,16]NCHW1n16c,int8[2,4,1,1,16,16]OIHW16o16i,s2x2,p0x0x0x0,d1x1,g1)->"
     "int32",
     "add(channel:int32);relu;add(64);shift_right(7);clip(-127,127);cast(int8)"},
    {"ConvWide", kPynq4x8,
     "conv2d(int8[1,2,8,8,4,8]NCHW4n8c,int8[4,2,3,3,8,8]OIHW8o8i,s1x1,p1x1x1x1,d1x1,g1)->int32",
     kBias},
    {"Grouped", kSim1x16,
     "group_conv2d(int8[1,4,8,8,1,16]NCHW1n16c,int8[4,1,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,"
     "g4)->int32",
     kBias},
    {"Transposed", kSim1x16,
     "conv2d_transpose(int8[1,2,4,4,1,16]NCHW1n16c,int8[4,2,4,4,16,16]OIHW16o16i,s2x2,p1x1x1x1,"
     "d1x1,g1,o0x0)->int32",
     kBias},
    {"Dense", kSim1x16, "dense(int8[1,8,1,16]MK1m16k,int8[4,8,16,16]NK16n16k)->int32", kBias},
    {"DenseRows", kPynq4x8, "dense(int8[2,4,4,8]MK4m8k,int8[6,4,8,8]NK8n8k)->int32", kBias},
    {"Add", kSim1x16, "add(int32[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32",
     "add(channel:int32);add(8);shift_right(4);clip(-127,127);cast(int8)"},
    {"Multiply", kSim1x16, "mul(int8[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32",
     "add(tensor:int8);shift_right(7);clip(-127,127);cast(int8)"},
    {"Identity", kSim1x16, "identity(int32[1,2,6,6,1,16]NCHW1n16c)->int32",
     "add(channel:int32);relu;add(8);shift_right(4);clip(-127,127);cast(int8)"},
    {"MaxPool", kSim1x16, "max_pool2d(int8[1,2,7,7,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8", ""},
};

class VtaConformanceTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("vta-conformance");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }

  void CheckSample(const TemplateEntry& entry, const VtaSample& sample) {
    item_ = {};
    item_.kernel.workload = *Workload::Parse(sample.workload);
    item_.kernel.epilogue = *Epilogue::Parse(sample.epilogue);
    const Target target = *Target::Parse(sample.target);
    item_.kernel.target = target;
    item_.kernel.artifact = folder_->path() + "/stream";
    item_.reference = folder_->path() + "/expected";
    const KernelSpec& kernel = item_.kernel;
    const auto expected = EvaluateExpected(kernel.workload, kernel.epilogue, 1);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_TRUE(WriteExpected(item_.reference, kernel.workload, kernel.epilogue, *expected).ok());
    const auto space = entry.define_space(kernel.workload, target);
    ASSERT_TRUE(space.ok()) << space.status().message();
    const auto chosen = entry.default_config(kernel.workload, target);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    ++samples_;
    const int before = ran_;
    CheckConfig(entry, target, *chosen);
    EXPECT_EQ(ran_, before + 1) << "the default config is refused";
    Random random(Fnv1a64(entry.key));
    constexpr int kRandomConfigs = 4, kDraws = 40;  // many do not fit the chip
    for (int i = 0; i < kDraws && ran_ < before + 1 + kRandomConfigs; ++i) {
      const auto index = random.Below(static_cast<std::uint64_t>(space->size()));
      CheckConfig(entry, target, space->At(static_cast<std::int64_t>(index)));
    }
  }

  int samples_ = 0, ran_ = 0;

 private:
  void CheckConfig(const TemplateEntry& entry, const Target& target, const Config& config) {
    SCOPED_TRACE(config.ToString());
    const KernelSpec& kernel = item_.kernel;
    auto stream = BuildVtaStream(entry, kernel.workload, kernel.epilogue, target, config);
    if (!stream.ok()) {
      EXPECT_EQ(stream.status().code(), StatusCode::kInvalidArgument) << stream.status().message();
      return;
    }
    const auto bytes = vta::WriteStreamFile({VtaTargetOf(target)->design, *std::move(stream)});
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    ASSERT_TRUE(WriteFile(kernel.artifact, *bytes).ok());
    RunOrder order;
    order.items.push_back(item_);
    OperandCache operand_cache(std::int64_t{1} << 28);
    const auto replies = VtaRunner(RunWorkerSettings()).Run(order, operand_cache);
    ASSERT_TRUE(replies.ok()) << replies.status().message();
    EXPECT_EQ(replies->front().outcome, Outcome::kOk) << replies->front().reason;
    EXPECT_TRUE(replies->front().verified);
    ++ran_;
  }

  std::optional<ScopedTempDir> folder_;
  RunOrder::Item item_;
};

TEST_P(VtaConformanceTest, EqualsTheReference) {
  const TemplateEntry& entry = *BuiltInTemplates().Find(GetParam());
  for (const VtaSample& sample : kVtaSamples) {
    const Target target = *Target::Parse(sample.target);
    if (!entry.refuses(*Workload::Parse(sample.workload), target).empty()) continue;
    SCOPED_TRACE(std::string(entry.key) + ", " + sample.name);
    CheckSample(entry, sample);
  }
  EXPECT_GT(samples_, 0) << "no sample is for " << entry.key;
  EXPECT_GE(ran_, 2 * samples_) << "too much was refused";
}

std::vector<std::string> VtaTemplates() {
  std::vector<std::string> keys;
  for (const TemplateEntry& entry : BuiltInTemplates().all()) {
    if (entry.build_stream != nullptr) keys.emplace_back(entry.key);
  }
  return keys;
}

INSTANTIATE_TEST_SUITE_P(Templates, VtaConformanceTest, testing::ValuesIn(VtaTemplates()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tilewright::measure
