#include "src/base/files/scoped_temp_path.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

class ScopedTempPathTest : public testing::Test {
 protected:
  ScopedTempPathTest() : folder_(*ScopedTempDir::Create("tilewright-base-test")) {}

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// Creates a folder that contains a file and a folder.
  std::string MakeTree(const std::string& name) const {
    std::filesystem::create_directories(Path(name) + "/inner");
    EXPECT_TRUE(WriteFile(Path(name) + "/file", "x").ok());
    EXPECT_TRUE(WriteFile(Path(name) + "/inner/file", "x").ok());
    return Path(name);
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  ScopedTempDir folder_;
};

TEST_F(ScopedTempPathTest, GoesUnlessItIsMovedToItsPlace) {
  {
    ScopedTempPath tree(MakeTree("tree"));
    ScopedTempPath moved = std::move(tree);
    const ScopedTempPath never_made(Path("none"));
    EXPECT_TRUE(FileExists(moved.path() + "/inner/file"));
  }
  EXPECT_THAT(Entries(), testing::IsEmpty());
  {
    ScopedTempPath tree(MakeTree("tree"));
    ASSERT_TRUE(tree.MoveTo(Path("place")).ok());
    ScopedTempPath file = ScopedTempPath::NextTo(Path("file"));
    ASSERT_TRUE(WriteFile(file.path(), "x").ok());
    EXPECT_THAT(file.MoveTo(Path("place")).message(), HasSubstr("cannot be written"));
  }
  EXPECT_THAT(Entries(), testing::ElementsAre("place"));
  EXPECT_TRUE(FileExists(Path("place/inner/file")));
}

TEST_F(ScopedTempPathTest, TakesTheNameOfNoDevice) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ScopedTempPath file = ScopedTempPath::NextTo(pipe);
  ASSERT_TRUE(WriteFile(file.path(), "x").ok());
  EXPECT_THAT(file.MoveTo(pipe).message(), HasSubstr("neither a file nor a directory"));

  // Functions that write whole files write into the pipe.
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_TRUE(WriteFile(pipe, "text").ok());
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

// No other process can place a link where a file will be written: its name is unpredictable and
// must be new.
TEST_F(ScopedTempPathTest, NamesThatAreWrittenToCannotBeForeseen) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) names.insert(UniqueTempName(Path("file"), ".o"));
  EXPECT_EQ(names.size(), 100U);
  EXPECT_THAT(*names.begin(), testing::StartsWith(Path("file.partial.")));
  EXPECT_THAT(*names.begin(), testing::EndsWith(".o"));
  EXPECT_NE(ScopedTempPath::NextTo(Path("file")).path(),
            ScopedTempPath::NextTo(Path("file")).path());
  ASSERT_TRUE(CreateNewFolder(Path("folder")).ok());
  EXPECT_FALSE(CreateNewFolder(Path("folder")).ok());
  std::filesystem::create_symlink(Path("elsewhere"), Path("link"));
  EXPECT_FALSE(CreateNewFolder(Path("link")).ok());
  EXPECT_FALSE(FileExists(Path("elsewhere")));
}

TEST_F(ScopedTempPathTest, AnOutputThatIsALinkIsFollowed) {
  ASSERT_TRUE(WriteFile(Path("file"), "old").ok());
  std::filesystem::create_symlink("file", Path("link"));
  ASSERT_TRUE(WriteFile(Path("link"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("file")), "new");
  std::filesystem::create_symlink("later", Path("next"));
  std::filesystem::create_symlink(Path("next"), Path("first"));
  ASSERT_TRUE(WriteFile(Path("first"), "made").ok());
  EXPECT_EQ(*ReadFile(Path("later")), "made");
  for (const char* name : {"link", "next", "first"}) {
    EXPECT_TRUE(std::filesystem::is_symlink(Path(name))) << name;
  }
  std::filesystem::create_symlink("round", Path("round"));
  EXPECT_FALSE(WriteFile(Path("round"), "x").ok() && std::filesystem::is_symlink(Path("round")));
}

TEST_F(ScopedTempPathTest, FilesThatOthersMayChangeAreTold) {
  ASSERT_TRUE(WriteFile(Path("file"), "x").ok());
  EXPECT_EQ(::chmod(Path("file").c_str(), 0644), 0);
  EXPECT_EQ(UnsafePermissionReason(Path("file")), "");
  for (const mode_t mode : {0664, 0646}) {
    EXPECT_EQ(::chmod(Path("file").c_str(), mode), 0);
    EXPECT_THAT(UnsafePermissionReason(Path("file")), HasSubstr("others may write it"));
  }
  ASSERT_EQ(::mkdir(Path("shared").c_str(), 0755), 0);
  EXPECT_EQ(::chmod(Path("shared").c_str(), 01777), 0);
  EXPECT_EQ(UnsafePermissionReason(Path("shared"), true), "");
  EXPECT_NE(UnsafePermissionReason(Path("shared")), "");
}

TEST_F(ScopedTempPathTest, GoesWithASignalThatEndsTheProgram) {
  for (int signal : {SIGHUP, SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          std::signal(signal, SIG_DFL);  // even if the parent process ignores the signal
          RemoveTempPathsOnSignal();
          const ScopedTempPath tree(MakeTree("tree"));
          const auto temporary = ScopedTempDir::Create("tilewright-base-test");
          std::filesystem::create_symlink(temporary->path(), Path("link"));
          (void)::raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_THAT(Entries(), testing::ElementsAre("link"));
    EXPECT_FALSE(FileExists(Path("link"))) << "the temporary folder is still there";
    std::filesystem::remove(Path("link"));
  }
}

// The processes that run candidates are forked from a process with temporary files.
TEST_F(ScopedTempPathTest, AForkedProcessLeavesTheFilesOfItsParent) {
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, SIG_DFL);
        RemoveTempPathsOnSignal();
        const ScopedTempPath tree(MakeTree("tree"));
        const pid_t child = ::fork();
        if (child == 0) (void)::raise(SIGTERM);
        int status = 0;
        ::waitpid(child, &status, 0);
        ::_exit(WIFSIGNALED(status) && FileExists(tree.path() + "/inner/file") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ScopedTempPathTest, IgnoredSignalsStayIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        RemoveTempPathsOnSignal();
        (void)::raise(SIGHUP);
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(ScopedTempPathTest, AFolderIsThereAsAWholeOrNotAtAll) {
  EXPECT_THAT(AtomicDirectory::Create(Path("new/place")).status().message(),
              HasSubstr("new/place: cannot be created: No such file or directory"));
  std::filesystem::create_directory(Path("new"));
  {
    auto folder = AtomicDirectory::Create(Path("new/place/"));
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    ASSERT_TRUE(WriteFile(folder->staging_path() + "/file", "x").ok());
    EXPECT_FALSE(FileExists(Path("new/place")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(Path("new")));
  {
    auto folder = AtomicDirectory::Create(Path("place"));
    ASSERT_TRUE(WriteFile(folder->staging_path() + "/file", "x").ok());
    ASSERT_TRUE(folder->Finish().ok());
  }
  EXPECT_TRUE(FileExists(Path("place/file")));
  auto again = AtomicDirectory::Create(Path("place"));
  EXPECT_EQ(again->staging_path(), Path("place"));
  EXPECT_TRUE(again->Finish().ok());
  EXPECT_THAT(AtomicDirectory::Create(Path("place/file")).status().message(),
              HasSubstr("cannot be created"));
}

}  // namespace
}  // namespace tilewright
