#include "src/base/strings.h"

#include <charconv>

namespace tilewright {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

namespace {

template <typename T>
Result<T> ParseNumber(std::string_view text, const char* what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("'" + std::string(text) + "' is not " + what);
  }
  return value;
}

}  // namespace

Result<std::int64_t> ParseInt64(std::string_view text) {
  return ParseNumber<std::int64_t>(text, "a 64-bit integer");
}

Result<double> ParseDouble(std::string_view text) { return ParseNumber<double>(text, "a number"); }

std::string ShortestDouble(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, result.ptr};
}

}  // namespace tilewright
