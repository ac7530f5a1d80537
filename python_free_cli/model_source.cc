#include "python_free_cli/model_source.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void ModelArguments::Declare(CLI::App& app, bool with_ranges) {
  const auto list = [&app](const char* name, std::vector<std::string>& texts, const char* help) {
    app.add_option(name, texts, help)->allow_extra_args(false)->group("Model");
  };
  list("--shape", bindings.shapes, "Shape of an input: x=1x3x320x320");
  list("--dim", bindings.dims,
       "Size of a dimension that the file leaves open: height=320. compile also takes a range: "
       "batch=1..64, seq=1..512");
  if (with_ranges) {
    app.add_option("--sizes", sizes,
                   "Observed sizes of the range of --dim, lines SIZE,COUNT: which sizes matter")
        ->group("Model");
  }
  list("--value", bindings.values, "Constant value of an input: sr=16000, axes=0,2, mask=mask.npy");
  requantize_option = app.add_option("--requantize", requantize,
                                     "Rounding of quantized operators: float (float32, as ONNX "
                                     "defines it) or integer (integer arithmetic)")
                          ->check(CLI::IsMember({"float", "integer"}))
                          ->capture_default_str()
                          ->group("Model");
  precision_option = app.add_option("--precision", precision,
                                    "Operands of products and values in memory: model (types of "
                                    "the file) or bfloat16 (float32 sums)")
                         ->check(CLI::IsMember({"model", "bfloat16"}))
                         ->capture_default_str()
                         ->group("Model");
}

}  // namespace tilewright::cli
