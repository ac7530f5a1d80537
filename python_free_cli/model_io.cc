// What commands that run a network have in common: how its file is read, what its inputs are filled
// with (files, or made-up values by a rule), and how its outputs are written and shown.

#include "python_free_cli/model_io.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "python_free_cli/print.h"
#include "python_free_cli/tensor_file.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/graph/ir/memory.h"
#include "src/graph/ir/weights.h"
#include "src/tensor/made_up.h"

namespace tilewright::cli {
namespace {

void PrintTop(const std::string& name, const Tensor& output) {
  PrintOut("{} {}\n", name, output.type().ToString());
  std::vector<std::int64_t> order(static_cast<std::size_t>(output.elements()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return output.At(a) != output.At(b) ? output.At(a) > output.At(b) : a < b;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    PrintOut("  {:>6}  {:.7g}\n", order[i], output.At(order[i]));
  }
}

/// Scale and zero point of a rule for made-up inputs.
struct Steps {
  double scale;
  std::int64_t zero_point;
};

/// Nothing for a rule by a name alone.
/// Errors: kInvalidArgument for a text that is no rule.
Result<std::optional<Steps>> ParseRule(const std::string& rule) {
  if (rule == "ramp" || rule == "quantized" || rule == "random") return std::optional<Steps>();
  const std::vector<std::string> parts = Split(rule, ':');
  if (parts.size() == 3 && parts[0] == "quantized") {
    const auto scale = ParseDouble(parts[1]);
    const auto zero_point = ParseInt64(parts[2]);
    const bool fits = scale.ok() && std::isfinite(*scale) && *scale > 0 && zero_point.ok() &&
                      *zero_point >= 0 && *zero_point <= 255;
    if (fits) return std::optional(Steps{*scale, *zero_point});
  }
  return InvalidArgument(
      "'" + rule +
      "', expected ramp, quantized, random, or quantized:SCALE:ZERO_POINT with a "
      "positive scale and a zero point of 0 to 255");
}

Result<Tensor> MakeUp(const std::string& rule, const ModelValue& value) {
  TW_ASSIGN_OR_RETURN(const auto steps, ParseRule(rule));
  if (!steps) {
    return MakeInput(value.name, value.type,
                     rule == "ramp"        ? InputRule::kRamp
                     : rule == "quantized" ? InputRule::kSeededQuantized
                                           : InputRule::kRandom);
  }
  if (value.type.dtype.is_float()) {
    return MakeQuantizedInput(value.name, value.type, steps->scale, steps->zero_point);
  }
  return InvalidArgument(fmt::format("--made-up {}: input {} is {}, expected floats", rule,
                                     value.name, value.type.ToString()));
}

}  // namespace

void PrintNotes(const Graph& graph) {
  for (const std::string& note : graph.notes) PrintErr("note: {}: {}\n", graph.name, note);
}

void PrintMadeUp(const std::string& file, std::int64_t constants) {
  if (constants == 0) return;
  PrintErr(
      "warning: {}: {} constants have no contents of their own but made-up ones, seeded by "
      "their names (docs/graphs.md): results mean nothing but to compare them\n",
      file, constants);
}

Json MadeUpJson(std::int64_t constants) {
  if (constants == 0) return nullptr;
  return {{"count", constants}, {"seed", "name"}};
}

Result<Graph> LoadForRunning(const ModelSource& source, bool seeded) {
  const std::string& file = source.path;
  TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(source));
  PrintNotes(graph);
  if (Status status = CheckMemory(graph); !status.ok()) return status.WithContext(file);
  SeedConstants(graph, seeded ? SeedRule::kAllFloat : SeedRule::kMissing);
  PrintMadeUp(file, graph.made_up_constants);
  for (const std::string& note : NotesOnWeights(graph)) {
    PrintErr("note: {}: {}\n", graph.name, note);
  }
  return graph;
}

namespace {

std::string ShapesOf(const ModelLibrary& library) {
  std::string text;
  for (const ModelValue& input : library.inputs()) {
    text += (text.empty() ? "" : ", ") + input.name + "=" + ShapeText(input.type.shape);
  }
  return text;
}

bool HasShapes(const ModelLibrary& library, const Bindings& bindings) {
  return std::ranges::all_of(bindings.shapes, [&](const auto& shape) {
    return std::ranges::any_of(library.inputs(), [&](const ModelValue& input) {
      return input.name == shape.first && input.type.shape == shape.second;
    });
  });
}

}  // namespace

Result<int> SetFor(const ModelSource& source) {
  const Bindings& bindings = source.options.bindings;
  LoadOptions others{source.options.requantize, bindings.Clone()};
  others.bindings.shapes.clear();
  TW_RETURN_IF_ERROR(CheckUnused(others, source.path + " has its sizes in it"));
  std::string known;
  int sets = 1;
  for (int set = 0; set < sets; ++set) {
    TW_ASSIGN_OR_RETURN(const auto library, ModelLibrary::Open(source.path, set));
    sets = library.sets();
    known += (known.empty() ? "" : "; ") + ShapesOf(library);
    if (!HasShapes(library, bindings)) continue;
    if (sets > 1 && bindings.shapes.empty()) {
      PrintErr("note: {}: the first of {} sets of sizes, {}; --shape chooses another\n",
               source.path, sets, known);
    }
    return set;
  }
  return InvalidArgument(fmt::format("{}: {} has its sizes in it: {}", bindings.Options().front(),
                                     source.path, known));
}

Result<int> SetFor(const std::string& path, const Graph& graph) {
  int sets = 1;
  const std::vector<ModelValue> wanted = ValuesOf(graph, graph.inputs());
  for (int set = 0; set < sets; ++set) {
    TW_ASSIGN_OR_RETURN(const auto library, ModelLibrary::Open(path, set));
    sets = library.sets();
    const bool same = std::ranges::equal(
        library.inputs(), wanted,
        [](const ModelValue& a, const ModelValue& b) { return a.type == b.type; });
    if (same) return set;
  }
  return 0;
}

void DeclarePictureOptions(CLI::App& app, PictureOptions& options, CLI::Option* files) {
  app.add_option("--image-fit", options.fit,
                 "Pictures of another size than the input: exact (refuse them), crop (the middle, "
                 "7/8 of the shorter side) or stretch")
      ->needs(files)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, PictureFit>{{"exact", PictureFit::kExact},
                                            {"crop", PictureFit::kCrop},
                                            {"stretch", PictureFit::kStretch}},
          CLI::ignore_case));
  app.add_option("--image-mean", options.mean, "Mean of red, green, blue, of 0 to 1")
      ->needs(files)
      ->delimiter(',')
      ->check(CLI::Range(-1e6, 1e6));
  app.add_option("--image-std", options.deviation, "What they are divided by")
      ->needs(files)
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 1e6));
}

