// Choice of one config for several devices through the C interface.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "include/tilewright/tilewright.hpp"
#include "tests/capi/capi_fixture.h"

namespace tilewright::capi {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBlocks = R"({"ConfigurationSpace":{"TuningParameters":[)"
                                R"({"Name":"block","Type":"int","Values":[1,2,4,8]}]}})";

class DeviceChoiceTest : public CapiTest {
 protected:
  /// Opens the task on a GPU, and records the seconds of blocks 1, 2, 4, 8; 0: it fails.
  api::Tuning Record(const std::string& gpu, const std::vector<double>& seconds) {
    api::TuningOptions options{"kernel", kBlocks};
    options.environment = R"({"match":{"gpu":")" + gpu + R"("},"differ":{"driver":"1"}})";
    auto task = api::Tuning::Open(path_, options, status_);
    EXPECT_TRUE(task.has_value()) << status_.message;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const std::string config = R"({"block":)" + std::to_string(1 << i) + "}";
      api::Measurement result{{{"seconds", {seconds[i]}}}};
      if (seconds[i] == 0) result = {{}, TW_VERDICT_RUNTIME, "fails"};
      EXPECT_TRUE(task->Record(config, result).ok());
    }
    return *std::move(task);
  }
  api::Status status_;
};

TEST_F(DeviceChoiceTest, TheConfigWithTheLargestLeastShareIsChosen) {
  const api::Tuning task = Record("A", {1, 2, 4, 8});
  Record("B", {4, 1, 1.25, 0});
  Add(path_);
  // Shares on A: 1, 0.5, 0.25, 0.125; on B: 0.25, 1, 0.8, 0.
  const auto worst = task.QueryDevices(catalog_.get(), {"A", "gpu=B"}, TW_BY_WORST, status_);
  ASSERT_TRUE(worst.has_value()) << status_.message;
  EXPECT_EQ(worst->config(), R"({"block":2})");
  EXPECT_EQ(worst->score(), 0.5);
  EXPECT_STREQ(tw_device_choice_template(worst->get()), "");
  ASSERT_EQ(worst->devices(), 2u);
  EXPECT_EQ(worst->ShareOn(0)->share, 0.5);
  EXPECT_EQ(worst->ShareOn(1)->share, 1);
  EXPECT_EQ(worst->ShareOn(1)->device, "gpu=B");
  EXPECT_EQ(worst->ShareOn(1)->evidence, TW_EVIDENCE_MEASURED);
  EXPECT_FALSE(worst->ShareOn(2).has_value());
  EXPECT_EQ(worst->Transfer(0, 1)->share, 0.25);
  EXPECT_EQ(worst->Transfer(1, 0)->share, 0.5);
  const auto mean = task.QueryDevices(catalog_.get(), {"A", "B"}, TW_BY_MEAN, status_);
  ASSERT_TRUE(mean.has_value()) << status_.message;
  EXPECT_EQ(mean->score(), 0.75);
}

TEST_F(DeviceChoiceTest, ItsJsonIsThatOfTheProgram) {
  const api::Tuning task = Record("A", {1, 2});
  Record("B", {2, 1});
  Add(path_);
  const auto choice = task.QueryDevices(catalog_.get(), {"A,B"}, TW_BY_WORST, status_);
  ASSERT_TRUE(choice.has_value()) << status_.message;
  std::size_t needed = 0;
  ASSERT_EQ(tw_device_choice_json(choice->get(), nullptr, 0, &needed, &error_), TW_OK);
  std::string text(needed, ' ');
  EXPECT_EQ(tw_device_choice_json(choice->get(), text.data(), needed - 1, &needed, &error_),
            TW_TOO_SMALL);
  ASSERT_EQ(tw_device_choice_json(choice->get(), text.data(), needed, &needed, &error_), TW_OK);
  for (const char* part : {R"("by":"worst")", R"("measured_on_all":2)", R"("best_of":"A")",
                           R"("answer":{"score":0.5,"template":"","config":{"block":)"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(DeviceChoiceTest, WithoutAConfigThatWorksOnAllTheChoiceHasNone) {
  const api::Tuning task = Record("A", {1});
  Record("B", {});
  Record("C", {0, 1});
  Add(path_);
  const auto choice = task.QueryDevices(catalog_.get(), {"A", "C"}, TW_BY_WORST, status_);
  ASSERT_TRUE(choice.has_value()) << status_.message;
  EXPECT_EQ(choice->config(), "");
  EXPECT_EQ(choice->score(), 0);
  EXPECT_FALSE(choice->ShareOn(1).has_value());
  const auto transfer = choice->Transfer(0, 1);
  ASSERT_TRUE(transfer.has_value());
  EXPECT_EQ(transfer->share, 0);  // measured, and failed
  EXPECT_EQ(transfer->evidence, TW_EVIDENCE_MEASURED);
  EXPECT_FALSE(task.QueryDevices(catalog_.get(), {"A", "B"}, TW_BY_WORST, status_).has_value());
  EXPECT_EQ(status_.code, TW_NOT_FOUND);
  EXPECT_THAT(status_.message, HasSubstr("gpu=A"));
}

TEST_F(DeviceChoiceTest, InvalidArgumentsAreErrors) {
  const api::Tuning task = Record("A", {1});
  Add(path_);
  const std::string key = task.key();
  const char* const names[] = {"A", "A", nullptr};
  const auto code = [&](const char* asked, const char* const* devices, std::size_t count,
                        std::int32_t by) {
    auto* choice = reinterpret_cast<tw_device_choice*>(8);
    const tw_code result = tw_query_devices(catalog_.get(), task.target(), asked, devices, count,
                                            by, &choice, &error_);
    EXPECT_EQ(choice, nullptr);
    return result;
  };
  EXPECT_EQ(code(key.c_str(), names, 2, TW_BY_WORST), TW_INVALID_ARGUMENT);  // twice
  EXPECT_THAT(error_.message, HasSubstr("twice"));
  EXPECT_EQ(code(key.c_str(), names, 0, TW_BY_WORST), TW_INVALID_ARGUMENT);
  EXPECT_EQ(code(key.c_str(), nullptr, 1, TW_BY_WORST), TW_INVALID_ARGUMENT);
  EXPECT_EQ(code(key.c_str(), names + 1, 2, TW_BY_WORST), TW_INVALID_ARGUMENT);  // null
  EXPECT_EQ(code(key.c_str(), names, 1, 2), TW_INVALID_ARGUMENT);
  EXPECT_EQ(code(nullptr, names, 1, TW_BY_WORST), TW_INVALID_ARGUMENT);
  EXPECT_EQ(code("nonsense", names, 1, TW_BY_WORST), TW_INVALID_ARGUMENT);
  tw_share share = TW_SHARE_INIT;
  EXPECT_EQ(tw_device_choice_share(nullptr, 0, &share, &error_), TW_INVALID_ARGUMENT);
  const auto choice = task.QueryDevices(catalog_.get(), {"A"}, TW_BY_WORST, status_);
  ASSERT_TRUE(choice.has_value()) << status_.message;
  share.struct_size = 8;
  EXPECT_EQ(tw_device_choice_share(choice->get(), 0, &share, &error_), TW_INVALID_ARGUMENT);
  tw_device_choice_free(nullptr);
  EXPECT_STREQ(tw_device_choice_config(nullptr), "");
}

}  // namespace
}  // namespace tilewright::capi
