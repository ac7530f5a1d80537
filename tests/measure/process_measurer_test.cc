#include "measure/supervisor/process_measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::measure {
namespace {

/// Returns the default config of a template; without a name, of the first one that serves the
/// workload.
Candidate ConvCandidate(const char* key, const char* epilogue, const char* target_text = "native",
                        const TemplateEntry* entry = nullptr) {
  Candidate candidate;
  auto workload = Workload::Parse(key);
  auto target = Target::Parse(target_text);
  auto steps = Epilogue::Parse(epilogue);
  TW_CHECK(workload.ok() && target.ok() && steps.ok());
  candidate.task = {*workload, *target};
  candidate.epilogue = *steps;
  const auto templates = BuiltInTemplates().For(candidate.task.workload, candidate.task.target);
  TW_CHECK(!templates.empty());
  if (entry == nullptr) entry = templates.front();
  candidate.template_key = std::string(entry->key);
  candidate.template_version = entry->version;
  auto config = entry->default_config(candidate.task.workload, candidate.task.target);
  TW_CHECK(config.ok(), config.status().message());
  candidate.config = *config;
  return candidate;
}

constexpr const char* kConv =
    "conv2d(float32[1,16,14,14]NCHW,float32[32,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32";
constexpr const char* kConvInt8 =
    "conv2d(int8[1,16,14,14]NCHW,int8[32,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32";

std::unique_ptr<ProcessMeasurer> MakeMeasurer() {
  auto made = ProcessMeasurer::Create(TestSettings());
  TW_CHECK(made.ok(), made.status().message());
  return *std::move(made);
}

TEST(ProcessMeasurer, ADefaultConfigIsBuiltVerifiedAndTimed) {
  auto measurer = MakeMeasurer();
  ASSERT_TRUE(
      measurer->Submit(RequestFor(7, ConvCandidate(kConv, "add(channel:float32);relu"))).ok());
  EXPECT_EQ(measurer->in_flight(), 1);
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(measurer->in_flight(), 0);
  EXPECT_EQ(reply.ticket, 7U);
  const Trial& trial = reply.trial;
  ASSERT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_TRUE(trial.verified);
  EXPECT_EQ(trial.metric, "seconds");
  EXPECT_GT(trial.value, 0);
  EXPECT_FALSE(trial.samples.empty());
  EXPECT_GE(trial.value, *std::min_element(trial.samples.begin(), trial.samples.end()));
  EXPECT_GT(trial.build_seconds, 0);
  EXPECT_GT(trial.run_seconds, 0);
  EXPECT_EQ(trial.codegen_version, FindDeviceTraits("llvm").codegen_version);
  EXPECT_EQ(trial.device.kind, "cpu");
  EXPECT_GT(trial.finished_unix_seconds, 1.6e9);
  EXPECT_GE(measurer->resolution(), 0);
  EXPECT_GT(measurer->probe_seconds(), 0);
  const TimeSplit split = measurer->time_split();
  EXPECT_GT(split.runner_busy_seconds, 0);
  EXPECT_GT(split.builder_busy_seconds, 0);
  EXPECT_LE(split.runner_timing_seconds, split.runner_busy_seconds);
  EXPECT_LE(split.idle_seconds, split.wall_seconds);
}

TEST(ProcessMeasurer, IntegersWithARequantizingEpilogueAreExact) {
  auto measurer = MakeMeasurer();
  const char* epilogue =
      "add(channel:int32);relu;add(256);shift_right(9);clip(-127,127);cast(int8)";
  ASSERT_TRUE(measurer->Submit(RequestFor(1, ConvCandidate(kConvInt8, epilogue))).ok());
  const Reply reply = NextReply(*measurer);
  ASSERT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  EXPECT_TRUE(reply.trial.verified);
  EXPECT_EQ(reply.trial.max_abs_error, 0);
}

// Blocks of output channels round 24 up: every per-channel operand has to follow, in every
// template.
TEST(ProcessMeasurer, ChannelsThatFillNoBlockAreRight) {
  auto measurer = MakeMeasurer();
  const char* key = "conv2d(int8[1,96,14,14]NCHW,int8[24,96,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32";
  const auto templates = BuiltInTemplates().For(*Workload::Parse(key), *Target::Parse("native"));
  ASSERT_FALSE(templates.empty());
  for (const TemplateEntry* entry : templates) {
    const Candidate candidate =
        ConvCandidate(key, "add(channel:int32);shift_right(7);cast(int8)", "native", entry);
    Request request = RequestFor(1, candidate);
    request.best_seconds = 0;  // a much slower one than the task's best would not be verified
    ASSERT_TRUE(measurer->Submit(request).ok());
    const Reply reply = NextReply(*measurer);
    EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << entry->key << ": " << reply.trial.reason;
    EXPECT_TRUE(reply.trial.verified) << entry->key;
  }
}

// A library generates its code and starts its own threads in the candidate's process.
TEST(ProcessMeasurer, ACallOfALibraryIsATrialLikeOthers) {
  const KernelLibrary& library = *FindLibrary("dnnl");
  const auto version = LibraryVersion(library);
  if (!version.ok()) GTEST_SKIP() << version.status().message();
  for (const char* target : {"native -libs=dnnl", "native -libs=dnnl -num-threads=2"}) {
    auto measurer = MakeMeasurer();
    const Candidate candidate = ConvCandidate(kConv, "add(channel:float32);relu", target,
                                              BuiltInTemplates().Find("conv2d.dnnl"));
    Request request = RequestFor(1, candidate);
    request.best_seconds = 0;  // a much slower one than the task's best would not be verified
    ASSERT_TRUE(measurer->Submit(request).ok());
    const Trial trial = NextReply(*measurer).trial;
    ASSERT_EQ(trial.outcome, Outcome::kOk) << target << ": " << trial.reason;
    EXPECT_TRUE(trial.verified) << target;
    EXPECT_THAT(trial.device.extra, testing::EndsWith(*version));
  }
}

TEST(ProcessMeasurer, SeveralTasksAndTicketsComeBackOnceEach) {
  auto measurer = MakeMeasurer();
  std::set<std::uint64_t> wanted;
  for (std::uint64_t ticket = 0; ticket < 12; ++ticket) {
    const char* key = ticket % 2 == 0 ? kConv : kConvInt8;
    ASSERT_TRUE(measurer->Submit(RequestFor(ticket, ConvCandidate(key, ""))).ok());
    wanted.insert(ticket);
  }
  while (!wanted.empty()) {
    const Reply reply = NextReply(*measurer);
    ASSERT_EQ(wanted.erase(reply.ticket), 1U);
    EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  }
}

TEST(ProcessMeasurer, KernelsOfSeveralThreadsRun) {
  auto measurer = MakeMeasurer();
  const std::string target = "native -num-threads=2";
  auto parsed = Target::Parse(target);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ASSERT_TRUE(measurer->Submit(RequestFor(1, ConvCandidate(kConv, "relu", target.c_str()))).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
}

TEST(ProcessMeasurer, AnIllegalConfigIsInvalidWithItsReason) {
  auto measurer = MakeMeasurer();
  Candidate candidate = ConvCandidate(kConv, "");
  candidate.template_key = "no_such_template";
  ASSERT_TRUE(measurer->Submit(RequestFor(1, candidate)).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kInvalid);
  EXPECT_THAT(reply.trial.reason, testing::HasSubstr("no template no_such_template"));
}

// Neither the process that computes the reference nor the runner ends.
TEST(ProcessMeasurer, AWorkloadThatFitsNoMemoryIsSaidToBeSo) {
  auto measurer = MakeMeasurer();
  const char* key = "dense(float32[1000000,1000000]MK,float32[1000000,1000000]NK)->float32";
  ASSERT_TRUE(measurer->Submit(RequestFor(1, ConvCandidate(key, ""))).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kRunFailed);
  EXPECT_THAT(reply.trial.reason,
              testing::AllOf(testing::StartsWith("no reference result: out of memory: measuring "),
                             testing::HasSubstr(" takes 60000.0 GB of memory, there are ")));
}

TEST(ProcessMeasurer, AClearlyWorseCandidateIsCutOff) {
  auto measurer = MakeMeasurer();
  ASSERT_TRUE(
      measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("much_slower"))
          .ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  EXPECT_FALSE(reply.trial.verified) << "it was not proved right on every input";
  EXPECT_EQ(reply.trial.samples.size(), 1U);
}

TEST(ProcessMeasurer, ARaceMeasuresTheFinalistsInTurns) {
  auto measurer = MakeMeasurer();
  const Candidate good = ConvCandidate(kConv, "relu");
  Candidate bad = good;
  bad.template_key = "no_such_template";
  auto trials = measurer->Race({good, bad, good}, {});
  ASSERT_TRUE(trials.ok()) << trials.status().message();
  ASSERT_EQ(trials->size(), 3U);
  EXPECT_EQ((*trials)[0].outcome, Outcome::kOk) << (*trials)[0].reason;
  EXPECT_TRUE((*trials)[0].verified);
  EXPECT_EQ((*trials)[1].outcome, Outcome::kInvalid);
  EXPECT_EQ((*trials)[2].outcome, Outcome::kOk);
  EXPECT_GT((*trials)[0].samples.size(), 10U);
  // Afterwards it continues normally.
  ASSERT_TRUE(measurer->Submit(RequestFor(1, good)).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kOk);
}

TEST(ProcessMeasurer, ARaceOfNothingIsNothing) {
  auto measurer = MakeMeasurer();
  auto trials = measurer->Race({}, {});
  ASSERT_TRUE(trials.ok());
  EXPECT_TRUE(trials->empty());
}

TEST(ProcessMeasurer, WhatWaitsCanBeDropped) {
  auto measurer = MakeMeasurer();
  std::set<std::uint64_t> wanted;
  for (std::uint64_t ticket = 0; ticket < 9; ++ticket) {
    ASSERT_TRUE(measurer->Submit(RequestFor(ticket, ConvCandidate(kConv, ""))).ok());
    wanted.insert(ticket);
  }
  wanted.erase(NextReply(*measurer).ticket);  // the others are in every stage now
  const auto dropped = measurer->CancelPending();
  EXPECT_GE(dropped.size(), 2U);
  for (const std::uint64_t ticket : dropped) EXPECT_EQ(wanted.erase(ticket), 1U);
  EXPECT_EQ(measurer->in_flight(), static_cast<int>(wanted.size()));
  while (!wanted.empty()) {
    const Reply reply = NextReply(*measurer);
    ASSERT_EQ(wanted.erase(reply.ticket), 1U);
    EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
  }
  EXPECT_TRUE(measurer->CancelPending().empty());
  ASSERT_TRUE(measurer->Submit(RequestFor(1, ConvCandidate(kConv, "relu"))).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kOk);
}

TEST(ProcessMeasurer, ABuilderIsStartedAnewAfterManyBuilds) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.builds_per_worker = 2;
  auto made = ProcessMeasurer::Create(settings);
  ASSERT_TRUE(made.ok());
  for (std::uint64_t ticket = 0; ticket < 5; ++ticket) {
    ASSERT_TRUE((*made)->Submit(RequestFor(ticket, ConvCandidate(kConv, ""))).ok());
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(NextReply(**made).trial.outcome, Outcome::kOk);
}

TEST(ProcessMeasurer, AWorkerKilledWhileIdleIsReplaced) {
  auto measurer = MakeMeasurer();
  ASSERT_TRUE(measurer->Submit(RequestFor(1, ConvCandidate(kConv, ""))).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kOk);
  for (int pid : measurer->worker_pids()) ::kill(pid, SIGKILL);
  // Timing decides whether the dead runner gets the order or a new one.
  ASSERT_TRUE(measurer->Submit(RequestFor(2, ConvCandidate(kConv, ""))).ok());
  (void)NextReply(*measurer);
  ASSERT_TRUE(measurer->Submit(RequestFor(3, ConvCandidate(kConv, ""))).ok());
  const Reply reply = NextReply(*measurer);
  EXPECT_EQ(reply.trial.outcome, Outcome::kOk) << reply.trial.reason;
}

TEST(ProcessMeasurer, WithoutAWorkerProgramItGivesUp) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.build_command = {"/no/such/program"};
  settings.run_commands = {settings.build_command};
  auto made = ProcessMeasurer::Create(settings);
  ASSERT_TRUE(made.ok());
  (void)(*made)->Submit(RequestFor(1, ConvCandidate(kConv, "")));
  while (true) {
    auto reply = (*made)->Next(60);
    if (reply.ok() && reply->has_value()) {
      EXPECT_EQ((*reply)->trial.outcome, Outcome::kBuildFailed);
      continue;
    }
    ASSERT_FALSE(reply.ok()) << "expected an error within a minute";
    EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(reply.status().message(), testing::HasSubstr("/no/such/program"));
    break;
  }
}

TEST(ReproduceCommand, IsOneLineForAShell) {
  Candidate candidate = DenseCandidate();
  candidate.epilogue = *Epilogue::Parse("relu");
  EXPECT_EQ(ReproduceCommand(candidate),
            "tilewright measure --task 'dense(float32[4,16]MK,float32[32,16]NK)->float32' --target "
            "'llvm' --template of_a_test --config '" +
                candidate.config.ToString() + "' --epilogue 'relu'");
}

}  // namespace
}  // namespace tilewright::measure
