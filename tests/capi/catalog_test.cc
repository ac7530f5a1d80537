// The cache of a catalog: its contents, and that it never returns stale answers.

#include "src/capi/catalog.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/capi/capi_fixture.h"
#include "tests/support/set_clock.h"

namespace tilewright::capi {
namespace {

class CatalogTest : public CapiTest {
 protected:
  void Sql(const std::string& path, const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::int64_t IndexOf(const std::string& key) {
    return tw_answer_config_index(Ask(key, TW_ACCEPT_HIT).get());
  }
};

TEST_F(CatalogTest, SameQuestionGetsTheSameAnswer) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  const auto first = Ask(DenseKey(1));
  const auto second = Ask(DenseKey(1));
  EXPECT_EQ(first.get(), second.get()) << "from the cache";
  EXPECT_NE(first.get(), Ask(DenseKey(1), TW_ACCEPT_HIT).get()) << "another question";
}

TEST_F(CatalogTest, CommitIsSeenByTheNextQuery) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002)});
  Add(path_);
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
  EXPECT_EQ(IndexOf(DenseKey(2)), -1);
  // 20: the log is checkpointed and restarted in between, because every writer closes the store.
  for (int i = 0; i < 20; ++i) {
    Write(path_, {OkTrial(DenseKey(1), 6 + i, 0.001 - 1e-5 * i)});
    ASSERT_EQ(IndexOf(DenseKey(1)), 6 + i);
  }
  Write(path_, {OkTrial(DenseKey(2), 9, 0.001)});
  EXPECT_EQ(IndexOf(DenseKey(2)), 9) << "a miss is not kept longer than a hit";
}

TEST_F(CatalogTest, NumbersThatStandForOtherTextsAreForgotten) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002), OkTrial(DenseKey(2), 6, 0.002)});
  Add(path_);
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
  EXPECT_EQ(IndexOf(DenseKey(2)), 6);
  Sql(path_,
      "DELETE FROM trial; DELETE FROM workload; INSERT INTO workload (id, key, op)"
      " VALUES (1, 'none', 'dense')");
  Write(path_, {OkTrial(DenseKey(1), 7, 0.002)});  // now number 2
  EXPECT_EQ(IndexOf(DenseKey(1)), 7);
  EXPECT_EQ(IndexOf(DenseKey(2)), -1);
}

TEST_F(CatalogTest, ReplacedFileIsNoticed) {
  const std::string other = folder_->path() + "/other.db";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002)});
  Write(other, {OkTrial(DenseKey(1), 8, 0.009)});
  Add(path_);
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
  ASSERT_EQ(std::rename(other.c_str(), path_.c_str()), 0);
  ASSERT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_OK) << error_.message;
  EXPECT_EQ(IndexOf(DenseKey(1)), 8);
  Write(path_, {OkTrial(DenseKey(1), 9, 0.001)});
  EXPECT_EQ(IndexOf(DenseKey(1)), 9) << "commits to the new file are watched too";
}

TEST_F(CatalogTest, FileThatHasGoneIsAnErrorUntilItIsBack) {
  const std::string aside = folder_->path() + "/aside.db";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002)});
  Add(path_);
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
  ASSERT_EQ(std::rename(path_.c_str(), aside.c_str()), 0);
  EXPECT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_NOT_FOUND);
  EXPECT_THAT(error_.message, testing::StartsWith(path_));
  EXPECT_EQ(Ask(DenseKey(1)), nullptr);
  EXPECT_EQ(code_, TW_NOT_FOUND);
  ASSERT_TRUE(WriteFile(path_, "this is a text file, long enough to be read as a header").ok());
  EXPECT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_CORRUPT);
  ASSERT_EQ(std::rename(aside.c_str(), path_.c_str()), 0);
  EXPECT_EQ(tw_catalog_refresh(catalog_.get(), &error_), TW_OK) << error_.message;
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
}

TEST_F(CatalogTest, MessagesAreOneLine) {
  const std::string model = folder_->path() + "/model.onnx";
  const auto bytes =
      ReadFile(std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/fixtures/data/network.onnx");
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(WriteFile(model, *bytes).ok());
  EXPECT_NE(tw_catalog_add_store(catalog_.get(), model.c_str(), &error_), TW_OK);
  EXPECT_THAT(error_.message, testing::HasSubstr("this is an ONNX model"));
  EXPECT_THAT(error_.message, testing::Not(testing::HasSubstr("\n")));
}

TEST_F(CatalogTest, StoreWithoutALogIsWatchedToo) {
  const std::string copy = folder_->path() + "/copy.db";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002), OkTrial(DenseKey(1), 6, 0.003)});
  Sql(path_, ("VACUUM INTO '" + copy + "'").c_str());
  Add(copy);
  EXPECT_EQ(IndexOf(DenseKey(1)), 5);
  Sql(copy, "UPDATE trial SET value = 0.001, samples = x'' WHERE config_index = 6");
  EXPECT_EQ(IndexOf(DenseKey(1)), 6);
}

