// A network by its target: compiled for a VTA into a folder of streams, and run or verified as a
// library, on a GPU or in its emulator, or on a simulated VTA. What these have in common is a
// RunnableNetwork; here it is opened.

#include "python_free_cli/device_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/isolated_process.h"
#include "python_free_cli/print.h"
#include "python_free_cli/vta_report.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/run/vta_run.h"
#include "src/compiler/vta_bundle.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

/// A thread of the emulator does about so much less than a kernel's slowest code.
constexpr std::int64_t kEmulationFactor = 50;

/// Cycle models that every run on a VTA is timed with.
constexpr const char* kCycleModels[] = {"pynq", "rtl"};

Graph CopyOf(const Graph& graph) {
  return graph.CloneWithout(std::numeric_limits<std::int64_t>::max());
}

/// Names as lines that fit a terminal; of very many some, and how many more there are.
std::vector<std::string> NameLines(const std::vector<std::string_view>& names) {
  constexpr std::size_t kWidth = 90, kMaxLines = 6;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = Printable(names[i]) + (i + 1 < names.size() ? ", " : "");
    const bool fits = !lines.empty() && lines.back().size() + name.size() <= kWidth;
    if (!fits && lines.size() == kMaxLines) {
      lines.push_back(fmt::format("and {} more (`compile --json` names all)", names.size() - i));
      break;
    }
    if (!fits) lines.emplace_back();
    lines.back() += name;
  }
  return lines;
}

}  // namespace

void PrintMisses(const std::vector<OperatorReport>& operators) {
  struct Miss {
    bool tuned;
    std::string_view why;
    std::vector<std::string_view> values;
  };
  std::vector<Miss> misses;  // one reason mostly serves many operators: it is said once
  for (const OperatorReport& op : operators) {
    if (!op.skipped_record.empty()) {
      PrintErr("passed over: {} ({}): {}\n", op.value, op.op, op.skipped_record);
    }
    if (op.workload_key.empty() || op.answer == records::AnswerLevel::kHit) continue;
    const auto same = [&](const Miss& miss) {
      return miss.tuned == op.tuned && miss.why == op.explanation;
    };
    auto miss = std::ranges::find_if(misses, same);
    if (miss == misses.end()) miss = misses.insert(miss, {op.tuned, op.explanation, {}});
    miss->values.push_back(op.value);
  }
  for (const Miss& miss : misses) {
    const char* kind = miss.tuned ? "near" : "untuned";
    std::vector<std::string> lines = NameLines(miss.values);
    if (lines.size() == 1) {
      PrintErr("{}: {}: {}\n", kind, lines.front(), miss.why);
      continue;
    }
    const std::string list = fmt::format("{}", fmt::join(lines, "\n  "));
    PrintErr("{}: {} operators: {}\n  {}\n", kind, miss.values.size(), miss.why,
             MultilineText{list});
  }
}

void FuseArguments::Declare(CLI::App& app) {
  app.add_flag("--fuse-residuals", fuse_residuals,
               "On a VTA, add residuals behind the convolution, before its result is stored "
               "(default, but for --rule autotvm)");
  app.add_flag("--no-fuse-residuals", no_fuse_residuals, "On a VTA, add residuals by themselves");
}

Result<bool> FuseArguments::Residuals(bool autotvm) const {
  if (fuse_residuals && no_fuse_residuals) {
    return InvalidArgument("--fuse-residuals and --no-fuse-residuals: expected one of them");
  }
  return fuse_residuals || (!no_fuse_residuals && !autotvm);
}

