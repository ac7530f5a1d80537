#include "records/devices/device_results.h"

#include <gmock/gmock.h>

#include <cmath>

#include "src/templates/open/open_template.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;

class DeviceResultsTest : public SampleStores {
 protected:
  static Trial On(const std::string& model, std::int64_t index, double seconds) {
    Trial trial = SampleTrial(index, seconds);
    trial.device = SampleDevice(model);
    return trial;
  }
  Result<TaskResults> ResultsOf(const std::vector<std::string>& stores) {
    Catalog catalog;
    for (const std::string& store : stores) {
      catalog.AddStore(*Store::Open(store, Store::Mode::kReadOnly));
    }
    return TaskResults::Read(catalog, BuiltInTemplates(), SampleConv(), "seconds");
  }
  static std::string TextOf(std::int64_t index) {
    const Candidate candidate = SampleTrial(index, 1).candidate;
    return ConfigText(candidate.template_key, candidate.config);
  }
};

TEST_F(DeviceResultsTest, KeepTheMeasurementOfEachConfigThatCounts) {
  Trial later = On("A", 0, 0.003), raced = On("A", 1, 0.004), failed = On("A", 2, 0.001),
        unverified = On("A", 3, 0.0001), again = On("A", 1, 0.002), lost = On("A", 4, 0.001);
  later.finished_unix_seconds += 100;
  raced.attempt = 1;
  again.finished_unix_seconds += 200;
  failed.outcome = Outcome::kRunFailed;
  failed.verified = false;
  unverified.verified = false;
  lost.outcome = Outcome::kDeviceLost;
  lost.verified = false;
  Trial other_version = On("A", 5, 0.0002);
  other_version.codegen_version -= 1;
  Add(Path("a.db"), {On("A", 0, 0.002), raced, failed, unverified, lost, other_version});
  Add(Path("b.db"), {later, again, On("B", 0, 0.01)});
  const auto results = ResultsOf({Path("a.db"), Path("b.db")});
  ASSERT_TRUE(results.ok()) << results.status().message();
  const auto on = results->On("A");
  ASSERT_TRUE(on.ok()) << on.status().message();
  EXPECT_EQ(on->values.size(), 3u);
  EXPECT_EQ(on->values.at(TextOf(0)), 0.003);
  EXPECT_EQ(on->values.at(TextOf(1)), 0.004);
  EXPECT_TRUE(std::isinf(on->values.at(TextOf(2))));
  EXPECT_EQ(results->On("B")->values.at(TextOf(0)), 0.01);
}

TEST_F(DeviceResultsTest, ASuccessCountsMoreThanALaterFailure) {
  Trial failed = On("A", 0, 0.001);
  failed.outcome = Outcome::kRunTimeout;
  failed.verified = false;
  failed.finished_unix_seconds += 1000;
  Add(Path("a.db"), {failed, On("A", 0, 0.002)});
  EXPECT_EQ(ResultsOf({Path("a.db")})->On("A")->values.at(TextOf(0)), 0.002);
}

TEST_F(DeviceResultsTest, FindDevicesByModelTargetAndOptions) {
  Trial other = On("B", 0, 0.003);
  other.candidate.task.target = *Target::Parse("llvm -mcpu=znver4 -mattr=+avx2,+fma");
  Add(Path("a.db"), {On("A", 0, 0.002), other});
  const auto results = ResultsOf({Path("a.db")});
  ASSERT_TRUE(results.ok()) << results.status().message();
  for (const std::string& name :
       {std::string("B"), std::string("znver4"), other.candidate.task.target.ToString(),
        "B: " + other.candidate.task.target.ToString()}) {
    const auto on = results->On(name);
    ASSERT_TRUE(on.ok()) << on.status().message();
    EXPECT_EQ(on->values.begin()->second, 0.003) << name;
  }
  const auto all = results->OnAll(std::vector<std::string>{"A,B"});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->size(), 2u);
  // The text of a target is a name in spite of its comma.
  EXPECT_EQ(
      results->OnAll(std::vector<std::string>{other.candidate.task.target.ToString()})->size(), 1u);
}

TEST_F(DeviceResultsTest, NamesThatFitNoneOrSeveralDevicesListThem) {
  Trial threads = On("A", 0, 0.003);
  threads.candidate.task.target = SampleTarget(" -num-threads=2");
  Add(Path("a.db"), {On("A", 0, 0.002), threads});
  const auto results = ResultsOf({Path("a.db")});
  const auto several = results->On("A"), none = results->On("C");
  EXPECT_EQ(several.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(several.status().message(), HasSubstr("\n  A: llvm -mcpu=haswell -num-threads=2"));
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("these have:\n  A: llvm"));
  const auto twice = results->OnAll(std::vector<std::string>{
      "A: llvm -mcpu=haswell -num-threads=2", "A: llvm -mcpu=haswell -num-threads=2"});
  EXPECT_THAT(twice.status().message(), HasSubstr("twice"));
  // By another name.
  const auto again = results->OnAll(std::vector<std::string>{"A: llvm -mcpu=haswell -num-threads=2",
                                                             "llvm -mcpu=haswell -num-threads=2"});
  EXPECT_EQ(again.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(again.status().message(), "device 'llvm -mcpu=haswell -num-threads=2' twice");
}

TEST_F(DeviceResultsTest, TasksOfSeveralSizesAreFoundByAPattern) {
  std::vector<Trial> trials;
  for (const std::int64_t channels : {128, 16, 64}) {
    trials.push_back(SampleTrial(0, 0.01, SampleConv(channels)));
  }
  Add(Path("a.db"), trials);
  Catalog catalog;
  catalog.AddStore(*Store::Open(Path("a.db"), Store::Mode::kReadOnly));
  std::string pattern = SampleConv(64).Key();
  // The 64 input channels, in the data and in the weights; the 64 output channels remain.
  pattern.replace(pattern.find("[1,64"), 5, "[1,?");
  pattern.replace(pattern.find("[64,64"), 6, "[64,?");
  const auto sizes = FindSizes(catalog, pattern);
  ASSERT_TRUE(sizes.ok()) << sizes.status().message();
  ASSERT_EQ(sizes->size(), 3u);
  EXPECT_EQ((*sizes)[0].size, 16);
  EXPECT_EQ((*sizes)[1].size, 64);
  EXPECT_EQ((*sizes)[2].size, 128);
  EXPECT_EQ((*sizes)[2].workload, SampleConv(128));
  EXPECT_FALSE(FindSizes(catalog, SampleConv(64).Key()).ok());
}

// Spaces of an open task may differ between devices; their templates then differ, too.
TEST(ConfigTextTest, OpenTasksAreIdentifiedByTheirValuesAlone) {
  const auto config = Config::Parse(R"({"index":5,"values":{"b":2,"a":"x"}})");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(ConfigText("open/test-0123456789abcdef0123456789abcdef01234567", *config),
            R"({"a":"x","b":2})");
  EXPECT_EQ(ConfigText("conv2d_NCHWc.x86", *config), R"(conv2d_NCHWc.x86 {"a":"x","b":2})");
}

}  // namespace
}  // namespace tilewright::records
