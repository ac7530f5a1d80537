// States of a candidate in the job table: which worker may take it when, what ends it, and its
// state after races, drops and failures of the machine.

#include "measure/supervisor/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/set_clock.h"

namespace tilewright::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JobTableTest : public testing::Test {
 protected:
  static Job JobFor(std::uint64_t ticket, const char* epilogue = "") {
    Job job;
    job.request = RequestFor(ticket, DenseCandidate());
    job.request.candidate.config.index = static_cast<std::int64_t>(ticket);
    job.request.candidate.epilogue = *Epilogue::Parse(epilogue);
    return job;
  }
  static Job RacerFor(std::uint64_t ticket) {
    Job job = JobFor(ticket);
    job.racing = true;
    return job;
  }
  /// Returns a kernel whose file exists.
  KernelSpec KernelFile(JobId id) const {
    KernelSpec kernel;
    kernel.artifact = folder_->path() + "/" + std::to_string(id);
    TW_CHECK(WriteFile(kernel.artifact, "code").ok());
    return kernel;
  }
  JobId AddBuilt(Job job) {
    const JobId id = jobs_.Add(std::move(job));
    Build(id);
    return id;
  }
  void Build(JobId id) {
    ASSERT_EQ(jobs_.TakeToBuild(), id);
    jobs_.MarkBuilt(id, KernelFile(id));
  }
  void MakeReferences() {
    while (const auto task = jobs_.TakeReference()) {
      jobs_.reference(*task).state = ReferenceState::kReady;
    }
  }
  static RunReply ReplyFor(JobId id, double value = 1e-3) {
    RunReply reply;
    reply.ticket = id;
    reply.value = value;
    reply.verified = true;
    return reply;
  }
  std::vector<std::uint64_t> FinishedTickets() {
    std::vector<std::uint64_t> tickets;
    for (const Reply& reply : jobs_.TakeFinished()) tickets.push_back(reply.ticket);
    return tickets;
  }

  Result<ScopedTempDir> folder_ = ScopedTempDir::Create("tilewright-test");
  SetClock clock_{100};
  JobTable jobs_{ProbeHostCpu(), clock_};
};

TEST_F(JobTableTest, APartOfTheWayMayBeElsewhere) {
  Job build = JobFor(7);
  build.part = JobPart::kBuild;
  AddBuilt(std::move(build));
  EXPECT_THAT(FinishedTickets(), ElementsAre(7U));
  EXPECT_FALSE(jobs_.TakeReference()) << "nothing is run here";
  auto built = jobs_.TakeBuilt();
  ASSERT_TRUE(built.contains(7));
  EXPECT_TRUE(FileExists(built[7].artifact)) << "the caller's now";
  Job run = JobFor(8);
  run.part = JobPart::kRun;
  run.kernel = built[7];
  const JobId id = jobs_.Add(std::move(run));
  EXPECT_FALSE(jobs_.TakeToBuild());
  MakeReferences();
  ASSERT_EQ(jobs_.TakeToRun(), id);
  jobs_.CompleteRun(ReplyFor(id, 2e-3));
  EXPECT_THAT(FinishedTickets(), ElementsAre(8U));
}

TEST_F(JobTableTest, AJobIsBuiltAndRunOnceItsReferenceIsThere) {
  const JobId id = AddBuilt(JobFor(7));
  EXPECT_FALSE(jobs_.TakeToBuild());
  EXPECT_FALSE(jobs_.TakeToRun()) << "no reference result yet";
  MakeReferences();
  ASSERT_EQ(jobs_.TakeToRun(), id);
  EXPECT_FALSE(jobs_.TakeToRun());
  jobs_.CompleteRun(ReplyFor(id, 2e-3));
  const std::vector<Reply> finished = jobs_.TakeFinished();
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].ticket, 7U);
  EXPECT_EQ(finished[0].trial.outcome, Outcome::kOk);
  EXPECT_EQ(finished[0].trial.value, 2e-3);
  EXPECT_EQ(finished[0].trial.device, ProbeHostCpu());
  EXPECT_EQ(finished[0].trial.finished_unix_seconds, clock_.now);
  EXPECT_TRUE(jobs_.empty());
  EXPECT_EQ(jobs_.reference(1).best, 2e-3);
}

