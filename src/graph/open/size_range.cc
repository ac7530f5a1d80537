#include "src/graph/open/size_range.h"

#include "src/base/strings.h"

namespace tilewright {
namespace {

Result<std::int64_t> ParseBound(std::string_view text) {
  const auto size = ParseInt64(text);
  if (size.ok() && *size >= 1 && *size <= kMaxOpenSize) return size;
  return InvalidArgument("size '" + std::string(text) +
                         "' in a range, expected a number from 1 to " +
                         std::to_string(kMaxOpenSize));
}

Result<SizeRange> ParseBounds(std::string_view name, std::string_view bounds) {
  const std::size_t dots = bounds.find("..");
  TW_ASSIGN_OR_RETURN(const auto least, ParseBound(bounds.substr(0, dots)));
  TW_ASSIGN_OR_RETURN(const auto most, ParseBound(bounds.substr(dots + 2)));
  if (least <= most) return SizeRange{std::string(name), least, most};
  return InvalidArgument("a range without sizes, expected the smaller size first");
}

}  // namespace

std::string SizeRange::ToString() const {
  return name + "=" + std::to_string(least) + ".." + std::to_string(most);
}

Result<std::optional<SizeRange>> ParseSizeRange(std::string_view text) {
  const std::size_t separator = text.rfind('=');
  if (separator == std::string_view::npos || separator == 0 ||
      text.find("..", separator) == std::string_view::npos) {
    return std::optional<SizeRange>();
  }
  auto range = ParseBounds(text.substr(0, separator), text.substr(separator + 1));
  if (!range.ok()) return range.status().WithContext("--dim " + std::string(text));
  return std::optional(*std::move(range));
}

}  // namespace tilewright
