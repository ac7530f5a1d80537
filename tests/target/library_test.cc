#include "src/target/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(KernelLibraries, AreFoundByTheNamesOfTheirFilesAlone) {
  ASSERT_NE(LibraryOfFile("libcudnn.so.9", "cuda"), nullptr);
  EXPECT_EQ(LibraryOfFile("libcudnn.so.9", "cuda")->name, "cudnn");
  for (const char* file : {"libdnnl.so.2", "libdnnl.so.3.6"}) {
    ASSERT_NE(LibraryOfFile(file, "llvm"), nullptr) << file;
    EXPECT_EQ(LibraryOfFile(file, "llvm")->name, "dnnl");
  }
  EXPECT_EQ(LibraryOfFile("libdnnl.so.1", "llvm"), nullptr);
  for (const char* file : {"", "libcudnn.so", "/usr/lib/libcudnn.so.9", "./libcudnn.so.9",
                           "libcudnn.so.9 ", "artifact.1.so", "cudnn"}) {
    EXPECT_EQ(LibraryOfFile(file, "cuda"), nullptr) << file;
  }
  EXPECT_EQ(LibraryOfFile("libcudnn.so.9", "llvm"), nullptr) << "of another kind of target";
}

TEST(Library, IsNamedByATemplateAndByATarget) {
  ASSERT_NE(LibraryOfTemplate("conv2d.dnnl"), nullptr);
  EXPECT_EQ(LibraryOfTemplate("conv2d.dnnl"), FindLibrary("dnnl"));
  EXPECT_EQ(LibraryOfTemplate("conv2d_NCHWc.x86"), nullptr);
  EXPECT_EQ(LibraryOfTemplate("dnnl"), nullptr);
  const Target target = *Target::Parse("llvm -mcpu=haswell -libs=cblas,dnnl -num-threads=2");
  EXPECT_THAT(LibrariesOf(target), testing::ElementsAre("cblas", "dnnl"));
  EXPECT_TRUE(UsesLibrary(target, "dnnl"));
  EXPECT_FALSE(UsesLibrary(target, "cudnn"));
  EXPECT_EQ(WithoutLibraries(target).ToString(),
            Target::Parse("llvm -mcpu=haswell -num-threads=2")->ToString());
  EXPECT_FALSE(UsesLibrary(*Target::Parse("llvm"), "dnnl"));
}

TEST(Library, IsRefusedWhereTheTargetDoesNotNameIt) {
  const KernelLibrary missing = {"none", "Nothing", "libno_such_library.so.1", 1, "llvm", "", 0};
  EXPECT_THAT(UnusableLibraryReason(missing, *Target::Parse("llvm")),
              testing::HasSubstr("-libs=none"));
  EXPECT_THAT(UnusableLibraryReason(missing, *Target::Parse("llvm -libs=none")),
              testing::HasSubstr("Nothing is not on this machine"));
  EXPECT_EQ(WithLibrary(DeviceFingerprint(), missing), DeviceFingerprint());
  EXPECT_EQ(FileOf(missing), "libno_such_library.so.1");
  EXPECT_EQ(FileOf(*FindLibrary("cudnn")), "libcudnn.so.9");
}

TEST(Library, TellsItsVersionWhereItIs) {
  const auto version = LibraryVersion(*FindLibrary("dnnl"));
  if (!version.ok()) GTEST_SKIP() << version.status().message();
  // The file that the code loads is that of the compiled version.
  const std::string file(FileOf(*FindLibrary("dnnl")));
  EXPECT_TRUE(version->starts_with("oneDNN " + file.substr(file.find(".so.") + 4, 1) + "."))
      << *version << ", " << file;
  DeviceFingerprint device;
  device.extra = "stepping 1";
  EXPECT_EQ(WithLibrary(device, *FindLibrary("dnnl")).extra, "stepping 1, " + *version);
}

}  // namespace
}  // namespace tilewright
