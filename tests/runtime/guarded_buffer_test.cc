#include "src/runtime/guarded_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

TEST(GuardedBufferTest, IsZeroedAlignedAndWritable) {
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 4096, 100000}) {
    Result<GuardedBuffer> buffer = GuardedBuffer::Create(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % GuardedBuffer::kAlignment, 0u);
    EXPECT_TRUE(
        std::ranges::all_of(buffer->bytes(), [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(buffer->bytes(), std::byte{1});
    EXPECT_TRUE(buffer->CheckRedZone().ok());
  }
}

TEST(GuardedBufferTest, SeesWritesBeforeTheStartAndAfterTheEnd) {
  for (const std::int64_t offset : {-1, -64, -1000, 100, 127}) {
    Result<GuardedBuffer> buffer = GuardedBuffer::Create(100);
    ASSERT_TRUE(buffer.ok());
    static_cast<char*>(buffer->data())[offset] = 0;
    EXPECT_EQ(buffer->CheckRedZone().code(), StatusCode::kCorrupt);
    EXPECT_THAT(buffer->CheckRedZone().message(),
                testing::HasSubstr("byte " + std::to_string(offset) + " of a buffer of 100"));
  }
}

TEST(GuardedBufferDeathTest, FaultsBeyondTheEnd) {
  Result<GuardedBuffer> buffer = GuardedBuffer::Create(128);
  ASSERT_TRUE(buffer.ok());
  volatile char* data = static_cast<char*>(buffer->data());
  EXPECT_DEATH(data[128] = 1, "");
  EXPECT_DEATH(static_cast<void>(data[-4096]), "");  // in the page before the red zone
}

TEST(GuardedBufferTest, RefusesImpossibleSizes) {
  EXPECT_EQ(GuardedBuffer::Create(-1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(GuardedBuffer::Create(std::int64_t{1} << 50).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tilewright