Result<CompileRequest> ReadCompileRequest(const TemplateRegistry& templates,
                                          const ModelSource& source, bool seeded,
                                          const Target& target, const RecordSources& sources,
                                          const DeviceArgument& device, const FuseArguments& fuse) {
  TW_ASSIGN_OR_RETURN(auto graph, LoadForRunning(source, seeded));
  TW_ASSIGN_OR_RETURN(auto catalog, sources.Open(templates, target));
  TW_ASSIGN_OR_RETURN(auto accept, sources.Accept());
  TW_ASSIGN_OR_RETURN(auto autotvm, sources.Autotvm(target));
  TW_ASSIGN_OR_RETURN(auto residuals, fuse.Residuals(autotvm.has_value()));
  TW_ASSIGN_OR_RETURN(auto fingerprint, device.Fingerprint(target));
  CompileRequest order;
  order.graph = std::move(graph);
  order.catalog = std::make_unique<records::Catalog>(std::move(catalog));
  order.options.templates = &templates;
  order.options.target = target;
  order.options.catalog = order.catalog.get();
  order.options.accept = accept;
  order.options.autotvm = std::move(autotvm);
  order.options.device = std::move(fingerprint);
  order.options.fuse_residuals = residuals;
  TW_ASSIGN_OR_RETURN(order.options.prefer, sources.Preferred(target));
  if (order.options.prefer && !order.options.prefer->AsksForFront(target)) {
    order.options.prefer.reset();  // it is what is served anyway, layouts weighed
  }
  if (!order.options.prefer || order.options.prefer->limited.empty()) return order;
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfFile(source, target, order.options.fuse_residuals));
  TW_RETURN_IF_ERROR(ShareLimitOf(tasks, templates, target, order.options.device, *order.catalog,
                                  *order.options.prefer));
  return order;
}

Result<Plan> PlanForVta(const std::string& file, Graph graph, const CompileOptions& options) {
  auto plan = MakeCheckedPlan(std::move(graph), options);
  if (!plan.ok()) return plan.status().WithContext(file);
  if (plan->streams.empty()) {
    PrintErr(
        "{}: no operator has the layout of this VTA, all are left to the host; tilewright pack "
        "gives a quantized model that layout\n",
        file);
  }
  return plan;
}

bool IsVtaBundle(const std::string& path) { return FileExists(path + "/kernels.json"); }

Result<int> CompileForVta(const Plan& plan, OnMiss on_miss, const std::string& folder, bool json) {
  std::int64_t untuned = 0;
  for (const StreamKernel& kernel : plan.streams) {
    if (kernel.report.tuned) continue;
    PrintErr("untuned: {}: {}\n", kernel.report.workload_key, kernel.report.explanation);
    ++untuned;
  }
  if (on_miss == OnMiss::kFail && untuned > 0) return kExitFailed;
  TW_RETURN_IF_ERROR(WriteVtaBundle(plan, folder));
  const auto host = HostSteps(plan);
  const auto launches = VtaSteps(plan);
  if (json) {
    PrintJson({{"folder", folder},
               {"target", plan.target.ToString()},
               {"streams", plan.streams.size()},
               {"untuned", untuned},
               {"operators_on_vta", launches},
               {"operators_on_host", host},
               {"bound", plan.graph.binding_options},
               {"made_up_constants", SyntheticConstantsJson(plan.graph.synthetic_constants)}});
  } else {
    PrintOut("{}: {} streams ({} untuned) for {} operators on the VTA, {} on the host\n", folder,
             plan.streams.size(), untuned, launches, host);
  }
  return kExitDone;
}

/// What runs a network.
struct DeviceNetwork::Opened {
  Graph source;  // as it was read, if it is to be compared with; of a bundle nothing
  std::int64_t synthetic_constants = 0;  // constants
  std::unique_ptr<Plan> plan;            // null for a library
  std::unique_ptr<VtaExecutor> vta;      // null for a GPU
  std::unique_ptr<StepExecutor> emulator;
  std::unique_ptr<RunnableNetwork> network;

  /// Says which operators there are, before they run; not those of a VTA, which take the time they
  /// take.
  void RegisterOperators(CheckProgress& progress) const {
    if (vta == nullptr) {
      cli::RegisterOperators(*network, progress, emulator != nullptr ? kEmulationFactor : 1);
    }
  }
};

