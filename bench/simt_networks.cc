// Whole networks with seeded weights as CUDA kernels (default configs), in the SIMT emulator,
// against the results of an independent program: intermediate integers by their checksums, final
// floats relative to their root mean square. Slow: minutes to hours for each network.
//
//   simt_networks FOLDER [NETWORK]... [--device opencl:N]
//
// FOLDER: models and results (onnx, relay, expected). With --device, the networks are compiled to
// libraries for OpenCL, which run on that device.
//
// Prints a line for each network; progress goes to standard error.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/compiler/run/plan_run.h"
#include "src/compiler/run/run.h"
#include "src/graph/passes/passes.h"
#include "src/runtime/opencl/api.h"
#include "src/tensor/synthetic_data.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

constexpr double kTolerance = 1e-4;  // of single values, relative to the root mean square

enum class Kind : std::uint8_t { kOnnx, kPacked, kFragment };
struct Network {
  const char* name;
  const char* model;
  const char* numbers;
  Kind kind;
};
constexpr Network kNetworks[] = {
    {"fragment", "relay/efficientnet_fused_int16.relay", "seeded_efficientnet_fragment",
     Kind::kFragment},
    {"shufflenet", "onnx/light_shufflenet.onnx", "seeded_light_shufflenet", Kind::kOnnx},
    {"squeezenet", "onnx/light_squeezenet.onnx", "seeded_light_squeezenet", Kind::kOnnx},
    {"resnet18_packed", "relay/resnet18_v1_vta_packed.relay", "seeded_resnet18_vta_packed",
     Kind::kPacked},
    {"inception_v2", "onnx/light_inception_v2.onnx", "seeded_light_inception_v2", Kind::kOnnx},
    {"densenet121", "onnx/light_densenet121.onnx", "seeded_light_densenet121", Kind::kOnnx},
    {"resnet50", "onnx/light_resnet50.onnx", "seeded_light_resnet50", Kind::kOnnx},
    {"vgg19", "onnx/light_vgg19.onnx", "seeded_light_vgg19", Kind::kOnnx},
};

/// Seeds the graph as in the expected results.
std::vector<Tensor> Prepare(Graph& graph, Kind kind) {
  const bool onnx = kind == Kind::kOnnx;
  SeedConstants(graph, onnx ? SeedRule::kAllFloat : SeedRule::kMissing);
  const Node& last = graph.node(graph.outputs()[0]);
  if (onnx && last.op.kind == OpKind::kSoftmax) graph.SetOutputs({last.inputs[0]});
  const Node& input = graph.node(graph.inputs()[0]);
  std::vector<Tensor> inputs;
  inputs.push_back(kind == Kind::kFragment
                       ? MakeQuantizedInput(input.name, input.type, 0.0374636, 57)
                       : MakeSyntheticInput(input.name, input.type,
                                            onnx ? SyntheticInputRule::kRamp
                                                 : SyntheticInputRule::kSeededQuantized));
  return inputs;
}

/// Returns the largest error relative to the root mean square of the expected values.
double ErrorOf(const Tensor& output, const std::vector<double>& expected) {
  if (static_cast<std::size_t>(output.elements()) != expected.size()) return HUGE_VAL;
  double square = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    square += expected[i] * expected[i];
    largest = std::max(largest, std::abs(output.At(static_cast<std::int64_t>(i)) - expected[i]));
  }
  return largest / std::sqrt(square / static_cast<double>(expected.size()));
}

/// Observer of a run that compares intermediate integers.
class Follower {
 public:
  Follower(const Plan& plan, const Json& numbers) : plan_(plan) {
    if (numbers["columns"].back() != "crc32") return;  // floats have none
    for (const Json& row : numbers["values"]) checksums_[row[0]] = row.back();
  }
  Status See(std::size_t index, const Tensor& result) {
    const PlanStep& step = plan_.steps[index];
    const std::string& name = plan_.graph.node(step.node).name;
    fmt::print(stderr, "{:8.1f} s {}/{} {} {}\n", clock_.MonotonicSeconds() - start_, index + 1,
               plan_.steps.size(), name, step.report.op);
    const auto known = checksums_.find(name);
    if (known == checksums_.end()) return {};
    const std::span bytes(result.data(), static_cast<std::size_t>(result.bytes()));
    if (HexOf(Crc32(bytes)).substr(8) != known->second) return Internal(name + " differs");
    ++equal_;
    return {};
  }
  std::int64_t macs() const {
    std::int64_t macs = 0;
    for (const PlanStep& step : plan_.steps) macs += step.report.macs;
    return macs;
  }
  int equal() const { return equal_; }
  double seconds() { return clock_.MonotonicSeconds() - start_; }

