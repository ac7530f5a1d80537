#pragma once

#include <optional>
#include <string>

#include "src/templates/registry.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// `--float-error`: which templates may be chosen by what they do to floats.
struct FloatErrorArgument {
  std::string value = "bounded";
  CLI::Option* option = nullptr;  ///< once declared

  void Declare(CLI::App& app);
  /// All, or those that only order sums another way; these live in the argument.
  const TemplateRegistry& Choose(const TemplateRegistry& all);

 private:
  std::optional<TemplateRegistry> strict_;
};

}  // namespace tilewright::cli
