#include "src/base/json_text.h"

#include <algorithm>

#include "src/base/json.h"

namespace tilewright {

std::string JsonString(std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (!plain) return DumpJson(Json(text));
  std::string quoted;
  quoted.reserve(text.size() + 2);
  quoted += '"';
  quoted += text;
  quoted += '"';
  return quoted;
}

}  // namespace tilewright
