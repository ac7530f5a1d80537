#include "records/validation/wal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "src/base/files/file.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kWalHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr std::int64_t kMaxWalBytes = std::int64_t{1} << 31;
// One poll may see a frame half written; a repeated poll a moment later sees it complete.
constexpr int kLooks = 3;
constexpr unsigned kBetweenLooksMicroseconds = 100'000;

std::uint32_t BigEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Running checksum of headers and pages.
class WalSum {
 public:
  explicit WalSum(bool big_endian) : big_endian_(big_endian) {}
  void Add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      a_ += Word(bytes, at) + b_;
      b_ += Word(bytes, at + 4) + a_;
    }
  }
  bool Is(std::uint32_t a, std::uint32_t b) const { return a_ == a && b_ == b; }

 private:
  std::uint32_t Word(std::string_view bytes, std::size_t at) const {
    const std::uint32_t word = BigEndian(bytes, at);
    return big_endian_ ? word : __builtin_bswap32(word);
  }
  bool big_endian_;
  std::uint32_t a_ = 0, b_ = 0;
};

/// State of the log according to its index: salts, in the log's byte order, and frames.
struct WalIndex {
  std::string salts;
  std::uint32_t frames = 0;
};

/// Reads the first of the two copies of the index's header, in the byte order of this machine.
std::optional<WalIndex> ReadWalIndex(const std::string& store) {
  const auto bytes = ReadFile(store + "-shm");
  constexpr std::size_t kCopy = 48, kMaxFrame = 16, kSalts = 32;
  if (!bytes.ok() || bytes->size() < 2 * kCopy) return {};
  if (bytes->compare(0, kCopy, *bytes, kCopy, kCopy) != 0) return {};  // a writer is updating it
  WalIndex index;
  std::memcpy(&index.frames, bytes->data() + kMaxFrame, sizeof(index.frames));
  index.salts = bytes->substr(kSalts, 8);
  return index;
}

/// Returns the damage that one poll finds.
Result<std::string> InspectWal(const std::string& store) {
  const std::string path = store + "-wal";
  if (!FileExists(path)) return std::string();
  // Read first: the log already contains the frames that it counts.
  const auto index = ReadWalIndex(store);
  const auto read = ReadFile(path, kMaxWalBytes);
  if (read.status().code() == StatusCode::kNotFound) return std::string();
  TW_RETURN_IF_ERROR(read);
  const std::string_view log = *read;
  if (log.size() < kWalHeaderBytes) return std::string();
  constexpr std::uint32_t kWalMagic = 0x377f0682;  // the last bit selects sums of big-endian words
  const std::uint32_t magic = BigEndian(log, 0);
  WalSum sum((magic & 1) != 0);
  sum.Add(log.substr(0, 24));
  const std::uint32_t page = BigEndian(log, 8);
  if ((magic & ~1U) != kWalMagic || !sum.Is(BigEndian(log, 24), BigEndian(log, 28)) || page < 512 ||
      page > 65536) {
    return path + ": its header is damaged; nothing of the log is read";
  }
  const std::string_view salts = log.substr(16, 8);
  const std::size_t frame = kFrameHeaderBytes + page;
  const auto is_of_this_log = [&](std::size_t at) { return log.substr(at + 8, 8) == salts; };
  std::size_t at = kWalHeaderBytes, whole = 0;
  for (; at + frame <= log.size(); at += frame, ++whole) {
    sum.Add(log.substr(at, 8));
    sum.Add(log.substr(at + kFrameHeaderBytes, page));
    if (!is_of_this_log(at) || !sum.Is(BigEndian(log, at + 16), BigEndian(log, at + 20))) break;
  }
  const bool counted = index.has_value() && index->salts == salts;
  if (counted && index->frames > whole) {
    return fmt::format("{}: frame {} is damaged, of {} that were written; what follows is not read",
                       path, whole + 1, index->frames);
  }
  bool more = false;
  for (std::size_t next = at + frame; next + frame <= log.size(); next += frame) {
    more = more || is_of_this_log(next);
  }
  // The last frame only: in a copy without the index it is unknown whether the frame was ever
  // complete.
  const bool last = !counted && at + frame <= log.size() && is_of_this_log(at);
  if (!more && !last) return std::string();
  return fmt::format("{}: frame {} is damaged; {}", path, whole + 1,
                     more ? "what follows is not read" : "it is the last one, and is not read");
}

}  // namespace

Result<std::string> FindWalDamage(const std::string& store) {
  Result<std::string> found = InspectWal(store);
  for (int look = 1; look < kLooks && found.ok() && !found->empty(); ++look) {
    ::usleep(kBetweenLooksMicroseconds);
    found = InspectWal(store);
  }
  return found;
}

}  // namespace tilewright::records
