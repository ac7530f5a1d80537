#include "python_free_cli/print.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "python_free_cli/terminal.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/session/text_table.h"

namespace tilewright::cli {

void WriteText(std::string_view text) { fmt::print("{}", Printable(text, /*lines=*/true)); }

void WriteMessage(std::string_view text) { WriteAboveLiveLines(Printable(text, /*lines=*/true)); }

void WriteToTerminal(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string PrintableMessage(std::string_view message) {
  constexpr std::string_view kNextLine = "\n  ";
  std::string shown;
  while (true) {
    const std::size_t end = message.find(kNextLine);
    shown += Printable(message.substr(0, end));
    if (end == std::string_view::npos) return shown;
    shown += kNextLine;
    message.remove_prefix(end + kNextLine.size());
  }
}

void PrintWrapped(std::string_view text) { WriteText(session::WrapText("", text) + "\n"); }

int OutputColumns() {
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  return SizeOfTerminal(STDOUT_FILENO).columns;
}

void PrintTable(session::TextTable& table) {
  table.set_width(OutputColumns());
  WriteText(table.Take());
}

void PrintJson(const Json& json) { PrintJsonText(DumpJson(json)); }

void PrintJsonText(std::string_view json) { fmt::print("{}\n", EscapeControls(json)); }

namespace {

bool quiet_notes = false;

}  // namespace

void SetQuiet(bool quiet) { quiet_notes = quiet; }
bool IsQuiet() { return quiet_notes; }

void PrintNote(const std::string& text) {
  if (quiet_notes && !text.starts_with("warning: ")) return;
  const bool broken = ::isatty(STDERR_FILENO) == 1 && text.find('\n') == std::string::npos;
  WriteMessage((broken ? session::WrapText("", text) : text) + "\n");
}

}  // namespace tilewright::cli
