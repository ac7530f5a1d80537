#include "records/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "records/autotvm/import.h"
#include "records/merge.h"
#include "records/network_file_system.h"
#include "records/schema.h"
#include "records/sqlite.h"
#include "records/validation/identity.h"
#include "tests/records/autotvm_lines.h"
#include "tests/records/sample_trials.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;

class CareTest : public SampleStores {
 protected:
  std::vector<std::string> Ids(const std::string& path) {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    std::vector<std::string> ids;
    auto records = store->Trials({});
    for (const Record& record : *records) ids.push_back(record.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST_F(CareTest, MergeLosesNothingAndKeepsWhoMeasuredWhat) {
  const LogEntry entry{"task", "tell", "{\"a\":1}"};
  Add(Path("a.db"), {SampleTrial(3, 0.002), SampleTrial(4, 0.003)}, {entry});
  Add(Path("b.db"), {SampleTrial(3, 0.0025), SampleTrial(0, 0.1, SampleConv(32))}, {entry, entry});
  {
    auto b = Store::Open(Path("b.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(b->SetFact("resolution", "0.01").ok());
    ASSERT_TRUE(b->StoreBest(b->OpenJob("job", "", 0)->id, SampleTrial(3, 0.0025), {3, 5}).ok());
  }
  auto reports = MergeStores(BuiltInTemplates(), Path("a.db"), {Path("b.db")});
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  EXPECT_EQ(reports->front().trials, 2);
  EXPECT_EQ(reports->front().added, 2);
  EXPECT_EQ(reports->front().log_entries_added, 2);
  EXPECT_EQ(reports->front().sha256.size(), 64U);
  EXPECT_EQ(CountIn(Path("a.db")), 4);
  auto a = Store::Open(Path("a.db"), Store::Mode::kReadWrite);
  const std::string b_id = reports->front().store_id;
  EXPECT_EQ(**a->Fact("store/" + b_id + "/resolution"), "0.01");
  EXPECT_TRUE(a->Fact("store/" + b_id + "/merged")->has_value());
  EXPECT_EQ(a->Log(a->OpenJob("job", "", 0)->id, "task")->size(), 1U) << "its own job is as it was";
  EXPECT_EQ(a->Log(a->OpenJob("job@" + b_id, "", 0)->id, "task")->size(), 2U);
  EXPECT_THAT(
      a->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice())->explanation,
      HasSubstr("final race"));
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("a.db")), testing::IsEmpty());
  auto summary = Summarize(BuiltInTemplates(), Path("a.db"));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->stores.at(b_id), 2);
  EXPECT_EQ(summary->stores.size(), 2U);
}

// Trials of lost devices, and repetitions of those of excluded ones, are no trials of the search.
TEST_F(CareTest, TheSummaryTellsTrialsFromOtherMeasurements) {
  Trial raced = SampleTrial(3, 0.002), lost = SampleTrial(4, 0.003),
        revised = SampleTrial(5, 0.004);
  raced.attempt = 1;
  lost.attempt = -1;
  lost.outcome = Outcome::kDeviceLost;
  lost.verified = false;
  lost.reason = "gone";
  revised.attempt = -2;
  Add(Path("a.db"), {SampleTrial(3, 0.002), raced, lost, revised});
  const auto summary = Summarize(BuiltInTemplates(), Path("a.db"));
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->tasks.size(), 1U);
  EXPECT_EQ(summary->tasks[0].trials, 4);
  EXPECT_EQ(summary->tasks[0].raced, 1);
  EXPECT_EQ(summary->tasks[0].additional, 2);
  EXPECT_EQ(summary->tasks[0].failed, 0);
}

