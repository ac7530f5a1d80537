#include "src/base/hash.h"

#include <array>

namespace tilewright {
namespace {

constexpr std::size_t kSlices = 8;  // bytes per step

/// Row n: effect of a byte after n further bytes.
constexpr std::array<std::array<std::uint32_t, 256>, kSlices> MakeCrcTables() {
  std::array<std::array<std::uint32_t, 256>, kSlices> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    tables[0][i] = c;
  }
  for (std::size_t n = 1; n < kSlices; ++n) {
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t c = tables[n - 1][i];
      tables[n][i] = tables[0][c & 255] ^ (c >> 8);
    }
  }
  return tables;
}
constexpr auto kCrcTables = MakeCrcTables();

}  // namespace

std::string HexOf(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4)
    text[static_cast<std::size_t>(i)] = kDigits[value & 15];
  return text;
}

std::uint32_t Crc32(std::span<const std::byte> bytes, std::uint32_t state) {
  std::uint32_t c = ~state;
  for (; bytes.size() >= kSlices; bytes = bytes.subspan(kSlices)) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const auto byte = static_cast<std::uint32_t>(bytes[i]) ^ (i < 4 ? c >> (8 * i) : 0);
      next ^= kCrcTables[kSlices - 1 - i][byte & 255];
    }
    c = next;
  }
  for (std::byte b : bytes) {
    c = kCrcTables[0][(c ^ static_cast<std::uint32_t>(b)) & 255] ^ (c >> 8);
  }
  return ~c;
}

}  // namespace tilewright
