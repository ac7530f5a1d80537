#include "python_free_cli/model_io.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "python_free_cli/tensor_file.h"
#include "src/base/json.h"
#include "src/graph/memory.h"

namespace tilewright::cli {
namespace {

void PrintTop(const std::string& name, const Tensor& output) {
  fmt::print("{} {}\n", name, output.type().ToString());
  std::vector<std::int64_t> order(static_cast<std::size_t>(output.elements()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return output.At(a) != output.At(b) ? output.At(a) > output.At(b) : a < b;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    fmt::print("  {:>6}  {:.7g}\n", order[i], output.At(order[i]));
  }
}

}  // namespace

void LoadArguments::Declare(CLI::App& app) {
  app.add_option("--requantize", requantize,
                 "How quantized operators of ONNX round: by float32, as ONNX says, or by integers")
      ->check(CLI::IsMember({"float", "integer"}))
      ->capture_default_str();
}

LoadOptions LoadArguments::Options() const {
  return {requantize == "integer" ? Requantize::kByIntegers : Requantize::kByFloat};
}

void PrintNotes(const Graph& graph) {
  for (const std::string& note : graph.notes)
    fmt::print(stderr, "note: {}: {}\n", graph.name, note);
}

Result<Graph> LoadForRunning(const std::string& file, bool seeded, const LoadOptions& options) {
  auto graph = LoadGraph(file, options);
  TW_RETURN_IF_ERROR(graph);
  PrintNotes(*graph);
  if (Status status = CheckMemory(*graph); !status.ok()) return status.WithContext(file);
  SeedConstants(*graph, seeded ? SeedRule::kAllFloat : SeedRule::kMissing);
  return graph;
}

std::vector<ModelValue> ValuesOf(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<ModelValue> values;
  for (int id : nodes) values.push_back({graph.node(id).name, graph.node(id).type});
  return values;
}

void DeclarePictureOptions(CLI::App& app, PictureOptions& options) {
  app.add_option("--image-fit", options.fit,
                 "Pictures of another size than the input: exact (refuse them), crop (the middle, "
                 "7/8 of the shorter side) or stretch")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, PictureFit>{{"exact", PictureFit::kExact},
                                            {"crop", PictureFit::kCrop},
                                            {"stretch", PictureFit::kStretch}},
          CLI::ignore_case));
  app.add_option("--image-mean", options.mean, "Mean of red, green, blue, of 0 to 1")
      ->delimiter(',')
      ->check(CLI::Range(-1e6, 1e6));
  app.add_option("--image-std", options.deviation, "What they are divided by")
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 1e6));
}

void InputArguments::Declare(CLI::App& app) {
  app.add_option("--input", files, "Raw or .npy tensors or pictures, one per input, in order");
  DeclarePictureOptions(app, picture);
  app.add_option("--made-up", rule,
                 "Made-up inputs where none is given (default: ramp; on a VTA quantized)")
      ->check(CLI::IsMember({"ramp", "quantized", "random"}));
}

Result<std::vector<Tensor>> InputArguments::Make(const std::vector<ModelValue>& values,
                                                 const std::string& fallback) const {
  if (files.size() > values.size()) {
    return InvalidArgument(
        fmt::format("--input: {} given, the model has {}", files.size(), values.size()));
  }
  const std::string& made_up = rule.empty() ? fallback : rule;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ModelValue& value = values[i];
    if (i < files.size()) {
      auto tensor = ReadTensorFile(files[i], value.type, picture);
      TW_RETURN_IF_ERROR(tensor);
      inputs.push_back(std::move(*tensor));
    } else {
      inputs.push_back(MakeInput(value.name, value.type,
                                 made_up == "ramp"        ? InputRule::kRamp
                                 : made_up == "quantized" ? InputRule::kSeededQuantized
                                                          : InputRule::kRandom));
    }
  }
  return inputs;
}

void OutputArguments::Declare(CLI::App& app) {
  app.add_option("--output", files, "Files for the outputs (.npy or raw), in order");
}

Status OutputArguments::Write(const std::vector<Tensor>& outputs) const {
  for (std::size_t i = 0; i < std::min(files.size(), outputs.size()); ++i) {
    TW_RETURN_IF_ERROR(WriteTensorFile(files[i], outputs[i]));
  }
  return Status();
}

Json OutputsJson(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    Json elements = Json::array();
    for (std::int64_t j = 0; j < output.elements(); ++j) elements.push_back(output.At(j));
    list.push_back({{"name", values[i].name},
                    {"shape", output.shape()},
                    {"dtype", DataTypeName(output.dtype())},
                    {"values", std::move(elements)}});
  }
  return list;
}

void PrintOutputs(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) PrintTop(values[i].name, outputs[i]);
}

}  // namespace tilewright::cli
