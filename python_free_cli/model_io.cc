// Common options of commands that run a network: inputs (files, or synthetic values by a rule) and
// output files.

#include "python_free_cli/model_io.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "src/media/tensor_file.h"

namespace tilewright::cli {

void DeclareImageOptions(CLI::App& app, ImageOptions& options, CLI::Option* files) {
  app.add_option("--image-fit", options.fit,
                 "Treatment of pictures whose size differs from the input: exact (reject), crop "
                 "(center, 7/8 of the shorter side) or stretch")
      ->needs(files)
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, ImageFit>{{"exact", ImageFit::kExact},
                                                                  {"crop", ImageFit::kCrop},
                                                                  {"stretch", ImageFit::kStretch}},
                                  CLI::ignore_case));
  app.add_option("--image-mean", options.mean,
                 "Mean of red, green and blue that is subtracted, on a scale of 0 to 1")
      ->needs(files)
      ->delimiter(',')
      ->check(CLI::Range(-1e6, 1e6));
  app.add_option("--image-std", options.stddev,
                 "Standard deviation of red, green and blue to divide by")
      ->needs(files)
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 1e6));
}

void InputArguments::Declare(CLI::App& app) {
  DeclareImageOptions(
      app, image,
      app.add_option("--input", files, "Input files in order: raw or .npy tensors, or pictures"));
  app.add_option("--made-up", rule,
                 "Rule for inputs without a file: ramp, random, quantized, or "
                 "quantized:SCALE:ZERO_POINT (default: ramp; on a VTA quantized)")
      ->check([](const std::string& text) { return session::CheckInputRule(text).message(); });
}

void OutputArguments::Declare(CLI::App& app) {
  app.add_option("--output", files, "Output files in order (.npy or raw)");
}

Status OutputArguments::Write(const std::vector<Tensor>& outputs) const {
  if (files.size() > outputs.size()) {
    return InvalidArgument(
        fmt::format("--output: {} given, the model has {}", files.size(), outputs.size()));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    TW_RETURN_IF_ERROR(WriteTensorFile(files[i], outputs[i]));
  }
  return Status();
}

}  // namespace tilewright::cli
