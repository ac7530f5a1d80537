// Untrusted names and messages on terminals: printed on one line and without control sequences.

#include "python_free_cli/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "python_free_cli/command.h"
#include "python_free_cli/end_command.h"
#include "src/base/json.h"
#include "src/report/document_text.h"
#include "src/report/page.h"

namespace tilewright::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

template <typename Print>
std::string Printed(Print print) {
  testing::internal::CaptureStdout();
  print();
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(PrintTest, TextsOfOthersBeginNoLines) {
  const std::string name = "a\nb\tc\x1b[2J\xe2\x80\xae";
  const std::vector<std::string> names = {"a\nb", "c"};
  EXPECT_EQ(Printed([&] { PrintOut("{}|{:<5}|{:>3}\n", name, "\r", 3); }),
            "a\\nb\\tc\\x1b[2J\\u202e|\\r   |  3\n");
  EXPECT_EQ(Printed([&] { PrintOut("{}\n", fmt::join(names, ", ")); }), "a\\nb, c\n");
  EXPECT_EQ(
      Printed([&] { PrintOut("{}: {}", std::string_view("\n"), MultilineText{"a\n\tb\x07\n"}); }),
      "\\n: a\n\tb\\x07\n");
}

TEST(PrintTest, MessagesKeepOnlyTheirOwnLists) {
  EXPECT_EQ(PrintableMessage("2 reasons:\n  one\n  two\nforged: done"),
            "2 reasons:\n  one\n  two\\nforged: done");
  testing::internal::CaptureStderr();
  EXPECT_EQ(EndCommand("run",
                       []() -> Result<int> {
                         return InvalidArgument("input 'x\ntilewright: all is well': no such");
                       }),
            kExitBadInput);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tilewright run: input 'x\\ntilewright: all is well': no such\n");
}

report::Document DocumentOf(const std::string& name) {
  report::Document document;
  report::JobPage& job = document.jobs.emplace_back();
  job.store = job.graph = job.device = name;
  report::TaskPage& task = job.tasks.emplace_back();
  task.name = name;
  report::CodeListing& code = task.code.emplace_back();
  code.title = name;
  code.loops = "for\n";
  job.failures.push_back({"run_failed", name, 1, name, name});
  document.missing = {name};
  return document;
}

TEST(PrintTest, ReportsAndPagesShowNamesOnOneLine) {
  const report::Document document = DocumentOf("a\nEVIL\t\x1b\xe2\x80\xae");
  const std::string text = report::ToText(document);
  EXPECT_THAT(text, HasSubstr("a\\nEVIL\\t\\x1b\\u202e"));
  EXPECT_THAT(text, Not(HasSubstr("\nEVIL")));
  const auto json = ParseJson(report::PageData(document));
  ASSERT_TRUE(json.ok());
  const Json& task = (*json)["jobs"][0]["tasks"][0];
  EXPECT_EQ(task["name"], "a\\nEVIL\\t\\x1b\\u202e");
  EXPECT_EQ(task["code"][0]["loops"], "for\n");
  // Machine-readable output is not changed.
  EXPECT_EQ(report::ToJson(document)["jobs"][0]["tasks"][0]["name"], "a\nEVIL\t\x1b\xe2\x80\xae");
}

TEST(PrintNoteTest, QuietDropsNotesAndKeepsWarnings) {
  const auto told = [](bool quiet) {
    testing::internal::CaptureStderr();
    SetQuiet(quiet);
    PrintNote("note: m: a note");
    PrintNote("warning: a warning");
    SetQuiet(false);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(told(false), "note: m: a note\nwarning: a warning\n");
  EXPECT_EQ(told(true), "warning: a warning\n");
}

}  // namespace
}  // namespace tilewright::cli
