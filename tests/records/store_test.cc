#include "records/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "records/difference.h"
#include "records/maintenance.h"
#include "records/schema.h"
#include "records/sqlite.h"
#include "src/base/files/file.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/registry.h"
#include "tests/records/sample_trials.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-store-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
    path_ = folder_->path() + "/records.db";
  }
  Store OpenForWriting() {
    auto store = Store::Open(path_, Store::Mode::kReadWrite);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(*store);
  }
  /// Runs SQL on the database without the store's checks.
  void Sql(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::unique_ptr<ScopedTempDir> folder_;
  std::string path_;
};

TEST_F(StoreTest, TrialComesBackAsStored) {
  Store store = OpenForWriting();
  auto job = store.OpenJob("job", "{}", 7);
  ASSERT_TRUE(job.ok());
  Trial trial = SampleTrial(3, 0.002);
  trial.candidate.epilogue = *Epilogue::Parse("add(channel:float32);relu");
  trial.reason = "";
  ASSERT_TRUE(store.Append(job->id, {trial}, {}).ok());
  auto records = store.Trials({});
  ASSERT_TRUE(records.ok()) << records.status().message();
  ASSERT_EQ(records->size(), 1U);
  const Trial& read = records->front().trial;
  EXPECT_EQ(read.candidate.task, trial.candidate.task);
  EXPECT_EQ(read.candidate.epilogue, trial.candidate.epilogue);
  EXPECT_EQ(read.candidate.config, trial.candidate.config);
  EXPECT_EQ(read.samples, trial.samples);
  EXPECT_EQ(read.value, trial.value);
  EXPECT_EQ(read.device, trial.device);
  EXPECT_EQ(read.outcome, Outcome::kOk);
  EXPECT_EQ(records->front().id.size(), 32U);
}

TEST_F(StoreTest, StoringTheSameTrialTwiceKeepsOne) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002)}, {}).ok());
  ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002), SampleTrial(4, 0.004)}, {}).ok());
  EXPECT_EQ(*store.CountTrials({}), 2);
  // Another measurement of the same config is another trial: every acknowledged one is kept.
  ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.003)}, {}).ok());
  EXPECT_EQ(*store.CountTrials({}), 3);
  EXPECT_EQ(store.Trials({})->front().trial.value, 0.002) << "a stored trial is immutable";
}

TEST_F(StoreTest, ProcessesThatCreateOneStoreAgreeOnItsId) {
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder_->path() + "/" + std::to_string(round) + ".db";
    std::vector<std::thread> openers;
    for (int k = 0; k < 4; ++k) {
      openers.emplace_back([&, k] {
        auto store = Store::Open(path, Store::Mode::kReadWrite);
        ASSERT_TRUE(store.ok()) << store.status().message();
        const auto job = store->OpenJob("job " + std::to_string(k), "{}", 7);
        ASSERT_TRUE(job.ok()) << job.status().message();
        const Status stored = store->Append(job->id, {SampleTrial(3, 0.002)}, {});
        EXPECT_TRUE(stored.ok()) << stored.message();
      });
    }
    for (std::thread& opener : openers) opener.join();
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), path), testing::IsEmpty());
  }
}

TEST_F(StoreTest, JobIsFoundAgainByItsName) {
  std::int64_t id = 0;
  {
    Store store = OpenForWriting();
    id = store.OpenJob("job", "{\"trials\":5}", 7)->id;
    ASSERT_TRUE(store.Append(id, {}, {{"task", "ask", "[1]"}, {"task", "tell", "[2]"}}).ok());
  }
  Store store = OpenForWriting();
  auto job = store.OpenJob("job", "ignored", 99);
  EXPECT_EQ(job->id, id);
  EXPECT_EQ(job->seed, 7U);
  EXPECT_EQ(job->settings, "{\"trials\":5}");
  EXPECT_FALSE(job->finished);
  auto log = store.Log(id, "task");
  ASSERT_EQ(log->size(), 2U);
  EXPECT_EQ((*log)[1].kind, "tell");
  ASSERT_TRUE(store.FinishJob(id).ok());
  EXPECT_TRUE(store.OpenJob("job", "", 0)->finished);
}

