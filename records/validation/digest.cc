#include "records/validation/digest.h"

#include <sodium.h>

namespace tilewright::records {
namespace {

static_assert(sizeof(Digest) == crypto_hash_sha256_BYTES);

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

Digest Sha256(std::string_view bytes) {
  Digest digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  return digest;
}

std::string Sha256Hex(std::string_view bytes) {
  const Digest digest = Sha256(bytes);
  return HexText({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string HexText(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<std::string> ParseHex(std::string_view text, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes += static_cast<char>(high * 16 + low);
  }
  if (text.size() != 2 * size || bytes.size() != size) {
    return InvalidArgument("expected " + std::to_string(2 * size) +
                           " lower-case hexadecimal digits");
  }
  return bytes;
}

}  // namespace tilewright::records
