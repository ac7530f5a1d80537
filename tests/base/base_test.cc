#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "src/base/files/file.h"
#include "src/base/files/scratch.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/math.h"
#include "src/base/random.h"
#include "src/base/sha256.h"
#include "src/base/strings.h"

namespace tilewright {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("value: 3, expected an even number");
  return value / 2;
}

Status UseHalf(int value) {
  TW_RETURN_IF_ERROR(Half(value));
  return {};
}

TEST(StatusTest, ErrorsTravelWithContext) {
  EXPECT_TRUE(UseHalf(4).ok());
  const Status status = UseHalf(3).WithContext("loading x.json");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "loading x.json: value: 3, expected an even number");
  EXPECT_TRUE(Status().WithContext("anything").ok());
}

TEST(StatusDeathTest, UsingAMissingValueIsABug) {
  EXPECT_DEATH((void)*Half(3), "internal error: value_.has_value\\(\\) does not hold: value: 3");
}

TEST(StringsTest, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b,", ','), testing::ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), testing::ElementsAre(""));
  EXPECT_EQ(Trim(" \t a b\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(StringsTest, NumbersMustBeWholeTexts) {
  EXPECT_EQ(*ParseInt64("-42"), -42);
  for (const char* bad : {"", " 1", "1 ", "1.5", "9223372036854775808", "0x10", "+1"}) {
    EXPECT_FALSE(ParseInt64(bad).ok()) << bad;
  }
  EXPECT_EQ(*ParseDouble("1e-05"), 1e-05);
  EXPECT_FALSE(ParseDouble("1e").ok());
  EXPECT_EQ(ParseInt64("x").status().message(), "'x' is not a 64-bit integer");
}

TEST(StringsTest, ShortestDoubleReadsBack) {
  for (double value : {0.1, 1.0 / 3, 1e300, -0.0, 5e-324, 123456789.0}) {
    EXPECT_EQ(*ParseDouble(ShortestDouble(value)), value);
  }
  EXPECT_EQ(ShortestDouble(0.1), "0.1");
}

TEST(JsonTest, ErrorsHaveLineAndColumn) {
  EXPECT_TRUE(ParseJson(R"({"b":1,"a":[2]})").ok());
  EXPECT_EQ(ParseJson(R"({"b":1,"a":2})")->dump(), R"({"b":1,"a":2})") << "order is kept";
  const Status status = ParseJson("{\n  \"a\": 1,\n  x\n}").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::StartsWith("line 3, column 3: not valid JSON: "));
  EXPECT_TRUE(ParseJson(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_EQ(ParseJson(std::string(1'000'000, '[')).status().message(),
            "JSON whose lists and objects are more than 100 deep");
  EXPECT_FALSE(ParseJson("").ok());
  EXPECT_FALSE(ParseJson("[1] 2").ok());
}

TEST(FileTest, WritesAsAWholeAndReadsBack) {
  auto folder = ScopedTempDir::Create("tilewright-base-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/file";
  const std::string contents("a\0b\n", 4);
  ASSERT_TRUE(WriteFile(path, contents).ok());
  EXPECT_EQ(*ReadFile(path), contents);
  EXPECT_EQ(ReadFile(path, 3).status().message(), path + ": larger than the limit of 3 bytes");
  EXPECT_EQ(ReadFile(path + ".none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadFile(folder->path()).status().message(),
            folder->path() + ": is a directory, expected a file");
  EXPECT_EQ(WriteFile(folder->path() + "/none/file", "x").code(), StatusCode::kUnavailable);
}

TEST(ScratchTest, KeepsBytesOutsideMemoryOrWhereThereIsNoFileInIt) {
  const std::string bytes = std::string(100000, 'a') + std::string("\0b", 2);
  ScratchBytes first(bytes);
  EXPECT_FALSE(first.in_memory());
  EXPECT_EQ(*first.Read(), bytes);
  ScratchBytes moved = std::move(first);
  EXPECT_EQ(*moved.Read(), bytes);
  EXPECT_TRUE(ScratchBytes().empty());
  EXPECT_EQ(*ScratchBytes().Read(), "");

  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const ScratchBytes kept(bytes);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(kept.in_memory());
  EXPECT_EQ(*kept.Read(), bytes);
}

TEST(ScratchTest, AFileLiesInTmpdirAndGoesWithItsObject) {
  auto folder = ScopedTempDir::Create("tilewright-base-test");
  ASSERT_TRUE(folder.ok());
  const char* before = std::getenv("TMPDIR");
  const std::string restore = before != nullptr ? before : "";
  ::setenv("TMPDIR", folder->path().c_str(), 1);
  auto made = ScratchFile::Create("scratch");
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_TRUE(ScratchFile::Create("tilewright-base-test").ok()) << "there are other folders";
  before != nullptr ? ::setenv("TMPDIR", restore.c_str(), 1) : ::unsetenv("TMPDIR");
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::string path;
  {
    const ScratchFile file = *std::move(made);
    path = file.path();
    EXPECT_THAT(path, testing::StartsWith(folder->path() + "/scratch."));
    EXPECT_TRUE(file.Write("one ").ok() && file.Write("").ok() && file.Write("two").ok());
    EXPECT_EQ(*ReadFile(path), "one two");
  }
  EXPECT_FALSE(FileExists(path));
}

TEST(FileTest, TemporaryFolderGoesWithItsObject) {
  std::string path;
  {
    auto folder = ScopedTempDir::Create("tilewright-base-test");
    ScopedTempDir moved = std::move(*folder);
    path = moved.path();
    ASSERT_TRUE(WriteFile(path + "/file", "x").ok());
    EXPECT_TRUE(FileExists(path));
  }
  EXPECT_FALSE(FileExists(path));
}

TEST(Sha256Test, KnownValues) {
  const auto hex = [](std::string_view text) {
    std::string digits;
    for (const std::uint8_t byte : Sha256(text)) {
      digits += "0123456789abcdef"[byte >> 4];
      digits += "0123456789abcdef"[byte & 15];
    }
    return digits;
  };
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // Lengths around the end of a block: one whose padding just fits, and one whose padding does not.
  EXPECT_EQ(hex(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(hex(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(hex(std::string(1000, 'a')),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

// The published check values of the algorithms, and those of synthetic tensors.
TEST(HashTest, KnownValues) {
  EXPECT_EQ(Fnv1a64(""), 14695981039346656037ULL);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(HexOf(0x0123456789abcdefULL), "0123456789abcdef");
  const std::string nine = "123456789";
  EXPECT_EQ(Crc32(std::as_bytes(std::span(nine))), 0xCBF43926U);
  EXPECT_EQ(SeededElement(Fnv1a64("relay.Constant.0"), 0), 14162697U);
  EXPECT_EQ(SeededElement(Fnv1a64("relay.Constant.0"), 2), 2336069U);
  EXPECT_EQ(SeededElement(Fnv1a64("conv10_w_0"), 1), 10936381U);
}

TEST(RandomTest, SameSeedSameNumbersAndInRange) {
  Random a(7);
  Random b(7);
  std::array<int, 10> counts{};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = a.Below(10);
    ASSERT_EQ(value, b.Below(10));
    ++counts[value];
    const double uniform = a.Uniform();
    ASSERT_EQ(uniform, b.Uniform());
    ASSERT_GE(uniform, 0);
    ASSERT_LT(uniform, 1);
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(MathTest, DivisionRoundsTowardsMinusInfinity) {
  EXPECT_EQ(FloorDiv(-7, 2), -4);
  EXPECT_EQ(FloorMod(-7, 2), 1);
  EXPECT_EQ(FloorDiv(7, 2), 3);
  EXPECT_EQ(CeilDiv(7, 2), 4);
  EXPECT_EQ(RoundUp(7, 4), 8);
}

}  // namespace
}  // namespace tilewright
