#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/printable.h"

// The only way that text gets to standard output and standard error. Names and messages of others
// (models, records, packages, fleets, plugins) pass through Printable, so that they neither control
// a terminal nor begin lines of their own.

namespace tilewright::cli {

/// A text of several lines as an argument of PrintOut and PrintErr: its ends of lines and tabs are
/// printed. For texts that this program lays out.
struct MultilineText {
  std::string_view text;
};

/// To standard output, ends of lines kept. Throws what fmt::print throws if it cannot be written.
void WriteText(std::string_view text);
/// To standard error, ends of lines kept; what cannot be written is lost: no message is worth a
/// job.
void WriteMessage(std::string_view text);
/// To standard error as it is, to move the cursor of a terminal; texts of others are in it as
/// Printable makes them.
void WriteToTerminal(std::string_view text);

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

template <typename... Args>
void PrintOut(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
  WriteText(FormatPrintable<Args...>(format, std::forward<Args>(args)...));
}
template <typename... Args>
void PrintErr(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
  WriteMessage(FormatPrintable<Args...>(format, std::forward<Args>(args)...));
}

/// A message as it is printed: an end of a line stays where two blanks follow, as in lists that the
/// program makes; all others, of names in it, are escaped.
std::string PrintableMessage(std::string_view message);

/// To standard output, on one line. What a terminal obeys is escaped, which means the same.
void PrintJson(const nlohmann::ordered_json& json);
/// The same of JSON that is text already.
void PrintJsonText(std::string_view json);

}  // namespace tilewright::cli
