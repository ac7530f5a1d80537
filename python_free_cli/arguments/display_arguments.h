#pragma once

#include <string>

#include "python_free_cli/terminal.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// `--color` of a command with a live display.
struct DisplayArguments {
  std::string color = "auto";

  void Declare(CLI::App& app);
  ColorMode mode() const;
};

}  // namespace tilewright::cli