TEST_F(CatalogTest, FilesAreLookedAtTenTimesASecond) {
  const std::string other = folder_->path() + "/other.db";
  Write(path_, {OkTrial(DenseKey(1), 5, 0.002)});
  Write(other, {OkTrial(DenseKey(1), 8, 0.009)});
  SetClock clock(100);
  Catalog catalog(clock);
  ASSERT_TRUE(catalog.Add(std::move(*Source::OpenStore(path_))).ok());
  const std::string key = DenseKey(1);
  const auto ask = [&] {
    const AnswerCache::LookupRequest request{
        {1, 2}, TW_ACCEPT_HIT, 0, AnswerCache::LookupRequest::Spelling::kKey, key};
    const auto parse = [&] {
      return Result<ParsedQuery>(ParsedQuery{*Workload::Parse(key), {}, {}});
    };
    auto answer = catalog.Answer(request, *target_, parse);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return tw_answer_config_index(answer->get());
  };
  EXPECT_EQ(ask(), 5);
  ASSERT_EQ(std::rename(other.c_str(), path_.c_str()), 0);
  clock.SleepSeconds(Catalog::kFilePollSeconds / 2);
  EXPECT_EQ(ask(), 5);
  clock.SleepSeconds(Catalog::kFilePollSeconds);
  EXPECT_EQ(ask(), 8);
}

TEST_F(CatalogTest, TakesNoMoreThanItsSources) {
  Write(path_, {});
  for (std::size_t i = 0; i < Catalog::kMaxSources; ++i) Add(path_);
  EXPECT_EQ(tw_catalog_add_store(catalog_.get(), path_.c_str(), &error_), TW_INVALID_ARGUMENT);
  EXPECT_THAT(error_.message, testing::HasSubstr("at most 64"));
}

TEST_F(CatalogTest, AnswerOutlivesCatalogAndStore) {
  Write(path_, {OkTrial(DenseKey(1), 5, 0.001)});
  Add(path_);
  const auto answer = Ask(DenseKey(1));
  catalog_.reset();
  folder_.reset();
  EXPECT_EQ(tw_answer_config_index(answer.get()), 5);
  EXPECT_EQ(tw_answer_workload(answer.get()), DenseKey(1));
}

TEST_F(CatalogTest, CacheStaysWithinItsBounds) {
  AnswerCache cache;
  const std::string text(16, 'x');
  const auto workload = Workload::Parse(DenseKey(1));
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const AnswerCache::LookupRequest request{
        {i, 2}, TW_ACCEPT_HIT, 0, AnswerCache::LookupRequest::Spelling::kKey, text};
    cache.Keep(request, 7, MakeAnswer({}, {*workload, {}, {}}, {}, *target_));
    EXPECT_NE(cache.Find(request, 7), nullptr);
    EXPECT_EQ(cache.Find(request, 8), nullptr) << "an older generation";
  }
}

// Threads query, one adds sources, one commits better and better configs: an answer is never older
// than the last commit before the query.
TEST_F(CatalogTest, ThreadsShareOneHandle) {
  constexpr int kThreads = 8, kCommits = 30;
  Write(path_, {OkTrial(DenseKey(1), 0, 0.002)});
  Add(path_);
  std::atomic<std::int64_t> committed{0};
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (committed.load() < kCommits) {
        const std::int64_t before = committed.load();
        tw_error error = TW_ERROR_INIT;
        tw_answer* answer = nullptr;
        const tw_code code = tw_query_key(catalog_.get(), target_.get(), DenseKey(1).c_str(),
                                          nullptr, &answer, &error);
        if (code != TW_OK) ++failed;
        if (code == TW_OK && tw_answer_config_index(answer) < before) ++wrong;
        tw_answer_free(answer);
      }
    });
  }
  for (int i = 1; i <= kCommits; ++i) {
    Write(path_, {OkTrial(DenseKey(1), i, 0.002 - 1e-5 * i)});
    committed = i;
    if (i % 10 == 0) Add(path_);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tilewright::capi
