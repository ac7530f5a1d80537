#pragma once

#include <string>

#include "src/report/terminal/live_lines.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// `--color` of a command with a live display.
struct DisplayArguments {
  std::string color = "auto";

  void Declare(CLI::App& app);
  report::ColorMode mode() const;
};

}  // namespace tilewright::cli