TEST_F(CareTest, MergingAgainChangesNothingAndOrderDoesNotMatter) {
  Add(Path("a.db"), {SampleTrial(3, 0.002)});
  Add(Path("b.db"), {SampleTrial(4, 0.003)}, {{"task", "tell", "{}"}});
  ASSERT_TRUE(MergeStores(BuiltInTemplates(), Path("ab.db"), {Path("a.db"), Path("b.db")}).ok());
  ASSERT_TRUE(MergeStores(BuiltInTemplates(), Path("ba.db"), {Path("b.db"), Path("a.db")}).ok());
  EXPECT_EQ(Ids(Path("ab.db")), Ids(Path("ba.db")));
  auto again = MergeStores(BuiltInTemplates(), Path("ab.db"), {Path("ba.db"), Path("b.db")});
  ASSERT_TRUE(again.ok()) << again.status().message();
  for (const MergeReport& report : *again) {
    EXPECT_EQ(report.added, 0);
    EXPECT_EQ(report.log_entries_added, 0);
  }
  // The store was continued in the meantime: its new trials and log entries are added.
  Add(Path("b.db"), {SampleTrial(5, 0.003)}, {{"task", "tell", "{}"}});
  auto more = MergeStores(BuiltInTemplates(), Path("ab.db"), {Path("b.db")});
  ASSERT_TRUE(more.ok()) << more.status().message();
  EXPECT_EQ(more->front().added, 1);
  EXPECT_EQ(more->front().log_entries_added, 1);
  // Merging back into the store that the job came from.
  auto back = MergeStores(BuiltInTemplates(), Path("b.db"), {Path("ab.db")});
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->front().added, 1);
  auto b = Store::Open(Path("b.db"), Store::Mode::kReadWrite);
  EXPECT_EQ(b->Log(b->OpenJob("job", "", 0)->id, "task")->size(), 2U);
}

TEST_F(CareTest, MergeRefusesTwoVersionsOfOneTrialAndLeavesTheStoreAlone) {
  Add(Path("a.db"), {SampleTrial(3, 0.002)});
  ASSERT_TRUE(VacuumStore(Path("a.db"), Path("copy.db")).ok());
  Add(Path("copy.db"), {SampleTrial(4, 0.003)});
  // Both rows have the id of earlier versions, which does not cover the value.
  Trial trial = SampleTrial(3, 0.002);
  for (const char* name : {"a.db", "copy.db"}) {
    std::string store_id;
    {
      auto store = Store::Open(Path(name), Store::Mode::kReadOnly);
      store_id = **store->Fact("store_id");
    }
    Sql(Path(name), "UPDATE trial SET id = '" + LegacyTrialId(store_id, "job", trial) +
                        "' WHERE config_index = 3");
  }
  Sql(Path("copy.db"), "UPDATE trial SET value = 0.00201 WHERE config_index = 3");
  auto refused = MergeStores(BuiltInTemplates(), Path("a.db"), {Path("copy.db")});
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.status().message(), HasSubstr("first that differs"));
  EXPECT_EQ(CountIn(Path("a.db")), 1);
  EXPECT_EQ(MergeStores(BuiltInTemplates(), Path("a.db"), {Path("a.db")}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(MergeStores(BuiltInTemplates(), Path("a.db"), {Path("none.db")}).status().code(),
            StatusCode::kNotFound);
}

// Tables of later schema versions: numbered rows that no trial refers to are merged together with
// the rows that they reference, and are not part of splits and packages.
TEST_F(CareTest, MergeCarriesImportedRecords) {
  if (SchemaVersion() < 2) GTEST_SKIP() << "this schema has no imported records";
  Add(Path("a.db"), {SampleTrial(3, 0.002)});
  Add(Path("b.db"), {SampleTrial(4, 0.003)});
  const std::string target = "llvm -mcpu=core-avx2", other = "llvm -mcpu=skylake";
  ASSERT_TRUE(WriteFile(Path("a.log"), ConvLine(8, 3, "0.003", "99.5", target, 32) + "\n").ok());
  ASSERT_TRUE(WriteFile(Path("b.log"), ConvLine(8, 3, "0.002") + "\n" +
                                           ConvLine(8, 3, "0.001", "101.5", other) + "\n")
                  .ok());
  for (const char* name : {"a", "b"}) {
    auto store = Store::Open(Path(name + std::string(".db")), Store::Mode::kReadWrite);
    ASSERT_TRUE(ImportAutotvm(*store, {Path(name + std::string(".log"))}, {}).ok());
  }
  for (int i = 0; i < 2; ++i) {
    auto reports = MergeStores(BuiltInTemplates(), Path("a.db"), {Path("b.db")});
    ASSERT_TRUE(reports.ok()) << reports.status().message();
  }
  auto db = Database::Open(Path("a.db"), Database::Mode::kReadOnly);
  EXPECT_EQ(*QueryInt(*db, "SELECT count(*) FROM imported"), 3);
  EXPECT_EQ(*QueryInt(*db, "SELECT count(*) FROM imported_source"), 2);
  EXPECT_EQ(*QueryInt(*db,
                      "SELECT count(*) FROM imported i JOIN imported_target t ON"
                      " t.id = i.target WHERE i.cost = 0.001 AND t.text = 'llvm -mcpu=skylake'"),
            1);
  EXPECT_EQ(*QueryInt(*db,
                      "SELECT count(*) FROM imported i JOIN imported_task t ON t.id = i.task"
                      " WHERE t.tuple LIKE '%(1, 64, 56, 56)%'"),
            2);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("a.db")), testing::IsEmpty());
}

