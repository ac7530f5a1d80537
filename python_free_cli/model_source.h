#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Options of every command that reads a model file: `--shape`, `--dim`, `--value` and
/// `--requantize`.
struct ModelArguments {
  BindingTexts bindings;
  std::string requantize = "float";
  CLI::Option* requantize_option = nullptr;  ///< set once declared

  void Declare(CLI::App& app);
  /// Returns the source with the contents of files that values name (.npy).
  /// Errors: those of ParseBindings and of ParseNpy; kInvalidArgument for several shape variants.
  Result<ModelSource> Source(const std::string& file) const;
  /// As Source, one for each shape variant.
  Result<std::vector<ModelSource>> Sources(const std::string& file) const;
  /// For an argument that is not a model file. Errors: kInvalidArgument as "--shape x=1x3: WHY" if
  /// any option was given.
  Status CheckUnused(std::string_view why) const;
};

}  // namespace tilewright::cli