 private:
  const Plan& plan_;
  SystemClock clock_;
  const double start_ = clock_.MonotonicSeconds();
  std::map<std::string, std::string> checksums_;
  int equal_ = 0;
};

using See = RunnableNetwork::OnResult;

/// Runs a library for OpenCL on a device.
Result<std::vector<Tensor>> RunOnOpenCl(Graph graph, const CompileOptions& options, int device,
                                        const std::vector<Tensor>& inputs, const See& see) {
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-simt-networks"));
  const std::string path = folder.path() + "/net.so";
  TW_RETURN_IF_ERROR(Compile(std::move(graph), options, path));
  TW_ASSIGN_OR_RETURN(auto library, ModelLibrary::Open(path));
  TW_RETURN_IF_ERROR(library.UseDevice(OpenClApi::kLibrary, device));
  return library.RunObserved(inputs, see);
}

Result<std::vector<Tensor>> RunEmulated(const Plan& plan, const std::vector<Tensor>& inputs,
                                        const See& see) {
  TW_ASSIGN_OR_RETURN(auto executor, EmulateGpu(plan));
  return PlannedNetwork(plan, *executor).RunObserved(inputs, see);
}

/// device: of OpenCL; -1 for the emulator.
Result<std::string> Run(const Network& network, const std::string& folder, int device) {
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(folder + "/expected/" + network.numbers + ".json"));
  TW_ASSIGN_OR_RETURN(auto numbers, ParseJson(text));
  TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(folder + "/" + network.model));
  const std::vector<Tensor> inputs = Prepare(graph, network.kind);
  CompileOptions options;
  options.templates = &BuiltInTemplates();
  TW_ASSIGN_OR_RETURN(options.target, Target::Parse(device < 0 ? "cuda -arch=sm_80" : "opencl"));
  Graph planned = graph.Clone();
  TW_ASSIGN_OR_RETURN(const auto plan, MakeCheckedPlan(std::move(planned), options));
  Follower follower(plan, numbers);
  const auto see = [&](std::size_t index, const Tensor& result) {
    return follower.See(index, result);
  };
  TW_ASSIGN_OR_RETURN(auto outputs,
                      device < 0 ? RunEmulated(plan, inputs, see)
                                 : RunOnOpenCl(std::move(graph), options, device, inputs, see));
  std::string line = fmt::format("{} operators, {} kernels, {:.0f} million multiply-accumulates",
                                 plan.steps.size(), plan.kernels.size(),
                                 1e-6 * static_cast<double>(follower.macs()));
  if (follower.equal() > 0) line += fmt::format("; {} values equal", follower.equal());
  const char* last = network.kind == Kind::kOnnx ? "logits" : "output";
  if (numbers.contains(last)) {
    const double error = ErrorOf(outputs[0], numbers[last].get<std::vector<double>>());
    if (!(error <= kTolerance)) return Internal(fmt::format("error {:.1e} of the RMS", error));
    line += fmt::format("; error at the end {:.1e} of the RMS", error);
  }
  return line + fmt::format("; {:.0f} s", follower.seconds());
}

int Main(const std::string& folder, const std::vector<std::string>& wanted, int device) {
  int failed = 0;
  for (const Network& network : kNetworks) {
    const bool asked = wanted.empty() || std::ranges::find(wanted, network.name) != wanted.end();
    if (!asked) continue;
    const auto line = Run(network, folder, device);
    fmt::print("{:<16} {}\n", network.name, line.ok() ? *line : line.status().message());
    std::fflush(stdout);
    failed += line.ok() ? 0 : 1;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  int device = -1;
  if (arguments.size() >= 2 && arguments[arguments.size() - 2] == "--device" &&
      arguments.back().starts_with("opencl:")) {
    device = std::atoi(arguments.back().c_str() + std::string_view("opencl:").size());
    arguments.resize(arguments.size() - 2);
  }
  if (arguments.empty()) {
    fmt::print(stderr, "usage: simt_networks FOLDER [NETWORK]... [--device opencl:N]\n");
    return 2;
  }
  return tilewright::Main(arguments[0], {arguments.begin() + 1, arguments.end()}, device);
}