TEST_F(CareTest, SplitPartsHoldEveryImportedRecordOnce) {
  Add(Path("a.db"), {SampleTrial(3, 0.002)});
  const std::string other = "llvm -mcpu=skylake";
  ASSERT_TRUE(WriteFile(Path("a.log"), ConvLine(8, 3, "0.002") + "\n" +
                                           ConvLine(8, 3, "0.001", "101.5", other) + "\n" +
                                           ConvLine(16, 28, "0.001", "102.5", other) + "\n")
                  .ok());
  {
    auto store = Store::Open(Path("a.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(ImportAutotvm(*store, {Path("a.log")}, {}).ok());
  }
  for (const SplitBy by : {SplitBy::kTarget, SplitBy::kDevice, SplitBy::kOperator, SplitBy::kJob}) {
    const std::string folder = Path("parts" + std::to_string(static_cast<int>(by)));
    auto split = SplitStore(Path("a.db"), folder, by);
    ASSERT_TRUE(split.ok()) << split.status().message();
    std::int64_t imported = 0, trials = 0;
    std::vector<std::string> paths;
    for (const SplitPart& part : *split) {
      imported += part.imported;
      trials += part.trials;
      paths.push_back(part.path);
      auto db = Database::Open(part.path, Database::Mode::kReadOnly);
      EXPECT_EQ(*QueryInt(*db, "SELECT count(*) FROM imported"), part.imported);
      if (part.value == other) {
        EXPECT_EQ(part.imported, 2);
      }
    }
    EXPECT_EQ(imported, 3);
    EXPECT_EQ(trials, 1);
    ASSERT_TRUE(MergeStores(BuiltInTemplates(), folder + "/all.db", paths).ok());
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), folder + "/all.db"), testing::IsEmpty());
    auto all = Database::Open(folder + "/all.db", Database::Mode::kReadOnly);
    EXPECT_EQ(*QueryInt(*all, "SELECT count(*) FROM imported"), 3);
  }
}

