#include "measure/fleet/keys.h"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
// Prefixes of the encoding's first letters, S and U.
constexpr std::uint8_t kSeedPrefix = 18 << 3, kUserPrefix = 20 << 3;

/// Returns the CRC-16/XMODEM.
std::uint16_t Crc16(const std::vector<std::uint8_t>& bytes) {
  std::uint16_t crc = 0;
  for (const std::uint8_t byte : bytes) {
    crc = static_cast<std::uint16_t>(crc ^ (byte << 8));
    for (int i = 0; i < 8; ++i) {
      const bool high = (crc & 0x8000) != 0;
      crc = static_cast<std::uint16_t>((crc << 1) ^ (high ? 0x1021 : 0));
    }
  }
  return crc;
}

std::string EncodeKey(std::vector<std::uint8_t> bytes) {
  const std::uint16_t crc = Crc16(bytes);
  bytes.push_back(static_cast<std::uint8_t>(crc & 0xff));
  bytes.push_back(static_cast<std::uint8_t>(crc >> 8));
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= 5; count -= 5) text += kLetters[(bits >> (count - 5)) & 31];
  }
  if (count > 0) text += kLetters[(bits << (5 - count)) & 31];
  sodium_memzero(bytes.data(), bytes.size());
  return text;
}

/// Decodes a key without its checksum; empty if the text is invalid.
std::vector<std::uint8_t> DecodeKey(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos) return {};
    bits = (bits << 5) | static_cast<std::uint32_t>(value);
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>((bits >> count) & 0xff));
  }
  if (bytes.size() < 2) return {};
  const auto crc = static_cast<std::uint16_t>(bytes[bytes.size() - 2] | (bytes.back() << 8));
  bytes.resize(bytes.size() - 2);
  return Crc16(bytes) == crc ? bytes : std::vector<std::uint8_t>();
}

std::string PublicOf(const std::uint8_t* seed) {
  std::array<std::uint8_t, crypto_sign_PUBLICKEYBYTES> key{};
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret{};
  crypto_sign_seed_keypair(key.data(), secret.data(), seed);
  sodium_memzero(secret.data(), secret.size());
  std::vector<std::uint8_t> bytes = {kUserPrefix};
  bytes.insert(bytes.end(), key.begin(), key.end());
  return EncodeKey(std::move(bytes));
}

}  // namespace

Result<UserKey> MakeUserKey() {
  if (sodium_init() < 0) return Internal("the cryptographic library does not start");
  std::array<std::uint8_t, crypto_sign_SEEDBYTES> seed{};
  randombytes_buf(seed.data(), seed.size());
  // The prefixes of a seed and of its key type share the first ten bits.
  std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(kSeedPrefix | (kUserPrefix >> 5)),
                                     static_cast<std::uint8_t>((kUserPrefix & 31) << 3)};
  bytes.insert(bytes.end(), seed.begin(), seed.end());
  UserKey key{EncodeKey(std::move(bytes)), PublicOf(seed.data())};
  sodium_memzero(seed.data(), seed.size());
  return key;
}

Result<std::string> PublicKeyOf(std::string_view seed) {
  if (sodium_init() < 0) return Internal("the cryptographic library does not start");
  std::vector<std::uint8_t> bytes = DecodeKey(seed);
  constexpr std::size_t kPrefix = 2;
  const bool good = bytes.size() == kPrefix + crypto_sign_SEEDBYTES &&
                    (bytes[0] & 0xf8) == kSeedPrefix &&
                    (((bytes[0] & 7) << 5) | (bytes[1] >> 3)) == kUserPrefix;
  if (!good) return InvalidArgument("this is not the seed of a user's key (SU…)");
  std::string key = PublicOf(bytes.data() + kPrefix);
  sodium_memzero(bytes.data(), bytes.size());
  return key;
}

Result<std::string> PublicKeyOfSeedFile(const std::string& path) {
  constexpr std::int64_t kMaxBytes = 4096;
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(path, kMaxBytes));
  const std::string line(Trim(Split(text, '\n').front()));
  auto key = PublicKeyOf(line);
  if (!key.ok()) return key.status().WithContext(path);
  return key;
}

std::string MakeToken() {
  std::array<std::uint8_t, 10> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= 5; count -= 5) text += kLetters[(bits >> (count - 5)) & 31];
  }
  return text;
}

std::string Sha256(std::string_view bytes) {
  std::array<std::uint8_t, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256(hash.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()),
                     bytes.size());
  std::string text;
  for (const std::uint8_t byte : hash) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tilewright::measure::fleet
