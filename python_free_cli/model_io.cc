// Common options of commands that run a network: inputs (files, or synthetic values by a rule), and
// output and display of results.

#include "python_free_cli/model_io.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "python_free_cli/print.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/graph/ir/check_memory.h"
#include "src/graph/ir/check_weights.h"
#include "src/media/tensor_file.h"
#include "src/tensor/synthetic_data.h"

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

/// Scale and zero point of a rule for synthetic inputs.
struct Steps {
  double scale;
  std::int64_t zero_point;
};

/// Parses a rule; nullopt for a rule without parameters.
/// Errors: kInvalidArgument for an invalid rule.
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

Result<Tensor> MakeSynthetic(const std::string& rule, const ModelValue& value) {
  TW_ASSIGN_OR_RETURN(const auto steps, ParseRule(rule));
  if (!steps) {
    return MakeSyntheticInput(value.name, value.type,
                              rule == "ramp"        ? SyntheticInputRule::kRamp
                              : rule == "quantized" ? SyntheticInputRule::kSeededQuantized
                                                    : SyntheticInputRule::kRandom);
  }
  if (value.type.dtype.is_float()) {
    return MakeQuantizedInput(value.name, value.type, steps->scale, steps->zero_point);
  }
  return InvalidArgument(fmt::format("--made-up {}: input {} is {}, expected floats", rule,
                                     value.name, value.type.ToString()));
}

}  // namespace

Json SyntheticConstantsJson(std::int64_t constants) {
  if (constants == 0) return nullptr;
  return {{"count", constants}, {"seed", "name"}};
}

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
      ->check([](const std::string& text) { return ToStatus(ParseRule(text)).message(); });
}

Result<std::vector<Tensor>> InputArguments::Make(const std::vector<ModelValue>& values,
                                                 const std::string& fallback) const {
  if (files.size() > values.size()) {
    return InvalidArgument(
        fmt::format("--input: {} given, the model has {}", files.size(), values.size()));
  }
  const std::string& synthetic_rule = rule.empty() ? fallback : rule;
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ModelValue& value = values[i];
    if (i < files.size()) {
      TW_ASSIGN_OR_RETURN(auto tensor, ReadTensorFile(files[i], value.type, image));
      inputs.push_back(std::move(tensor));
    } else {
      TW_ASSIGN_OR_RETURN(auto tensor, MakeSynthetic(synthetic_rule, value));
      inputs.push_back(std::move(tensor));
    }
  }
  return inputs;
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

namespace {

/// Returns an element as a number, with every digit of an integer.
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