TEST_F(CareTest, SplitPartsHoldEveryTrialOnce) {
  Trial other = SampleTrial(3, 0.002);
  other.device = SampleDevice("Other CPU");
  Add(Path("a.db"), {SampleTrial(3, 0.002), other, SampleTrial(4, 0.1, SampleConv(32)),
                     SampleTrial(5, 0.1, SampleConv(), SampleTarget(" -num-threads=2"))});
  for (const auto& [by, parts] :
       {std::pair(SplitBy::kTarget, 2U), std::pair(SplitBy::kDevice, 2U),
        std::pair(SplitBy::kOperator, 1U), std::pair(SplitBy::kJob, 1U)}) {
    const std::string folder = Path("parts" + std::to_string(static_cast<int>(by)));
    auto split = SplitStore(Path("a.db"), folder, by);
    ASSERT_TRUE(split.ok()) << split.status().message();
    EXPECT_EQ(split->size(), parts);
    std::vector<std::string> paths;
    for (const SplitPart& part : *split) paths.push_back(part.path);
    ASSERT_TRUE(MergeStores(BuiltInTemplates(), folder + "/all.db", paths).ok());
    EXPECT_EQ(Ids(folder + "/all.db"), Ids(Path("a.db")));
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), folder + "/all.db"), testing::IsEmpty());
  }
  EXPECT_EQ(SplitStore(Path("a.db"), Path("parts0"), SplitBy::kTarget).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(CareTest, PruneKeepsBestTiesWinnersSampleAndUnfinishedJobs) {
  std::vector<Trial> trials;
  for (int i = 0; i < 40; ++i) trials.push_back(SampleTrial(i, i < 3 ? 0.001 : 0.001 * i));
  Add(Path("a.db"), trials);
  {
    auto store = Store::Open(Path("a.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(store->StoreBest(store->OpenJob("job", "", 0)->id, trials[20], {20, 25}).ok());
  }
  Add(Path("a.db"), {SampleTrial(30, 0.5, SampleConv(32))}, {}, false, "unfinished");
  PruneOptions options;
  options.best = 2;
  options.training = 0;
  options.dry_run = true;
  auto dry = PruneStore(BuiltInTemplates(), Path("a.db"), options);
  ASSERT_TRUE(dry.ok()) << dry.status().message();
  EXPECT_EQ(CountIn(Path("a.db")), 41);
  options.dry_run = false;
  auto report = PruneStore(BuiltInTemplates(), Path("a.db"), options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->removed, dry->removed);
  EXPECT_EQ(report->removed, 41 - 6);  // three equal ones, the winner and its tie, the unfinished
  EXPECT_EQ(CountIn(Path("a.db")), 6);
  EXPECT_EQ(PruneStore(BuiltInTemplates(), Path("a.db"), options)->removed, 0);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("a.db")), testing::IsEmpty());
  auto store = Store::Open(Path("a.db"), Store::Mode::kReadOnly);
  EXPECT_EQ(store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice())
                ->record->trial.candidate.config.index,
            20);
}

TEST_F(CareTest, PruneKeepsTheSameSampleEveryTime) {
  std::vector<Trial> trials;
  for (int i = 0; i < 40; ++i) {
    trials.push_back(SampleTrial(i, 0.001 * (i + 1)));
    if (i % 2 == 0) {
      trials.back().outcome = Outcome::kRunFailed;
      trials.back().verified = false;
    }
  }
  Add(Path("a.db"), trials);
  PruneOptions options;
  options.best = 1;
  options.training = 10;
  auto report = PruneStore(BuiltInTemplates(), Path("a.db"), options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->kept_training, 10);
  const std::vector<std::string> ids = Ids(Path("a.db"));
  EXPECT_LE(ids.size(), 11U);
  options.training = -1;
  EXPECT_EQ(PruneStore(BuiltInTemplates(), Path("a.db"), options)->removed, 0);
  EXPECT_EQ(Ids(Path("a.db")), ids);
}

