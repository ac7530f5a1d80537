#include "python_free_cli/model_source.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void ModelArguments::Declare(CLI::App& app) {
  const auto list = [&app](const char* name, std::vector<std::string>& texts, const char* help) {
    app.add_option(name, texts, help)->allow_extra_args(false)->group("How the model is read");
  };
  list("--shape", bindings.shapes, "Shape of an input: x=1x3x320x320");
  list("--dim", bindings.dims, "Size of a dimension that the file only names: height=320");
  list("--value", bindings.values,
       "What an input always is, which then is a constant: sr=16000, axes=0,2, mask=mask.npy");
  requantize_option =
      app.add_option(
             "--requantize", requantize,
             "How quantized operators of ONNX round: by float32, as ONNX says, or by integers")
          ->check(CLI::IsMember({"float", "integer"}))
          ->capture_default_str()
          ->group("How the model is read");
}

}  // namespace tilewright::cli
