#include "search/deadline.h"

#include <gtest/gtest.h>

namespace tilewright::search {
namespace {

constexpr double kNow = 1'795'000'000;  // 2026-11-18T11:06:40Z

TEST(DeadlineTest, IsAMomentOrADurationFromNowOn) {
  EXPECT_EQ(FormatTimestamp(kNow), "2026-11-18T11:06:40.000Z");
  for (const auto& [text, seconds] : {
           std::pair("2026-11-18T11:06:40Z", 0.0),
           std::pair("2026-11-18t11:06:41z", 1.0),
           std::pair("2026-11-18 11:06:40.25Z", 0.25),
           std::pair("2026-11-18T12:36:40+01:30", 0.0),
           std::pair("2026-11-18T03:06:40-08:00", 0.0),
           std::pair("2028-02-29T11:06:40Z", 468 * 86400.0),
           std::pair("90s", 90.0),
           std::pair("1.5h", 5400.0),
       }) {
    const auto moment = ParseDeadline(text, kNow);
    ASSERT_TRUE(moment.ok()) << moment.status().message();
    EXPECT_EQ(*moment, kNow + seconds) << text;
    EXPECT_EQ(*ParseDeadline(FormatTimestamp(*moment), 0), *moment) << text;
  }
}

TEST(DeadlineTest, RefusesWhatIsNoneAndWhatIsOver) {
  for (const char* text : {"", "soon", "2026-11-18", "2026-11-18T11:06Z", "2026-11-18T11:06:40",
                           "2026-13-18T11:06:40Z", "2026-02-30T11:06:40Z", "2026-11-18T24:06:40Z",
                           "2026-11-18T11:06:40Zulu", "2026-11-18T11:06:40.Z",
                           "2026-11-18T11:06:40+1:30", "2026-11-18T11:06:40+01:60", "-1h", "8d"}) {
    const auto moment = ParseDeadline(text, kNow);
    ASSERT_FALSE(moment.ok()) << text;
    EXPECT_EQ(moment.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(ParseFutureDeadline("2026-11-18T11:06:41Z", kNow).ok());
  for (const char* text : {"2026-11-18T11:06:40Z", "0s"}) {
    EXPECT_EQ(ParseFutureDeadline(text, kNow).status().message(),
              "deadline \"" + std::string(text) +
                  "\": it has passed (it is now 2026-11-18T11:06:40.000Z), expected a time in the "
                  "future");
  }
}

}  // namespace
}  // namespace tilewright::search
