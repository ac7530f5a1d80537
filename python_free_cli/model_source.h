#pragma once

#include "src/session/model.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Options of every command that reads a model file: `--shape`, `--dim`, `--value` and
/// `--requantize`.
struct ModelArguments : session::ModelOptions {
  CLI::Option* requantize_option = nullptr;  ///< once declared

  void Declare(CLI::App& app);
};

}  // namespace tilewright::cli