TEST_F(JobTableTest, ATaskWithoutItsReferenceHoldsUpNoOther) {
  const JobId first = AddBuilt(JobFor(1)), second = AddBuilt(JobFor(2, "relu"));
  ASSERT_EQ(jobs_.TakeReference(), 1U) << "in the order they are needed";
  ASSERT_EQ(jobs_.TakeReference(), 2U);
  jobs_.reference(2).state = ReferenceState::kReady;
  EXPECT_EQ(jobs_.TakeToRun(), second);
  jobs_.reference(1).state = ReferenceState::kFailed;
  jobs_.reference(1).reason = "too\nlarge";
  EXPECT_FALSE(jobs_.TakeToRun());
  const std::vector<Reply> finished = jobs_.TakeFinished();
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].ticket, 1U);
  EXPECT_EQ(finished[0].trial.reason, "no reference result: too large");
  EXPECT_FALSE(FileExists(folder_->path() + "/" + std::to_string(first)));
}

TEST_F(JobTableTest, WhatIsNotTheNextStateIsABug) {
  const JobId id = jobs_.Add(JobFor(1));
  EXPECT_DEATH(jobs_.MarkBuilt(id, {}), "job.state == state");
  Build(id);
  EXPECT_DEATH(jobs_.MarkBuilt(id, {}), "job.state == state");
  EXPECT_DEATH(jobs_.CompleteRun(ReplyFor(id)), "job.state == state");
  EXPECT_DEATH(jobs_.MarkUndiagnosed(id, {}), "job.state == ");
}

TEST_F(JobTableTest, ASuspectIsBuiltAgainBeforeOthers) {
  const JobId id = jobs_.Add(JobFor(1));
  (void)jobs_.Add(JobFor(2));
  ASSERT_EQ(jobs_.TakeToBuild(), id);
  jobs_.MarkUndiagnosed(id, {Outcome::kBuildFailed, "killed", FaultDomain::kMachine});
  EXPECT_THAT(jobs_.TakeUndiagnosed(), ElementsAre(id));
  EXPECT_FALSE(jobs_.HasUndiagnosed());
  EXPECT_EQ(jobs_.At(id).tries, 1);
  jobs_.RebuildJob(id);
  EXPECT_EQ(jobs_.TakeToBuild(), id);
}

TEST_F(JobTableTest, AFailureThatMayBeTheMachinesMakesTheReferenceAgain) {
  MakeReferences();
  const JobId id = AddBuilt(JobFor(1));
  MakeReferences();
  ASSERT_EQ(jobs_.TakeToRun(), id);
  RunReply reply = ReplyFor(id);
  reply.outcome = Outcome::kRunFailed;
  reply.fault_domain = FaultDomain::kMachine;
  jobs_.CompleteRun(reply);
  EXPECT_TRUE(jobs_.HasUndiagnosed());
  EXPECT_THAT(FinishedTickets(), IsEmpty());
  EXPECT_EQ(jobs_.TakeReference(), 1U);
  EXPECT_FALSE(FileExists(folder_->path() + "/1"));
}

TEST_F(JobTableTest, AllButWhatIsRunCanBeDropped) {
  const JobId running = AddBuilt(JobFor(1));
  MakeReferences();
  ASSERT_EQ(jobs_.TakeToRun(), running);
  const JobId suspect = jobs_.Add(JobFor(2));
  ASSERT_EQ(jobs_.TakeToBuild(), suspect);
  jobs_.MarkUndiagnosed(suspect, {});
  const JobId built = AddBuilt(JobFor(3));
  const JobId building = jobs_.Add(JobFor(4));
  ASSERT_EQ(jobs_.TakeToBuild(), building);
  (void)jobs_.Add(JobFor(5));
  EXPECT_THAT(jobs_.CancelPending(), ElementsAre(2U, 3U, 4U, 5U));
  EXPECT_FALSE(FileExists(folder_->path() + "/" + std::to_string(built)));
  EXPECT_FALSE(jobs_.TakeToBuild());
  EXPECT_FALSE(jobs_.TakeToRun());
  EXPECT_FALSE(jobs_.HasUndiagnosed());
  jobs_.CompleteRun(ReplyFor(running));
  EXPECT_THAT(FinishedTickets(), ElementsAre(1U));
}