void InputArguments::Declare(CLI::App& app) {
  DeclarePictureOptions(
      app, picture,
      app.add_option("--input", files, "Raw or .npy tensors or pictures, one per input, in order"));
  app.add_option("--made-up", rule,
                 "Made-up inputs where none is given: ramp, random, quantized, or "
                 "quantized:SCALE:ZERO_POINT (default: ramp; on a VTA quantized)")
      ->check([](const std::string& text) { return ToStatus(ParseRule(text)).message(); });
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
      TW_ASSIGN_OR_RETURN(auto tensor, ReadTensorFile(files[i], value.type, picture));
      inputs.push_back(std::move(tensor));
    } else {
      TW_ASSIGN_OR_RETURN(auto tensor, MakeUp(made_up, value));
      inputs.push_back(std::move(tensor));
    }
  }
  return inputs;
}

void OutputArguments::Declare(CLI::App& app) {
  app.add_option("--output", files, "Files for the outputs (.npy or raw), in order");
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

namespace {

/// An element as a number, every digit of an integer.
Json ElementJson(const Tensor& tensor, std::int64_t index) {
  const DataType dtype = tensor.dtype();
  if (!dtype.is_integer() || dtype.bits < 64) return tensor.At(index);
  const auto at = static_cast<std::size_t>(index);
  if (dtype.code == TypeCode::kUInt) return tensor.As<std::uint64_t>()[at];
  return tensor.As<std::int64_t>()[at];
}

}  // namespace

Json OutputsJson(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    Json elements = Json::array();
    for (std::int64_t j = 0; j < output.elements(); ++j) elements.push_back(ElementJson(output, j));
    const std::span bytes(output.data(), static_cast<std::size_t>(output.bytes()));
    list.push_back({{"name", values[i].name},
                    {"shape", output.shape()},
                    {"dtype", DataTypeName(output.dtype())},
                    {"crc32", HexOf(Crc32(bytes)).substr(8)},
                    {"values", std::move(elements)}});
  }
  return list;
}

void PrintOutputs(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) PrintTop(values[i].name, outputs[i]);
}

}  // namespace tilewright::cli
