#include "records/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/image.h"
#include "records/maintenance.h"
#include "records/merge.h"
#include "records/package/build.h"
#include "records/package/package.h"
#include "records/row.h"
#include "records/watch.h"
#include "tests/records/sample_trials.h"
#include "tests/support/built_in.h"

namespace tilewright::records {
namespace {

/// Stores of each schema version: the tables of that version, and one trial in the columns of the
/// first version.
class EverySchema : public SampleStores, public testing::WithParamInterface<int> {
 protected:
  static void Fill(const Database& db, const Trial& trial) {
    ASSERT_TRUE(MakeTables(db, GetParam()).ok());
    ASSERT_TRUE(db.Execute("INSERT INTO fact VALUES ('store_id', '0123456789abcdef');"
                           "INSERT INTO job VALUES (1, 'job', '{}', 7, 1);"
                           "INSERT INTO epilogue VALUES (1, '')")
                    .ok());
    const Candidate& c = trial.candidate;
    const auto text = [&](const char* sql, const std::string& value) {
      auto insert = Statement::Prepare(db, sql);
      ASSERT_TRUE(insert.ok());
      EXPECT_TRUE(insert->Bind(1, value).Run().ok());
    };
    text("INSERT INTO workload VALUES (1, ?1, 'conv2d')", c.task.workload.Key());
    text("INSERT INTO target VALUES (1, ?1)", c.task.target.ToString());
    text("INSERT INTO device VALUES (1, ?1)", trial.device.ToString());
    auto insert = Statement::Prepare(
        db,
        "INSERT INTO trial (id, job, workload, target, device, epilogue, template,"
        " template_version, codegen_version, config_index, config, outcome, reason, metric,"
        " value, noise, samples, verified, max_abs_error, build_seconds, run_seconds, attempt,"
        " finished) VALUES (?1, 1, 1, 1, 1, 1, ?2, ?3, ?4, ?5, ?6, 0, '', 'seconds', ?7, 0.01,"
        " ?8, 1, 0, 0, 0, 0, ?9)");
    ASSERT_TRUE(insert.ok()) << insert.status().message();
    insert->Bind(1, TrialId("0123456789abcdef", "job", trial)).Bind(2, c.template_key);
    insert->Bind(3, c.template_version).Bind(4, trial.codegen_version).Bind(5, c.config.index);
    insert->Bind(6, c.config.ToString()).Bind(7, trial.value);
    insert->BindBytes(8, trial.samples.data(), trial.samples.size() * sizeof(double));
    insert->Bind(9, trial.finished_unix_seconds);
    ASSERT_TRUE(insert->Run().ok());
  }
};

TEST_P(EverySchema, StoreOpensAndMigrates) {
  {
    auto db = Database::Open(Path("old.db"), Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db.ok());
    Fill(*db, SampleTrial(3, 0.002));
  }
  auto store = Store::Open(Path("old.db"), Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto answer = store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->kind, AnswerKind::kHit);
  EXPECT_EQ(Summarize(BuiltInTemplates(), Path("old.db"))->schema, SchemaVersion());
  EXPECT_TRUE(CheckStore(BuiltInTemplates(), Path("old.db"))->empty());
}

TEST_P(EverySchema, PackageOpens) {
  auto db = OpenMemory();
  ASSERT_TRUE(db.ok());
  const Trial trial = SampleTrial(3, 0.002);
  Fill(*db, trial);
  ASSERT_TRUE(db->Execute("DELETE FROM fact").ok());
  const std::string image = *ImageOf(*db);
  PackageManifest manifest;
  manifest.schema = GetParam();
  manifest.name = "old";
  manifest.targets = {SampleTarget().ToString()};
  manifest.tasks = manifest.trials = manifest.devices = 1;
  manifest.codegen_version = trial.codegen_version;
  manifest.newest_trial = UtcText(trial.finished_unix_seconds);
  manifest.database_bytes = static_cast<std::int64_t>(image.size());
  manifest.database_sha256 = Sha256Hex(image);
  auto package = ReadPackage(*PackageBytes(manifest, image, nullptr), TrustPolicy{{}, true});
  ASSERT_TRUE(package.ok()) << package.status().message();
  auto store = Store::OpenImage(package->database, "old");
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store->Query(BuiltInTemplates(), SampleConv(), SampleTarget(), SampleDevice())->kind,
            AnswerKind::kHit);
}

// Stores are as untrusted as packages: code in them (triggers, views) never runs.
TEST_P(EverySchema, AStoreWithForeignPartsIsRefused) {
  {
    auto db = Database::Open(Path("old.db"), Database::Mode::kReadWriteCreate);
    ASSERT_TRUE(db.ok());
    Fill(*db, SampleTrial(3, 0.002));
  }
  Sql(Path("old.db"), "CREATE TRIGGER eat AFTER INSERT ON job BEGIN DELETE FROM trial; END");
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    EXPECT_THAT(Store::Open(Path("old.db"), mode).status().message(),
                testing::HasSubstr("has the trigger 'eat', which is not part of a record store"));
  }
}

class UnexpectedSchemaObjects : public SampleStores {};

