#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/format_printable.h"

// The only way that text gets to standard output and standard error. Names and messages of others
// (models, records, packages, fleets, plugins) pass through Printable, so that they neither control
// a terminal nor begin lines of their own.

namespace tilewright::cli {

/// To standard output, ends of lines kept. Throws what fmt::print throws if it cannot be written.
void WriteText(std::string_view text);
/// To standard error, ends of lines kept; what cannot be written is lost: no message is worth a
/// job.
void WriteMessage(std::string_view text);
/// To standard error as it is, to move the cursor of a terminal; texts of others are in it as
/// Printable makes them.
void WriteToTerminal(std::string_view text);

/// Prints a note of the library as one message on standard error. text: made by FormatPrintable.
void PrintNote(const std::string& text);

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
