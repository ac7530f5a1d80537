#include "python_free_cli/arguments/display_arguments.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void DisplayArguments::Declare(CLI::App& app) {
  app.add_option("--color", color, "Colours of the live display; auto: on a terminal, no NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

report::ColorMode DisplayArguments::mode() const {
  return color == "always"  ? report::ColorMode::kAlways
         : color == "never" ? report::ColorMode::kNever
                            : report::ColorMode::kAuto;
}

}  // namespace tilewright::cli
