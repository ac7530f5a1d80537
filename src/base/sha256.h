#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilewright {

/// Returns the SHA-256 (FIPS 180-4) of a text, for collision-resistant names. Does not use
/// libsodium, as package signing does: the runner of boards reads schedules too and links only the
/// C library.
std::array<std::uint8_t, 32> Sha256(std::string_view text);

}  // namespace tilewright
