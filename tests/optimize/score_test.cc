#include "src/optimize/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"

namespace tilewright::optimize {
namespace {

using testing::HasSubstr;

class ScoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = LockedTempDir::Create("tilewright-score-test");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
  }
  /// Returns a program with this body of a shell script.
  ScoreProgram Program(const std::string& body) {
    const std::string path = folder_->path() + "/score.sh";
    EXPECT_TRUE(WriteFile(path, "#!/bin/sh\n" + body + "\n").ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return {{path}, 60};
  }
  Score Run(const ScoreProgram& program) {
    auto score = RunScore(program, "/net.so", {"TILEWRIGHT_PART=search"}, folder_->path());
    EXPECT_TRUE(score.ok()) << score.status().message();
    return score.ok() ? *score : Score();
  }

  std::optional<LockedTempDir> folder_;
};

TEST_F(ScoreTest, TheProgramGetsTheLibraryAndPrintsANumber) {
  const Score score = Run(Program("[ \"$1 $TILEWRIGHT_PART\" = '/net.so search' ] && echo 0.75"));
  EXPECT_EQ(score.value, 0.75);
  EXPECT_EQ(score.refused, "");
  EXPECT_EQ(Run(Program("printf ' -3e2 \\n'; echo 'log line' >&2")).value, -300);
}

TEST_F(ScoreTest, WordsOfTheCommandComeBeforeTheLibrary) {
  ScoreProgram program = Program("echo $1; [ \"$2\" = /net.so ]");
  program.words.push_back("7");
  EXPECT_EQ(Run(program).value, 7);
}

TEST_F(ScoreTest, AFailureIsAReason) {
  const Score failed = Run(Program("echo 1; echo 'no images' >&2; exit 3"));
  EXPECT_TRUE(std::isnan(failed.value));
  EXPECT_THAT(failed.refused, HasSubstr("exit code 3"));
  EXPECT_THAT(failed.refused, HasSubstr("no images"));
}

TEST_F(ScoreTest, AnotherOutputIsNamed) {
  EXPECT_EQ(Run(Program("echo accuracy: 0.5")).refused,
            "it printed 'accuracy: 0.5', expected one number");
  EXPECT_EQ(Run(Program("true")).refused, "it printed nothing, expected one number");
  EXPECT_THAT(Run(Program("echo nan")).refused, HasSubstr("'nan'"));
  EXPECT_THAT(Run(Program("echo inf")).refused, HasSubstr("'inf'"));
  EXPECT_THAT(Run(Program("echo 1; echo 2")).refused, HasSubstr("expected one number"));
}

TEST_F(ScoreTest, AProgramThatDoesNotEndIsEnded) {
  ScoreProgram program = Program("sleep 1000");
  program.seconds = 0.05;
  const Score score = Run(program);
  EXPECT_TRUE(std::isnan(score.value));
  EXPECT_NE(score.refused, "");
}

TEST_F(ScoreTest, AMissingProgramIsAnError) {
  const auto score = RunScore({{folder_->path() + "/none"}, 60}, "/net.so", {}, folder_->path());
  EXPECT_EQ(score.status().code(), StatusCode::kInvalidArgument);
  const auto name = RunScore({{"tilewright-no-such-program"}, 60}, "/net.so", {}, folder_->path());
  EXPECT_EQ(name.status().code(), StatusCode::kInvalidArgument);
}

// A stored score is of this program, in this version, with this limit.
TEST_F(ScoreTest, TheKeyDependsOnTheWordsTheFilesAndTheLimit) {
  ScoreProgram program = Program("echo 1");
  const std::string key = *program.Key();
  EXPECT_EQ(*program.Key(), key);
  EXPECT_NE(*Program("echo 2").Key(), key);
  EXPECT_EQ(*Program("echo 1").Key(), key);
  program.seconds = 61;
  EXPECT_NE(*program.Key(), key);
  program.seconds = 60;
  program.words.push_back("--fast");
  EXPECT_NE(*program.Key(), key);
}

TEST_F(ScoreTest, TheKeyDependsOnFilesThatTheProgramReads) {
  namespace fs = std::filesystem;
  const std::string labels = folder_->path() + "/labels";
  ASSERT_TRUE(fs::create_directories(labels + "/validation"));
  ASSERT_TRUE(WriteFile(labels + "/validation/a.txt", "1").ok());
  ScoreProgram program = Program("cat");
  const std::string without = *program.Key();
  program.depends = {labels};
  const std::string key = *program.Key();
  EXPECT_NE(key, without);
  EXPECT_EQ(*program.Key(), key);
  ASSERT_TRUE(WriteFile(labels + "/validation/a.txt", "2").ok());
  EXPECT_NE(*program.Key(), key);
  ASSERT_TRUE(WriteFile(labels + "/validation/a.txt", "1").ok());
  EXPECT_EQ(*program.Key(), key);
  fs::rename(labels + "/validation/a.txt", labels + "/validation/b.txt");
  EXPECT_NE(*program.Key(), key);
  // Links to folders are not followed, and what is no file is not read.
  const std::string renamed = *program.Key();
  fs::create_directory_symlink(".", labels + "/loop");
  fs::create_symlink("nowhere", labels + "/dangling");
  ASSERT_EQ(::mkfifo((labels + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(*program.Key(), renamed);
  program.depends = {labels + "/pipe"};
  EXPECT_EQ(program.Key().status().message(),
            "--score-depends: " + labels + "/pipe: expected a file or a folder");
  program.depends = {labels + "/none"};
  EXPECT_EQ(program.Key().status().code(), StatusCode::kNotFound);
}

// ReadFile has a limit of 2 GiB; the key has none. The file is sparse.
TEST_F(ScoreTest, TheKeyDependsOnTheContentsOfALargeFile) {
  ScoreProgram program = Program("true");
  const std::string path = folder_->path() + "/weights";
  program.words.push_back(path);
  const std::string without = *program.Key();
  ASSERT_TRUE(WriteFile(path, "").ok());
  std::filesystem::resize_file(path, (std::uintmax_t{2} << 30) + 4096);
  EXPECT_NE(*program.Key(), without);
}

}  // namespace
}  // namespace tilewright::optimize
