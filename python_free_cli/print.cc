#include "python_free_cli/print.h"

#include <unistd.h>

#include <climits>
#include <string>

#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/report/terminal/live_lines.h"
#include "src/session/text_table.h"

namespace tilewright::cli {

void WriteText(std::string_view text) { fmt::print("{}", Printable(text, /*lines=*/true)); }

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

void PrintAfterHead(std::string_view head, std::string_view text) {
  const int width = OutputColumns() > 0 ? session::TextWidth() : INT_MAX;
  const int indent = static_cast<int>(head.size());
  WriteText(session::WrapText(head, Printable(text), width, indent) + "\n");
}

int OutputColumns() {
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  return report::SizeOfTerminal(STDOUT_FILENO).columns;
}

void PrintTable(session::TextTable& table) {
  table.set_width(OutputColumns());
  WriteText(table.Take());
}

void PrintJson(const Json& json) { PrintJsonText(DumpJson(json)); }

void PrintJsonText(std::string_view json) { fmt::print("{}\n", EscapeControls(json)); }

}  // namespace tilewright::cli
