#include "python_free_cli/vta_network.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "python_free_cli/vta_report.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/check/vta_verify.h"
#include "src/compiler/emit/vta_bundle.h"
#include "src/compiler/run/vta_run.h"
#include "src/target/device.h"

namespace tilewright::cli {

void VtaChoice::Declare(CLI::App& app) {
  app.add_flag("--fuse-residuals", fuse_residuals,
               "On a VTA, add residuals behind the convolution, before its result is stored "
               "(default, but for --rule autotvm)");
  app.add_flag("--no-fuse-residuals", no_fuse_residuals, "On a VTA, add residuals by themselves");
}

Result<FuseRule> VtaChoice::Rule(bool autotvm) const {
  if (fuse_residuals && no_fuse_residuals) {
    return InvalidArgument("--fuse-residuals and --no-fuse-residuals: expected one of them");
  }
  const bool fuse = fuse_residuals || (!no_fuse_residuals && !autotvm);
  return fuse ? FuseRule::kResiduals : FuseRule::kNarrow;
}

void VtaNetwork::DeclareTrace(CLI::App& app) {
  CLI::Option* trace =
      app.add_option("--vta-trace", trace_file_, "File for the timeline (Chrome's trace format)");
  app.add_option("--vta-cycles", trace_model_, "Cycle model of the timeline")
      ->needs(trace)
      ->check(CLI::IsMember({"pynq", "rtl", "pynq_shared_bus"}))
      ->capture_default_str();
}

Result<VtaPlan> VtaChoice::Plan(const std::string& file, bool seeded, const LoadOptions& load,
                                const Target& target, RecordSources& sources) const {
  auto accept = sources.Accept();
  TW_RETURN_IF_ERROR(accept);
  auto graph = LoadForRunning(file, seeded, load);
  TW_RETURN_IF_ERROR(graph);
  VtaOptions options;
  options.target = target;
  options.accept = *accept;
  auto autotvm = sources.Autotvm(target);
  TW_RETURN_IF_ERROR(autotvm);
  options.autotvm = *std::move(autotvm);
  auto fuse = Rule(options.autotvm.has_value());
  TW_RETURN_IF_ERROR(fuse);
  options.fuse = *fuse;
  auto catalog = sources.Open(target);
  TW_RETURN_IF_ERROR(catalog);
  options.catalog = &*catalog;
  auto plan = PlanVta(*std::move(graph), options);
  if (!plan.ok()) return plan.status().WithContext(file);
  if (plan->kernels.empty()) {
    PrintErr(
        "{}: no operator has the layout of this VTA, all are left to the host; tilewright pack "
        "gives a quantized model that layout\n",
        file);
  }
  return plan;
}

bool IsVtaBundle(const std::string& path) { return FileExists(path + "/kernels.json"); }

Result<int> CompileForVta(const VtaPlan& plan, OnMiss on_miss, const std::string& folder,
                          bool json) {
  std::int64_t untuned = 0;
  for (const VtaKernel& kernel : plan.kernels) {
    if (kernel.tuned) continue;
    PrintErr("untuned: {}: {}\n", kernel.workload, kernel.explanation);
    ++untuned;
  }
  if (on_miss == OnMiss::kFail && untuned > 0) return kExitFailed;
  TW_RETURN_IF_ERROR(WriteVtaBundle(plan, folder));
  const auto host = std::ranges::count(plan.steps, -1, &VtaStep::kernel);
  const std::int64_t launches = std::ssize(plan.steps) - host;
  if (json) {
    PrintJson({{"folder", folder},
               {"target", plan.target.ToString()},
               {"streams", plan.kernels.size()},
               {"untuned", untuned},
               {"operators_on_vta", launches},
               {"operators_on_host", host},
               {"made_up_constants", MadeUpJson(plan.graph.made_up_constants)}});
  } else {
    PrintOut("{}: {} streams ({} untuned) for {} operators on the VTA, {} on the host\n", folder,
             plan.kernels.size(), untuned, launches, host);
  }
  return kExitDone;
}

Status VtaNetwork::CheckUnused() const {
  if (!choice_.given() && trace_file_.empty()) return {};
  return InvalidArgument("--[no-]fuse-residuals and --vta-trace need --target vta");
}

Result<VtaPlan> VtaNetwork::Plan(const std::string& file, bool seeded, const LoadOptions& load) {
  if (IsVtaBundle(file)) {
    if (seeded) return InvalidArgument("--seeded: " + file + " has its constants in it");
    TW_RETURN_IF_ERROR(place_.CheckUnusedBy(file));
    if (choice_.given()) {
      return InvalidArgument("--[no-]fuse-residuals: " + file + " has its operators fused");
    }
    auto plan = ReadVtaBundle(file);
    TW_RETURN_IF_ERROR(plan);
    PrintMadeUp(file, plan->graph.made_up_constants);
    return plan;
  }
  auto target = place_.Parse("vta");
  TW_RETURN_IF_ERROR(target);
  if (!DeviceTraitsOf(*target).leaves_to_host) {
    return InvalidArgument("--target: '" + target->kind_name() +
                           "', expected vta or cuda (libraries have their target in them)");
  }
  return choice_.Plan(file, seeded, load, *target, place_.sources);
}

Result<int> VtaNetwork::Run(const std::string& file, bool seeded, const InputArguments& inputs,
                            const OutputArguments& outputs, int threads, bool json) {
  auto plan = Plan(file, seeded, {});
  TW_RETURN_IF_ERROR(plan);
  auto values = inputs.Make(ValuesOf(plan->graph, plan->graph.inputs()), "quantized");
  TW_RETURN_IF_ERROR(values);
  const std::vector<std::string> models = {"pynq", "rtl"};
  VtaRunOptions options;
  options.host_threads = std::max(1, threads);
  for (const std::string& name : models) {
    auto model = vta::CycleModel::Preset(name);
    TW_RETURN_IF_ERROR(model);
    options.models.push_back(*std::move(model));
  }
  auto run = RunVta(*plan, *values, options);
  TW_RETURN_IF_ERROR(run);
  TW_RETURN_IF_ERROR(outputs.Write(run->outputs));
  if (!trace_file_.empty()) {
    auto trace_model = vta::CycleModel::Preset(trace_model_);
    TW_RETURN_IF_ERROR(trace_model);
    auto trace = TraceVta(*plan, *trace_model);
    TW_RETURN_IF_ERROR(trace);
    TW_RETURN_IF_ERROR(WriteFile(trace_file_, *trace));
  }
  const auto output_values = ValuesOf(plan->graph, plan->graph.outputs());
  if (json) {
    Json report = VtaReportJson(*plan, *run, models);
    report["outputs"] = OutputsJson(output_values, run->outputs);
    report["made_up_constants"] = MadeUpJson(plan->graph.made_up_constants);
    PrintJson(report);
  } else {
    PrintVtaReport(*plan, *run, models);
    PrintOutputs(output_values, run->outputs);
  }
  return kExitDone;
}

Result<VerifyReport> VtaNetwork::Verify(const std::string& file, const std::string& bundle,
                                        bool seeded, const LoadOptions& load,
                                        const InputArguments& inputs,
                                        const VerifyOptions& options) {
  auto plan = bundle.empty() ? Plan(file, seeded, load) : Plan(bundle, false, load);
  TW_RETURN_IF_ERROR(plan);
  auto source = LoadForRunning(file, seeded, load);
  TW_RETURN_IF_ERROR(source);
  auto values = inputs.Make(ValuesOf(*source, source->inputs()), "quantized");
  TW_RETURN_IF_ERROR(values);
  const auto host = std::ranges::count(plan->steps, -1, &VtaStep::kernel);
  PrintErr("{} operators on the host: evaluated by the reference itself\n", host);
  return VerifyVta(*plan, *source, *values, options);
}

}  // namespace tilewright::cli
