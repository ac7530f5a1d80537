#include "src/base/hash.h"

#include <array>

namespace tilewright {
namespace {

constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr auto kCrcTable = MakeCrcTable();

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
  for (std::byte b : bytes) c = kCrcTable[(c ^ static_cast<std::uint32_t>(b)) & 255] ^ (c >> 8);
  return ~c;
}

}  // namespace tilewright
