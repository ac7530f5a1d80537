#include "python_free_cli/print.h"

#include <cstdio>
#include <string>

#include "src/base/json.h"
#include "src/base/printable.h"

namespace tilewright::cli {

void WriteText(std::string_view text) { fmt::print("{}", Printable(text, /*lines=*/true)); }

void WriteMessage(std::string_view text) { WriteToTerminal(Printable(text, /*lines=*/true)); }

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

void PrintJson(const Json& json) { PrintJsonText(DumpJson(json)); }

void PrintJsonText(std::string_view json) { fmt::print("{}\n", EscapeControls(json)); }

void PrintNote(const std::string& text) { WriteMessage(text + "\n"); }

}  // namespace tilewright::cli
