#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/format_printable.h"
#include "src/report/terminal/messages.h"

namespace tilewright::session {
class TextTable;
}

// The only functions that write to standard output and, in messages.h, standard error. External
// names and messages (models, records, packages, fleets, plugins) pass through Printable, so that
// they can neither control a terminal nor forge lines.

namespace tilewright::cli {

/// Writes to standard output, line breaks included. Throws like fmt::print if the write fails.
void WriteText(std::string_view text);

using report::IsQuiet;
using report::PrintErr;
using report::PrintNote;
using report::SetQuiet;
using report::WriteMessage;

template <typename... Args>
void PrintOut(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
  WriteText(FormatPrintable<Args...>(format, std::forward<Args>(args)...));
}

/// Returns a message as printed: a line break before two blanks stays, as in lists that the program
/// makes; all others, which come from names, are escaped.
std::string PrintableMessage(std::string_view message);

/// Prints a paragraph to standard output, broken at blanks (session::WrapText). text: printable.
void PrintWrapped(std::string_view text);

/// Prints a line of `head` (printable) and a text, which a terminal breaks at blanks into lines
/// below its beginning. In a pipe it is one line.
void PrintAfterHead(std::string_view head, std::string_view text);

/// Returns the width of tables on standard output: that of its terminal; 0 if it is a file or a
/// pipe, for which nothing is cut.
int OutputColumns();
/// Prints the rows that the table has not returned yet (TextTable::Take), as wide as the output.
void PrintTable(session::TextTable& table);

/// Prints to standard output, on one line. Characters that control a terminal are escaped as JSON.
void PrintJson(const nlohmann::ordered_json& json);
/// Prints JSON text in the same way.
void PrintJsonText(std::string_view json);

}  // namespace tilewright::cli
