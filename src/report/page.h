#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/report/document.h"

namespace tilewright::report {

/// The files that a page is made of, as they were when the program was built.
struct PageParts {
  std::string_view html, style, script;
  std::string_view charts;  ///< Chart.js; empty: it was not there
};
PageParts BuiltInParts();

/// Errors: kUnsupported without Chart.js, with what to install.
Status CheckPage();

/// JSON that a page draws: that of `report --json`, with names and messages as Printable makes
/// them.
std::string PageData(const Document& document);
/// The page: one file of HTML with everything in it, that asks nobody for anything.
/// Errors: those of CheckPage.
Result<std::string> MakePage(const Document& document);

/// JSON as it may stand in a script element: the same value, without anything that HTML or a script
/// takes for its own (`</script>`, `<!--`, line separators, control characters).
std::string EscapeForScript(std::string_view json);

/// Of a Content-Security-Policy: the only script of this text may run. "'sha256-…'"
std::string ScriptHash(std::string_view script);

}  // namespace tilewright::report
