// Programs as shell texts: values, failures, builds, checks, races and processes that stay alive.

#include "measure/program/program_measurer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>

#include "src/base/files/locked_temp_dir.h"

namespace tilewright::measure {
namespace {

OpenSpace OneToFour() {
  Parameter n;
  n.name = "n";
  for (std::int64_t i = 1; i <= 4; ++i) n.values.emplace_back(i);
  return *OpenSpace::Create("test", {n}, {});
}

/// Task whose command is a text for a shell.
OpenTask ShellTask(const std::string& command, const std::string& build = {},
                   const std::string& check = {}) {
  OpenTaskParts parts;
  parts.name = "test";
  parts.space = OneToFour();
  parts.shell = true;
  parts.command = {command};
  if (!build.empty()) parts.build = {build};
  if (!check.empty()) parts.check = {check};
  return *MakeOpenTask(std::move(parts));
}

/// Process that answers each config by the shell function `answer` of its number.
OpenTask ServerTask(const std::string& answer) {
  OpenTask task = ShellTask("i=0; while read line; do i=$((i+1)); " + answer + "; done");
  OpenTaskParts parts = task;
  parts.input = OpenInput::kServer;
  return *MakeOpenTask(std::move(parts));
}

ProgramMeasurerSettings Quick() {
  ProgramMeasurerSettings settings;
  settings.run.seconds = 10;
  settings.sampling_seconds = 0;
  settings.builders = 2;
  return settings;
}

class ProgramMeasurerTest : public testing::Test {
 protected:
  Candidate CandidateOf(const OpenTask& task, std::int64_t index) {
    return {{task.workload, task.target()}, {}, task.key, kOpenTaskVersion, task.knobs.At(index)};
  }
  /// Measures configs 0 to count - 1; trials by index.
  std::map<std::int64_t, Trial> Measure(const OpenTask& task, int count,
                                        const ProgramMeasurerSettings& settings = Quick()) {
    auto measurer = ProgramMeasurer::Create(task, settings);
    EXPECT_TRUE(measurer.ok());
    std::map<std::int64_t, Trial> trials;
    // One after the other: the order of the answers counts for a process that stays alive.
    for (int i = 0; i < count; ++i) {
      Request request;
      request.ticket = static_cast<std::uint64_t>(i) + 1;
      request.candidate = CandidateOf(task, i);
      EXPECT_TRUE((*measurer)->Submit(request).ok());
      const auto reply = (*measurer)->Next(30);
      EXPECT_TRUE(reply.ok() && reply->has_value());
      EXPECT_EQ((*reply)->ticket, request.ticket);
      trials[i] = (*reply)->trial;
    }
    EXPECT_EQ((*measurer)->in_flight(), 0);
    return trials;
  }
  Trial MeasureOne(const OpenTask& task, const ProgramMeasurerSettings& settings = Quick()) {
    return Measure(task, 1, settings)[0];
  }
  LockedTempDir folder_ = *LockedTempDir::Create("tilewright-test");
};

TEST_F(ProgramMeasurerTest, TakesAnswersOfCommands) {
  const auto trials = Measure(ShellTask("echo '{{\"seconds\": '{n}'}}'"), 3);
  for (const auto& [index, trial] : trials) {
    EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
    EXPECT_EQ(trial.value, static_cast<double>(index + 1));
    EXPECT_EQ(trial.samples.size(), 2U);
    EXPECT_TRUE(trial.verified);
    EXPECT_EQ(trial.metric, "seconds");
  }
}

TEST_F(ProgramMeasurerTest, TakesTheWallTimeWithoutAnAnswer) {
  const Trial trial = MeasureOne(ShellTask("echo working; test $TILEWRIGHT_n = {n}"));
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_GT(trial.value, 0);
  EXPECT_LT(trial.value, 10);
}

TEST_F(ProgramMeasurerTest, AllConfigsOfATaskHaveTheSameSourceOfValues) {
  const auto trials = Measure(ShellTask("if test {n} = 1; then echo '{{\"seconds\": 1}}'; fi"), 2);
  EXPECT_EQ(trials.at(0).outcome, Outcome::kOk);
  EXPECT_EQ(trials.at(1).outcome, Outcome::kRunFailed);
  EXPECT_EQ(trials.at(1).reason,
            "it printed no answer, but it printed one for the config {\"n\":1}");
}

TEST_F(ProgramMeasurerTest, NamesEachFailure) {
  const std::map<std::string, std::pair<Outcome, std::string>> commands = {
      {"exit 4", {Outcome::kRunFailed, "exit code 4"}},
      {"echo no memory >&2; kill -SEGV $$",
       {Outcome::kRunFailed, "signal 11 (SIGSEGV): no memory"}},
      {"echo '{{\"failed\": \"compile\", \"reason\": \"registers\"}}'; exit 1",
       {Outcome::kBuildFailed, "registers"}},
      {"echo '{{\"failed\": \"correctness\"}}'",
       {Outcome::kWrongResult, "the program reports: correctness"}},
      {"echo '{{\"failed\": \"constraints\"}}'",
       {Outcome::kInvalid, "the program reports: constraints"}},
      {"echo '{{\"seconds\": 1}}'; echo '{{\"seconds\": 2}}'",
       {Outcome::kRunFailed, "it answered twice, expected one line of JSON"}},
      {"echo '{{\"seconds\": 0}}'",
       {Outcome::kRunFailed, "answer: \"seconds\" is 0, expected a positive number"}},
  };
  for (const auto& [command, expected] : commands) {
    const Trial trial = MeasureOne(ShellTask(command));
    EXPECT_EQ(trial.outcome, expected.first) << command;
    EXPECT_EQ(trial.reason, expected.second) << command;
    EXPECT_FALSE(trial.verified);
  }
  EXPECT_TRUE(MeasureOne(ShellTask("echo '{{garbage'")).reason.starts_with("answer: "));
}

TEST_F(ProgramMeasurerTest, EndsAHangingCommand) {
  ProgramMeasurerSettings settings = Quick();
  settings.run.seconds = 0.2;
  const Trial trial = MeasureOne(ShellTask("sleep 1000"), settings);
  EXPECT_EQ(trial.outcome, Outcome::kRunTimeout);
  EXPECT_TRUE(trial.reason.starts_with("no end within 0.2")) << trial.reason;
}

TEST_F(ProgramMeasurerTest, ChecksResults) {
  const auto trials = Measure(
      ShellTask("echo '{{\"seconds\": 1}}'", {}, "test {n} = 1 || {{ echo differs >&2; exit 1; }}"),
      2);
  EXPECT_EQ(trials.at(0).outcome, Outcome::kOk) << trials.at(0).reason;
  EXPECT_EQ(trials.at(1).outcome, Outcome::kWrongResult);
  EXPECT_EQ(trials.at(1).reason, "check: exit code 1: differs");
}

TEST_F(ProgramMeasurerTest, BuildsEachBuildOnce) {
  const std::string log = folder_.path() + "/log";
  const OpenTask task =
      ShellTask("cat {out}", "echo x >> " + log + "; echo '{{\"seconds\": '{n}'}}' > {out}");
  auto measurer = ProgramMeasurer::Create(task, Quick());
  RaceSettings terms;
  terms.seconds = 0.05;
  const auto raced =
      (*measurer)->Race({CandidateOf(task, 1), CandidateOf(task, 0), CandidateOf(task, 1)}, terms);
  ASSERT_TRUE(raced.ok());
  EXPECT_EQ((*raced)[2].outcome, Outcome::kOk) << (*raced)[2].reason;
  EXPECT_EQ((*raced)[2].value, 2);
  EXPECT_EQ(std::filesystem::file_size(log), 4U);  // two builds

  const Trial failed = MeasureOne(ShellTask("cat {out}", "echo bad flags >&2; exit 1"));
  EXPECT_EQ(failed.outcome, Outcome::kBuildFailed);
  EXPECT_EQ(failed.reason, "exit code 1: bad flags");
}

TEST_F(ProgramMeasurerTest, BuildsGetOnlyTheParametersThatTheyName) {
  const Trial named =
      MeasureOne(ShellTask("cat {out}",
                           "test -z \"$TILEWRIGHT_CONFIG\" && test $TILEWRIGHT_n = {n} && "
                           "echo '{{\"seconds\": 1}}' > {out}"));
  EXPECT_EQ(named.outcome, Outcome::kOk) << named.reason;
  // A build that names none gets all, and no other config shares it. Escaped braces name none.
  const auto unnamed = Measure(
      ShellTask("cat {out}", ": '{{n}}'; echo \"{{\\\"seconds\\\": $TILEWRIGHT_n}}\" > {out}"), 2);
  EXPECT_EQ(unnamed.at(0).value, 1) << unnamed.at(0).reason;
  EXPECT_EQ(unnamed.at(1).value, 2) << unnamed.at(1).reason;
}

TEST_F(ProgramMeasurerTest, MissingProgramsAreErrorsOfTheJob) {
  OpenTaskParts parts;
  parts.name = "test";
  parts.space = OneToFour();
  parts.command = {"no-such-program-here"};
  EXPECT_EQ(ProgramMeasurer::Create(*MakeOpenTask(parts), Quick()).status(),
            InvalidArgument("--command: no-such-program-here: no such program in PATH"));
  parts.command = {"/no/such/path"};
  EXPECT_EQ(ProgramMeasurer::Create(*MakeOpenTask(parts), Quick()).status(),
            InvalidArgument("--command: /no/such/path: cannot be executed: No such file or "
                            "directory"));
}

TEST_F(ProgramMeasurerTest, MissingResourcesAreErrorsOfTheJobAndNoBuildsInTheCache) {
  const OpenTask task = ShellTask("cat {out}", "echo '{{\"seconds\": '{n}'}}' > {out}");
  auto measurer = ProgramMeasurer::Create(task, Quick());
  ASSERT_TRUE(measurer.ok());
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Request request;
  request.candidate = CandidateOf(task, 0);
  const Status submitted = (*measurer)->Submit(request);
  const Status failed = (*measurer)->Next(30).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_TRUE(submitted.ok());
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable) << failed.message();
  RaceSettings terms;
  terms.seconds = 0.05;
  const auto raced = (*measurer)->Race({CandidateOf(task, 0)}, terms);
  ASSERT_TRUE(raced.ok());
  EXPECT_EQ((*raced)[0].outcome, Outcome::kOk) << (*raced)[0].reason;
}

TEST_F(ProgramMeasurerTest, AsksAProcessThatStaysAlive) {
  const auto trials = Measure(ServerTask("echo \"{{\\\"id\\\": $i, \\\"seconds\\\": $i}}\""), 3);
  for (const auto& [index, trial] : trials) {
    EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
    EXPECT_EQ(trial.samples.size(), 2U);
  }
  EXPECT_EQ(trials.at(2).samples, (std::vector<double>{5, 6}));  // the same process
}

TEST_F(ProgramMeasurerTest, StartsAProcessAgainThatEndedAfterItsAnswer) {
  const auto trials = Measure(ServerTask("id=${{line#*:}}; id=${{id%%,*}}; echo \"{{\\\"id\\\": "
                                         "$id, \\\"seconds\\\": 1}}\"; exit 0"),
                              2);
  for (const auto& [index, trial] : trials) EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
}

TEST_F(ProgramMeasurerTest, EndsARaceThatIsStopped) {
  const OpenTask task = ShellTask("echo '{{\"seconds\": '{n}'}}'");
  const std::atomic<bool> stop{true};
  ProgramMeasurerSettings settings = Quick();
  settings.stop = &stop;
  auto measurer = ProgramMeasurer::Create(task, settings);
  RaceSettings terms;
  terms.seconds = 1000;
  const auto trials = (*measurer)->Race({CandidateOf(task, 0), CandidateOf(task, 1)}, terms);
  ASSERT_TRUE(trials.ok());
  for (const Trial& trial : *trials) EXPECT_EQ(trial.samples.size(), 1U) << trial.reason;
}

TEST_F(ProgramMeasurerTest, NamesEachFailureOfAProcessThatStaysAlive) {
  const std::map<std::string, std::string> answers = {
      // One write: of two, the second one may come after the answer was read.
      {"printf \"{{\\\"id\\\": 1, \\\"seconds\\\": 1}}\\nmore\\n\"",
       "it answered twice, expected one line of JSON"},
      {"echo \"{{\\\"id\\\": 9, \\\"seconds\\\": 1}}\"", "it answered config 9, expected 1"},
      {"echo \"{{\\\"seconds\\\": 1}}\"", "answer: no \"id\", expected 1"},
      {"echo hello", "it printed 'hello', expected one line of JSON"},
      {"exit 3", "it ended without an answer: exit code 3"},
  };
  for (const auto& [answer, reason] : answers) {
    const Trial trial = MeasureOne(ServerTask(answer));
    EXPECT_EQ(trial.outcome, Outcome::kRunFailed) << answer;
    EXPECT_EQ(trial.reason, reason) << answer;
  }
  ProgramMeasurerSettings settings = Quick();
  settings.run.seconds = 0.2;
  const Trial late = MeasureOne(ServerTask("sleep 1000"), settings);
  EXPECT_EQ(late.outcome, Outcome::kRunTimeout);
  EXPECT_TRUE(late.reason.starts_with("no answer within 0.2")) << late.reason;
}

TEST_F(ProgramMeasurerTest, RacesFinalists) {
  const OpenTask task = ShellTask("echo '{{\"seconds\": '{n}'}}'", {}, "test {n} != 3");
  auto measurer = ProgramMeasurer::Create(task, Quick());
  RaceSettings terms;
  terms.seconds = 0.1;
  const auto trials =
      (*measurer)->Race({CandidateOf(task, 1), CandidateOf(task, 0), CandidateOf(task, 2)}, terms);
  ASSERT_TRUE(trials.ok());
  ASSERT_EQ(trials->size(), 3U);
  EXPECT_EQ((*trials)[0].value, 2);
  EXPECT_EQ((*trials)[1].value, 1);
  EXPECT_EQ((*trials)[2].outcome, Outcome::kWrongResult);
}

TEST_F(ProgramMeasurerTest, EndsTheRunInProgressWithItself) {
  const OpenTask task = ShellTask("sleep 1000");
  ProgramMeasurerSettings settings = Quick();
  settings.run.seconds = 1000;
  auto measurer = ProgramMeasurer::Create(task, settings);
  Request request;
  request.ticket = 1;
  request.candidate = CandidateOf(task, 0);
  ASSERT_TRUE((*measurer)->Submit(request).ok());
  EXPECT_FALSE((*measurer)->Next(0.05)->has_value());
  measurer->reset();  // the test would take 1000 s otherwise
}

TEST_F(ProgramMeasurerTest, DropsWhatDoesNotRun) {
  const OpenTask task = ShellTask("sleep 0.2");
  auto measurer = ProgramMeasurer::Create(task, Quick());
  for (std::uint64_t ticket = 1; ticket <= 4; ++ticket) {
    Request request;
    request.ticket = ticket;
    request.candidate = CandidateOf(task, 0);
    ASSERT_TRUE((*measurer)->Submit(request).ok());
  }
  const auto dropped = (*measurer)->CancelPending();
  EXPECT_GE(dropped.size(), 2U);
  Request other;
  other.candidate = CandidateOf(task, 0);
  other.candidate.template_key = "open/other-1";
  EXPECT_FALSE((*measurer)->Submit(other).ok());
}

}  // namespace
}  // namespace tilewright::measure