TEST_F(StoreTest, QueryAnswersTheFastestVerifiedTrial) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  Trial unverified = SampleTrial(1, 0.0001);
  unverified.verified = false;
  Trial wrong = SampleTrial(2, 0.0001);
  wrong.outcome = Outcome::kWrongResult;
  Trial old_code = SampleTrial(5, 0.0001);
  old_code.codegen_version = FindDeviceTraits("llvm").codegen_version - 1;
  Trial old_template = SampleTrial(6, 0.0001);
  old_template.candidate.template_version -= 1;
  Trial tie = SampleTrial(4, 0.002);
  ASSERT_TRUE(
      store.Append(job, {unverified, wrong, old_code, old_template, tie, SampleTrial(3, 0.002)}, {})
          .ok());
  auto answer = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kind, AnswerKind::kHit);
  EXPECT_EQ(answer->record->trial.candidate.config.index, 3) << "ties go to the lowest index";
  EXPECT_THAT(answer->explanation, testing::HasSubstr("fastest verified trial"));
}

// The number of steps of a query does not depend on the number of trials of the task.
TEST_F(StoreTest, AQueryTakesAsLongWithManyTrialsAsWithFew) {
  Store store = OpenForWriting();
  auto job = store.OpenJob("job", "{}", 7);
  ASSERT_TRUE(job.ok());
  const auto steps_with = [&](std::int64_t first, std::int64_t end) {
    std::vector<Trial> trials;
    for (std::int64_t i = first; i < end; ++i)
      trials.push_back(SampleTrial(i, 0.002 + 1e-6 * static_cast<double>(i)));
    EXPECT_TRUE(store.Append(job->id, trials, {}).ok());
    EXPECT_TRUE(store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice()).ok());
    int steps = 0;
    const auto count = [](void* counter) { return ++*static_cast<int*>(counter), 0; };
    sqlite3* db = Store::DatabaseOf(store).get();
    sqlite3_progress_handler(db, 1, count, &steps);
    const auto answer =
        store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
    sqlite3_progress_handler(db, 0, nullptr, nullptr);
    EXPECT_TRUE(answer.ok() && answer->record.has_value());
    return steps;
  };
  const int few = steps_with(0, 3);
  EXPECT_LE(steps_with(3, 200), few + 20);
}

TEST_F(StoreTest, WinnerOfARaceComesBeforeALuckySingleTrial) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  Trial winner = SampleTrial(9, 0.0025);
  ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002), winner}, {}).ok());
  ASSERT_TRUE(store.StoreBest(job, winner, {9, 12}).ok());
  auto answer = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  EXPECT_EQ(answer->record->trial.candidate.config.index, 9);
  EXPECT_THAT(answer->explanation, testing::HasSubstr("final race"));
}

TEST_F(StoreTest, ARecordMeasuredInNoiseGivesWayToALaterQuietOne) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  std::string why;
  const Trial noisy = SampleTrialAt(1, 1e-3, 0.1, 100);
  ASSERT_TRUE(store.Append(job, {SampleTrialAt(2, 2e-3, 1, 90), noisy}, {}).ok());
  const auto index_served = [&] {
    auto answer = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
    EXPECT_TRUE(answer.ok() && answer->record.has_value());
    why = answer->explanation;
    return answer->record->trial.candidate.config.index;
  };
  EXPECT_EQ(index_served(), 1) << "the quiet one is older: noise makes nothing faster";
  EXPECT_NE(why.find("disturbed: measured in noise (10 %"), std::string::npos) << why;
  // The clean fraction of the third is unknown: it is served by its value.
  ASSERT_TRUE(store.Append(job, {SampleTrialAt(3, 1.5e-3, -1, 110)}, {}).ok());
  EXPECT_EQ(index_served(), 1);
  ASSERT_TRUE(store.Append(job, {SampleTrialAt(4, 1.2e-3, 0.9, 120)}, {}).ok());
  EXPECT_EQ(index_served(), 4);
  EXPECT_NE(why.find("measured in noise, and earlier"), std::string::npos) << why;
  // A much slower clean trial does not replace a noisy one, because noise cannot explain the
  // difference. Stopped searches leave such trials.
  ASSERT_TRUE(
      store.Append(job, {SampleTrialAt(5, 0.9e-3, 0, 130), SampleTrialAt(6, 8e-3, 1, 140)}, {})
          .ok());
  EXPECT_EQ(index_served(), 5);
  EXPECT_NE(why.find("disturbed: measured in noise"), std::string::npos) << why;
  // The same for winners of races.
  ASSERT_TRUE(store.StoreBest(job, noisy, {}).ok());
  EXPECT_EQ(index_served(), 4);
  Trial back = (*store.Trials({}))[1].trial;
  EXPECT_EQ(back.clean_fraction, 0.1);
  EXPECT_TRUE(back.noisy());
}

