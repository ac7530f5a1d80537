#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// A text as a JSON string, in quotes; bytes that are no UTF-8 are replaced. Cheap to include and,
/// for plain ASCII, to call.
std::string JsonString(std::string_view text);

}  // namespace tilewright