TEST_F(CareTest, CheckFindsWhatWasChanged) {
  const std::string path = Path("a.db");
  const std::pair<const char*, const char*> kChanges[] = {
      {"UPDATE trial SET config = replace(config, '\"index\":3', '\"index\":4')",
       "config's index is 4, expected 3"},
      {"UPDATE trial SET config_index = 4", "index differs"},
      {"UPDATE trial SET attempt = 9", "was changed"},
      {"UPDATE trial SET value = 5", "outside of its samples"},
      {"UPDATE trial SET value = 0", "not positive"},
      {"UPDATE trial SET outcome = 4", "verified, though"},
      {"UPDATE trial SET outcome = 17", "outcome 17"},
      {"UPDATE trial SET samples = x'00'", "cut off"},
      {"UPDATE workload SET key = 'nonsense'", "nonsense"},
      {"UPDATE trial SET device = 7", "that is not there"},
      {"INSERT INTO best VALUES (1, 1, 1, 1, 'x', '')", "winner of a race"},
      {"UPDATE log SET payload = '{'", "log entry 1: "},
      {"UPDATE job SET name = 'other'", "was changed"},
  };
  for (const auto& [sql, reason] : kChanges) {
    ::unlink(path.c_str());
    Add(path, {SampleTrial(3, 0.002)}, {{"task", "tell", "{}"}});
    ASSERT_THAT(*CheckStore(BuiltInTemplates(), path), testing::IsEmpty());
    Sql(path, sql);
    auto problems = CheckStore(BuiltInTemplates(), path);
    ASSERT_TRUE(problems.ok()) << problems.status().message();
    EXPECT_THAT(*problems, testing::Contains(HasSubstr(reason))) << sql;
  }
}

// The CSV export must report an invalid outcome instead of ending the program.
TEST_F(CareTest, AnOutcomeThatIsNoneIsAnErrorOfEveryReader) {
  const std::string path = Path("a.db");
  for (const char* outcome : {"17", "-1", "264"}) {
    ::unlink(path.c_str());
    Add(path, {SampleTrial(3, 0.002)});
    Sql(path, std::string("UPDATE trial SET outcome = ") + outcome);
    const Status status = ExportCsv(path, {}, [](std::string_view) { return Status(); });
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << status.message();
    EXPECT_THAT(status.message(),
                HasSubstr(std::string("outcome ") + outcome + ", expected 0 to 7"));
  }
}

TEST_F(CareTest, BestListsWinnersFirstAndTheirTies) {
  const std::vector<Trial> trials = {SampleTrial(3, 0.002), SampleTrial(4, 0.003),
                                     SampleTrial(5, 0.004)};
  Add(Path("a.db"), trials);
  {
    auto store = Store::Open(Path("a.db"), Store::Mode::kReadWrite);
    ASSERT_TRUE(store->StoreBest(store->OpenJob("job", "", 0)->id, trials[1], {4, 5}).ok());
  }
  auto best = BestOfStore(BuiltInTemplates(), Path("a.db"), 1);
  ASSERT_TRUE(best.ok()) << best.status().message();
  ASSERT_EQ(best->size(), 3U);
  EXPECT_TRUE((*best)[0].raced);
  EXPECT_EQ((*best)[0].record.trial.candidate.config.index, 4);
  EXPECT_EQ((*best)[0].tied, std::vector<std::int64_t>{5});
  EXPECT_EQ((*best)[1].record.trial.candidate.config.index, 3);
}

