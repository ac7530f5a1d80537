#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/report/document.h"

namespace tilewright::report {

/// Files that a page consists of, embedded when the program was built.
struct PageParts {
  std::string_view html, style;
  std::string_view theme;   ///< script that runs before the body
  std::string_view script;  ///< of the body
  std::string_view charts;  ///< Chart.js; empty: not available when the program was built
};
PageParts BuiltInParts();

/// Checks that the program can make pages. Errors: kUnsupported without Chart.js, naming the
/// package to install.
Status CheckPage();

/// Returns the JSON that a page draws: that of `report --json`, with names and messages as
/// Printable returns them.
std::string PageData(const Document& document);
/// Returns the page: one self-contained HTML file that loads nothing from a network.
/// Errors: those of CheckPage.
Result<std::string> MakePage(const Document& document);

/// Escapes JSON for a script element: the same value, without sequences that HTML or a script
/// interprets (`</script>`, `<!--`, line separators, control characters).
std::string EscapeForScript(std::string_view json);

/// Returns the hash for a Content-Security-Policy that allows only this script: "'sha256-…'".
std::string ScriptHash(std::string_view script);

}  // namespace tilewright::report
