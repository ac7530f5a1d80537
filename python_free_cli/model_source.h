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

/// How a model file is read, by every command that reads one: `--shape`, `--dim`, `--value` and
/// `--requantize`.
struct ModelArguments {
  BindingTexts bindings;
  std::string requantize = "float";
  CLI::Option* requantize_option = nullptr;  ///< once declared

  void Declare(CLI::App& app);
  /// Reads the files that values name (.npy).
  /// Errors: those of ParseBindings and of ParseNpy; kInvalidArgument for several sets of sizes.
  Result<ModelSource> Source(const std::string& file) const;
  /// As Source, one for each set of sizes.
  Result<std::vector<ModelSource>> Sources(const std::string& file) const;
  /// Of what is no model file. Errors: kInvalidArgument as "--shape x=1x3: WHY" if any was given.
  Status CheckUnused(std::string_view why) const;
};

}  // namespace tilewright::cli
