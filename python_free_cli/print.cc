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

void PrintJson(const Json& json) { PrintJsonText(DumpJson(json)); }

void PrintJsonText(std::string_view json) { fmt::print("{}\n", EscapeControls(json)); }

}  // namespace tilewright::cli
