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

void WriteMessage(std::string_view text) { WriteAboveLiveLines(Printable(text, /*lines=*/true)); }

void WriteToTerminal(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

void SetQuiet(bool quiet) { quiet_notes = quiet; }
bool IsQuiet() { return quiet_notes; }

void PrintNote(const std::string& text) {
  if (quiet_notes && !text.starts_with("warning: ")) return;
  const bool broken = ::isatty(STDERR_FILENO) == 1 && text.find('\n') == std::string::npos;
  WriteMessage((broken ? session::WrapText("", text) : text) + "\n");
}

}  // namespace tilewright::report
