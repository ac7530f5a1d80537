// Processes that fork while other threads run queries.

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/capi/capi_fixture.h"

namespace tilewright::capi {
namespace {

constexpr unsigned kHangSeconds = 30;  // SIGALRM ends a child that never returns

class ForkTest : public CapiTest {
 protected:
  void SetUp() override {
    CapiTest::SetUp();
    Write(Path("a.db"), {OkTrial(DenseKey(1), 0, 0.001)});
  }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  bool Asks(tw_catalog* catalog, int rows) {
    tw_answer* answer = nullptr;
    const std::string key = DenseKey(rows);
    const tw_code code =
        tw_query_key(catalog, target_.get(), key.c_str(), nullptr, &answer, nullptr);
    const bool hit = code == TW_OK && tw_answer_kind(answer) == TW_KIND_HIT;
    tw_answer_free(answer);
    return code == TW_OK && (rows != 1 || hit);
  }
  /// The child queries the inherited catalog, and creates its own.
  int InChild() {
    ::alarm(kHangSeconds);
    if (!Asks(catalog_.get(), 1)) return 2;
    tw_catalog* own = nullptr;
    if (tw_catalog_create(&own, nullptr) != TW_OK) return 3;
    if (tw_catalog_add_store(own, Path("a.db").c_str(), nullptr) != TW_OK) return 4;
    if (!Asks(own, 1) || !Asks(own, 2)) return 5;
    tw_catalog_free(own);
    // Forks of the child do not wait for threads that exist only in the parent.
    const pid_t child = ::fork();
    if (child == 0) ::_exit(Asks(catalog_.get(), 1) ? 0 : 1);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 6;
  }
};

TEST_F(ForkTest, ChildrenOfAProcessThatAsksMayAskToo) {
  ASSERT_EQ(tw_catalog_add_store(catalog_.get(), Path("a.db").c_str(), nullptr), TW_OK);
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int rows = 2 + t; !stop; rows += 3)
        failed += Asks(catalog_.get(), rows % 4000 + 2) ? 0 : 1;
    });
  }
  constexpr int kForks = 20;
  for (int i = 0; i < kForks; ++i) {
    ::usleep(2000);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(InChild());
    ASSERT_GT(child, 0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(Asks(catalog_.get(), 1));
}

// The parent and the child both notice commits after a fork.
TEST_F(ForkTest, CommitsAreStillNoticed) {
  ASSERT_EQ(tw_catalog_add_store(catalog_.get(), Path("a.db").c_str(), nullptr), TW_OK);
  ASSERT_TRUE(Asks(catalog_.get(), 1));
  int asked[2], ready[2];
  ASSERT_EQ(::pipe(asked), 0);
  ASSERT_EQ(::pipe(ready), 0);
  const auto seconds = [this] {
    tw_answer* answer = nullptr;
    const std::string key = DenseKey(1);
    if (tw_query_key(catalog_.get(), target_.get(), key.c_str(), nullptr, &answer, nullptr) !=
        TW_OK) {
      return -1.0;
    }
    const double found = tw_answer_cost_seconds(answer);
    tw_answer_free(answer);
    return found;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kHangSeconds);
    char go = 0;
    if (seconds() != 0.001) ::_exit(1);
    if (::write(asked[1], "x", 1) != 1 || ::read(ready[0], &go, 1) != 1) ::_exit(2);
    ::_exit(seconds() == 0.0005 ? 0 : 3);
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(seconds(), 0.001);
  char go = 0;
  ::close(asked[1]);  // a child that fails does not keep this one waiting
  EXPECT_EQ(::read(asked[0], &go, 1), 1);
  Write(Path("a.db"), {OkTrial(DenseKey(1), 1, 0.0005)});
  EXPECT_EQ(seconds(), 0.0005);
  EXPECT_EQ(::write(ready[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const int end : {asked[0], ready[0], ready[1]}) ::close(end);
}

// A process of another user, who may not write to the store's folder and so cannot lock it.
TEST_F(ForkTest, CommitsToAStoreOfAnotherUserAreNoticed) {
  const std::string folder = Path("others"), path = folder + "/records.db";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  Write(path, {OkTrial(DenseKey(1), 0, 0.001)});
  ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  int asked[2], ready[2];
  ASSERT_EQ(::pipe(asked), 0);
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kHangSeconds);
    constexpr uid_t kNobody = 65534;  // root may write everywhere
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(1);
    if (tw_catalog_add_store(catalog_.get(), path.c_str(), nullptr) != TW_OK) ::_exit(2);
    if (tw_answer_cost_seconds(Ask(DenseKey(1)).get()) != 0.001) ::_exit(3);
    char go = 0;
    if (::write(asked[1], "x", 1) != 1 || ::read(ready[0], &go, 1) != 1) ::_exit(4);
    if (tw_answer_cost_seconds(Ask(DenseKey(1)).get()) != 0.0005) ::_exit(5);
    ::_exit(Ask(DenseKey(40)) != nullptr ? 0 : 6);
  }
  ASSERT_GT(child, 0);
  ::close(asked[1]);  // a child that fails does not keep this one waiting
  char go = 0;
  EXPECT_EQ(::read(asked[0], &go, 1), 1);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  std::vector<Trial> trials = {OkTrial(DenseKey(1), 1, 0.0005)};
  for (int rows = 2; rows < 50; ++rows) trials.push_back(OkTrial(DenseKey(rows), 1, 0.001));
  Write(path, trials);  // enough trials that the file grows
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  EXPECT_EQ(::write(ready[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  for (const int end : {asked[0], ready[0], ready[1]}) ::close(end);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

}  // namespace
}  // namespace tilewright::capi