TEST_F(StoreTest, ALibraryIsCalledOnlyWhereTheTargetNamesItAndPassedOverByName) {
  const Trial called = SampleCall(1e-4);
  auto store = Store::Open(path_, Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(
      store->Append(job->id, {called, SampleTrial(1, 3e-4), SampleTrial(2, 2e-4)}, {}).ok());
  ASSERT_TRUE(store->StoreBest(job->id, called, {}).ok());

  auto plain = store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->kind, AnswerKind::kHit);
  EXPECT_EQ(plain->record->trial.value, 2e-4);
  EXPECT_THAT(plain->skipped_record,
              testing::AllOf(testing::HasSubstr("conv2d.dnnl in 1e-04 seconds"),
                             testing::HasSubstr("oneDNN 2.6.3"), testing::HasSubstr("-libs=dnnl")));
  EXPECT_THAT(plain->explanation, testing::HasSubstr(plain->skipped_record));

  auto named =
      store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(" -libs=dnnl"), SampleDevice());
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ(named->kind, AnswerKind::kHit);
  const bool here = LibraryVersion(*FindLibrary("dnnl")).ok();
  EXPECT_EQ(named->record->trial.value, here ? 1e-4 : 2e-4);
  EXPECT_EQ(named->skipped_record.empty(), here) << named->skipped_record;
}

TEST_F(StoreTest, ACallThatWhoAsksCannotUseIsPassedOver) {
  auto store = Store::Open(path_, Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok());
  auto job = store->OpenJob("job", "{}", 1);
  ASSERT_TRUE(store->Append(job->id, {SampleCall(1e-4), SampleTrial(2, 2e-4)}, {}).ok());
  const bool here = LibraryVersion(*FindLibrary("dnnl")).ok();
  auto answer =
      store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(" -libs=dnnl"), SampleDevice(),
                   [](const Candidate&) { return std::string("its weight changes"); });
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kind, AnswerKind::kHit);
  EXPECT_EQ(answer->record->trial.value, 2e-4);
  EXPECT_THAT(answer->skipped_record, testing::HasSubstr(here ? "its weight changes" : "oneDNN"));
}

TEST_F(StoreTest, RecordsOfABoardAreServedToWhoCompilesForIt) {
  const std::string arm = "llvm -mtriple=aarch64-linux-gnu -mcpu=";
  const Target board = *Target::Parse(arm + "cortex-a72");
  Trial trial = SampleTrial(3, 0.002, SampleConv(), board);
  trial.device = SampleDevice("Board");
  trial.device.isa = {"dotprod", "neon"};  // more than the code uses
  Store store = OpenForWriting();
  ASSERT_TRUE(store.Append(store.OpenJob("job", "{}", 7)->id, {trial}, {}).ok());
  const auto level = [&store](const Target& target) {
    return store.Query(BuiltInTemplates(), SampleConv(), target, *GenericCpuFor(target))->kind;
  };
  const auto hit = store.Query(BuiltInTemplates(), SampleConv(), board, *GenericCpuFor(board));
  ASSERT_EQ(hit->kind, AnswerKind::kHit) << hit->explanation;
  EXPECT_THAT(hit->explanation, testing::HasSubstr("on 'Board'"));
  EXPECT_TRUE(DifferencesOf(BuiltInTemplates(), hit->record->trial, SampleConv(), board,
                            *GenericCpuFor(board))
                  .empty());
  EXPECT_EQ(level(*Target::Parse(arm + "cortex-a53")), AnswerKind::kNearMatch);
  EXPECT_EQ(level(*Target::Parse("llvm -mtriple=armv7l-linux-gnueabihf")), AnswerKind::kMiss);
  EXPECT_EQ(store.Query(BuiltInTemplates(), SampleConv(), board, SampleDevice())->kind,
            AnswerKind::kMiss);
}

TEST_F(StoreTest, OtherCpuModelIsANearHitOnlyIfItsCodeRunsHere) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  Trial other = SampleTrial(3, 0.002);
  other.device = SampleDevice("Other CPU");
  ASSERT_TRUE(store.Append(job, {other}, {}).ok());
  auto near = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  EXPECT_EQ(near->kind, AnswerKind::kNearMatch);
  EXPECT_EQ(near->cause, (MissCause{MissReason::kOtherDevice, "Other CPU"}));
  EXPECT_GT(near->expected_slowdown, 1.0);
  EXPECT_THAT(near->explanation, testing::HasSubstr("Other CPU"));
  DeviceFingerprint plain = SampleDevice();
  plain.isa = {};
  const auto miss = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), plain);
  EXPECT_EQ(miss->kind, AnswerKind::kMiss);
  EXPECT_EQ(miss->cause.reason, MissReason::kOtherDevice);
}

