#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {

/// First UTF-8 character of a text.
struct Utf8Character {
  std::size_t length = 0;  ///< 0: the text does not begin with a valid character
  std::uint32_t code = 0;
};

/// Decodes the first character of a text that is not empty. Overlong encodings and surrogates are
/// not valid.
Utf8Character FirstCharacter(std::string_view text);

}  // namespace tilewright
