#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/package/catalog.h"
#include "search/job.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/compiler/run/run.h"
#include "src/compiler/run/vta_run.h"
#include "src/graph/ir/graph.h"
#include "src/session/device_choice.h"
#include "src/session/notes.h"
#include "src/session/record_sources.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/tensor.h"

namespace tilewright::session {

/// Settings that all work on networks for one target depends on.
struct SessionSettings {
  const TemplateRegistry* templates = nullptr;  ///< required; outlives the session
  Target target;                                ///< complete (ParseTarget)
  DeviceChoice device;                          ///< for targets of CUDA and OpenCL
  RecordSources records;
  /// On a VTA, fuse additions of residuals into the preceding convolution. None: true, but false
  /// with AutoTVM's rule, because its packages were tuned without fusion.
  std::optional<bool> fuse_residuals;
  /// Replace every float constant of models with synthetic contents.
  bool seeded = false;
  NoteSink note = IgnoreNote;
};

/// Model with its open record sources, ready to be planned or compiled.
struct CompileRequest {
  Graph graph;
  std::unique_ptr<records::Catalog> catalog;  ///< options point to it
  CompileOptions options;
};

/// Options of opening a network to run.
struct OpenOptions {
  int threads = 0;           ///< of a library, or of a VTA's host; 0: as compiled, or one
  bool timed = false;        ///< on a VTA: collect the cycles of all cycle models
  bool keep_source = false;  ///< keep the graph as it was read, for verification
  /// Print notes on operators without a record even if there is no record source.
  bool note_misses = false;
  /// Changes the options of planning and compiling first; may be null.
  std::function<void(CompileOptions&)> edit = nullptr;
  std::string tune_command = {};  ///< named in these notes; see MissNote
};

/// Runnable network and the graph or library that it was made from.
struct OpenNetwork {
  Graph source;                            ///< original graph; empty unless it is kept
  std::int64_t synthetic_constants = 0;    ///< of the graph
  std::unique_ptr<Plan> plan;              ///< null for a library
  std::unique_ptr<VtaExecutor> vta;        ///< null for other devices
  std::unique_ptr<StepExecutor> emulator;  ///< SIMT emulator; null if nothing is emulated
  std::unique_ptr<RunnableNetwork> network;
};

/// Cycle models of a timed run on a VTA.
inline constexpr const char* kCycleModels[] = {"pynq", "rtl"};

/// Work on networks for one target: tasks of a model, tuning, record queries, compilation, runs and
/// verification. Entry point of the program, the tuner library and users' programs. Not
/// thread-safe.
class Session {
 public:
  explicit Session(SessionSettings settings) : settings_(std::move(settings)) {}

  const Target& target() const { return settings_.target; }
  const TemplateRegistry& templates() const { return *settings_.templates; }
  const SessionSettings& settings() const { return settings_; }

  /// Returns the tasks of a model file or a task text for the target (ParseTasks).
  Result<std::vector<search::TuneTask>> Tasks(const ModelSource& source) const;

  /// Tunes tasks (search::Tune). Without context.make_model the cost model is XGBoost's.
  static Result<search::TuneReport> Tune(const std::vector<search::TuneTask>& tasks,
                                         const search::JobSettings& job,
                                         search::TuneContext context);

  /// Returns the best known config of a workload in the record sources.
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

  /// Opens a network that runs on the session's device: a temporary library for CPUs and GPUs, the
  /// steps of a plan in the SIMT emulator and on a simulated VTA.
  Result<OpenNetwork> Open(const ModelSource& source, const OpenOptions& options) const;
  /// Opens a network from a plan for a VTA.
  static Result<OpenNetwork> OpenVta(Plan plan, const OpenOptions& options);

  /// Runs a model once. inputs: in order, with the types of the graph's inputs.
  Result<std::vector<Tensor>> Run(const ModelSource& source, std::span<const Tensor> inputs) const;

  /// Compares every operator of an open network with the reference evaluator, and on a VTA also the
  /// outputs with those of the original model. Consumes network.source.
  static Result<VerifyReport> Verify(OpenNetwork& network, std::span<const Tensor> inputs,
                                     const VerifyOptions& options);

 private:
  Result<OpenNetwork> OpenLibrary(CompileRequest request, const OpenOptions& options) const;
  Result<OpenNetwork> Emulate(CompileRequest request, const OpenOptions& options) const;

  SessionSettings settings_;
};

/// Plans a model for a VTA, with a note if no operator runs on the VTA. file: for messages.
Result<Plan> PlanForVta(const std::string& file, Graph graph, const CompileOptions& options,
                        const NoteSink& note);

}  // namespace tilewright::session
