// Write-ahead logs with a changed byte, and stores in places that are not writable.

#include "records/validation/wal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "records/maintenance.h"
#include "records/merge.h"
#include "records/sqlite.h"
#include "records/watch.h"
#include "tests/records/sample_trials.h"

namespace tilewright::records {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class WalTest : public SampleStores {
 protected:
  /// Copies a store that another connection has open, including its log, as `cp` does.
  void CopyOpen(const std::string& from, const std::string& to, bool with_index) {
    for (const char* end : {"", "-wal", "-shm"}) {
      if (std::string_view(end) == "-shm" && !with_index) continue;
      std::filesystem::copy_file(from + end, to + end,
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  /// Creates a store with a log of several commits, which stays open as long as this object exists.
  std::string OpenStore() {
    Add(Path("open.db"), {SampleTrial(3, 0.002)});
    store_.emplace(*Store::Open(Path("open.db"), Store::Mode::kReadWrite));
    const std::int64_t job = store_->OpenJob("job", "", 0)->id;
    for (int i = 4; i < 8; ++i) {
      EXPECT_TRUE(store_->Append(job, {SampleTrial(i, 0.001 * i)}, {}).ok());
    }
    return Path("open.db");
  }
  static void Flip(const std::string& path, std::size_t at) {
    auto bytes = *ReadFile(path);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    ASSERT_TRUE(WriteFile(path, bytes).ok());
  }
  /// Runs `work` in a process without root's permission to write anywhere.
  static bool AsNobody(const std::function<bool()>& work) {
    constexpr uid_t kNobody = 65534;
    const pid_t child = ::fork();
    if (child == 0) ::_exit((::geteuid() != 0 || ::setuid(kNobody) == 0) && work() ? 0 : 1);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::optional<Store> store_;
};

TEST_F(WalTest, EveryByteThatTakesTrialsAwayIsFound) {
  const std::string from = OpenStore(), to = Path("copy.db");
  const std::size_t size = ReadFile(from + "-wal")->size();
  ASSERT_GT(size, 5U * 4096);
  for (const bool with_index : {true, false}) {
    CopyOpen(from, to, with_index);
    EXPECT_EQ(*FindWalDamage(to), "");
    EXPECT_THAT(*CheckStore(BuiltInTemplates(), to), IsEmpty());
    for (std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{30}, std::size_t{32},
                           std::size_t{45}, std::size_t{5000}, size / 2, size - 4110, size - 1}) {
      CopyOpen(from, to, with_index);
      Flip(to + "-wal", at);
      EXPECT_THAT(*FindWalDamage(to), HasSubstr("is damaged")) << at << " " << with_index;
    }
    std::filesystem::remove(to + "-shm");
  }
  CopyOpen(from, to, true);
  Flip(to + "-wal", size / 2);
  EXPECT_THAT(*CheckStore(BuiltInTemplates(), to), testing::Contains(HasSubstr("copy.db-wal")));
}

// A process that was killed during a write leaves an incomplete frame of an unacknowledged commit.
TEST_F(WalTest, ALogThatWasCutOffIsNotDamaged) {
  const std::string from = OpenStore(), to = Path("copy.db");
  CopyOpen(from, to, true);
  const auto bytes = *ReadFile(to + "-wal");
  ASSERT_TRUE(WriteFile(to + "-wal", bytes + bytes.substr(32, 1000)).ok());
  EXPECT_EQ(*FindWalDamage(to), "");
  // Frames of an earlier log after the last one.
  std::string stale = bytes.substr(32, 3 * (4096 + 24));
  for (std::size_t frame = 0; frame < 3; ++frame) stale[frame * (4096 + 24) + 8] ^= 1;
  ASSERT_TRUE(WriteFile(to + "-wal", bytes + stale).ok());
  EXPECT_EQ(*FindWalDamage(to), "");
  EXPECT_EQ(CountIn(to), 5);
  EXPECT_EQ(*FindWalDamage(Path("none.db")), "");
}

TEST_F(WalTest, StoresAreReadWhereNothingCanBeWritten) {
  const std::string from = OpenStore();
  ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
  for (const bool with_log : {true, false}) {
    const std::string folder = Path(with_log ? "log" : "plain"), to = folder + "/copy.db";
    std::filesystem::create_directory(folder);
    CopyOpen(from, to, false);
    if (!with_log) {
      ASSERT_TRUE(Store::Open(to, Store::Mode::kReadWrite).ok());
      std::filesystem::remove(to + "-wal");
      std::filesystem::remove(to + "-shm");
    }
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      ASSERT_EQ(::chmod(file.path().c_str(), 0444), 0);
    }
    ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
    EXPECT_TRUE(AsNobody([&] {
      const auto problems = CheckStore(BuiltInTemplates(), to);
      auto store = Store::Open(to, Store::Mode::kReadOnly);
      if (!store.ok() || !problems.ok()) return false;
      auto mine = ScopedTempDir::Create("tilewright-wal-test");
      if (!mine.ok()) return false;
      const auto merged = MergeStores(BuiltInTemplates(), mine->path() + "/into.db", {to});
      if (!merged.ok() || merged->front().added != 5) return false;
      return problems->empty() && *store->CountTrials({}) == 5 && !FileExists(to + "-shm");
    })) << with_log;
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
}

// A user who may not write to the folder of a store cannot lock it.
TEST_F(WalTest, CommitsToAStoreThatIsReadWithoutLocksAreNoticed) {
  const std::string folder = Path("others"), path = folder + "/records.db";
  ASSERT_TRUE(std::filesystem::create_directory(folder));
  Add(path, {SampleTrial(3, 0.002)});
  ASSERT_EQ(::chmod(folder_->path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  std::vector<Trial> more;  // enough trials that the file grows
  for (int i = 4; i < 44; ++i) more.push_back(SampleTrial(i, 0.001));
  int asked[2], written[2];
  ASSERT_EQ(::pipe(asked), 0);
  ASSERT_EQ(::pipe(written), 0);
  std::thread owner([&] {
    char go = 0;
    if (::read(asked[0], &go, 1) != 1) return;
    EXPECT_EQ(::chmod(folder.c_str(), 0755), 0);
    Add(path, more);
    EXPECT_EQ(::chmod(folder.c_str(), 0555), 0);
    EXPECT_EQ(::write(written[1], "x", 1), 1);
  });
  EXPECT_TRUE(AsNobody([&] {
    ::alarm(30);
    auto watch = StoreWatch::Open(path);
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    if (!watch.ok() || !store.ok() || !watch->PollsFiles()) return false;
    const StoreWatch::Stamp before = *watch->Poll();
    if (*store->CountTrials({}) != 1 || *watch->Poll() != before) return false;
    char go = 0;
    if (::write(asked[1], "x", 1) != 1 || ::read(written[0], &go, 1) != 1) return false;
    if (*watch->Poll() == before || *store->CountTrials({}) != 1) return false;
    auto again = Store::Open(path, Store::Mode::kReadOnly);
    return again.ok() && *again->CountTrials({}) == 41;
  }));
  ::close(asked[1]);  // a reader that failed does not keep the owner waiting
  owner.join();
  for (const int end : {asked[0], written[0], written[1]}) ::close(end);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
}

TEST_F(WalTest, WhatIsNoFileIsNotWaitedFor) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const Status& status :
       {ToStatus(Store::Open(pipe, Store::Mode::kReadOnly)),
        ToStatus(Store::Open(pipe, Store::Mode::kReadWrite)), ToStatus(Store::OpenImmutable(pipe)),
        ToStatus(CheckStore(BuiltInTemplates(), pipe)), ToStatus(BackupStore(pipe, Path("b.db"))),
        ToStatus(ReadFile(pipe))}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(pipe + ": is a named pipe, expected a file"));
  }
  EXPECT_THAT(ReadFile("/dev/zero").status().message(), HasSubstr("is a device"));
}

}  // namespace
}  // namespace tilewright::records
