#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
#include "src/runtime/large_pages.h"
}

namespace tilewright {
namespace {

constexpr std::int64_t kPage = 2 << 20;

/// A private mapping of a file of numbers, like the constants of a library.
class MappedFile {
 public:
  explicit MappedFile(std::int64_t bytes)
      : path_(testing::TempDir() + "large_pages_test." + std::to_string(getpid())),
        bytes_(static_cast<std::size_t>(bytes)),
        contents_(bytes_ / sizeof(std::uint32_t)) {
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      contents_[i] = static_cast<std::uint32_t>(i * 2654435761u);
    }
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(contents_.data()), bytes);
    const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    memory_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    munmap(memory_, bytes_);
    unlink(path_.c_str());
  }

  bool mapped() const { return memory_ != MAP_FAILED; }
  const unsigned char* data() const { return static_cast<const unsigned char*>(memory_); }
  bool IsWhole() const {
    const auto* words = static_cast<const std::uint32_t*>(memory_);
    return std::equal(contents_.begin(), contents_.end(), words);
  }
  /// Returns the number of bytes that are still mapped from the file.
  std::int64_t OfFile() const {
    std::ifstream maps("/proc/self/maps");
    std::int64_t bytes = 0;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(path_) == std::string::npos) continue;
      std::size_t end = 0;
      const auto begin = std::stoull(line, &end, 16);
      bytes += static_cast<std::int64_t>(std::stoull(line.substr(end + 1), nullptr, 16) - begin);
    }
    return bytes;
  }

 private:
  std::string path_;
  std::size_t bytes_;
  std::vector<std::uint32_t> contents_;
  void* memory_ = MAP_FAILED;
};

bool SystemHasLargePages() {
  std::string size, enabled;
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  std::ifstream(folder + "hpage_pmd_size") >> size;
  std::getline(std::ifstream(folder + "enabled"), enabled);
  return size == std::to_string(kPage) && enabled.find("[never]") == std::string::npos;
}

TEST(LargePagesTest, MovesWhatFillsThemAndKeepsTheContents) {
  // More than one move, and not a multiple of the page size.
  const std::int64_t bytes = 25 * kPage / 2 + 12;
  MappedFile file(bytes);
  ASSERT_TRUE(file.mapped());
  const auto begin = reinterpret_cast<std::uintptr_t>(file.data());
  const auto first = (begin + kPage - 1) / kPage, last = (begin + bytes) / kPage;
  const std::int64_t expected =
      SystemHasLargePages() ? static_cast<std::int64_t>(last - first) * kPage : 0;
  const std::int64_t before = file.OfFile();
  EXPECT_EQ(TwLargePagesMove(file.data(), bytes, 0, 1e9), bytes);
  EXPECT_EQ(before - file.OfFile(), expected);
  EXPECT_TRUE(file.IsWhole());
}

TEST(LargePagesTest, GoesOnWhereTheTimeWasUp) {
  const std::int64_t bytes = 17 * kPage;
  MappedFile file(bytes);
  ASSERT_TRUE(file.mapped());
  int calls = 0;
  for (std::int64_t done = 0; done < bytes; ++calls) {
    const std::int64_t before = file.OfFile();
    const std::int64_t next = TwLargePagesMove(file.data(), bytes, done, 0);
    ASSERT_GT(next, done);
    EXPECT_LE(before - file.OfFile(), next - done);
    done = next;
  }
  EXPECT_EQ(calls > 1, SystemHasLargePages());
  EXPECT_LE(file.OfFile(), SystemHasLargePages() ? 2 * kPage : bytes);
  EXPECT_TRUE(file.IsWhole());
}

TEST(LargePagesTest, LeavesWhatIsSmall) {
  MappedFile file(2 * kPage);
  ASSERT_TRUE(file.mapped());
  const std::int64_t before = file.OfFile();
  EXPECT_EQ(TwLargePagesMove(file.data(), 2 * kPage - 1, 0, 1e9), 2 * kPage - 1);
  EXPECT_EQ(file.OfFile(), before);
  EXPECT_TRUE(file.IsWhole());
}

}  // namespace
}  // namespace tilewright
