#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "python_free_cli/model_source.h"
#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/media/image_decode.h"
#include "src/tensor/tensor.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Returns seed and number of synthetic constants for --json; null for none.
nlohmann::ordered_json SyntheticConstantsJson(std::int64_t constants);

/// Declares `--image-fit`, `--image-mean` and `--image-std`. files: the option that they require.
void DeclareImageOptions(CLI::App& app, ImageOptions& options, CLI::Option* files);

/// Input options of commands that run a network: `--input` and `--made-up`.
struct InputArguments {
  std::vector<std::string> files;
  /// Rule for inputs that are not given: ramp, quantized, random, or quantized:SCALE:ZERO_POINT;
  /// empty: the command's default.
  std::string rule;
  ImageOptions image;

  void Declare(CLI::App& app);
  /// fallback: rule of synthetic inputs if --made-up is not given.
  Result<std::vector<Tensor>> Make(const std::vector<ModelValue>& values,
                                   const std::string& fallback = "ramp") const;
};

/// Output options: `--output`, and printing of the largest elements or, as JSON, of all.
struct OutputArguments {
  std::vector<std::string> files;

  void Declare(CLI::App& app);
  /// Writes outputs to files. Errors: kInvalidArgument for more files than outputs; those of
  /// WriteTensorFile.
  Status Write(const std::vector<Tensor>& outputs) const;
};
nlohmann::ordered_json OutputsJson(const std::vector<ModelValue>& values,
                                   const std::vector<Tensor>& outputs);
void PrintOutputs(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs);

}  // namespace tilewright::cli