TEST_F(JobTableTest, ARaceWaitsForAllRacersAndIsOverWithTheLast) {
  RaceSettings terms;
  terms.seconds = 3;
  jobs_.AddRace({RacerFor(0), RacerFor(1), RacerFor(2)}, terms);
  Build(1);
  MakeReferences();
  EXPECT_THAT(jobs_.TakeRace(), IsEmpty());
  ASSERT_EQ(jobs_.TakeToBuild(), 2U);
  jobs_.Finish(2, Outcome::kInvalid, "refused");
  EXPECT_THAT(jobs_.TakeRace(), IsEmpty());
  Build(3);
  EXPECT_FALSE(jobs_.TakeToRun()) << "racers do not run alone";
  EXPECT_THAT(jobs_.TakeRace(), ElementsAre(1U, 3U));
  EXPECT_EQ(jobs_.race_settings().seconds, 3);
  jobs_.CompleteRun(ReplyFor(3, 3e-3));
  EXPECT_FALSE(jobs_.TakeRaceResult());
  jobs_.CompleteRun(ReplyFor(1, 1e-3));
  EXPECT_FALSE(jobs_.HasRace());
  const auto trials = jobs_.TakeRaceResult();
  ASSERT_TRUE(trials);
  EXPECT_EQ((*trials)[0].value, 1e-3);
  EXPECT_EQ((*trials)[1].outcome, Outcome::kInvalid);
  EXPECT_EQ((*trials)[2].value, 3e-3);
  EXPECT_THAT(FinishedTickets(), IsEmpty());
}

TEST_F(JobTableTest, ARaceIsReturnedOnceAndOnlyWhole) {
  for (const bool measured : {false, true}) {
    JobTable jobs(ProbeHostCpu(), clock_);
    jobs.AddRace({RacerFor(0), RacerFor(1)}, {});
    for (JobId id = 1; id <= 2; ++id) {
      ASSERT_EQ(jobs.TakeToBuild(), id);
      jobs.MarkBuilt(id, KernelFile(id));
    }
    jobs.reference(*jobs.TakeReference()).state = ReferenceState::kReady;
    EXPECT_THAT(jobs.TakeRace(), ElementsAre(1U, 2U));
    EXPECT_THAT(jobs.TakeRace(), IsEmpty()) << "under way";
    if (measured) jobs.CompleteRun(ReplyFor(2));
    EXPECT_EQ(jobs.RequeueRace(), !measured);
    if (measured) continue;
    EXPECT_THAT(jobs.TakeRace(), ElementsAre(1U, 2U));
    EXPECT_FALSE(jobs.RequeueRace());
  }
}

TEST_F(JobTableTest, AGoodKernelIsKeptForARace) {
  const JobId id = AddBuilt(JobFor(0));
  MakeReferences();
  ASSERT_EQ(jobs_.TakeToRun(), id);
  jobs_.CompleteRun(ReplyFor(id));
  EXPECT_TRUE(FileExists(folder_->path() + "/1"));
  jobs_.AddRace({RacerFor(0)}, {});
  EXPECT_FALSE(jobs_.TakeToBuild());
  EXPECT_THAT(jobs_.TakeRace(), ElementsAre(2U));
}

TEST_F(JobTableTest, GivingUpFinishesWhatIsNotRacing) {
  (void)jobs_.Add(JobFor(4));
  jobs_.AddRace({RacerFor(0)}, {});
  jobs_.GiveUp(Unavailable("no runner"));
  EXPECT_THAT(FinishedTickets(), ElementsAre(4U));
  EXPECT_FALSE(jobs_.TakeRaceResult());
  EXPECT_EQ(jobs_.broken().message(), "no runner");
  EXPECT_TRUE(jobs_.empty());
}

TEST_F(JobTableTest, AbandonedJobsAreNoTrials) {
  const JobId id = AddBuilt(JobFor(4));
  jobs_.AbandonAll(Unavailable("no room"));
  EXPECT_THAT(FinishedTickets(), IsEmpty());
  EXPECT_FALSE(FileExists(folder_->path() + "/" + std::to_string(id)));
  EXPECT_FALSE(jobs_.broken().ok());
}

}  // namespace
}  // namespace tilewright::measure
