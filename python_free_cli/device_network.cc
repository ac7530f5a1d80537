// Networks by target: compiled for a VTA into a folder of streams, and run or verified as a
// library, on a GPU or in its emulator, or on a simulated VTA. RunnableNetwork is the common
// interface; this file opens it.

#include "python_free_cli/device_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "python_free_cli/arguments/command_line.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/isolated_process.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/vta_run.h"
#include "src/compiler/vta_bundle.h"
#include "src/report/networks/compiled.h"
#include "src/report/text/outputs.h"
#include "src/report/vta_run.h"
#include "src/session/compare/network_progress.h"
#include "src/session/format.h"
#include "src/session/misses.h"
#include "src/session/model.h"
#include "src/target/device.h"
#include "src/target/short_target.h"

namespace tilewright::cli {

using session::kCycleModels;
using session::OpenNetwork;

namespace {

/// Approximate ratio of the speed of a kernel's slowest code to an emulated thread.
constexpr std::int64_t kEmulationFactor = 50;

}  // namespace

void FuseArguments::Declare(CLI::App& app) {
  app.add_flag("--fuse-residuals", fuse_residuals,
               "On a VTA, fuse residual additions into the convolution (default, except with "
               "--rule autotvm)");
  app.add_flag("--no-fuse-residuals", no_fuse_residuals,
               "On a VTA, run residual additions separately");
}

Result<std::optional<bool>> FuseArguments::Choice() const {
  if (fuse_residuals && no_fuse_residuals) {
    return InvalidArgument("--fuse-residuals and --no-fuse-residuals: expected one of them");
  }
  if (!given()) return std::optional<bool>();
  return std::optional(fuse_residuals);
}

bool IsVtaBundle(const std::string& path) { return FileExists(path + "/kernels.json"); }

Result<int> CompileForVta(const Plan& plan, OnMiss on_miss, const std::string& folder, bool json,
                          const std::string& tune_command) {
  std::int64_t untuned = 0;
  std::vector<OperatorReport> layers;  // one for each stream, by the name of its workload
  for (const StreamKernel& kernel : plan.streams) {
    if (!kernel.report.tuned) ++untuned;
    OperatorReport& layer = layers.emplace_back(kernel.report);
    const auto workload = Workload::Parse(layer.workload_key);
    layer.value = workload.ok() ? session::ShortName(*workload) : layer.workload_key;
  }
  session::NoteMisses(layers, {ShortTargetText(plan.target), tune_command}, PrintNote);
  if (on_miss == OnMiss::kFail && untuned > 0) return kExitFailed;
  TW_RETURN_IF_ERROR(WriteVtaBundle(plan, folder));
  const auto host = report::HostSteps(plan);
  const auto launches = report::VtaSteps(plan);
  if (json) {
    PrintJson(
        {{"folder", folder},
         {"target", plan.target.ToString()},
         {"streams", plan.streams.size()},
         {"untuned", untuned},
         {"operators_on_vta", launches},
         {"operators_on_host", host},
         {"bound", plan.graph.binding_options},
         {"made_up_constants", report::SyntheticConstantsJson(plan.graph.synthetic_constants)}});
  } else {
    PrintOut("{}: {} ({} untuned) for {} on the VTA, {} on the host\n", folder,
             Counted(std::ssize(plan.streams), "stream"), untuned,
             Counted(static_cast<std::int64_t>(launches), "operator"), host);
  }
  return kExitDone;
}

namespace {

/// Registers the operators of a network before they run, except for a VTA, whose time is not
/// limited.
void RegisterOpened(const OpenNetwork& opened, CheckProgress& progress) {
  if (opened.vta == nullptr) {
    session::RegisterOperators(*opened.network, progress,
                               opened.emulator != nullptr ? kEmulationFactor : 1);
  }
}

}  // namespace

void DeviceNetwork::Declare(CLI::App& app, bool traces) {
  app_ = &app;
  place_.Declare(app);
  fuse_.Declare(app);
  if (traces) {
    CLI::Option* trace = app.add_option("--vta-trace", trace_file_,
                                        "Write a timeline to this file (Chrome trace format)");
    app.add_option("--vta-cycles", trace_model_, "Cycle model of the timeline")
        ->needs(trace)
        ->check(CLI::IsMember({"pynq", "rtl", "pynq_shared_bus"}))
        ->capture_default_str();
  }
  device_.Declare(app);
}

Status DeviceNetwork::CheckNoVta() const {
  if (!fuse_.given() && trace_file_.empty()) return {};
  return InvalidArgument("--[no-]fuse-residuals and --vta-trace need --target vta");
}

Status DeviceNetwork::CheckUnused() const {
  TW_RETURN_IF_ERROR(CheckNoVta());
  return place_.CheckUnused();
}

Result<session::Session> DeviceNetwork::MakeSession(bool seeded) const {
  TW_ASSIGN_OR_RETURN(auto target, place_.Parse());
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.launches_grids) {
    TW_RETURN_IF_ERROR(CheckNoVta());
    if (place_.sources.rule != "own") return InvalidArgument("--rule autotvm: needs --target vta");
    if (!place_.sources.tophub.empty()) return InvalidArgument("--tophub: needs --target vta");
  } else if (!device.has_host_fallback) {
    return InvalidArgument("--target: '" + target.kind_name() +
                           "', expected vta, cuda, opencl or rocm (a library contains its target)");
  } else {
    TW_RETURN_IF_ERROR(device_.CheckUnused());
  }
  session::SessionSettings settings;
  settings.templates = templates_;
  settings.target = target;
  settings.device = device_;
  settings.records = place_.sources;
  TW_ASSIGN_OR_RETURN(settings.fuse_residuals, fuse_.Choice());
  settings.seeded = seeded;
  settings.note = PrintNote;
  return session::Session(std::move(settings));
}

