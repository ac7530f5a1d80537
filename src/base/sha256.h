#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilewright {

/// SHA-256 (FIPS 180-4) of a text: for names that nobody can make a second text for. Here, and not
/// from libsodium as where packages are signed: the runner of boards reads schedules too, and links
/// nothing but the C library.
std::array<std::uint8_t, 32> Sha256(std::string_view text);

}  // namespace tilewright