TEST_F(UnexpectedSchemaObjects, AreRefusedByEverythingThatOpensAStoreAndNamedByCheck) {
  const std::pair<const char*, const char*> kParts[] = {
      {"CREATE TRIGGER eat AFTER INSERT ON trial BEGIN DELETE FROM trial; END", "trigger 'eat'"},
      {"CREATE TRIGGER eat AFTER UPDATE ON fact BEGIN DELETE FROM log; END", "trigger 'eat'"},
      {"CREATE VIEW served AS SELECT * FROM trial", "view 'served'"},
      {"ALTER TABLE workload RENAME TO w2; CREATE VIEW workload AS WITH RECURSIVE n(id, key, op) AS"
       " (SELECT 1, 'a', 'b' UNION ALL SELECT id + 1, key, op FROM n) SELECT * FROM n",
       "'workload'"},
      {"CREATE TABLE more (x)", "table 'more'"},
      {"CREATE INDEX more ON trial (reason)", "index 'more'"},
      {"DROP INDEX served_by_value", "lacks the index 'served_by_value'"},
      {"ALTER TABLE trial ADD COLUMN more INTEGER DEFAULT 1", "its table 'trial'"},
      {"CREATE TABLE \"\x1b[2Jmore\" (x)", "table '\\x1b[2Jmore'"},
      {"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = 'best'",
       "its table 'best'"},
  };
  Add(Path("sound.db"), {SampleTrial(3, 0.002)});
  int number = 0;
  for (const auto& [sql, part] : kParts) {
    const std::string path = Path("store" + std::to_string(++number) + ".db");
    Add(path, {SampleTrial(3, 0.002), SampleTrial(4, 0.003)});
    Sql(path, sql);
    const auto refused = [&](const Status& status) {
      EXPECT_EQ(status.code(), StatusCode::kCorrupt) << sql << ": " << status.message();
      EXPECT_THAT(status.message(), testing::HasSubstr(part)) << sql;
    };
    refused(ToStatus(Store::Open(path, Store::Mode::kReadOnly)));
    refused(ToStatus(Store::Open(path, Store::Mode::kReadWrite)));
    refused(ToStatus(StoreWatch::Open(path)));
    refused(ToStatus(Summarize(BuiltInTemplates(), path)));
    refused(ToStatus(BestOfStore(BuiltInTemplates(), path, 1)));
    refused(ToStatus(PruneStore(BuiltInTemplates(), path, {})));
    refused(ToStatus(VacuumStore(path, "")));
    refused(ToStatus(VacuumStore(path, Path("copy.db"))));
    refused(ToStatus(MergeStores(BuiltInTemplates(), path, {Path("sound.db")})));
    refused(ToStatus(MergeStores(BuiltInTemplates(), Path("sound.db"), {path})));
    refused(ToStatus(SplitStore(path, Path("parts"), SplitBy::kTarget)));
    refused(ToStatus(BuildPackages(BuiltInTemplates(), {path}, {})));
    refused(ExportCsv(path, {}, [](std::string_view) { return Status(); }));
    const auto problems = CheckStore(BuiltInTemplates(), path);
    ASSERT_TRUE(problems.ok()) << problems.status().message();
    EXPECT_THAT(*problems, testing::Contains(testing::HasSubstr(part))) << sql;
  }
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), Path("sound.db")), testing::IsEmpty());
}

/// Tables that ANALYZE creates are permitted.
TEST_F(UnexpectedSchemaObjects, StatisticsOfSqliteAreNone) {
  Add(Path("analyzed.db"), {SampleTrial(3, 0.002)});
  Sql(Path("analyzed.db"), "ANALYZE");
  for (const auto mode : {Store::Mode::kReadOnly, Store::Mode::kReadWrite}) {
    const auto store = Store::Open(Path("analyzed.db"), mode);
    EXPECT_TRUE(store.ok()) << store.status().message();
  }
  const auto problems = CheckStore(BuiltInTemplates(), Path("analyzed.db"));
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  EXPECT_THAT(*problems, testing::IsEmpty());
  Sql(Path("analyzed.db"),
      "DROP TABLE sqlite_stat1; PRAGMA writable_schema = 1; INSERT INTO sqlite_schema"
      " SELECT 'table', 'sqlite_stat1', 'sqlite_stat1', rootpage,"
      " 'CREATE TABLE sqlite_stat1(tbl,idx,stat,more)' FROM sqlite_schema WHERE name = 'trial'");
  EXPECT_FALSE(Store::Open(Path("analyzed.db"), Store::Mode::kReadOnly).ok());
}

// Even without the schema comparison, a trigger or a view has no effect: every connection is
// hardened.
TEST_F(UnexpectedSchemaObjects, DoNotRunOnAnyConnection) {
  Add(Path("a.db"), {SampleTrial(3, 0.002)});
  Sql(Path("a.db"),
      "CREATE TRIGGER eat AFTER INSERT ON fact BEGIN DELETE FROM trial; END;"
      "CREATE VIEW served AS SELECT * FROM trial");
  auto db = Database::Open(Path("a.db"), Database::Mode::kReadWriteCreate);
  ASSERT_TRUE(db.ok());
  EXPECT_TRUE(db->Execute("INSERT INTO fact VALUES ('a', 'b')").ok());
  EXPECT_EQ(*QueryInt(*db, "SELECT count(*) FROM trial"), 1);
  EXPECT_FALSE(QueryInt(*db, "SELECT count(*) FROM served").ok());
  EXPECT_FALSE(db->Execute("PRAGMA writable_schema = 1; DELETE FROM sqlite_schema").ok());
}

INSTANTIATE_TEST_SUITE_P(Versions, EverySchema, testing::Range(1, SchemaVersion() + 1));

}  // namespace
}  // namespace tilewright::records
