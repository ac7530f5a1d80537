#pragma once

#include "src/session/model.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Options of every command that reads a model file: `--shape`, `--dim`, `--value`,
/// `--requantize` and `--precision`.
struct ModelArguments : session::ModelOptions {
  // Once declared.
  CLI::Option* requantize_option = nullptr;
  CLI::Option* precision_option = nullptr;

  /// with_ranges: also `--sizes`.
  void Declare(CLI::App& app, bool with_ranges = false);
};

}  // namespace tilewright::cli
