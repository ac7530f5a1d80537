#pragma once

#include <string>
#include <vector>

#include "python_free_cli/model_source.h"
#include "src/base/status.h"
#include "src/media/image_decode.h"
#include "src/session/inputs.h"
#include "src/tensor/tensor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Declares `--image-fit`, `--image-mean` and `--image-std`. files: the option that they require.
void DeclareImageOptions(CLI::App& app, ImageOptions& options, CLI::Option* files);

/// Input options of commands that run a network: `--input` and `--made-up`.
struct InputArguments : session::InputSources {
  void Declare(CLI::App& app);
};

/// Output option: `--output`.
struct OutputArguments {
  std::vector<std::string> files;

  void Declare(CLI::App& app);
  /// Writes outputs to files. Errors: kInvalidArgument for more files than outputs; those of
  /// WriteTensorFile.
  Status Write(const std::vector<Tensor>& outputs) const;
};

}  // namespace tilewright::cli
