#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/tuner.h"
#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"
#include "src/graph/partition/tasks.h"
#include "src/session/model.h"
#include "src/session/notes.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/templates/registry.h"

namespace tilewright::session {

/// Errors: kInvalidArgument as "--shape x=1x3: WHY" if an option of a model file was given for a
/// source that is not a model file.
Status CheckUnused(const LoadOptions& options, std::string_view why);

/// Parses a task as written on the command line: a workload key, an AutoTVM tuple, `FILE.tw` (a
/// tensor expression), or `FILE#N`, task N (from 0) of a model file with its most frequent
/// epilogue. text: as path of a source, whose options are for a file.
/// Also the name of a model file with one task.
/// Errors: kInvalidArgument naming the accepted forms, the tasks of a file that has several, or an
/// option that only a model file uses.
Result<search::TuneTask> ParseTask(const ModelSource& text, const Target& target,
                                   bool fuse_residuals = true);

/// Returns the task of a workload key or of an expression (`FILE.tw`), or every task of a model
/// file, with occurrences and epilogues. `#N` after the name selects one.
Result<std::vector<search::TuneTask>> TasksOfFile(const ModelSource& source, const Target& target,
                                                  bool fuse_residuals = true);

/// Returns the tasks of all shape variants, each task once, with the sum of its occurrences.
Result<std::vector<search::TuneTask>> TasksOfShapeVariants(std::span<const ModelSource> sources,
                                                           const Target& target,
                                                           bool fuse_residuals = true);

/// Returns the groups of operators without an anchor as tasks (docs/expressions.md), largest share
/// of the estimated time first. Only groups with at least `min_share` of the network's time are
/// returned. shares: receives the share of each.
/// Errors: those of loading and planning; kUnsupported for targets without machine code.
Result<std::vector<search::TuneTask>> GroupTasksOfFile(const TemplateRegistry& templates,
                                                       const ModelSource& source,
                                                       const Target& target, double min_share,
                                                       std::vector<double>* shares = nullptr);

/// Errors: kUnsupported for a target without machine code, which has no libraries for a range.
Status CheckRangeTarget(const SizeRange& range, const Target& target);

/// Finds the open dimension of a model file (FindOpenDimension). model: without the range, as
/// TakeRange leaves it. Errors: those of reading the file and of FindOpenDimension.
Result<OpenDimension> OpenDimensionOf(const ModelOptions& model, const std::string& file,
                                      const SizeRange& range, const Target& target);

/// Returns the tasks of a library for a range of positions (PositionNetwork) of images or signals;
/// none if the range is of other entries. Arguments: as UseRange has them. Errors: those of
/// ExtractTasks.
Result<std::optional<std::vector<ExtractedTask>>> PositionTasks(const ModelOptions& model,
                                                                const std::string& file,
                                                                const SizeRange& range,
                                                                const Target& target);

/// Replaces the tasks of a file, read with one size of a range, by those that a library for the
/// range is compiled with: those of positions (PositionNetwork), or for each of RangeWorkloads
/// (src/compiler/plan/block_kernels.h) one, each once, with its weight (SizesToTune). model:
/// without the range, as TakeRange leaves it. file: as TasksOfFile has it. Errors: those of
/// ExtractTasks.
Status UseRange(const ModelOptions& model, const std::string& file, const SizeRange& range,
                const Target& target, std::vector<search::TuneTask>& tasks);

/// As UseRange, of a range of entries.
void UseRangeOfEntries(const SizeRange& range, std::vector<search::TuneTask>& tasks);

/// Returns the tasks of a range of sizes, as UseRange has them. tasks: of one entry.
Result<std::vector<ExtractedTask>> TasksOfRange(const ModelOptions& model, const std::string& file,
                                                const SizeRange& range, const Target& target,
                                                std::span<const ExtractedTask> tasks);

/// Removes the tasks that no VTA template serves and that the host therefore computes, with a note
/// for each.
void AssignToHost(const TemplateRegistry& templates, std::vector<search::TuneTask>& tasks,
                  const NoteSink& note);

/// Returns the task that ParseTask accepts, or all tasks of a model file.
Result<std::vector<search::TuneTask>> ParseTasks(const ModelSource& text, const Target& target,
                                                 bool fuse_residuals = true);

/// Parses a config as `space` and records print it, or its values alone ({"tile_ic":[1,64],…}).
/// With values alone, the index is not set, and ConfigSpace::Locate finds it.
/// Errors: kInvalidArgument.
Result<Config> ParseConfig(const std::string& text);

/// Template of a task and one config of its space.
struct ChosenConfig {
  const TemplateEntry* entry = nullptr;
  ConfigSpace space;
  Config config;
};
/// Chooses a template and a config. key: empty selects the preferred template. config: an index,
/// the JSON of values, or empty for the default config.
Result<ChosenConfig> ChooseConfig(const TemplateRegistry& templates, const Task& task,
                                  const std::string& key, const std::string& config);

}  // namespace tilewright::session
