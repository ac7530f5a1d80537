#include "src/base/files/scratch.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright {
namespace {

TEST(ScratchBytes, FallBackToTmpWithoutAUsableDirectory) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* folder : {"", "/nowhere"}) {
    ASSERT_EQ(::setenv("TMPDIR", folder, 1), 0);
    const ScratchBytes bytes("abc");
    EXPECT_FALSE(bytes.in_memory()) << "'" << folder << "'";
    const auto read = bytes.Read();
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, "abc");
  }
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace tilewright
