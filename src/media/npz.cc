// .npz format: a ZIP archive with a .npy file for each array. The reader uses the central directory
// at the end of the file. Local headers only determine where the bytes of a member begin.

#include "src/media/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "src/base/memory.h"
#include "src/media/npy.h"

namespace tilewright {
namespace {

constexpr std::uint32_t kEndOfDirectory = 0x06054b50;
constexpr std::uint32_t kDirectoryEntry = 0x02014b50;
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
constexpr std::size_t kMaxMembers = 4096;
constexpr std::uint32_t kMaxMemberBytes = std::uint32_t{1} << 31;
// Maximum compression ratio of deflate; a member that claims more is damaged.
constexpr std::uint64_t kMaxRatio = 1032;

/// Returns the number of `size` bytes at a position; 0 after the end, which is an invalid value for
/// every field.
std::uint32_t NumberAt(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  if (at > bytes.size() || bytes.size() - at < size) return 0;
  for (std::size_t i = size; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

struct Member {
  std::string_view name, packed;
  std::uint32_t method = 0, flags = 0, size = 0, checksum = 0;
};

/// Finds the end record. Only a comment of at most 65535 bytes can follow it.
std::size_t FindEnd(std::string_view bytes) {
  const std::size_t least = bytes.size() > kEndSize + 65535 ? bytes.size() - kEndSize - 65535 : 0;
  for (std::size_t at = bytes.size() - kEndSize + 1; at > least; --at) {
    if (NumberAt(bytes, at - 1, 4) == kEndOfDirectory) return at - 1;
  }
  return std::string_view::npos;
}

Result<Member> ReadEntry(std::string_view bytes, std::size_t& at) {
  if (NumberAt(bytes, at, 4) != kDirectoryEntry || bytes.size() - at < kEntrySize) {
    return InvalidArgument("damaged ZIP directory");
  }
  Member member;
  member.flags = NumberAt(bytes, at + 8, 2);
  member.method = NumberAt(bytes, at + 10, 2);
  member.checksum = NumberAt(bytes, at + 16, 4);
  const std::uint32_t packed = NumberAt(bytes, at + 20, 4);
  member.size = NumberAt(bytes, at + 24, 4);
  const std::size_t name = NumberAt(bytes, at + 28, 2);
  const std::size_t skipped = NumberAt(bytes, at + 30, 2) + NumberAt(bytes, at + 32, 2);
  const std::size_t local = NumberAt(bytes, at + 42, 4);
  if (bytes.size() - at - kEntrySize < name + skipped) {
    return InvalidArgument("damaged ZIP directory");
  }
  member.name = bytes.substr(at + kEntrySize, name);
  at += kEntrySize + name + skipped;
  if (packed == 0xFFFFFFFF || member.size == 0xFFFFFFFF || local == 0xFFFFFFFF) {
    return Unsupported(fmt::format("member {}: ZIP64", member.name));
  }
  if (NumberAt(bytes, local, 4) != kLocalHeader) {
    return InvalidArgument(fmt::format("member {}: no local header", member.name));
  }
  const std::size_t begin =
      local + kLocalSize + NumberAt(bytes, local + 26, 2) + NumberAt(bytes, local + 28, 2);
  if (begin > bytes.size() || bytes.size() - begin < packed) {
    return InvalidArgument(fmt::format("member {}: truncated", member.name));
  }
  member.packed = bytes.substr(begin, packed);
  return member;
}

Result<std::string> Inflate(const Member& member) {
  if (member.size > kMaxRatio * (member.packed.size() + 1)) {
    return InvalidArgument("damaged: more than deflate can hold");
  }
  std::string result(member.size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Internal("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.packed.data()));
  stream.avail_in = static_cast<uInt>(member.packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool whole = code == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return InvalidArgument("damaged deflate data");
  return result;
}

Result<Tensor> ReadMember(const Member& member) {
  if ((member.flags & 1U) != 0) return Unsupported("encrypted");
  if (member.size > kMaxMemberBytes) return Unsupported("more than 2 GiB");
  std::string unpacked;
  std::string_view contents = member.packed;
  if (member.method == 8) {
    TW_ASSIGN_OR_RETURN(unpacked, Inflate(member));
    contents = unpacked;
  } else if (member.method != 0) {
    return Unsupported(
        fmt::format("compressed by method {}, expected 0 (stored) or 8 (deflated)", member.method));
  }
  const auto* data = reinterpret_cast<const Bytef*>(contents.data());
  if (contents.size() != member.size || crc32_z(0, data, contents.size()) != member.checksum) {
    return InvalidArgument("damaged: wrong checksum");
  }
  return ParseNpy(contents);
}

/// Limits the unpacked size. A small file can unpack to any size: a single member by its
/// compression, several members by sharing their contents.
Status CheckSizes(const std::vector<Member>& members, std::size_t file_bytes) {
  std::int64_t packed = 0, unpacked = 0;
  for (const Member& member : members) {
    packed += std::ssize(member.packed);
    unpacked += member.size;
  }
  if (packed > static_cast<std::int64_t>(file_bytes)) {
    return InvalidArgument("damaged: members share their contents");
  }
  return CheckMemory("the unpacked file", unpacked);
}

}  // namespace

Result<std::map<std::string, Tensor>> ParseNpz(std::string_view bytes) {
  const std::size_t end = bytes.size() < kEndSize ? std::string_view::npos : FindEnd(bytes);
  if (end == std::string_view::npos) return InvalidArgument("not an .npz file: not a ZIP archive");
  const std::size_t count = NumberAt(bytes, end + 10, 2);
  std::size_t at = NumberAt(bytes, end + 16, 4);
  if (count > kMaxMembers) {
    return InvalidArgument(fmt::format("{} members, expected at most {}", count, kMaxMembers));
  }
  std::vector<Member> members;
  for (std::size_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(auto member, ReadEntry(bytes, at));
    if (member.name.ends_with(".npy")) members.push_back(member);
  }
  TW_RETURN_IF_ERROR(CheckSizes(members, bytes.size()));
  std::map<std::string, Tensor> arrays;
  for (const Member& member : members) {
    auto array = ReadMember(member);
    if (!array.ok()) return array.status().WithContext(fmt::format("member {}", member.name));
    arrays.insert_or_assign(std::string(member.name.substr(0, member.name.size() - 4)),
                            *std::move(array));
  }
  return arrays;
}

}  // namespace tilewright
