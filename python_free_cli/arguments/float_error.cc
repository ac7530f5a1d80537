#include "python_free_cli/arguments/float_error.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void FloatErrorArgument::Declare(CLI::App& app) {
  option = app.add_option("--float-error", value,
                          "Effect on float results: bounded (within the verification bound; allows "
                          "Winograd) or strict (sums may only be reordered)")
               ->check(CLI::IsMember({"bounded", "strict"}))
               ->capture_default_str();
}

const TemplateRegistry& FloatErrorArgument::Choose(const TemplateRegistry& all) {
  if (value != "strict") return all;
  if (!strict_.has_value()) strict_ = all.OnlyReorderingSums();
  return *strict_;
}

}  // namespace tilewright::cli
