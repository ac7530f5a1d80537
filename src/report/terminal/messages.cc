#include "src/report/terminal/messages.h"

#include <unistd.h>

#include <cstdio>

#include "src/base/printable.h"
#include "src/report/terminal/live_lines.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

bool quiet_notes = false;

}  // namespace

void WriteMessage(std::string_view text) {
  const std::string printable = Printable(text, /*lines=*/true);
  if (::isatty(STDERR_FILENO) != 1) return WriteAboveLiveLines(printable);
  const int columns = session::TextWidthOn(SizeOfErrorTerminal().columns);
  WriteAboveLiveLines(session::WrapLines(printable, columns));
}

void WriteToTerminal(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

void SetQuiet(bool quiet) { quiet_notes = quiet; }
bool IsQuiet() { return quiet_notes; }

void PrintNote(const std::string& text) {
  if (quiet_notes && !text.starts_with("warning: ")) return;
  WriteMessage(text + "\n");
}

}  // namespace tilewright::report
