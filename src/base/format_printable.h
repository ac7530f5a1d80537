#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/printable.h"

// fmt::format for texts that people read. Names and messages from models, records, packages, fleets
// and plugins pass through Printable: they can neither control a terminal nor begin lines.

namespace tilewright {

/// A text of several lines as an argument of FormatPrintable: its line ends and tabs are
/// kept. For texts that this program lays out.
struct MultilineText {
  std::string_view text;
};

/// An argument as it is formatted: texts as Printable makes them, everything else as it is.
template <typename T>
decltype(auto) PrintableArgument(const T& value) {
  if constexpr (std::is_same_v<T, MultilineText>) {
    return Printable(value.text, /*lines=*/true);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Printable(value);
  } else {
    return (value);
  }
}

template <typename Iterator, typename Sentinel>
std::string PrintableArgument(const fmt::join_view<Iterator, Sentinel, char>& list) {
  return Printable(fmt::vformat("{}", fmt::make_format_args(list)));
}

/// The type whose format is checked while compiling.
template <typename T>
using CheckedArgument =
    std::conditional_t<std::is_same_v<std::remove_cvref_t<T>, MultilineText>, std::string_view, T>;

/// fmt::format with arguments that are printable.
template <typename... Args>
std::string FormatPrintable(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
  // make_format_args takes no temporary values from fmt 10 on.
  const auto with = [&](const auto&... printable) {
    return fmt::vformat(fmt::string_view(format), fmt::make_format_args(printable...));
  };
  return with(PrintableArgument(args)...);
}

}  // namespace tilewright
