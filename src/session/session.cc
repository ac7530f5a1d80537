// Session: from a model file to tasks, records, libraries and results, for one target.
// RunnableNetwork is the common interface of all devices; this file opens it.

#include "src/session/session.h"

#include <algorithm>
#include <utility>

#include "cost_model/xgboost_model.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/format_printable.h"
#include "src/session/misses.h"
#include "src/session/model.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/target/short_target.h"

namespace tilewright::session {

Result<std::vector<search::TuneTask>> Session::Tasks(const ModelSource& source) const {
  return ParseTasks(source, settings_.target, settings_.fuse_residuals.value_or(true));
}

Result<search::TuneReport> Session::Tune(const std::vector<search::TuneTask>& tasks,
                                         const search::JobSettings& job,
                                         search::TuneContext context) {
  if (!context.make_model) {
    context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  }
  return search::Tune(tasks, job, context);
}

Result<records::CatalogAnswer> Session::Query(const Workload& workload) const {
  TW_ASSIGN_OR_RETURN(auto catalog,
                      settings_.records.Open(templates(), settings_.target, settings_.note));
  TW_ASSIGN_OR_RETURN(const auto device, settings_.device.Fingerprint(settings_.target));
  TW_ASSIGN_OR_RETURN(const auto accept, settings_.records.Accept());
  records::LookupRequest request;
  request.templates = settings_.templates;
  request.workload = &workload;
  request.target = &settings_.target;
  request.device = &device;
  request.accept = records::DownTo(accept);
  return catalog.Query(request);
}

Result<CompileRequest> Session::Prepare(const ModelSource& source) const {
  const RecordSources& sources = settings_.records;
  const Target& target = settings_.target;
  TW_ASSIGN_OR_RETURN(auto graph, LoadForRunning(source, settings_.seeded, settings_.note));
  TW_ASSIGN_OR_RETURN(auto catalog, sources.Open(templates(), target, settings_.note));
  TW_ASSIGN_OR_RETURN(auto accept, sources.Accept());
  TW_ASSIGN_OR_RETURN(auto autotvm, sources.Autotvm(target));
  TW_ASSIGN_OR_RETURN(auto fingerprint, settings_.device.Fingerprint(target));
  CompileRequest request;
  request.graph = std::move(graph);
  request.catalog = std::make_unique<records::Catalog>(std::move(catalog));
  request.options.templates = settings_.templates;
  request.options.target = target;
  request.options.catalog = request.catalog.get();
  request.options.accept = accept;
  request.options.fuse_residuals = settings_.fuse_residuals.value_or(!autotvm.has_value());
  request.options.autotvm = std::move(autotvm);
  request.options.device = std::move(fingerprint);
  TW_ASSIGN_OR_RETURN(request.options.prefer, sources.Preferred(target));
  auto& prefer = request.options.prefer;
  if (prefer && !prefer->AsksForFront(target)) prefer.reset();  // the default is the fastest record
  if (!prefer || prefer->limited.empty()) return request;
  TW_ASSIGN_OR_RETURN(auto tasks, TasksOfFile(source, target, request.options.fuse_residuals));
  TW_RETURN_IF_ERROR(ShareLimitOf(tasks, templates(), target, request.options.device,
                                  *request.catalog, *prefer, settings_.note));
  return request;
}

Result<CompiledModel> Session::Compile(const ModelSource& source, const std::string& path,
                                       const std::function<void(CompileOptions&)>& edit) const {
  TW_ASSIGN_OR_RETURN(auto request, Prepare(source));
  if (edit) edit(request.options);
  return tilewright::Compile(std::move(request.graph), request.options, path);
}

Result<OpenNetwork> Session::OpenVta(Plan plan, const OpenOptions& options) {
  OpenNetwork opened;
  opened.synthetic_constants = plan.graph.synthetic_constants;
  opened.plan = std::make_unique<Plan>(std::move(plan));
  std::vector<vta::CycleModel> models;
  for (const char* name : kCycleModels) {
    if (!options.timed) break;
    TW_ASSIGN_OR_RETURN(auto model, vta::CycleModel::Preset(name));
    models.push_back(std::move(model));
  }
  TW_ASSIGN_OR_RETURN(auto executor, VtaExecutor::Create(*opened.plan, std::move(models),
                                                         std::max(1, options.threads)));
  opened.vta = std::make_unique<VtaExecutor>(std::move(executor));
  opened.network = std::make_unique<PlannedNetwork>(*opened.plan, *opened.vta);
  return opened;
}

Result<OpenNetwork> Session::Emulate(CompileRequest request, const OpenOptions& options) const {
  OpenNetwork opened;
  TW_ASSIGN_OR_RETURN(auto plan, MakeCheckedPlan(std::move(request.graph), request.options));
  opened.plan = std::make_unique<Plan>(std::move(plan));
  TW_ASSIGN_OR_RETURN(opened.emulator, EmulateGpu(*opened.plan));
  opened.network = std::make_unique<PlannedNetwork>(*opened.plan, *opened.emulator);
  std::vector<OperatorReport> operators;
  for (const PlanStep& step : opened.plan->steps) operators.push_back(step.report);
  if (request.options.catalog->size() > 0 || options.note_misses) {
    NoteMisses(operators, {ShortTargetText(target()), options.tune_command}, settings_.note);
  }
  return opened;
}

Result<OpenNetwork> Session::OpenLibrary(CompileRequest request, const OpenOptions& options) const {
  // The library is for this process only; its file may be deleted while it is loaded.
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-net"));
  const std::string path = folder.path() + "/net.so";
  TW_ASSIGN_OR_RETURN(auto compiled,
                      tilewright::Compile(std::move(request.graph), request.options, path));
  if (request.options.catalog->size() > 0 || options.note_misses) {
    NoteMisses(compiled.operators, {ShortTargetText(target()), options.tune_command},
               settings_.note);
  }
  TW_ASSIGN_OR_RETURN(auto library, settings_.device.OpenLibrary(path, options.threads));
  OpenNetwork opened;
  opened.network = std::make_unique<ModelLibrary>(std::move(library));
  return opened;
}

Result<OpenNetwork> Session::Open(const ModelSource& source, const OpenOptions& options) const {
  TW_ASSIGN_OR_RETURN(auto request, Prepare(source));
  if (options.edit) options.edit(request.options);
  const DeviceTraits& device = DeviceTraitsOf(settings_.target);
  const bool emulated = device.launches_grids && settings_.device.simt();
  // An emulated network is compared with its own plan.
  Graph kept = options.keep_source && !emulated ? request.graph.Clone() : Graph();
  const std::int64_t synthetic = request.graph.synthetic_constants;
  const auto open = [&]() -> Result<OpenNetwork> {
    if (emulated) return Emulate(std::move(request), options);
    if (!device.has_host_fallback) return OpenLibrary(std::move(request), options);
    TW_ASSIGN_OR_RETURN(auto plan, PlanForVta(source.path, std::move(request.graph),
                                              request.options, settings_.note));
    return OpenVta(std::move(plan), options);
  };
  auto opened = open();
  if (!opened.ok()) {
    return device.has_host_fallback ? opened.status() : opened.status().WithContext(source.path);
  }
  opened->source = std::move(kept);
  opened->synthetic_constants = synthetic;
  return opened;
}

Result<std::vector<Tensor>> Session::Run(const ModelSource& source,
                                         std::span<const Tensor> inputs) const {
  TW_ASSIGN_OR_RETURN(const auto opened, Open(source, {}));
  return opened.network->Run(inputs);
}

Result<VerifyReport> Session::Verify(OpenNetwork& network, std::span<const Tensor> inputs,
                                     const VerifyOptions& options) {
  if (network.plan == nullptr) {
    TW_ASSIGN_OR_RETURN(const auto source,
                        PartitionLike(std::move(network.source), *network.network));
    return tilewright::Verify(source, *network.network, inputs, options);
  }
  return VerifyPlanned(*network.plan, *network.network,
                       network.vta != nullptr ? &network.source : nullptr, inputs, options);
}

Result<Plan> PlanForVta(const std::string& file, Graph graph, const CompileOptions& options,
                        const NoteSink& note) {
  auto plan = MakeCheckedPlan(std::move(graph), options);
  if (!plan.ok()) return plan.status().WithContext(file);
  if (plan->streams.empty()) {
    note(FormatPrintable(
        "{}: no operator has the layout of this VTA, all are left to the host; tilewright pack "
        "gives a quantized model that layout",
        file));
  }
  return plan;
}

}  // namespace tilewright::session
