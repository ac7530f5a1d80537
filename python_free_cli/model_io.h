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

/// What somebody who reads the graph should be told, to standard error.
void PrintNotes(const Graph& graph);

/// That constants of a file or a library have made-up contents, and how they were seeded, to
/// standard error; nothing if none has.
void PrintSyntheticConstants(const std::string& file, std::int64_t constants);
/// The same for --json; null if none has.
nlohmann::ordered_json SyntheticConstantsJson(std::int64_t constants);

/// The graph with contents for every constant: made-up ones where the file has none, and with
/// `seeded` for every float constant, which is told on standard error. Prints its notes.
Result<Graph> LoadForRunning(const ModelSource& source, bool seeded);

/// Which set of sizes of a library the shapes of a source mean; the first one where it says none,
/// which is told on standard error if there are more.
/// Errors: those of ModelLibrary::Open; kInvalidArgument for options that mean nothing beside a
/// library, and for shapes that it was not made for, with those that there are.
Result<int> VariantFor(const ModelSource& library);
/// The same by the inputs of a graph; the first one if none has them.
Result<int> VariantFor(const std::string& library, const Graph& graph);

/// `--image-fit`, `--image-mean` and `--image-std`. files: the option that they need.
void DeclareImageOptions(CLI::App& app, ImageOptions& options, CLI::Option* files);

/// What the commands that run a network feed it: `--input` and `--made-up`.
struct InputArguments {
  std::vector<std::string> files;
  /// Of those that are not given: ramp, quantized, random, or quantized:SCALE:ZERO_POINT; empty:
  /// the command's default.
  std::string rule;
  ImageOptions image;

  void Declare(CLI::App& app);
  /// fallback: the rule of made-up inputs where --made-up is not given.
  Result<std::vector<Tensor>> Make(const std::vector<ModelValue>& values,
                                   const std::string& fallback = "ramp") const;
};

/// What they do with its results: `--output`, and the largest elements or, as JSON, all of them.
struct OutputArguments {
  std::vector<std::string> files;

  void Declare(CLI::App& app);
  /// Errors: kInvalidArgument for more files than outputs; those of WriteTensorFile.
  Status Write(const std::vector<Tensor>& outputs) const;
};
nlohmann::ordered_json OutputsJson(const std::vector<ModelValue>& values,
                                   const std::vector<Tensor>& outputs);
void PrintOutputs(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs);

}  // namespace tilewright::cli
