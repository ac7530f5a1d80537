#include "search/job_log.h"

#include <gtest/gtest.h>

namespace tilewright::search {
namespace {

std::vector<records::LogEntry> SampleEntries() {
  AskEntry ask = {3, {1, 2}, {{0, 5}, {1, 9}}, {0.123456F, -1}, 1.25, R"({"a":[1,2]})"};
  AskEntry plain = {4, {}, {{0, 5}}, {}, 2, "null"};
  TellEntry tell = {3, 1, {{1, 9}, Outcome::kOk, 0.5, true, {0.5, 2}}, true};
  TellEntry failed = {3, 0, {{0, 5}, Outcome::kBuildFailed, 0}, false};
  return {Encode("k", BeginEntry{{{"store:x", 7}}, {{0, 1}}}),
          Encode("k", BeginEntry{}),
          Encode("k", ask),
          Encode("k", plain),
          Encode("k", tell),
          Encode("k", failed),
          Encode("k", BestEntry{9, {1, 2}, 0.25, 0.5, {3, 4}, 1, true, 12}),
          Encode("k", BestEntry{9, {1, 2}, 0.25, 0.5, {}, 1})};
}

std::vector<records::LogEntry> SampleJobEntries() {
  return {Encode(RunEntry{1e9 + 0.12345, 2, 0.01, {{"k", "relu", 3}}}),
          Encode(RunEntry{1e9, 2, 0.01, {}, "tilewright tune net.onnx", 64, 90, "2026-11-25"}),
          Encode(TimeEntry{1.23456, 2, 3, 4, 5, 6, 7, 8})};
}

std::string TextOf(const std::vector<records::LogEntry>& entries) {
  std::string text;
  for (const records::LogEntry& entry : entries) {
    text += entry.task_key + " " + entry.kind + " " + entry.payload + "\n";
  }
  return text;
}

// Logs of earlier versions are resumed, and stored trials are named by their entries.
TEST(JobLog, TextsStayTheSame) {
  EXPECT_EQ("\n" + TextOf(SampleEntries()) + TextOf(SampleJobEntries()), R"(
k begin {"warm":[["store:x",7]],"first":[[0,1]]}
k begin {"warm":[]}
k ask {"batch":3,"told":[1,2],"points":[[0,5],[1,9]],"scores":[0.1235,-1.0],"elapsed":1.25,"memo":{"a":[1,2]}}
k ask {"batch":4,"told":[],"points":[[0,5]],"elapsed":2.0,"memo":null}
k tell {"batch":3,"slot":1,"point":[1,9],"outcome":"ok","value":0.5,"verified":1,"disturbed":1,"values":[0.5,2.0]}
k tell {"batch":3,"slot":0,"point":[0,5],"outcome":"build_failed","value":0.0,"verified":0}
k best {"batches":9,"winner":[1,2],"best_seconds":0.25,"default_seconds":0.5,"ties":[3,4],"attempt":1,"trials":12,"disturbed":1}
k best {"batches":9,"winner":[1,2],"best_seconds":0.25,"default_seconds":0.5,"ties":[],"attempt":1}
 life {"unix":1000000000.123,"elapsed":2.0,"resolution":0.01,"tasks":[["k","relu",3]]}
 life {"unix":1000000000.0,"elapsed":2.0,"resolution":0.01,"tasks":[],"command":"tilewright tune net.onnx","trials":64,"budget":90.0,"deadline":"2026-11-25"}
 time {"elapsed":1.235,"wall":2.0,"runner":3.0,"timing":4.0,"builder":5.0,"model":6.0,"idle":7.0,"trials":8}
)");
}

TEST(JobLog, EntriesComeBackTheSame) {
  const auto log = Decode(SampleEntries());
  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_EQ(log->asks.size(), 2U);
  EXPECT_EQ(log->asks[0].points, (std::vector<Point>{{0, 5}, {1, 9}}));
  EXPECT_EQ(log->asks[0].strategy_state, R"({"a":[1,2]})");
  EXPECT_EQ(log->tells[0].observed.values, (std::vector<double>{0.5, 2}));
  EXPECT_TRUE(log->tells[0].observed.noisy);
  EXPECT_TRUE(log->tells[0].verified);
  EXPECT_EQ(log->tells[1].observed.outcome, Outcome::kBuildFailed);
  EXPECT_EQ(log->best->trials, -1);
  const auto job = DecodeJobLog(SampleJobEntries());
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->runs[0].tasks[0].occurrences, 3);
  EXPECT_EQ(job->runs[0].command, "");
  EXPECT_EQ(job->runs[1].command, "tilewright tune net.onnx");
  EXPECT_EQ(job->runs[1].trials, 64);
  EXPECT_EQ(job->runs[1].budget_seconds, 90);
  EXPECT_EQ(job->times[0].elapsed_seconds, 1.235);
}

TEST(JobLog, WhatIsNoEntryIsRefused) {
  const std::pair<const char*, const char*> payloads[] = {
      {"begin", R"({"warm":[["a"]]})"},
      {"begin", R"({"warm":[["a",1,2]]})"},
      {"begin", R"({"warm":[[1,1]]})"},
      {"begin", R"({"warm":[],"first":[[1000,1]]})"},
      {"begin", R"([])"},
      {"ask", R"({"batch":-1,"told":[],"points":[],"elapsed":0,"memo":0})"},
      {"ask", R"({"batch":1,"told":[],"points":[[1]],"elapsed":0,"memo":0})"},
      {"ask", R"({"batch":1,"told":[],"points":[],"scores":[null],"elapsed":0,"memo":0})"},
      {"ask", R"({"batch":1,"told":[],"points":[],"elapsed":0})"},
      {"tell", R"({"batch":1,"slot":0,"point":[0,1],"outcome":"odd","value":0,"verified":0})"},
      {"tell", R"({"batch":1,"slot":0,"point":[0,1],"outcome":"ok","value":0,"verified":true})"},
      {"tell",
       R"({"batch":1,"slot":0,"point":[0,1],"outcome":"ok","value":0,"verified":0,"values":[0]})"},
      {"other", "{}"}};
  for (const auto& [kind, payload] : payloads) {
    const auto log = Decode({{"k", kind, payload}});
    ASSERT_FALSE(log.ok()) << kind << payload;
    EXPECT_EQ(log.status().message(),
              "search log: " + std::string(kind) + " entry " + payload + " of k is not understood");
  }
}

}  // namespace
}  // namespace tilewright::search