Result<Plan> DeviceNetwork::ReadBundle(const std::string& folder, bool seeded) const {
  TW_RETURN_IF_ERROR(device_.CheckUnused());
  if (seeded) return InvalidArgument("--seeded: " + folder + " has its constants in it");
  TW_RETURN_IF_ERROR(place_.CheckUnusedBy(folder));
  if (fuse_.given()) {
    return InvalidArgument("--[no-]fuse-residuals: " + folder + " has its operators fused");
  }
  TW_ASSIGN_OR_RETURN(auto plan, ReadVtaBundle(folder));
  session::NoteSyntheticConstants(folder, plan.graph.synthetic_constants, PrintNote);
  return plan;
}

Result<OpenNetwork> DeviceNetwork::OpenLibrary(const ModelSource& source, bool seeded,
                                               int threads) const {
  const std::string& file = source.path;
  TW_RETURN_IF_ERROR(CheckNoVta());
  if (seeded) return InvalidArgument("--seeded: a library contains its constants");
  TW_RETURN_IF_ERROR(place_.CheckUnused());
  TW_ASSIGN_OR_RETURN(const auto set, session::VariantFor(source, PrintNote));
  TW_ASSIGN_OR_RETURN(auto library, device_.OpenLibrary(file, threads, set));
  TW_RETURN_IF_ERROR(session::SetSizes(source, library));
  OpenNetwork opened;
  opened.synthetic_constants = library.synthetic_constants();
  session::NoteSyntheticConstants(file, opened.synthetic_constants, PrintNote);
  opened.network = std::make_unique<ModelLibrary>(std::move(library));
  return opened;
}

