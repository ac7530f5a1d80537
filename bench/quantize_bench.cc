// Effect of quantization on the built-in networks: signal to noise per layer and at the end, how
// often the class of the largest result stays the same, and the duration of the passes.
//
//   quantize_bench NETWORK IMAGES [--layers]
//
// Inputs are synthetic: noise with a deviation of 1, different for calibration and evaluation. The
// reference evaluator computes everything.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/quantize/pipeline.h"
#include "src/models/models.h"

namespace tilewright::quantize {
namespace {

struct Mode {
  const char* name;
  std::vector<std::pair<const char*, const char*>> fields;
};

const std::vector<Mode>& Modes() {
  static const std::vector<Mode> kModes = {
      {"global_scale 8, power2", {}},
      {"percentile, power2", {{"calibrate_mode", "percentile"}}},
      {"percentile, max", {{"calibrate_mode", "percentile"}, {"weight_scale", "max"}}},
      {"kl_divergence, max", {{"calibrate_mode", "kl_divergence"}, {"weight_scale", "max"}}},
      {"percentile, max per channel",
       {{"calibrate_mode", "percentile"}, {"weight_scale", "max"}, {"per_channel", "true"}}},
      {"mse, max per channel, uint8",
       {{"calibrate_mode", "mse"},
        {"weight_scale", "max"},
        {"per_channel", "true"},
        {"unsigned", "true"}}},
  };
  return kModes;
}

constexpr int kCalibrationImages = 4;

int Threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

/// Returns normal numbers (sums of twelve uniform ones).
Sample MakeImage(const Graph& graph, std::string_view purpose, int index) {
  Sample sample;
  for (int id : graph.inputs()) {
    Tensor tensor(graph.node(id).type);
    Random random(Fnv1a64(fmt::format("{}{}", purpose, index)));
    for (float& x : tensor.As<float>()) {
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += random.Uniform();
      x = static_cast<float>(sum);
    }
    sample.push_back(std::move(tensor));
  }
  return sample;
}

struct Noise {
  double signal = 0, noise = 0;
  void Add(double expected, double actual) {
    signal += expected * expected;
    noise += (actual - expected) * (actual - expected);
  }
  double decibels() const { return noise == 0 ? 999 : 10 * std::log10(signal / noise); }
};

/// Returns the value, or prints the error and exits.
template <typename T>
T Take(Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.status().message());
    std::exit(1);
  }
  return *std::move(result);
}

std::map<std::string, int> IdsByName(const Graph& graph) {
  std::map<std::string, int> ids;
  for (int id = 0; id < graph.size(); ++id) ids.emplace(graph.node(id).name, id);
  return ids;
}

std::int64_t Largest(const Tensor& tensor) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    if (tensor.At(i) > tensor.At(best)) best = i;
  }
  return best;
}

/// Prints the signal to noise of every value that is quantized, over one image.
void PrintLayers(const Graph& reference, const Graph& quantized,
                 const std::vector<IntegerValue>& values) {
  const Sample image = MakeImage(reference, "layers", 0);
  const auto expected = Take(EvaluateGraph(reference, image, KeepValues::kAll, Threads()));
  const auto actual = Take(EvaluateGraph(quantized, image, KeepValues::kAll, Threads()));
  const auto reference_ids = IdsByName(reference), quantized_ids = IdsByName(quantized);
  for (const IntegerValue& value : values) {
    const auto from = reference_ids.find(value.value), to = quantized_ids.find(value.integers);
    if (from == reference_ids.end() || to == quantized_ids.end()) continue;
    const Tensor& x = expected[static_cast<std::size_t>(from->second)];
    const Tensor& q = actual[static_cast<std::size_t>(to->second)];
    if (x.elements() == 0 || q.elements() != x.elements()) continue;
    const auto quantization_params = quantized.quantization.find(value.integers);
    const std::int64_t axis = quantization_params == quantized.quantization.end()
                                  ? std::ssize(x.shape())
                                  : quantization_params->second.axis;
    std::int64_t inner = 1;
    for (auto i = axis + 1; i < std::ssize(x.shape()); ++i) {
      inner *= x.shape()[static_cast<std::size_t>(i)];
    }
    const auto scales = static_cast<std::int64_t>(value.scales.size());
    Noise noise;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      noise.Add(x.At(i), q.At(i) * value.scales[static_cast<std::size_t>(i / inner % scales)]);
    }
    fmt::print("    {:<34} {:>7.2f} dB\n", value.value, noise.decibels());
  }
}

void RunMode(const std::string& onnx, const Mode& mode, int images, bool layers) {
  PipelineOptions options;
  options.threads = Threads();
  for (const auto& [field, value] : mode.fields) {
    const Status status = options.config.Set(field, value);
    TW_CHECK(status.ok(), status.message());
  }
  options.passes = {"fold"};
  std::vector<IntegerValue> values;
  const auto fold = [&] {
    return Take(RunPasses(Take(ImportOnnx(onnx, "model")), options, &values));
  };
  const Graph reference = fold();
  Graph folded = fold();
  for (int i = 0; i < kCalibrationImages; ++i) {
    options.samples.push_back(MakeImage(reference, "calibration", i));
  }
  const auto begin = std::chrono::steady_clock::now();
  options.passes = {"partition", "annotate", "calibrate", "realize"};
  const Graph quantized = Take(RunPasses(std::move(folded), options, &values));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  Noise noise;
  int same = 0;
  for (int i = 0; i < images; ++i) {
    const Sample image = MakeImage(reference, "judging", i);
    const auto expected = Take(EvaluateGraph(reference, image, KeepValues::kOutputs, Threads()));
    const auto actual = Take(EvaluateGraph(quantized, image, KeepValues::kOutputs, Threads()));
    same += Largest(expected[0]) == Largest(actual[0]) ? 1 : 0;
    for (std::int64_t j = 0; j < expected[0].elements(); ++j) {
      noise.Add(expected[0].At(j), actual[0].At(j));
    }
  }
  fmt::print("  {:<28} {:>3}/{} same class, results {:>6.2f} dB, quantized in {:.2f} s\n",
             mode.name, same, images, noise.decibels(), seconds.count());
  if (layers) PrintLayers(reference, quantized, values);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tilewright::quantize

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: quantize_bench NETWORK IMAGES [--layers]\n");
    return 2;
  }
  using namespace tilewright;  // NOLINT: a program of one file
  const std::string onnx = quantize::Take(MakeModelOnnx(argv[1]));
  const bool layers = argc > 3 && std::string_view(argv[3]) == "--layers";
  fmt::print("{}, {} images, {} for calibration\n", argv[1], std::atoi(argv[2]),
             quantize::kCalibrationImages);
  for (const auto& mode : quantize::Modes()) {
    quantize::RunMode(onnx, mode, std::atoi(argv[2]), layers);
  }
  return 0;
}
