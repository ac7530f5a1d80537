#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "src/base/format_printable.h"

// Messages on standard error, above the lines that a display redraws there. External names and
// messages (models, records, packages, fleets, plugins) pass through Printable, so that they can
// neither control a terminal nor forge lines.

namespace tilewright::report {

/// Writes to standard error, line breaks included. On a terminal, long lines are broken at blanks
/// (session::WrapLines). A failed write is ignored: a lost message must
/// not end a job.
void WriteMessage(std::string_view text);
/// Writes to standard error without escaping, to move the cursor of a terminal; external texts in
/// it have passed through Printable.
void WriteToTerminal(std::string_view text);

/// Prints a note of the library (session::NoteSink) as one message on standard error.
/// text: from FormatPrintable.
void PrintNote(const std::string& text);
/// Drops all later notes but warnings, and the bars of Progress (--quiet).
void SetQuiet(bool quiet);
bool IsQuiet();

template <typename... Args>
void PrintErr(fmt::format_string<CheckedArgument<Args>...> format, Args&&... args) {
  WriteMessage(FormatPrintable<Args...>(format, std::forward<Args>(args)...));
}

}  // namespace tilewright::report
