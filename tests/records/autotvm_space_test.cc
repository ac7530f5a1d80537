#include "records/autotvm/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "records/autotvm/line_reader.h"
#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "tests/records/shared_file.h"

namespace tilewright::records {
namespace {

/// Returns the position of a split's factors in an AutoTVM knob.
std::int64_t Position(const AutotvmKnob& knob, const std::vector<std::int64_t>& factors) {
  LogLine line;
  LogEntity entity;
  entity.kind = KnobKind::kSplit;
  entity.scalar = LogEntity::Scalar::kInts;
  entity.count = factors.size();
  line.ints = factors;
  return knob.Find(line, entity);
}

TEST(AutotvmKnobTest, CountsWhatListingEnumerates) {
  for (std::int64_t extent : {1, 2, 7, 12, 56, 64, 360}) {
    for (int parts = 2; parts <= 4; ++parts) {
      for (std::int64_t limit : {std::int64_t{8}, std::int64_t{1} << 31}) {
        SCOPED_TRACE(std::to_string(extent) + " in " + std::to_string(parts));
        auto listed = Knob::Split("k", extent, parts, {.max_factor = limit});
        auto counted =
            AutotvmKnob::Split("k", extent, parts, std::vector<AutotvmKnob::Bounds>(3, {1, limit}));
        ASSERT_TRUE(listed.ok() && counted.ok());
        ASSERT_EQ(counted->size(), listed->size());
        for (std::int64_t i = 0; i < listed->size(); ++i) {
          EXPECT_EQ(counted->At(i), (*listed)[i]) << i;
          EXPECT_EQ(Position(*counted, (*listed)[i].factors()), i);
        }
      }
    }
  }
}

TEST(AutotvmKnobTest, FindsNothingOutside) {
  auto knob = AutotvmKnob::Split("k", 12, 3, {{1, 4}, {2, 6}});
  ASSERT_TRUE(knob.ok());
  EXPECT_EQ(Position(*knob, {-1, 5, 1}), -1) << "no divisor";
  EXPECT_EQ(Position(*knob, {-1, 6, 2}), -1) << "above its bound";
  EXPECT_EQ(Position(*knob, {-1, 2, 1}), -1) << "below its bound";
  EXPECT_EQ(Position(*knob, {-1, 4, 6}), -1) << "product too large";
  EXPECT_EQ(Position(*knob, {-1, 2}), -1) << "other parts";
  EXPECT_EQ(Position(*knob, {-1, 0, 2}), -1);
  for (std::int64_t i = 0; i < knob->size(); ++i) {
    EXPECT_EQ(Position(*knob, knob->At(i).factors()), i);
  }
  EXPECT_FALSE(AutotvmKnob::Split("k", 7, 2, {{2, 6}}).ok());
  EXPECT_FALSE(AutotvmKnob::Split("k", 0, 2).ok());
}

TEST(AutotvmKnobTest, SizesAreThoseOfTheReference) {
  EXPECT_EQ(AutotvmKnob::Split("k", 256, 3)->size(), 45);
  EXPECT_EQ(AutotvmKnob::Split("k", 224, 3)->size(), 63);
  EXPECT_EQ(AutotvmKnob::Split("k", std::int64_t{1} << 24, 4)->size(), 2925);
  const AutotvmKnob three = AutotvmKnob::Annotate("a", {"none", "unroll", "vec"}, 3);
  EXPECT_EQ(three.size(), 20);
  EXPECT_EQ(three.At(13).ToString(), R"(["unroll","unroll","vec"])");
  EXPECT_EQ(three.At(2).ToString(), R"(["none","none","vec"])");
  EXPECT_EQ(AutotvmKnob::Annotate("a", {"none", "unroll"}, 2).At(1).ToString(),
            R"(["none","unroll"])");
}

TEST(AutotvmSpaceTest, KnowsTheTemplatesOfThePackagesAndTwoMore) {
  EXPECT_EQ(AutotvmTemplates().size(), 27U);
}

TEST(AutotvmSpaceTest, RefusesArgumentsThatDoNotFit) {
  const Target target = *Target::Parse("cuda");
  for (std::string_view task : AutotvmTemplates()) {
    EXPECT_FALSE(DefineAutotvmSpace(task, {}, target, AutotvmEdition::kPackages).ok()) << task;
    auto args = ParseAutotvmValue("(('TENSOR', (0, -1, 5, 5), 'int8'), 3, (0, 0), 'x')");
    ASSERT_TRUE(args.ok());
    EXPECT_FALSE(DefineAutotvmSpace(task, args->items, target, AutotvmEdition::kPackages).ok());
  }
  EXPECT_EQ(DefineAutotvmSpace("other", {}, target, AutotvmEdition::kPackages).status().code(),
            StatusCode::kUnsupported);
}

/// Returns the rows of tophub_index_check.csv: file,line -> fields.
std::map<std::pair<std::string, std::int64_t>, std::vector<std::string>> ExpectedRows(
    const std::string& text) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<std::string>> rows;
  for (const std::string& line : Split(text, '\n')) {
    std::vector<std::string> fields = Split(line, ',');
    if (fields.size() < 10 || fields[0] == "file") continue;
    const std::int64_t number = *ParseInt64(fields[1]);
    rows[{fields[0], number}] = std::move(fields);
  }
  return rows;
}

TEST(AutotvmSpaceTest, EveryPackageRecordAgreesWithTheReference) {
  const std::string expected_path = SharedFile("expected/tophub_index_check.csv");
  TW_NEEDS_SHARED(expected_path);
  auto expected_text = ReadFile(expected_path);
  ASSERT_TRUE(expected_text.ok());
  const auto expected = ExpectedRows(*expected_text);
  ASSERT_EQ(expected.size(), 3734U);
  std::map<std::string, int> statuses;
  int misfits = 0, filtered = 0;
  for (const char* name : kTophubFiles) {
    auto reader = LineReader::Open(SharedFile(std::string("tophub/") + name), kMaxLogLine);
    ASSERT_TRUE(reader.ok());
    std::string_view text;
    LogLine line;
    for (std::int64_t number = 1; *reader->Next(text); ++number) {
      if (text.starts_with('#')) continue;
      SCOPED_TRACE(std::string(name) + ":" + std::to_string(number));
      const std::vector<std::string>& row = expected.at({name, number});
      const Status read = ParseLogLine(text, line);
      ASSERT_TRUE(read.ok()) << read.message();
      auto input = ParseAutotvmInput(line);
      ASSERT_TRUE(input.ok()) << input.status().message();
      AutotvmTaskSpaces spaces(input->task.name, input->task.args, input->target.target);
      const AutotvmCheck check = spaces.Check(line);
      EXPECT_EQ(AutotvmAgreementName(check.agreement), row[7]);
      EXPECT_EQ(check.index < 0 ? "" : std::to_string(check.index), row[6]);
      EXPECT_EQ(check.products_fit ? "1" : "0", row[8]);
      EXPECT_EQ(check.note, row[9]);
      filtered += check.filtered ? 1 : 0;
      const AutotvmSpace* space = spaces.Space(check.edition);
      ASSERT_NE(space, nullptr);
      EXPECT_EQ(std::to_string(*space->size()), row[5]);
      ++statuses[std::string(AutotvmAgreementName(check.agreement))];
      misfits += check.products_fit ? 0 : 1;
    }
  }
  EXPECT_EQ(statuses["exact"], 3616);
  EXPECT_EQ(statuses["exact_legacy"], 60);
  EXPECT_EQ(statuses["edited"], 51);
  EXPECT_EQ(statuses["outside"], 7);
  EXPECT_EQ(misfits, 84);
  EXPECT_EQ(filtered, 22) << "adreno records from before its conditions on whole configs";
}

}  // namespace
}  // namespace tilewright::records
