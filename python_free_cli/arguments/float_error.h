#pragma once

#include <optional>
#include <string>

#include "src/templates/registry.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// `--float-error`: selects templates by their effect on float results.
struct FloatErrorArgument {
  std::string value = "bounded";
  CLI::Option* option = nullptr;  ///< set once declared

  void Declare(CLI::App& app);
  /// Returns all templates, or only those that merely reorder sums; the latter registry is a
  /// member.
  const TemplateRegistry& Choose(const TemplateRegistry& all);

 private:
  std::optional<TemplateRegistry> strict_;
};

}  // namespace tilewright::cli
