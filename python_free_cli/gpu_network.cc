#include "python_free_cli/gpu_network.h"

#include <fmt/format.h>

#include "python_free_cli/command.h"
#include "src/base/json.h"

namespace tilewright::cli {

Result<GpuNetwork> GpuNetwork::Open(const std::string& file, bool seeded, const Target& target,
                                    const DeviceArgument& device, RecordSources& sources) {
  TW_RETURN_IF_ERROR(device.Check(target));
  CompileOptions options;
  options.target = target;
  DeviceArgument::Gpu gpu;
  if (!device.simt()) {
    auto found = device.Find(target);
    TW_RETURN_IF_ERROR(found);
    gpu = *std::move(found);
    options.device = FingerprintOf(gpu.device);
  }
  auto catalog = sources.Open(target);
  TW_RETURN_IF_ERROR(catalog);
  auto accept = sources.Accept();
  TW_RETURN_IF_ERROR(accept);
  options.catalog = &*catalog;
  options.accept = *accept;
  auto graph = LoadForRunning(file, seeded);
  TW_RETURN_IF_ERROR(graph);
  auto plan = PlanGpu(*std::move(graph), options);
  if (!plan.ok()) return plan.status().WithContext(file);
  GpuNetwork network;
  network.plan = std::make_unique<GpuPlan>(*std::move(plan));
  auto executor = device.simt() ? EmulateGpu(*network.plan)
                                : UseGpu(*network.plan, CudaApi::kLibrary, gpu.ordinal);
  TW_RETURN_IF_ERROR(executor);
  network.executor = *std::move(executor);
  return network;
}

Result<int> GpuNetwork::Run(const InputArguments& inputs, const OutputArguments& outputs,
                            bool json) const {
  const Graph& graph = plan->graph;
  auto values = inputs.Make(ValuesOf(graph, graph.inputs()));
  TW_RETURN_IF_ERROR(values);
  auto results = RunGpu(*plan, *executor, *values, nullptr);
  TW_RETURN_IF_ERROR(results);
  TW_RETURN_IF_ERROR(outputs.Write(*results));
  const std::vector<ModelValue> names = ValuesOf(graph, graph.outputs());
  if (json) {
    fmt::print("{}\n", Json({{"target", plan->target.ToString()},
                             {"kernels", plan->plan.kernels.size()},
                             {"outputs", OutputsJson(names, *results)}})
                           .dump());
  } else {
    PrintOutputs(names, *results);
  }
  return kExitDone;
}

Result<VerifyReport> GpuNetwork::Verify(const InputArguments& inputs,
                                        const VerifyOptions& options) const {
  auto values = inputs.Make(ValuesOf(plan->graph, plan->graph.inputs()));
  TW_RETURN_IF_ERROR(values);
  return VerifyGpu(*plan, *executor, *values, options);
}

}  // namespace tilewright::cli