void DeviceNetwork::Declare(CLI::App& app, bool traces) {
  place_.Declare(app);
  fuse_.Declare(app);
  if (traces) {
    CLI::Option* trace =
        app.add_option("--vta-trace", trace_file_, "File for the timeline (Chrome's trace format)");
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

Result<CompileRequest> DeviceNetwork::Read(const ModelSource& source, bool seeded) const {
  TW_ASSIGN_OR_RETURN(auto target, place_.Parse());
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.launches_grids) {
    TW_RETURN_IF_ERROR(CheckNoVta());
    if (place_.sources.rule != "own") return InvalidArgument("--rule autotvm: needs --target vta");
    if (!place_.sources.tophub.empty()) return InvalidArgument("--tophub: needs --target vta");
  } else if (!device.has_host_fallback) {
    return InvalidArgument("--target: '" + target.kind_name() +
                           "', expected vta or cuda (libraries have their target in them)");
  } else {
    TW_RETURN_IF_ERROR(device_.CheckUnused());
  }
  return ReadCompileRequest(*templates_, source, seeded, target, place_.sources, device_, fuse_);
}

Result<Plan> DeviceNetwork::ReadBundle(const std::string& folder, bool seeded) const {
  TW_RETURN_IF_ERROR(device_.CheckUnused());
  if (seeded) return InvalidArgument("--seeded: " + folder + " has its constants in it");
  TW_RETURN_IF_ERROR(place_.CheckUnusedBy(folder));
  if (fuse_.given()) {
    return InvalidArgument("--[no-]fuse-residuals: " + folder + " has its operators fused");
  }
  TW_ASSIGN_OR_RETURN(auto plan, ReadVtaBundle(folder));
  PrintSyntheticConstants(folder, plan.graph.synthetic_constants);
  return plan;
}

Status DeviceNetwork::OpenVta(Plan plan, int threads, bool timed, Opened& opened) {
  opened.plan = std::make_unique<Plan>(std::move(plan));
  std::vector<vta::CycleModel> models;
  for (const char* name : kCycleModels) {
    if (!timed) break;
    TW_ASSIGN_OR_RETURN(auto model, vta::CycleModel::Preset(name));
    models.push_back(std::move(model));
  }
  TW_ASSIGN_OR_RETURN(auto executor, VtaExecutor::Create(*opened.plan, std::move(models), threads));
  opened.vta = std::make_unique<VtaExecutor>(std::move(executor));
  opened.network = std::make_unique<PlannedNetwork>(*opened.plan, *opened.vta);
  return Status();
}

Status DeviceNetwork::Emulate(CompileRequest order, bool tells, Opened& opened) {
  TW_ASSIGN_OR_RETURN(auto plan, MakeCheckedPlan(std::move(order.graph), order.options));
  opened.plan = std::make_unique<Plan>(std::move(plan));
  TW_ASSIGN_OR_RETURN(opened.emulator, EmulateGpu(*opened.plan));
  opened.network = std::make_unique<PlannedNetwork>(*opened.plan, *opened.emulator);
  std::vector<OperatorReport> operators;
  for (const PlanStep& step : opened.plan->steps) operators.push_back(step.report);
  if (tells) PrintMisses(operators);
  return Status();
}

Status DeviceNetwork::OpenGpu(CompileRequest order, Opened& opened) const {
  const bool tells = order.catalog->size() > 0 || place_.asks_for_records();
  if (device_.simt()) return Emulate(std::move(order), tells, opened);
  // A library for this process alone; the file may go while it is loaded.
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-gpu"));
  const std::string path = folder.path() + "/net.so";
  TW_ASSIGN_OR_RETURN(auto compiled, Compile(std::move(order.graph), order.options, path));
  if (tells) PrintMisses(compiled.operators);
  TW_ASSIGN_OR_RETURN(auto library, device_.OpenLibrary(path));
  opened.network = std::make_unique<ModelLibrary>(std::move(library));
  return Status();
}

Result<DeviceNetwork::Opened> DeviceNetwork::OpenLibrary(const ModelSource& source, bool seeded,
                                                         int threads) const {
  const std::string& file = source.path;
  TW_RETURN_IF_ERROR(CheckNoVta());
  if (seeded) return InvalidArgument("--seeded: a library has its constants in it");
  TW_RETURN_IF_ERROR(place_.CheckUnused());
  TW_ASSIGN_OR_RETURN(const auto set, VariantFor(source));
  TW_ASSIGN_OR_RETURN(auto library, device_.OpenLibrary(file, threads, set));
  Opened opened;
  opened.synthetic_constants = library.synthetic_constants();
  PrintSyntheticConstants(file, opened.synthetic_constants);
  opened.network = std::make_unique<ModelLibrary>(std::move(library));
  return opened;
}

Result<DeviceNetwork::Opened> DeviceNetwork::Open(const ModelSource& model, bool seeded,
                                                  int threads, bool timed, bool verified) const {
  const std::string& file = model.path;
  if (IsVtaBundle(file)) {
    TW_RETURN_IF_ERROR(cli::CheckUnused(model.options, file + " has its sizes in it"));
  }
  if (!planned(file)) return OpenLibrary(model, seeded, threads);
  threads = std::max(1, threads);
  Opened opened;
  if (IsVtaBundle(file)) {
    TW_ASSIGN_OR_RETURN(auto plan, ReadBundle(file, seeded));
    opened.synthetic_constants = plan.graph.synthetic_constants;
    TW_RETURN_IF_ERROR(OpenVta(std::move(plan), threads, timed, opened));
    return opened;
  }
  TW_ASSIGN_OR_RETURN(auto order, Read(model, seeded));
  // What is emulated is compared with its own plan.
  if (verified && !(on_gpu() && device_.simt())) opened.source = CopyOf(order.graph);
  opened.synthetic_constants = order.graph.synthetic_constants;
  if (on_gpu()) {
    const Status status = OpenGpu(std::move(order), opened);
    if (!status.ok()) return status.WithContext(file);
    return opened;
  }
  TW_ASSIGN_OR_RETURN(auto plan, PlanForVta(file, std::move(order.graph), order.options));
  TW_RETURN_IF_ERROR(OpenVta(std::move(plan), threads, timed, opened));
  return opened;
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
  opened.RegisterOperators(progress);
  if (vta != nullptr) progress.End();  // its operators are not said one by one
  TW_ASSIGN_OR_RETURN(auto results, vta != nullptr ? network.Run(values)
                                                   : RunWithProgress(network, values, progress));
  TW_RETURN_IF_ERROR(outputs.Write(results));
  if (!trace_file_.empty()) TW_RETURN_IF_ERROR(WriteTrace(*opened.plan));
  if (json) {
    Json report;
    if (vta != nullptr) report = VtaReportJson(*opened.plan, vta->costs(), kCycleModels);
    report["outputs"] = OutputsJson(network.outputs(), results);
    report["made_up_constants"] = SyntheticConstantsJson(opened.synthetic_constants);
    PrintJson(report);
  } else {
    if (vta != nullptr) PrintVtaReport(*opened.plan, vta->costs(), kCycleModels);
    PrintOutputs(network.outputs(), results);
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
    TW_ASSIGN_OR_RETURN(opened.source, LoadForRunning(file, seeded));
  }
  const Graph& source = opened.source;
  const bool vta = opened.vta != nullptr;
  TW_ASSIGN_OR_RETURN(auto values,
                      inputs.Make(opened.emulator != nullptr ? opened.network->inputs()
                                                             : ValuesOf(source, source.inputs()),
                                  vta ? "quantized" : "ramp"));
  if (vta) {
    PrintErr("{} operators on the host: evaluated by the reference itself\n",
             HostSteps(*opened.plan));
    if (options.progress != nullptr) options.progress->End();
    options.progress = nullptr;
  }
  if (options.progress != nullptr) opened.RegisterOperators(*options.progress);
  if (opened.plan == nullptr) {
    TW_ASSIGN_OR_RETURN(const auto made_from,
                        PartitionLike(std::move(opened.source), *opened.network));
    return tilewright::Verify(made_from, *opened.network, values, options);
  }
  return VerifyPlanned(*opened.plan, *opened.network, vta ? &source : nullptr, values, options);
}

}  // namespace tilewright::cli
