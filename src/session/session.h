#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "records/package/catalog.h"
#include "search/job.h"
#include "search/registry.h"
#include "search/tuner.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/compiler/run/vta_run.h"
#include "src/graph/ir/graph.h"
#include "src/session/device_choice.h"
#include "src/session/measurer.h"
#include "src/session/notes.h"
#include "src/session/record_sources.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/tensor.h"

namespace tilewright::session {

/// Everything that the work on networks for one target depends on.
struct SessionSettings {
  const TemplateRegistry* templates = nullptr;  ///< required; outlives the session
  Target target;                                ///< complete (ParseTarget)
  DeviceChoice device;                          ///< for targets of CUDA
  RecordSources records;
  /// On a VTA, add residuals inside the convolution before them. None: true, but by AutoTVM's rule
  /// false, because its packages were tuned without.
  std::optional<bool> fuse_residuals;
  /// Replace every float constant of models by synthetic contents.
  bool seeded = false;
  NoteSink note = IgnoreNote;
};

/// A model that was read, with its open record sources, ready to be planned or compiled.
struct CompileRequest {
  Graph graph;
  std::unique_ptr<records::Catalog> catalog;  ///< options point to it
  CompileOptions options;
};

/// How a network is opened to run.
struct OpenOptions {
  int threads = 0;           ///< of a library, or of a VTA's host; 0: as compiled, or one
  bool timed = false;        ///< on a VTA: collect the cycles of all cycle models
  bool keep_source = false;  ///< keep the graph as it was read, for verification
  /// Note operators without a record even if there is no record source at all.
  bool note_misses = false;
};

/// A network that runs, and what it was made from.
struct OpenNetwork {
  Graph source;                            ///< as it was read; empty unless it is kept
  std::int64_t synthetic_constants = 0;    ///< of the graph
  std::unique_ptr<Plan> plan;              ///< null for a library
  std::unique_ptr<VtaExecutor> vta;        ///< null for other devices
  std::unique_ptr<StepExecutor> emulator;  ///< of a GPU's threads; null if nothing is emulated
  std::unique_ptr<RunnableNetwork> network;
};

/// How a job is tuned, beside its settings.
struct TuneRequest {
  const search::StrategyRegistry* strategies = nullptr;  ///< required
  measure::Measurer* measurer = nullptr;                 ///< required (MakeMeasurer, or a fleet)
  records::Store* store = nullptr;                       ///< required, writable
  Clock* clock = nullptr;                                ///< required
  std::vector<std::string> only_templates;               ///< keys; empty: all
  search::TuneObserver* observer = nullptr;              ///< may be null
  const std::atomic<bool>* stop = nullptr;               ///< true: finish soon; may be null
};

/// Cycle models that a timed run on a VTA uses.
inline constexpr const char* kCycleModels[] = {"pynq", "rtl"};

/// Work on networks for one target: tasks of a model, tuning, record queries, compilation, runs and
/// verification. The program, the tuner library and programs of users begin here. Not thread-safe.
class Session {
 public:
  explicit Session(SessionSettings settings) : settings_(std::move(settings)) {}

  const Target& target() const { return settings_.target; }
  const TemplateRegistry& templates() const { return *settings_.templates; }
  const SessionSettings& settings() const { return settings_; }

  /// Tasks of a model file or a task text, as the target sees them (ParseTasks).
  Result<std::vector<search::TuneTask>> Tasks(const ModelSource& source) const;

  /// A measurer of this machine or of the connected runners.
  /// Errors: those of MeasurerSettings and ProcessMeasurer::Create.
  Result<std::unique_ptr<measure::Measurer>> MakeMeasurer(const WorkerCommands& workers,
                                                          const Runners& runners = {}) const;

  /// Tunes tasks (search::Tune) with an XGBoost cost model. templates: those to search.
  static Result<search::TuneReport> Tune(const std::vector<search::TuneTask>& tasks,
                                         const search::JobSettings& job,
                                         const TemplateRegistry& templates,
                                         const TuneRequest& request);

  /// Best known config of a workload in the record sources.
  /// Errors: those of opening the sources and of Catalog::Query.
  Result<records::CatalogAnswer> Query(const Workload& workload) const;

  /// Reads a model and opens the record sources.
  /// Errors: those of LoadForRunning and RecordSources::Open; kInvalidArgument for settings that
  /// exclude each other.
  Result<CompileRequest> Prepare(const ModelSource& source) const;

  /// Compiles a model into a shared library. edit: changes the options first; may be null.
  /// Errors: those of Prepare and tilewright::Compile.
  Result<CompiledModel> Compile(const ModelSource& source, const std::string& path,
                                const std::function<void(CompileOptions&)>& edit = nullptr) const;

  /// Makes a network that runs on the session's device: a temporary library for CPUs and GPUs, the
  /// steps of a plan in the emulator of threads and on a simulated VTA.
  Result<OpenNetwork> Open(const ModelSource& source, const OpenOptions& options) const;
  /// Makes a network of a plan for a VTA.
  static Result<OpenNetwork> OpenVta(Plan plan, const OpenOptions& options);

  /// Runs a model once. inputs: in order, of the types of the graph's inputs.
  Result<std::vector<Tensor>> Run(const ModelSource& source, std::span<const Tensor> inputs) const;

  /// Compares every operator of an open network with the reference evaluator, and on a VTA the
  /// outputs with those of the model as it was read. Consumes network.source.
  static Result<VerifyReport> Verify(OpenNetwork& network, std::span<const Tensor> inputs,
                                     const VerifyOptions& options);

 private:
  Result<OpenNetwork> OpenLibrary(CompileRequest request, const OpenOptions& options) const;
  Result<OpenNetwork> Emulate(CompileRequest request, const OpenOptions& options) const;

  SessionSettings settings_;
};

/// Plans a model for a VTA; notes it if the VTA gets no operator. file: for messages.
Result<Plan> PlanForVta(const std::string& file, Graph graph, const CompileOptions& options,
                        const NoteSink& note);

/// Notes the operators that no record of their own serves, grouped by reason.
void NoteMisses(const std::vector<OperatorReport>& operators, const NoteSink& note);

}  // namespace tilewright::session
