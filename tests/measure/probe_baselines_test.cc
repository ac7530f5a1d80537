#include "measure/probe_baselines.h"

#include <gtest/gtest.h>

#include "src/base/files/file.h"

namespace tilewright::measure {
namespace {

constexpr double kNow = 1.7e9;

class ProbeBaselinesTest : public testing::Test {
 protected:
  ScopedTempDir folder_ = *ScopedTempDir::Create("tw_quiet");
  std::string path_ = folder_.path() + "/quiet.json";
};

TEST_F(ProbeBaselinesTest, ARunWritesItsLineAnew) {
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu a", kNow), ProbeBaselines{});
  UpdateProbeBaselines(path_, "cpu a", kNow, kNow, {32e-6, 0, 50e-6, 0});
  UpdateProbeBaselines(path_, "cpu a", kNow, kNow + 10, {30e-6, 70e-6, 40e-6, 0});
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu a", kNow + 20),
            (ProbeBaselines{30e-6, 70e-6, 40e-6, 0}));
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu b", kNow + 20), ProbeBaselines{});
}

TEST_F(ProbeBaselinesTest, NeitherALuckyRunNorManyInNoiseDecide) {
  for (int run = 0; run < 40; ++run) {
    const double seconds = run == 39 ? 20e-6 : run % 3 == 0 ? 30e-6 : 42e-6;
    UpdateProbeBaselines(path_, "cpu", kNow + run, kNow + run, {seconds, 0, 0, 0});
  }
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu", kNow + 50)[0], 30e-6);
}

TEST_F(ProbeBaselinesTest, IsForgottenAfterHalfADay) {
  UpdateProbeBaselines(path_, "cpu", kNow, kNow, {30e-6, 0, 0, 0});
  const double later = kNow + 13 * 3600;
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu", later), ProbeBaselines{});
  UpdateProbeBaselines(path_, "cpu", later, later, {33e-6, 0, 0, 0});
  EXPECT_EQ(ReadProbeBaselines(path_, "cpu", later), (ProbeBaselines{33e-6, 0, 0, 0}));
}

TEST_F(ProbeBaselinesTest, NonsenseIsNothingKnown) {
  for (const char* text :
       {"", "{", "[]", "{\"device\":1}", "{\"device\":\"cpu\",\"runs\":{}}",
        "{\"device\":\"cpu\",\"runs\":[1,[],[1,2],[1.7e9,\"a\",1,1,1],[1.8e9,1,1,1,1]]}",
        "{\"canaries\":2,\"device\":\"cpu\",\"runs\":{}}",
        "{\"canaries\":2,\"device\":\"cpu\",\"runs\":[1,[],[1,2],[1.7e9,\"a\",1,1,1],[1.8e9,1,1,1,"
        "1]]}",
        "{\"canaries\":2,\"device\":\"cpu\",\"runs\":[[1.7e9,-1,1e300,0,5]]}",
        // of probes that did other work
        "{\"device\":\"cpu\",\"runs\":[[1.7e9,1e-5,1e-5,1e-5,1e-5]]}"}) {
    ASSERT_TRUE(WriteFile(path_, text).ok());
    EXPECT_EQ(ReadProbeBaselines(path_, "cpu", kNow + 1), ProbeBaselines{}) << text;
  }
}

}  // namespace
}  // namespace tilewright::measure
