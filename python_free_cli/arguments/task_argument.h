#pragma once

#include <span>
#include <string>
#include <string_view>

#include "python_free_cli/model_source.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/graph/passes/passes.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/vta/design.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// The design of --vta-config: a file, or the name of a shipped one ("sim": configs/vta/sim.json).
/// Errors: those of ReadFile and Design::Parse, with the option as context.
Result<vta::Design> ReadDesign(const std::string& vta_config);

/// The target of --target and --threads; refuses what no code can be generated for.
/// vta_config: see ReadDesign, for a VTA target without -model; may be empty.
/// libraries: names for -libs, separated by commas; one that is not on this machine is told on
/// standard error.
Result<Target> ParseTarget(std::string_view text, int threads, const std::string& vta_config = {},
                           const std::string& libraries = {});

/// Errors: kInvalidArgument for --no-fuse-residuals with a target that is no VTA.
Status CheckResiduals(const Target& target, bool no_fuse_residuals);

/// A task as written on the command line: a workload key, an AutoTVM tuple, `FILE.tw` (a tensor
/// expression), or `FILE#N`, task N (from 0) of a model file with its most frequent epilogue. text:
/// as the path of a source, whose options are for a file.
/// Errors: kInvalidArgument naming what was tried, or an option that what is no file does not use.
Result<search::TuneTask> ParseTask(const ModelSource& text, const Target& target,
                                   bool fuse_residuals = true);

/// The task of a workload key or of an expression (`FILE.tw`), or every task of a model file, with
/// occurrences and epilogues. `#N` behind the name picks one.
Result<std::vector<search::TuneTask>> TasksOfFile(const ModelSource& source, const Target& target,
                                                  bool fuse_residuals = true);

/// Those of all sets of sizes, each task once, with the sum of its occurrences.
Result<std::vector<search::TuneTask>> TasksOfShapeVariants(std::span<const ModelSource> sources,
                                                           const Target& target,
                                                           bool fuse_residuals = true);

/// The groups of operators without an anchor, as tasks (docs/expressions.md), most of the estimated
/// time first: those with at least `min_share` of the network's. shares: gets each one's.
/// Errors: those of loading and planning; kUnsupported for targets that are not machine code.
Result<std::vector<search::TuneTask>> GroupTasksOfFile(const TemplateRegistry& templates,
                                                       const ModelSource& source,
                                                       const Target& target, double min_share,
                                                       std::vector<double>* shares = nullptr);

/// Takes out the tasks no VTA template serves, and says so: the host computes them.
void AssignToHost(const TemplateRegistry& templates, std::vector<search::TuneTask>& tasks);

/// What ParseTask takes, or all tasks of a model file.
Result<std::vector<search::TuneTask>> ParseTasks(const ModelSource& text, const Target& target,
                                                 bool fuse_residuals = true);

/// A config as `space` and records print it, or its values alone ({"tile_ic":[1,64],…}): the index
/// then says nothing, and ConfigSpace::Locate finds it.
/// Errors: kInvalidArgument.
Result<Config> ParseConfig(const std::string& text);

/// A template of a task and one config of its space.
struct ChosenConfig {
  const TemplateEntry* entry = nullptr;
  ConfigSpace space;
  Config config;
};
/// key: empty picks the preferred template. config: an index, the JSON of values, or empty for the
/// default config.
Result<ChosenConfig> ChooseConfig(const TemplateRegistry& templates, const Task& task,
                                  const std::string& key, const std::string& config);

/// `--target`, `--threads`, `--libs` and `--vta-config` of a command.
struct TargetArguments {
  std::string target = "native";
  int threads = 1;
  std::string vta_config, libraries;
  bool no_fuse_residuals = false;
  void Declare(CLI::App& app);
  /// `--no-fuse-residuals` too, for commands that name tasks of a file.
  void DeclareWithResiduals(CLI::App& app);
  /// Errors: those of ParseTarget and CheckResiduals.
  Result<Target> Parse() const;
};

/// A task, its target, and one config of it, as `lower` and `measure` take them.
struct CandidateArguments {
  TargetArguments target;
  ModelArguments model;
  std::string task, template_key, config, epilogue;
  /// Everything but the task.
  void Declare(CLI::App& app);
  struct Parsed {
    search::TuneTask task;
    ChosenConfig chosen;
  };
  Result<Parsed> Parse(const TemplateRegistry& templates) const;
};

}  // namespace tilewright::cli