Result<OpenNetwork> DeviceNetwork::Open(const ModelSource& model, bool seeded, int threads,
                                        bool timed, bool verified) const {
  const std::string& file = model.path;
  if (IsVtaBundle(file)) {
    TW_RETURN_IF_ERROR(session::CheckUnused(model.options, file + " has its sizes in it"));
  }
  if (!planned(file)) return OpenLibrary(model, seeded, threads);
  session::OpenOptions options;
  options.timed = timed;
  options.keep_source = verified;
  if (IsVtaBundle(file)) {
    options.threads = threads;
    TW_ASSIGN_OR_RETURN(auto plan, ReadBundle(file, seeded));
    return session::Session::OpenVta(std::move(plan), options);
  }
  TW_ASSIGN_OR_RETURN(const auto session, MakeSession(seeded));
  if (!on_gpu()) options.threads = threads;
  options.note_misses = place_.asks_for_records();
  options.tune_command = TuneCommandHere(*app_, file, session.target());
  return session.Open(model, options);
}

Status DeviceNetwork::WriteTrace(const Plan& plan) const {
  TW_ASSIGN_OR_RETURN(auto model, vta::CycleModel::Preset(trace_model_));
  TW_ASSIGN_OR_RETURN(auto trace, TraceVta(plan, model));
  return WriteFile(trace_file_, trace);
}

Result<int> DeviceNetwork::Run(const ModelSource& source, bool seeded, const InputArguments& inputs,
                               const OutputArguments& outputs, int threads, bool json,
                               CheckProgress& progress) const {
  if (on_gpu() && threads > 0) return InvalidArgument("--threads: the operators run on a GPU");
  TW_ASSIGN_OR_RETURN(auto opened,
                      Open(source, seeded, threads, /*timed=*/true, /*verified=*/false));
  const RunnableNetwork& network = *opened.network;
  const VtaExecutor* vta = opened.vta.get();
  TW_ASSIGN_OR_RETURN(auto values,
                      inputs.Make(network.inputs(), vta != nullptr ? "quantized" : "ramp"));
  RegisterOpened(opened, progress);
  if (vta != nullptr) progress.End();  // its operators are not reported one by one
  TW_ASSIGN_OR_RETURN(auto results, vta != nullptr
                                        ? network.Run(values)
                                        : session::RunWithProgress(network, values, progress));
  TW_RETURN_IF_ERROR(outputs.Write(results));
  if (!trace_file_.empty()) TW_RETURN_IF_ERROR(WriteTrace(*opened.plan));
  if (json) {
    Json report;
    if (vta != nullptr) report = report::VtaRunJson(*opened.plan, vta->costs(), kCycleModels);
    report["outputs"] = report::OutputsJson(network.outputs(), results);
    report["made_up_constants"] = report::SyntheticConstantsJson(opened.synthetic_constants);
    PrintJson(report);
  } else {
    if (vta != nullptr) WriteText(report::VtaRunText(*opened.plan, vta->costs(), kCycleModels));
    WriteText(report::OutputsText(network.outputs(), results));
  }
  return kExitDone;
}

Result<VerifyReport> DeviceNetwork::Verify(const ModelSource& file, const std::string& bundle,
                                           bool seeded, const InputArguments& inputs,
                                           VerifyOptions options) const {
  const bool bundled = !bundle.empty();
  const ModelSource folder{bundle};
  TW_ASSIGN_OR_RETURN(auto opened,
                      Open(bundled ? folder : file, !bundled && seeded, options.threads,
                           /*timed=*/false, /*verified=*/true));
  if (bundled) {
    TW_ASSIGN_OR_RETURN(opened.source, session::LoadForRunning(file, seeded, PrintNote));
  }
  const Graph& source = opened.source;
  const bool vta = opened.vta != nullptr;
  TW_ASSIGN_OR_RETURN(auto values,
                      inputs.Make(opened.emulator != nullptr ? opened.network->inputs()
                                                             : ValuesOf(source, source.inputs()),
                                  vta ? "quantized" : "ramp"));
  if (vta) {
    PrintErr("{} on the host: evaluated by the reference itself\n",
             Counted(static_cast<std::int64_t>(report::HostSteps(*opened.plan)), "operator"));
    if (options.progress != nullptr) options.progress->End();
    options.progress = nullptr;
  }
  if (options.progress != nullptr) RegisterOpened(opened, *options.progress);
  return session::Session::Verify(opened, values, options);
}

}  // namespace tilewright::cli
