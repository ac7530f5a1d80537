#include "src/session/misses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "src/base/text/text_columns.h"
#include "src/session/text_table.h"

namespace tilewright::session {
namespace {

using records::AnswerLevel;
using records::MissReason;
using testing::HasSubstr;
using testing::Not;

OperatorReport Report(const std::string& value, AnswerLevel level, records::MissCause cause) {
  OperatorReport report;
  report.value = value;
  report.op = "conv2d";
  report.workload_key = "key of " + value;
  report.answer = level;
  report.cause = std::move(cause);
  return report;
}

std::vector<std::string> NotesOf(const std::vector<OperatorReport>& operators) {
  std::vector<std::string> notes;
  NoteMisses(operators, {"llvm -mcpu=znver4", "tilewright tune m.onnx --budget 10m"},
             [&notes](const std::string& text) { notes.push_back(text); });
  return notes;
}

TEST(NoteMissesTest, GroupsOperatorsByReasonAndEndsWithTheCommand) {
  std::vector<OperatorReport> operators;
  for (int i = 0; i < 30; ++i) {
    operators.push_back(Report("stage" + std::to_string(i) + "_conv1_relu", AnswerLevel::kMiss,
                               {MissReason::kNoRecords, ""}));
  }
  operators.push_back(Report("old", AnswerLevel::kMiss, {MissReason::kOtherVersions, ""}));
  operators.push_back(Report("near", AnswerLevel::kNearMatch,
                             {MissReason::kOtherTarget, "llvm -mcpu=skylake on X"}));
  operators.push_back(Report("hit", AnswerLevel::kHit, {}));
  const auto notes = NotesOf(operators);
  ASSERT_EQ(notes.size(), 1U);
  const std::string& note = notes.front();
  EXPECT_THAT(note, HasSubstr("32 of 33 tunable operators have no record of their own for llvm "
                              "-mcpu=znver4:\n   30  no records; default config\n"));
  EXPECT_THAT(note, HasSubstr(", and "));
  EXPECT_THAT(note, HasSubstr("records only of other versions of template or code generator"));
  EXPECT_THAT(note, HasSubstr("records only for another target (llvm -mcpu=skylake on X); its"));
  EXPECT_THAT(note, testing::EndsWith("to tune them:\n  tilewright tune m.onnx --budget 10m"));
  std::istringstream lines(note);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(Columns(line), kTextWidth) << line;
  }
  EXPECT_LE(count, 12);
}

TEST(NoteMissesTest, SaysNothingWithoutAMiss) {
  EXPECT_TRUE(NotesOf({Report("a", AnswerLevel::kHit, {})}).empty());
}

TEST(NoteMissesTest, SkippedRecordsAreOneNote) {
  auto one = Report("a", AnswerLevel::kHit, {}), two = Report("b", AnswerLevel::kHit, {});
  one.skipped_record = two.skipped_record = "a call of oneDNN, which is not here";
  const auto notes = NotesOf({one, two});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes.front(), HasSubstr("2  a call of oneDNN"));
  EXPECT_THAT(notes.front(), HasSubstr("a, b"));
}

TEST(TextGroupsTest, NumbersAreShownAsRanges) {
  TextGroups groups;
  for (const std::size_t i : {0, 1, 2, 5, 7, 8}) groups.Add("why", i);
  groups.Add("else", std::size_t{3});
  EXPECT_EQ(groups.Lines(), "    6  why\n       #0-#2, #5, #7-#8\n    1  else\n       #3\n");
  EXPECT_EQ(groups.count(), 7U);
}

TEST(NoteAlikeTest, NotesThatDifferInNamesAreOneWithTheirNumber) {
  std::vector<std::string> texts, notes;
  for (int i = 0; i < 34; ++i) {
    texts.push_back("Conv 'conv" + std::to_string(i) + "' is computed in float32");
  }
  texts.push_back("Gemm 'fc' is computed in float32");
  NoteAlike("m", texts, [&notes](const std::string& text) { notes.push_back(text); });
  EXPECT_THAT(notes, testing::ElementsAre("note: m: Conv 'conv0' is computed in float32 (34 times; "
                                          "`inspect --json` lists all)",
                                          "note: m: Gemm 'fc' is computed in float32"));
}

TEST(NoteAlikeTest, ASinkPassesOnEachNoteOnce) {
  std::vector<std::string> notes;
  const NoteSink sink = EachNoteOnce([&notes](const std::string& text) { notes.push_back(text); });
  const NoteSink copy = sink;
  sink("a");
  copy("a");
  copy("b");
  EXPECT_THAT(notes, testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace tilewright::session
