#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/tuner.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/session/notes.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/templates/registry.h"

namespace tilewright::session {

/// Errors: kInvalidArgument as "--shape x=1x3: WHY" if any option of a model file was given, for a
/// source that is none.
Status CheckUnused(const LoadOptions& options, std::string_view why);

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

/// Takes out the tasks no VTA template serves, which the host computes, with a note
/// for each.
void AssignToHost(const TemplateRegistry& templates, std::vector<search::TuneTask>& tasks,
                  const NoteSink& note);

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

}  // namespace tilewright::session
