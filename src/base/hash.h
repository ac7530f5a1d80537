#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// Returns the 64-bit FNV-1a hash of `text`.
constexpr std::uint64_t Fnv1a64(std::string_view text,
                                std::uint64_t state = 14695981039346656037ULL) {
  for (char c : text) {
    state ^= static_cast<unsigned char>(c);
    state *= 1099511628211ULL;
  }
  return state;
}

/// Returns the finalizer of SplitMix64: a bijection that spreads every input bit over the result.
constexpr std::uint64_t Mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// Returns sixteen lower-case hexadecimal digits.
std::string HexOf(std::uint64_t value);

/// Returns the CRC-32 with the polynomial of zlib (reflected 0xEDB88320) of `bytes`, continuing
/// from `state`.
std::uint32_t Crc32(std::span<const std::byte> bytes, std::uint32_t state = 0);

}  // namespace tilewright
