#include "src/vta/stream_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/vta/conv_reference.h"

namespace tilewright::vta {
namespace {

using testing::HasSubstr;

StreamFile SmallFile() {
  const Design design = PresetDesign("pynq");
  const PackedConv2d conv = {1, 2, 4, 6, 6, 3, 3, 1, 1, 1, 1};
  auto stream = BuildPackedConv2d(design, conv, {3, 6, 1, 1, 2, 1}, Requantize(true, true, 9));
  TW_CHECK(stream.ok(), stream.status().message());
  return {design, *std::move(stream)};
}

TEST(StreamFileTest, ComesBack) {
  const StreamFile file = SmallFile();
  const auto bytes = WriteStreamFile(file);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto again = ReadStreamFile(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->design, file.design);
  EXPECT_EQ(again->stream.instructions, file.stream.instructions);
  EXPECT_EQ(again->stream.buffer_of, file.stream.buffer_of);
  EXPECT_EQ(again->stream.uops, file.stream.uops);
  ASSERT_EQ(again->stream.buffers.size(), file.stream.buffers.size());
  EXPECT_EQ(again->stream.buffers[3].name, "output");
  EXPECT_TRUE(again->stream.buffers[3].writable);
}

TEST(StreamFileTest, ConstantsComeBack) {
  const Design design = PresetDesign("pynq");
  StreamBuilder builder(design);
  builder.AddConstant("four", std::vector<std::byte>(4, std::byte{4}));
  builder.AddBuffer("data", false);
  builder.AddConstant("two", std::vector<std::byte>(2, std::byte{2}));
  const StreamFile file = {design, *std::move(builder).Finish()};
  const auto bytes = WriteStreamFile(file);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto again = ReadStreamFile(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_EQ(again->stream.buffers.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(again->stream.buffers[i].contents, file.stream.buffers[i].contents) << i;
  }
  EXPECT_FALSE(ReadStreamFile(bytes->substr(0, bytes->size() - 1)).ok());
}

TEST(StreamFileTest, ForgedConstantsTakeNoMemory) {
  const auto bytes = WriteStreamFile(SmallFile());
  ASSERT_TRUE(bytes.ok());
  std::string forged = *bytes;
  const std::string kernel = R"("name":"kernel",)";
  forged.insert(forged.find(kernel) + kernel.size(), R"("bytes":16777216,)");
  EXPECT_THAT(ReadStreamFile(forged).status().message(),
              HasSubstr("stream file: a constant of 16777216 bytes, expected at most "));
}

TEST(StreamFileTest, EveryCutAndChangeIsFound) {
  const auto bytes = WriteStreamFile(SmallFile());
  ASSERT_TRUE(bytes.ok());
  for (std::size_t length = 0; length < bytes->size(); length += 7) {
    EXPECT_FALSE(ReadStreamFile(std::string_view(*bytes).substr(0, length)).ok()) << length;
  }
  EXPECT_THAT(ReadStreamFile(bytes->substr(0, bytes->size() - 1)).status().message(),
              HasSubstr("bytes after the header, expected"));
  const std::size_t body = bytes->find('\n', bytes->find('\n') + 1) + 1;
  for (std::size_t at = body; at < bytes->size(); at += 11) {
    std::string changed = *bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    const auto file = ReadStreamFile(changed);
    ASSERT_FALSE(file.ok()) << at;
    EXPECT_EQ(file.status().code(), StatusCode::kCorrupt);
    EXPECT_EQ(file.status().message(), "stream file: its checksum does not match its contents");
  }
  EXPECT_THAT(ReadStreamFile("{}").status().message(), HasSubstr("not a stream file"));
}

TEST(StreamFileTest, ForgedBuffersAreFound) {
  struct Case {
    std::int32_t buffer;
    const char* message;
  };
  const StreamFile good = SmallFile();
  // The first load of activations.
  std::size_t load = 0;
  while (good.stream.buffer_of[load] != 1) ++load;
  for (const Case& c : {Case{9, "buffer 9, expected one of the list"},
                        Case{Stream::kNoBuffer, "buffer -1, expected one of the list"},
                        Case{-7, "buffer -7"}, Case{0, "micro-ops come from the first buffer"}}) {
    StreamFile forged = good;
    forged.stream.buffer_of[load] = c.buffer;
    const auto bytes = WriteStreamFile(forged);
    ASSERT_TRUE(bytes.ok());
    EXPECT_THAT(ReadStreamFile(*bytes).status().message(), HasSubstr(c.message));
  }
  StreamFile forged = good;
  forged.stream.buffers[3].writable = false;
  const auto bytes = WriteStreamFile(forged);
  ASSERT_TRUE(bytes.ok());
  EXPECT_THAT(ReadStreamFile(*bytes).status().message(),
              HasSubstr("stores to output, which is only read"));
  forged.stream.buffer_of.back() = 1;  // of FINISH
  const auto finish = WriteStreamFile(forged);
  ASSERT_TRUE(finish.ok());
  EXPECT_FALSE(ReadStreamFile(*finish).ok());
}

}  // namespace
}  // namespace tilewright::vta
