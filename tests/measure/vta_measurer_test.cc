// VTA candidates through real workers: which are verified, which are only timed, and which are
// rejected.

#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "src/templates/device.h"
#include "src/templates/registry.h"
#include "src/vta/stream_file.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::measure {
namespace {

constexpr const char* kSim = "vta -model=sim_1x16_i8w8a32_15_15_18_17";
constexpr const char* kWide = "vta -model=pynq_4x8_i8w8a32_15_16_16_18";
constexpr const char* kVtaConv =
    "conv2d(int8[1,2,8,8,1,16]NCHW1n16c,int8[4,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
    "int32";
constexpr const char* kWideConv =
    "conv2d(int8[1,2,8,8,4,8]NCHW4n8c,int8[4,2,3,3,8,8]OIHW8o8i,s1x1,p1x1x1x1,d1x1,g1)->int32";
constexpr const char* kEpilogue =
    "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8)";
constexpr const char* kResidual =
    "add(channel:int32);add(64);shift_right(7);clip(-127,127);cast(int8);cast(int32);"
    "add(tensor:int8);relu;clip(-127,127);cast(int8)";

Candidate CandidateOf(const std::string& target_text, const char* workload_key,
                      const char* epilogue_text, const char* template_key = "conv2d_packed.vta") {
  Candidate candidate;
  candidate.task = {*Workload::Parse(workload_key), *Target::Parse(target_text)};
  candidate.epilogue = *Epilogue::Parse(epilogue_text);
  const TemplateEntry* entry = BuiltInTemplates().Find(template_key);
  candidate.template_key = entry->key;
  candidate.template_version = entry->version;
  candidate.config = *entry->default_config(candidate.task.workload, candidate.task.target);
  return candidate;
}

/// Returns the config with these inner extents.
Config ConfigOf(const Candidate& candidate, std::int64_t h, std::int64_t ci, std::int64_t threads) {
  const auto space = BuiltInTemplates()
                         .Find(candidate.template_key)
                         ->define_space(candidate.task.workload, candidate.task.target);
  for (std::int64_t i = 0; i < space->size(); ++i) {
    const Config config = space->At(i);
    if (config.Factors("tile_h")[1] == h && config.Factors("tile_w")[1] == 8 &&
        config.Factors("tile_ci")[1] == ci && config.Factors("tile_co")[1] == 1 &&
        config.Integer("oc_nthread") == threads && config.Integer("h_nthread") == 1) {
      return config;
    }
  }
  return {};
}

class VtaMeasurerTest : public testing::Test {
 protected:
  static std::unique_ptr<ProcessMeasurer> Make(const std::string& target) {
    ProcessMeasurerSettings settings = TestSettings();
    settings.device = *DeviceFor(*Target::Parse(target));
    settings.runner.calibrate = false;
    auto made = ProcessMeasurer::Create(settings);
    TW_CHECK(made.ok(), made.status().message());
    return *std::move(made);
  }
  static Trial Measure(ProcessMeasurer& measurer, const Candidate& candidate, double best,
                       const Fault& fault = {}) {
    Request request = RequestFor(1, candidate);
    request.best_seconds = best;
    TW_CHECK(measurer.SubmitWithFault(std::move(request), fault).ok());
    return NextReply(measurer).trial;
  }
};

TEST_F(VtaMeasurerTest, ContendersAreVerifiedOthersOnlyTimed) {
  auto measurer = Make(kSim);
  EXPECT_EQ(measurer->resolution(), 0);
  const Candidate candidate = CandidateOf(kSim, kVtaConv, kEpilogue);
  const Trial first = Measure(*measurer, candidate, 0);
  ASSERT_EQ(first.outcome, Outcome::kOk) << first.reason;
  EXPECT_TRUE(first.verified);
  EXPECT_EQ(first.metric, "cycles");
  EXPECT_EQ(first.samples, std::vector<double>{first.value});
  EXPECT_EQ(first.noise, 0);
  EXPECT_EQ(first.device, *DeviceFor(candidate.task.target));
  const Trial again = Measure(*measurer, candidate, first.value);
  EXPECT_TRUE(again.verified);
  EXPECT_EQ(again.value, first.value);
  const Trial slower = Measure(*measurer, candidate, first.value - 1);
  EXPECT_EQ(slower.outcome, Outcome::kOk);
  EXPECT_FALSE(slower.verified);
  EXPECT_EQ(slower.value, first.value);
}

TEST_F(VtaMeasurerTest, TheMetricIsTheTargets) {
  const std::string bytes = std::string(kSim) + " -metric=dram_bytes";
  auto measurer = Make(bytes);
  const Trial trial = Measure(*measurer, CandidateOf(bytes, kVtaConv, kEpilogue), 0);
  ASSERT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_EQ(trial.metric, "dram_bytes");
  // At least every tensor once: data, weight, output, bias.
  EXPECT_GE(trial.value, 2 * 64 * 16 + 4 * 2 * 9 * 256 + 4 * 64 * 16 + 4 * 64);
  EXPECT_LT(trial.value, 100'000);
}

TEST_F(VtaMeasurerTest, ResidualsAndOtherDesignsAreExact) {
  auto sim = Make(kSim);
  const Trial fused = Measure(*sim, CandidateOf(kSim, kVtaConv, kResidual), 0);
  EXPECT_EQ(fused.outcome, Outcome::kOk) << fused.reason;
  EXPECT_TRUE(fused.verified);
  auto wide = Make(kWide);
  const Trial other = Measure(*wide, CandidateOf(kWide, kWideConv, kEpilogue), 0);
  EXPECT_EQ(other.outcome, Outcome::kOk) << other.reason;
  EXPECT_TRUE(other.verified);
}

TEST_F(VtaMeasurerTest, OurOwnTemplateAddsResidualsOnEveryDesign) {
  constexpr const char* kOwn = "conv2d_packed_slots.vta";
  auto sim = Make(kSim);
  const Trial plain = Measure(*sim, CandidateOf(kSim, kVtaConv, kEpilogue, kOwn), 0);
  EXPECT_EQ(plain.outcome, Outcome::kOk) << plain.reason;
  EXPECT_TRUE(plain.verified);
  auto wide = Make(kWide);
  const Trial fused = Measure(*wide, CandidateOf(kWide, kWideConv, kResidual, kOwn), 0);
  EXPECT_EQ(fused.outcome, Outcome::kOk) << fused.reason;
  EXPECT_TRUE(fused.verified);
  const Trial other = Measure(*wide, CandidateOf(kWide, kWideConv, kResidual), 0);
  EXPECT_EQ(other.outcome, Outcome::kInvalid);
}

TEST_F(VtaMeasurerTest, OperatorsWithoutProductsAreExact) {
  struct Case {
    const char *workload, *epilogue, *template_key;
  };
  auto measurer = Make(kSim);
  for (const Case& c : {
           Case{"add(int8[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32",
                "relu;clip(-127,127);cast(int8)", "add.vta"},
           Case{"add(int32[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32",
                "add(channel:int32);add(8);shift_right(4);clip(-127,127);cast(int8)", "add.vta"},
           Case{"mul(int8[1,2,6,6,1,16]NCHW1n16c,int8[1,2,6,6,1,16]NCHW1n16c)->int32",
                "add(tensor:int8);shift_right(7);clip(-127,127);cast(int8)", "multiply.vta"},
           Case{"identity(int32[1,2,6,6,1,16]NCHW1n16c)->int32",
                "add(channel:int32);relu;add(8);shift_right(4);clip(-127,127);cast(int8)",
                "elementwise_packed.vta"},
           Case{"identity(int8[1,2,6,6,1,16]NCHW1n16c)->int32", "clip(-5,6);cast(int8)",
                "elementwise_packed.vta"},
           Case{"max_pool2d(int8[1,2,7,7,1,16]NCHW1n16c,k3x3,s2x2,p1x1x1x1)->int8", "",
                "max_pool2d_packed.vta"},
       }) {
    const Trial trial =
        Measure(*measurer, CandidateOf(kSim, c.workload, c.epilogue, c.template_key), 0);
    EXPECT_EQ(trial.outcome, Outcome::kOk) << c.workload << ": " << trial.reason;
    EXPECT_TRUE(trial.verified) << c.workload;
  }
}

TEST_F(VtaMeasurerTest, EveryPackedOperatorIsExact) {
  auto sim = Make(kSim);
  for (const auto& [key, workload] :
       {std::pair{"group_conv2d_packed.vta",
                  "group_conv2d(int8[1,4,8,8,1,16]NCHW1n16c,int8[4,1,3,3,16,16]OIHW16o16i,s1x1,"
                  "p1x1x1x1,d1x1,g4)->int32"},
        std::pair{"conv2d_transpose_packed.vta",
                  "conv2d_transpose(int8[1,2,4,4,1,16]NCHW1n16c,int8[4,2,4,4,16,16]OIHW16o16i,"
                  "s2x2,p1x1x1x1,d1x1,g1,o0x0)->int32"},
        std::pair{"dense_packed.vta",
                  "dense(int8[1,8,1,16]MK1m16k,int8[4,8,16,16]NK16n16k)->int32"}}) {
    const Trial trial = Measure(*sim, CandidateOf(kSim, workload, kEpilogue, key), 0);
    EXPECT_EQ(trial.outcome, Outcome::kOk) << key << ": " << trial.reason;
    EXPECT_TRUE(trial.verified) << key;
  }
  auto wide = Make(kWide);
  const Trial rows =
      Measure(*wide,
              CandidateOf(kWide, "dense(int8[2,4,4,8]MK4m8k,int8[6,4,8,8]NK8n8k)->int32", kEpilogue,
                          "dense_packed.vta"),
              0);
  EXPECT_EQ(rows.outcome, Outcome::kOk) << rows.reason;
  EXPECT_TRUE(rows.verified);
}

TEST_F(VtaMeasurerTest, IllegalConfigsAreInvalidWithTheirReason) {
  auto measurer = Make(kSim);
  Candidate candidate = CandidateOf(kSim, kVtaConv, kEpilogue);
  candidate.config = ConfigOf(candidate, 8, 2, 1);
  const Trial padded = Measure(*measurer, candidate, 0);
  EXPECT_EQ(padded.outcome, Outcome::kInvalid);
  EXPECT_EQ(
      padded.reason,
      "loading the data: a padded load of 2 channel blocks: expected one, rows and columns only");
  candidate.config = ConfigOf(candidate, 4, 1, 2);
  candidate.epilogue = Epilogue();
  const Trial bare = Measure(*measurer, candidate, 0);
  EXPECT_EQ(bare.outcome, Outcome::kInvalid);
  EXPECT_EQ(bare.reason.substr(0, 19), "a VTA stores int8: ");
}

/// Stream files that no builder of Tilewright would write.
class VtaArtifactTest : public VtaMeasurerTest {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-vta-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(*std::move(folder));
    candidate_ = CandidateOf(kSim, kVtaConv, kEpilogue);
    candidate_.config = ConfigOf(candidate_, 4, 1, 2);
    auto stream =
        BuildVtaStream(*BuiltInTemplates().Find(candidate_.template_key), candidate_.task.workload,
                       candidate_.epilogue, candidate_.task.target, candidate_.config);
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    stream_ = *std::move(stream);
  }
  Trial MeasureStream(const vta::Design& design) {
    const auto bytes = vta::WriteStreamFile({design, stream_});
    TW_CHECK(bytes.ok(), bytes.status().message());
    Fault fault;
    fault.artifact = folder_->path() + "/stream";
    TW_CHECK(WriteFile(fault.artifact, *bytes).ok());
    auto measurer = Make(kSim);
    return Measure(*measurer, candidate_, 0, fault);
  }

  std::unique_ptr<ScopedTempDir> folder_;
  Candidate candidate_;
  vta::Stream stream_;
};

TEST_F(VtaArtifactTest, UnchangedOneIsFine) {
  const Trial trial = MeasureStream(vta::Design::Default("sim"));
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_TRUE(trial.verified);
}

TEST_F(VtaArtifactTest, LostTokensAreRunFailures) {
  for (vta::Instruction& instruction : stream_.instructions) {
    if (!std::exchange(instruction.tokens.push_next, false)) continue;
    break;
  }
  const Trial trial = MeasureStream(vta::Design::Default("sim"));
  EXPECT_EQ(trial.outcome, Outcome::kRunFailed);
  EXPECT_NE(trial.reason, "");
}

TEST_F(VtaArtifactTest, WrongResultsNameTheElement) {
  for (vta::Instruction& instruction : stream_.instructions) {
    auto* alu = std::get_if<vta::Alu>(&instruction.operation);
    if (alu != nullptr && alu->op == vta::AluOp::kShr) alu->immediate = 6;
  }
  const Trial trial = MeasureStream(vta::Design::Default("sim"));
  EXPECT_EQ(trial.outcome, Outcome::kWrongResult);
  EXPECT_NE(trial.reason.find(", expected "), std::string::npos) << trial.reason;
  EXPECT_FALSE(trial.verified);
}

TEST_F(VtaArtifactTest, OtherDesignsAreRefused) {
  const Trial trial = MeasureStream(vta::Design::Default("pynq"));
  EXPECT_EQ(trial.outcome, Outcome::kRunFailed);
  EXPECT_NE(trial.reason.find("made for pynq_1x16"), std::string::npos) << trial.reason;
}

}  // namespace
}  // namespace tilewright::measure
