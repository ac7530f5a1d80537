#include "src/runtime/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

TEST(LoaderTest, NamesAFileThatIsNotThere) {
  const Status status = LoadKernel("/nowhere/kernel.so", "k").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/kernel.so"));
}

TEST(LoaderTest, RefusesFilesThatAreNoSharedObjects) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("loader-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/kernel.so";
  for (const std::string& contents : {std::string(), std::string("not a library"),
                                      "\x7f"
                                      "ELF" +
                                          std::string(100, '\0')}) {
    ASSERT_TRUE(WriteFile(path, contents).ok());
    const Status status = LoadKernel(path, "k").status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("kernel.so"));
  }
}

TEST(LoaderTest, SaysWhatAFileIsThatTheSystemWouldNotFind) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("loader-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/board.so";
  std::string other(
      "\x7f"
      "ELF\x01\x01\x01",
      7);  // 32 bits, little-endian
  other.resize(16);
  other += std::string("\x03\x00\x08\x00", 4);  // a shared object for MIPS
  ASSERT_TRUE(WriteFile(path, other).ok());
  EXPECT_THAT(SharedLibrary::Open(path).status().message(),
              HasSubstr("board.so: code for machine 8, this machine is "));
  ASSERT_TRUE(WriteFile(path, "def @main(%x: Tensor[(1), float32]) { nn.relu(%x) }").ok());
  EXPECT_THAT(SharedLibrary::Open(path).status().message(),
              HasSubstr("board.so: not a shared library; `tilewright compile` makes one"));
}

TEST(LoaderTest, ComputesTheWorkspaceForAnyNumberOfThreads) {
  const KernelEntry entry{nullptr, nullptr, {TW_ABI_VERSION, 2, 128, 64}};
  EXPECT_EQ(entry.WorkspaceBytes(1), 192);
  EXPECT_EQ(entry.WorkspaceBytes(4), 384);
}

}  // namespace
}  // namespace tilewright