TEST_F(StoreTest, AConfigForAnotherNumberOfThreadsIsNoNearHit) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002)}, {}).ok());
  const auto ask = [&store](const char* options) {
    auto target = Target::Parse(SampleTarget().ToString() + options);
    return store.Query(BuiltInTemplates(), SampleConv(), *target, SampleDevice())->kind;
  };
  EXPECT_EQ(ask(" -mattr=+fma"), AnswerKind::kNearMatch);
  EXPECT_EQ(ask(" -num-threads=2"), AnswerKind::kMiss);
  const Target two = *Target::Parse(SampleTarget().ToString() + " -num-threads=2");
  const auto miss = store.Query(BuiltInTemplates(), SampleConv(), two, SampleDevice());
  EXPECT_EQ(miss->cause.reason, MissReason::kOtherTarget);
}

TEST_F(StoreTest, CauseOfAMissIsTheNearestReason) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  const auto cause = [&store] {
    return store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice())->cause;
  };
  EXPECT_EQ(cause(), (MissCause{MissReason::kNoRecords, ""}));
  Trial old = SampleTrial(3, 0.002);
  old.codegen_version -= 1;
  ASSERT_TRUE(store.Append(job, {old}, {}).ok());
  EXPECT_EQ(cause(), (MissCause{MissReason::kOtherVersions, ""}));
  ASSERT_TRUE(store.Append(job, {SampleTrial(4, 0.003)}, {}).ok());
  EXPECT_EQ(cause(), MissCause()) << "a hit";
}

TEST(MissCauseTest, NamesAndTexts) {
  MissCause cause;
  EXPECT_EQ(MissText(cause), "");
  PreferCause(cause, {MissReason::kNoSources, ""});
  PreferCause(cause, {MissReason::kOtherTarget, "llvm"});
  PreferCause(cause, {MissReason::kNoRecords, ""});
  PreferCause(cause, {});
  EXPECT_EQ(MissText(cause), "records only for another target (llvm)");
  EXPECT_EQ(MissReasonName(cause.reason), "other_target");
}

// Kernels of reduced-range weights use other multiply instructions, and their spaces have other
// tiles.
TEST_F(StoreTest, NarrowWeightsAreNotNearOthers) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  const auto dense = [](int rows, const char* end) {
    return *Workload::Parse("dense(uint8[" + std::to_string(rows) + ",64]MK,int8[96,64]NK" + end);
  };
  const char* const ends[] = {")->int32", ",w64)->int32"};
  ASSERT_TRUE(store.Append(job, {SampleTrial(0, 0.002, dense(4, ends[1]))}, {}).ok());
  const auto ask = [&](const Workload& workload) {
    return store.Query(BuiltInTemplates(), workload, SampleTarget(), SampleDevice())->kind;
  };
  EXPECT_EQ(ask(dense(4, ends[1])), AnswerKind::kHit);
  EXPECT_EQ(ask(dense(8, ends[1])), AnswerKind::kNearMatch);
  EXPECT_EQ(ask(dense(4, ends[0])), AnswerKind::kMiss);
  EXPECT_EQ(ask(dense(8, ends[0])), AnswerKind::kMiss);
}

TEST_F(StoreTest, MissNamesTheNearestWorkloads) {
  Store store = OpenForWriting();
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  ASSERT_TRUE(store.Append(job, {SampleTrial(0, 0.002)}, {}).ok());
  auto dense = Workload::Parse("dense(float32[1,512]MK,float32[1000,512]NK)->float32");
  ASSERT_TRUE(dense.ok()) << dense.status().message();
  auto miss = store.Query(BuiltInTemplates(), *dense, SampleTarget(), SampleDevice());
  EXPECT_EQ(miss->kind, AnswerKind::kMiss);
  EXPECT_THAT(miss->explanation, testing::StartsWith("miss: no record of this workload"));
  Workload far = SampleConv(64 * 1024);
  auto answer = store.Query(BuiltInTemplates(), far, SampleTarget(), SampleDevice());
  EXPECT_EQ(answer->kind, AnswerKind::kMiss);
  EXPECT_THAT(answer->explanation, testing::HasSubstr("nearest with records: conv2d(float32[1,64"));
}

