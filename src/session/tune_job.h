#pragma once

#include <optional>
#include <vector>

#include "search/job.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/graph/open/size_range.h"
#include "src/session/notes.h"
#include "src/target/target.h"
#include "src/templates/registry.h"

namespace tilewright::session {

/// Sets the metric of a job's target: the first one of the settings, which can be chosen for a
/// simulator. A single metric needs no front and is taken out of the settings.
/// Errors: kInvalidArgument for a metric that the target does not have, or that contradicts its
/// -metric.
Status ChooseMetric(search::JobSettings& settings, Target& target);

/// Takes a range of sizes ("batch=1..64") out of the job's dimensions, with a note: the tasks are
/// those of one entry (UseRange). Errors: those of ModelOptions::TakeRange.
Result<std::optional<SizeRange>> TakeRange(search::JobSettings& settings, const NoteSink& note);

/// Replaces the tasks of a job by those of the range that TakeRange took out of its settings
/// (UseRange of a file). Errors: those of CheckRangeTarget and UseRange.
Status UseRange(const search::JobSettings& settings, const SizeRange& range, const Target& target,
                std::vector<search::TuneTask>& tasks);

/// Tasks of a model that a job tunes.
struct JobTasks {
  bool fuse_residuals = true;  ///< on a VTA: residual additions belong to their convolutions
  bool groups = false;         ///< also groups without an anchor that take a relevant share
};

/// Returns the tasks of the model of a job (settings.graph), each once. For a target whose host
/// computes the rest, tasks of no template are left out with a note, and the settings get the
/// complete target.
/// Errors: those of ModelOptions::Sources and TasksOfShapeVariants; kUnsupported if no task is
/// left.
Result<std::vector<search::TuneTask>> TasksOfJob(const TemplateRegistry& templates,
                                                 search::JobSettings& settings,
                                                 const Target& target, const JobTasks& chosen,
                                                 const NoteSink& note);

}  // namespace tilewright::session
