#include "search/measured/measured_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "search/space.h"
#include "src/base/json.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

/// Results of a synthetic kernel with two basins, of which the better one needs multiples of 32,
/// and a corner that fails. shift: another device.
T4File MadeResults(double shift) {
  T4File file;
  for (std::int64_t x = 16; x <= 256; x += 16) {
    for (std::int64_t y = 1; y <= 16; y *= 2) {
      for (std::int64_t z = 1; z <= 4; ++z) {
        for (const char* kind : {"plain", "shared"}) {
          if (x * y > 2048) continue;
          T4Result result;
          result.configuration = {{"x", x}, {"y", y}, {"z", z}, {"kind", std::string(kind)}};
          result.objectives = {"time"};
          const bool fails = y == 16 && z == 4;
          result.invalidity = fails ? "runtime" : "correct";
          const double log_x = std::log2(static_cast<double>(x)) - 6 - shift;
          const double log_y = std::log2(static_cast<double>(y)) - 1;
          double slow =
              0.1 * log_x * log_x + 0.2 * log_y * log_y + 0.1 * static_cast<double>(4 - z);
          slow += x % 32 == 0 ? 0 : 0.5;
          slow += std::string_view(kind) == "plain" ? 0.3 : 0;
          if (!fails) result.measurements = {{"time", 1 + slow, "", "", ""}};
          file.results.push_back(std::move(result));
        }
      }
    }
  }
  return file;
}

MeasuredSpace Made(std::string name, double shift = 0) {
  auto space = MeasuredSpace::Create(std::move(name), MadeResults(shift));
  EXPECT_TRUE(space.ok()) << space.status().message();
  return std::move(*space);
}

std::vector<Point> Replayed(const MeasuredSpace& space, const char* strategy, std::uint64_t seed,
                            std::size_t evaluations,
                            const std::vector<DeviceRecords>& records = {}) {
  auto points =
      ReplaySearch(space, *BuiltInStrategies().Find(strategy), records, seed, evaluations);
  EXPECT_TRUE(points.ok());
  return std::move(*points);
}

TEST(MeasuredSpaceTest, IsTheConfigsOfItsResults) {
  const MeasuredSpace space = Made("made");
  const T4File file = MadeResults(0);
  EXPECT_EQ(space.size(), file.results.size());
  EXPECT_EQ(space.space().size(), static_cast<std::int64_t>(file.results.size()));
  EXPECT_GT(space.failed(), 0U);
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const Point point = space.space().Sample(random);
    const T4Result& result = file.results[space.ResultOf(point)];
    EXPECT_EQ(space.OutcomeOf(point) == Outcome::kOk, result.invalidity == "correct");
    EXPECT_EQ(space.ValueOf(point), result.ObjectiveValue().value_or(0));
    for (Point neighbour : space.space().Neighbours(point)) {
      EXPECT_TRUE(space.space().Contains(neighbour));
      EXPECT_EQ(Similarity(space.space().space(), point, neighbour), 0.75);
    }
    EXPECT_TRUE(space.space().Contains(space.space().Mutate(point, random)));
  }
}

TEST(MeasuredSpaceTest, EveryStrategyMeasuresEachConfigOnce) {
  const MeasuredSpace space = Made("made");
  for (const StrategyEntry& entry : BuiltInStrategies().all()) {
    const std::vector<Point> points = Replayed(space, std::string(entry.key).c_str(), 1, 40);
    EXPECT_EQ(std::set<Point>(points.begin(), points.end()).size(), 40U) << entry.key;
  }
  const std::vector<Point> all = Replayed(space, "random", 1, 10'000);
  EXPECT_EQ(std::set<Point>(all.begin(), all.end()).size(), space.size());
  EXPECT_EQ(QualityAfter(space, all, space.size()), 1);
}

TEST(MeasuredSpaceTest, SurrogateIsTheChoiceOfAuto) {
  const MeasuredSpace space = Made("made");
  EXPECT_EQ(Replayed(space, "auto", 4, 30), Replayed(space, "surrogate", 4, 30));
}

TEST(MeasuredSpaceTest, SurrogateFindsTheOptimumAmongFailures) {
  const MeasuredSpace space = Made("made");
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_GE(QualityAfter(space, Replayed(space, "surrogate", seed, 48), 48), 0.97) << seed;
  }
}

TEST(MeasuredSpaceTest, RecordsOfAnotherDeviceComeFirst) {
  const MeasuredSpace space = Made("made"), like = Made("like", 0.3), unlike = Made("unlike", -3);
  std::vector<DeviceRecords> records;
  for (const MeasuredSpace* other : {&unlike, &like}) {
    auto own = other->RecordsFor(space);
    ASSERT_TRUE(own.ok()) << own.status().message();
    records.push_back(std::move(*own));
  }
  EXPECT_GE(QualityAfter(space, Replayed(space, "surrogate", 1, 1, {records[1]}), 1), 0.95);
  EXPECT_GE(QualityAfter(space, Replayed(space, "surrogate", 1, 12, records), 12), 0.97);
}

TEST(MeasuredSpaceTest, RunsAreThePositionsOfResults) {
  const MeasuredSpace space = Made("made");
  const std::vector<Point> points = Replayed(space, "random", 7, 3);
  const auto json = ParseJson(RunLine(space, "random", 7, points));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["space"], "made");
  EXPECT_EQ((*json)["seed"], 7);
  ASSERT_EQ((*json)["configs"].size(), 3U);
  EXPECT_EQ((*json)["configs"][0], space.ResultOf(points[0]));
}

TEST(MeasuredSpaceTest, NamesWhatItRejects) {
  T4File file = MadeResults(0);
  file.results[1] = file.results[0];
  EXPECT_EQ(MeasuredSpace::Create("", file).status().message(),
            "result 2: its config occurs twice");
  file.results[1].configuration.pop_back();
  EXPECT_EQ(MeasuredSpace::Create("", file).status().message(),
            "result 2: expected the parameters of the first result");
  EXPECT_EQ(MeasuredSpace::Create("", T4File()).status().message(), "no results");
}

TEST(MeasuredSpaceTest, LandscapesOfOwnTasksAreRead) {
  int files = 0;
  const std::string folder = TILEWRIGHT_SOURCE_DIR "/bench/landscapes/t4";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto space = MeasuredSpace::Load(entry.path().string());
    ASSERT_TRUE(space.ok()) << space.status().message();
    EXPECT_GT(space->best(), 0) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 40);
}

}  // namespace
}  // namespace tilewright::search