TEST_F(StoreTest, RefusesWhatIsNoStoreOfThisVersion) {
  Sql("CREATE TABLE somebody_elses (x)");
  auto other = Store::Open(path_, Store::Mode::kReadWrite);
  EXPECT_EQ(other.status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(other.status().message(), path_ + ": an SQLite database, but not a record store");

  ASSERT_TRUE(WriteFile(path_, "this is a text file, long enough to be read as a header").ok());
  EXPECT_EQ(Store::Open(path_, Store::Mode::kReadWrite).status().code(), StatusCode::kCorrupt);

  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_EQ(Store::Open(path_, Store::Mode::kReadOnly).status().code(), StatusCode::kNotFound);
  { OpenForWriting(); }
  Sql("PRAGMA user_version = 1000");
  auto newer = Store::Open(path_, Store::Mode::kReadOnly);
  EXPECT_EQ(newer.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(newer.status().message(), testing::HasSubstr("schema version 1000"));
}

TEST_F(StoreTest, ReaderSeesWhatAWriterCommits) {
  Store writer = OpenForWriting();
  auto reader = Store::Open(path_, Store::Mode::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const std::int64_t job = writer.OpenJob("job", "{}", 7)->id;
  ASSERT_TRUE(writer.Append(job, {SampleTrial(3, 0.002)}, {}).ok());
  EXPECT_EQ(*reader->CountTrials({}), 1);
  EXPECT_EQ(reader->Append(job, {SampleTrial(4, 0.002)}, {}).code(), StatusCode::kUnavailable);
}

// No measurement can give these values: the row was forged.
TEST_F(StoreTest, ValuesThatNothingCanHaveTakenAreNotServed) {
  for (const char* value : {"9e999", "-9e999", "0", "-1", "'fast'", "x'00'"}) {
    for (const char* end : {"", "-wal", "-shm"}) ::unlink((path_ + end).c_str());
    {
      Store store = OpenForWriting();
      const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
      ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002), SampleTrial(4, 0.003)}, {}).ok());
      ASSERT_TRUE(store.StoreBest(job, SampleTrial(3, 0.002), {}).ok());
    }
    const std::string forge = "UPDATE trial SET value = " + std::string(value);
    Sql((forge + " WHERE config_index = 3").c_str());
    Store store = OpenForWriting();
    auto answer = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    ASSERT_TRUE(answer->record.has_value()) << value;
    EXPECT_EQ(answer->record->trial.candidate.config.index, 4) << value;
    auto best = BestOfStore(BuiltInTemplates(), path_, 8);
    ASSERT_TRUE(best.ok()) << best.status().message();
    EXPECT_EQ(best->size(), 1U) << value;
  }
}

TEST_F(StoreTest, DamagedTextIsReportedAndNotServed) {
  {
    Store store = OpenForWriting();
    const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
    ASSERT_TRUE(store.Append(job, {SampleTrial(3, 0.002)}, {}).ok());
  }
  Sql("UPDATE trial SET config = '{'");
  Store store = OpenForWriting();
  EXPECT_EQ(store.Trials({}).status().code(), StatusCode::kCorrupt);
  // The row is skipped and reported; other rows are still served.
  const auto answer = store.Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kind, AnswerKind::kMiss);
  EXPECT_THAT(answer->explanation, testing::HasSubstr("left out: trial "));
}

// A writer killed at any instant loses at most its open transaction.
TEST_F(StoreTest, AcknowledgedTrialsSurviveKill) {
  { OpenForWriting(); }
  int acknowledged[2];
  ASSERT_EQ(::pipe(acknowledged), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = Store::Open(path_, Store::Mode::kReadWrite);
    const std::int64_t job = store->OpenJob("job", "{}", 7)->id;
    for (std::int64_t i = 0;; ++i) {
      if (!store->Append(job, {SampleTrial(i, 0.002)}, {{"task", "tell", std::to_string(i)}})
               .ok()) {
        ::_exit(1);
      }
      const char byte = 1;
      if (::write(acknowledged[1], &byte, 1) != 1) ::_exit(1);
    }
  }
  char bytes[20];
  std::size_t seen = 0;
  while (seen < sizeof(bytes)) {
    const ssize_t count = ::read(acknowledged[0], bytes, sizeof(bytes) - seen);
    ASSERT_GT(count, 0);
    seen += static_cast<std::size_t>(count);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(acknowledged[0]);
  ::close(acknowledged[1]);
  Store store = OpenForWriting();
  EXPECT_TRUE(store.Check().ok());
  const std::int64_t job = store.OpenJob("job", "{}", 7)->id;
  EXPECT_GE(*store.CountTrials({}), 20);
  EXPECT_EQ(*store.CountTrials({}), static_cast<std::int64_t>(store.Log(job, "task")->size()));
}

// A read-only mount: SQLite's message alone does not explain the cause.
TEST(SqliteErrors, OfFilesThatCannotBeWrittenSayWhatToDo) {
  for (const int code : {SQLITE_READONLY, SQLITE_READONLY_DBMOVED, SQLITE_CANTOPEN}) {
    const Status status = SqliteError(nullptr, code, "a.db");
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), testing::HasSubstr("give another record store"));
  }
}

}  // namespace
}  // namespace tilewright::records
