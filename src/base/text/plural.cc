#include "src/base/text/plural.h"

namespace tilewright {

std::string NounFor(std::int64_t count, std::string_view noun) {
  std::string word(noun);
  if (count == 1 || word.empty()) return word;
  constexpr std::string_view kVowels = "aeiou";
  const bool after_consonant =
      word.size() > 1 && kVowels.find(word[word.size() - 2]) == std::string_view::npos;
  if (word.ends_with('y') && after_consonant) {
    word.pop_back();
    return word + "ies";
  }
  for (const std::string_view end : {"s", "x", "ch", "sh"}) {
    if (word.ends_with(end)) return word + "es";
  }
  return word + "s";
}

std::string Counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + NounFor(count, noun);
}

}  // namespace tilewright
