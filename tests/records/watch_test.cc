#include "records/watch.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "records/store.h"
#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

class StoreWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScopedTempDir::Create("tilewright-watch-test");
    ASSERT_TRUE(folder.ok());
    folder_ = std::make_unique<ScopedTempDir>(std::move(*folder));
    path_ = folder_->path() + "/records.db";
    ASSERT_TRUE(Store::Open(path_, Store::Mode::kReadWrite).ok());
  }
  static StoreWatch::Stamp Poll(const StoreWatch& watch) {
    auto stamp = watch.Poll();
    EXPECT_TRUE(stamp.ok()) << stamp.status().message();
    return *stamp;
  }
  static void Sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  void CheckSeesCommits(const std::string& path) {
    auto watch = StoreWatch::Open(path);
    ASSERT_TRUE(watch.ok()) << watch.status().message();
    StoreWatch::Stamp last = Poll(*watch);
    EXPECT_EQ(Poll(*watch), last);
    // 5: the log restarts in between, because its writer was the last connection to close.
    for (int i = 0; i < 5; ++i) {
      Sql(path, "INSERT OR REPLACE INTO fact (key, value) VALUES ('x', 'one value')");
      const StoreWatch::Stamp now = Poll(*watch);
      EXPECT_NE(now, last) << "commit " << i << ", though it changed no value";
      EXPECT_EQ(Poll(*watch), now);
      last = now;
    }
    Sql(path, "BEGIN; DELETE FROM fact; ROLLBACK");
    EXPECT_EQ(Poll(*watch), last) << "nothing was committed";
  }
  std::unique_ptr<ScopedTempDir> folder_;
  std::string path_;
};

TEST_F(StoreWatchTest, SeesEveryCommit) { CheckSeesCommits(path_); }

TEST_F(StoreWatchTest, SeesEveryCommitToACopyWithoutALog) {
  const std::string copy = folder_->path() + "/copy.db";
  Sql(path_, "VACUUM INTO '" + copy + "'");
  CheckSeesCommits(copy);
}

TEST_F(StoreWatchTest, SeesCommitsAfterACheckpoint) {
  auto watch = StoreWatch::Open(path_);
  ASSERT_TRUE(watch.ok()) << watch.status().message();
  Sql(path_, "INSERT INTO fact (key, value) VALUES ('x', '1'); PRAGMA wal_checkpoint(TRUNCATE)");
  const StoreWatch::Stamp before = Poll(*watch);
  Sql(path_, "INSERT INTO fact (key, value) VALUES ('y', '1')");
  EXPECT_NE(Poll(*watch), before);
}

TEST_F(StoreWatchTest, RefusesWhatIsNoStore) {
  EXPECT_EQ(StoreWatch::Open(folder_->path() + "/none").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFile(path_, "this is a text file, long enough to be read as a header").ok());
  EXPECT_EQ(StoreWatch::Open(path_).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace tilewright::records