TEST_F(CareTest, VacuumGivesSpaceBackAndMakesCopies) {
  std::vector<Trial> trials;
  for (int i = 0; i < 200; ++i) trials.push_back(SampleTrial(i, 0.001 * (i + 1)));
  Add(Path("a.db"), trials);
  PruneOptions options;
  options.best = 1;
  options.training = 0;
  ASSERT_TRUE(PruneStore(BuiltInTemplates(), Path("a.db"), options).ok());
  EXPECT_GT(Summarize(BuiltInTemplates(), Path("a.db"))->free_bytes, 0);
  auto copied = VacuumStore(Path("a.db"), Path("copy.db"));
  ASSERT_TRUE(copied.ok()) << copied.status().message();
  EXPECT_LT(copied->bytes_after, copied->bytes_before);
  EXPECT_FALSE(FileExists(Path("copy.db-wal")));
  EXPECT_EQ(CountIn(Path("copy.db")), 1);
  auto vacuumed = VacuumStore(Path("a.db"), "");
  ASSERT_TRUE(vacuumed.ok()) << vacuumed.status().message();
  EXPECT_EQ(Summarize(BuiltInTemplates(), Path("a.db"))->free_bytes, 0);
  EXPECT_EQ(VacuumStore(Path("a.db"), Path("copy.db")).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(CareTest, CsvHasOneLineForEachTrialAndQuotesWhatNeedsIt) {
  Trial failed = SampleTrial(4, 0);
  failed.outcome = Outcome::kRunFailed;
  failed.verified = false;
  failed.reason = "signal 11, \"segmentation fault\"";
  Add(Path("a.db"), {SampleTrial(3, 0.002), failed});
  std::string text;
  ASSERT_TRUE(ExportCsv(Path("a.db"), {}, [&](std::string_view piece) {
                text += piece;
                return Status();
              }).ok());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, testing::StartsWith("id,job,workload,target,device,epilogue,template,"));
  EXPECT_THAT(text, HasSubstr("run_failed,\"signal 11, \"\"segmentation fault\"\"\",seconds,"));
}

TEST_F(CareTest, CsvHasNothingThatATerminalObeys) {
  Trial failed = SampleTrial(4, 0);
  failed.outcome = Outcome::kRunFailed;
  failed.verified = false;
  failed.reason =
      "\x1b]0;x\x07 one\ntwo\r\tthree \xc2\x9b"
      "1m";
  Add(Path("a.db"), {failed});
  std::string text;
  ASSERT_TRUE(ExportCsv(Path("a.db"), {}, [&](std::string_view piece) {
                text += piece;
                return Status();
              }).ok());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr(R"(run_failed,\x1b]0;x\x07 one\ntwo\r\tthree \u009b1m,seconds,)"));
}

// A split copies the store at one moment: a trial added meanwhile is in none of the parts.
TEST_F(CareTest, SplitLeavesNothingBesideItsParts) {
  Add(Path("a.db"), {SampleTrial(3, 0.002), SampleTrial(4, 0.1, SampleConv(32))});
  ASSERT_TRUE(SplitStore(Path("a.db"), Path("parts"), SplitBy::kTarget).ok());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(Path("parts"))) {
    ++files;
  }
  EXPECT_EQ(files, 1U);
}

TEST(NetworkFileSystemTest, TellsThemFromLocalOnes) {
  EXPECT_EQ(NetworkFileSystem(0x6969, ""), "NFS");
  EXPECT_EQ(NetworkFileSystem(static_cast<std::int32_t>(0xFF534D42), ""), "CIFS");
  EXPECT_EQ(NetworkFileSystem(0xEF53, ""), "");      // ext4
  EXPECT_EQ(NetworkFileSystem(0x01021994, ""), "");  // tmpfs
  EXPECT_EQ(NetworkFileSystem(0x65735546, "fuse.sshfs"), "sshfs");
  EXPECT_EQ(NetworkFileSystem(0x65735546, "fuseblk"), "");
  constexpr std::string_view kMounts =
      "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "23 22 0:5 / /home rw,noatime shared:1 - fuse.sshfs host:/ rw\n"
      "24 23 0:6 / /home/me/disk rw - ext4 /dev/sdb rw\n";
  EXPECT_EQ(MountTypeOf("/home/me", kMounts), "fuse.sshfs");
  EXPECT_EQ(MountTypeOf("/home/me/disk/a", kMounts), "ext4");
  EXPECT_EQ(MountTypeOf("/homeless", kMounts), "ext4");
  EXPECT_EQ(MountTypeOf("/x", "nonsense"), "");
}

}  // namespace
}  // namespace tilewright::records
