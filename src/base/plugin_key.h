#pragma once

#include <algorithm>
#include <string_view>

namespace tilewright {

/// Format of the keys of plugins. Built-in keys and AutoTVM's contain no '/', so the two cannot
/// collide.
inline constexpr std::string_view kPluginKeyFormat =
    "such as 'vendor/name', of letters, digits, '_' and '-'";

constexpr bool IsPluginKey(std::string_view key) {
  constexpr auto is_word = [](std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-';
    });
  };
  const std::size_t slash = key.find('/');
  return key.size() <= 64 && slash != std::string_view::npos && is_word(key.substr(0, slash)) &&
         is_word(key.substr(slash + 1));
}

}  // namespace tilewright
