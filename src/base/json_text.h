#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Returns a text as a JSON string, in quotes; replaces bytes that are not UTF-8. Cheap to include
/// and, for plain ASCII, to call.
std::string JsonString(std::string_view text);

}  // namespace tilewright
