#include "src/optimize/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/base/json.h"
#include "tests/optimize/sample_report.h"

namespace tilewright::optimize {
namespace {

using testing::HasSubstr;

TEST(Front, NamesOutputErrors) {
  EXPECT_TRUE(NamesOutputError("seconds,sqnr>=40"));
  EXPECT_TRUE(NamesOutputError("max_error,seconds<=2ms"));
  EXPECT_TRUE(NamesOutputError("sqnr"));
  EXPECT_FALSE(NamesOutputError("cycles,dram_bytes<=15.3MB"));
  EXPECT_FALSE(NamesOutputError("seconds"));
  EXPECT_FALSE(NamesOutputError(""));
}

TEST(Front, ParsesBothFormsAndPrintsThem) {
  const auto bound = ParseFrontPreference("seconds,sqnr>=40");
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->ToString(), "seconds,sqnr>=40");
  EXPECT_FALSE(bound->max_seconds);
  const auto time = ParseFrontPreference("cosine,seconds<=2.5ms");
  ASSERT_TRUE(time.ok()) << time.status().message();
  EXPECT_EQ(time->ToString(), "cosine,seconds<=0.0025");
  EXPECT_EQ(time->max_seconds, 0.0025);
  for (const char* text : {"sqnr", "seconds,", "seconds,sqnr<=40", "sqnr,seconds>=1ms",
                           "sqnr,cosine>=0.9", "sqnr,seconds<=1kB", "cycles,sqnr>=40", ","}) {
    EXPECT_EQ(ParseFrontPreference(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

std::size_t Chosen(const SearchReport& report, const char* preference) {
  const auto chosen = ChooseFrom(report, *ParseFrontPreference(preference));
  EXPECT_TRUE(chosen.ok()) << preference << ": " << chosen.status().message();
  return chosen.ok() ? *chosen : 99;
}

// Combinations of the sample: int8 (0.4, 22 dB), mixed (0.6, 35 dB), bfloat16 (0.7, 50 dB),
// float32.
TEST(Front, TheFastestThatKeepsABoundOnTheHeldOutPart) {
  const SearchReport report = SampleReport();
  EXPECT_EQ(Chosen(report, "seconds,sqnr>=20"), 0U);
  EXPECT_EQ(Chosen(report, "seconds,sqnr>=22.5"), 1U);
  EXPECT_EQ(Chosen(report, "seconds,sqnr>=40"), 2U);
  EXPECT_EQ(Chosen(report, "seconds,sqnr>=60"), 3U) << "float32 has no error";
  EXPECT_EQ(Chosen(report, "seconds,max_error<=0.35"), 1U);
}

TEST(Front, TheMostExactWithinATime) {
  const SearchReport report = SampleReport();  // float32 takes 10 ms
  EXPECT_EQ(Chosen(report, "sqnr,seconds<=10ms"), 3U);
  EXPECT_EQ(Chosen(report, "sqnr,seconds<=6.5ms"), 1U);
  EXPECT_EQ(Chosen(report, "max_error,seconds<=7ms"), 2U);
  const auto none = ChooseFrom(report, *ParseFrontPreference("sqnr,seconds<=1ms"));
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("0.004"));
}

TEST(Front, RefusesWithTheNearestValue) {
  SearchReport report = SampleReport();
  const auto unscored = ChooseFrom(report, *ParseFrontPreference("seconds,score>=0.5"));
  EXPECT_EQ(unscored.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(unscored.status().message(), HasSubstr("--score"));
  for (Combination& one : report.combinations) one.held_out->score = 0.6;
  report.combinations[2].held_out->score = 0.75;
  const auto none = ChooseFrom(report, *ParseFrontPreference("seconds,score>=0.8"));
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(none.status().message(), HasSubstr("0.75"));
  EXPECT_EQ(Chosen(report, "seconds,score>=0.7"), 2U);
}

TEST(Front, AnUnmeasuredHeldOutErrorKeepsNothing) {
  SearchReport report = SampleReport();
  report.combinations[0].held_out.reset();
  EXPECT_EQ(Chosen(report, "seconds,sqnr>=20"), 1U);
}

TEST(Front, MarksWhatNothingBeats) {
  SearchReport report = SampleReport();
  std::vector<Combination>& all = report.combinations;
  Combination slow = all[1];
  slow.ratio = 0.8;
  all.push_back(slow);
  Combination broken = all[0];
  broken.ratio = 0.1;
  broken.search.relative_noise = std::numeric_limits<double>::quiet_NaN();
  all.push_back(broken);
  MarkFront(all);
  EXPECT_TRUE(all[0].on_front && all[1].on_front && all[2].on_front && all[3].on_front);
  EXPECT_FALSE(all[4].on_front) << "another one is as exact and faster";
  EXPECT_FALSE(all[5].on_front) << "its outputs are no numbers";
  // A better score keeps a slower and less exact one.
  for (Combination& one : all) one.search.score = 0.5;
  all[4].search.score = 0.6;
  MarkFront(all);
  EXPECT_TRUE(all[4].on_front);
}

// The chosen library has a held-out score, also if it is not on the front.
TEST(Front, TheChosenCombinationIsMeasuredOnTheHeldOutPart) {
  SearchReport report = SampleReport();
  report.score = "./score.sh";
  report.chosen = 3;
  for (Combination& one : report.combinations) one.held_out.reset();
  report.combinations[1].on_front = report.combinations[3].on_front = false;
  report.combinations[2].refused = "exit code 3";
  EXPECT_TRUE(NeedsHeldOut(report, 0)) << "it is on the front";
  EXPECT_FALSE(NeedsHeldOut(report, 1));
  EXPECT_FALSE(NeedsHeldOut(report, 2)) << "the program refused it";
  EXPECT_TRUE(NeedsHeldOut(report, 3)) << "it is chosen";
  report.combinations[3].held_out = report.combinations[3].search;
  EXPECT_FALSE(NeedsHeldOut(report, 3)) << "it is measured";
  report.score.clear();
  EXPECT_TRUE(NeedsHeldOut(report, 1)) << "errors are cheap";
}

TEST(Front, CostsOfBounds) {
  SearchReport report = SampleReport();
  const auto costs = BoundCosts(report);
  ASSERT_EQ(costs.size(), 9U);  // 20, 25, …, 60 dB
  EXPECT_EQ(costs[0].bound.ToString(), "sqnr>=20");
  EXPECT_EQ(costs[0].combination, 0U);
  EXPECT_EQ(costs[0].predicted_ratio, 0.45);
  EXPECT_EQ(costs[1].combination, 1U);
  EXPECT_EQ(costs[8].combination, 3U);
  EXPECT_EQ(costs[8].predicted_ratio, 1.0);
  report.bound = *ParseBound("max_error<=0.5");
  const auto own = BoundCosts(report);
  ASSERT_EQ(own.size(), 13U);
  EXPECT_EQ(own[9].bound.ToString(), "max_error<=0.4");
  EXPECT_EQ(own[9].combination, 0U);
  EXPECT_EQ(own[12].bound.ToString(), "max_error<=0");
  EXPECT_EQ(own[12].combination, 3U);
}

TEST(StoredReport, RoundTrip) {
  const SearchReport report = SampleReport();
  const auto read = ParseStoredReport(DumpJson(StoredReport(report)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(DumpJson(StoredReport(*read)), DumpJson(StoredReport(report)));
  EXPECT_EQ(read->ranges, report.ranges);
  EXPECT_EQ(read->combinations[1].formats, report.combinations[1].formats);
  EXPECT_TRUE(std::isnan(read->combinations[1].search.score));
}

TEST(StoredReport, WhatDoesNotFitIsCorrupt) {
  const Json good = StoredReport(SampleReport());
  const auto problem = [&good](const auto& change) {
    Json json = good;
    change(json);
    const auto read = ParseStoredReport(DumpJson(json));
    EXPECT_EQ(read.status().code(), StatusCode::kCorrupt);
    return read.status().message();
  };
  EXPECT_THAT(problem([](Json& json) { json["chosen"] = 4; }), HasSubstr("chosen"));
  EXPECT_THAT(problem([](Json& json) { json["combinations"][0]["formats"] = "f"; }),
              HasSubstr("number of sites"));
  EXPECT_THAT(problem([](Json& json) { json["combinations"][0]["formats"] = "fx"; }),
              HasSubstr("formats"));
  EXPECT_THAT(problem([](Json& json) { json["sites"][1]["formats"] = "fb"; }), HasSubstr("site"));
  EXPECT_THAT(problem([](Json& json) { json["sites"][0]["before"] = 0; }), HasSubstr("site 0"));
  EXPECT_THAT(problem([](Json& json) { json.erase("ranges"); }), HasSubstr("ranges"));
  EXPECT_THAT(problem([](Json& json) { json["calibration"]["mode"] = "guess"; }),
              HasSubstr("mode"));
  EXPECT_EQ(ParseStoredReport("[]").status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace tilewright::optimize
