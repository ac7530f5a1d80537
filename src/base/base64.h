#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Returns the encoding of RFC 4648, section 4, with padding.
std::string EncodeBase64(std::span<const std::byte> bytes);
/// Decodes such a text.
/// Errors: kInvalidArgument with the position of the invalid part.
Result<std::vector<std::byte>> DecodeBase64(std::string_view text);

}  // namespace tilewright
