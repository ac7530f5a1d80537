#pragma once

#include <array>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::records {

/// SHA-256 digest.
using Digest = std::array<unsigned char, 32>;
Digest Sha256(std::string_view bytes);
/// Returns the digest as 64 hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

/// Returns lower-case hexadecimal digits.
std::string HexText(std::string_view bytes);
/// Parses hexadecimal digits.
/// Errors: kInvalidArgument unless `text` has 2 * size of them.
Result<std::string> ParseHex(std::string_view text, std::size_t size);

}  // namespace tilewright::records
