#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/program/program_measurer.h"
#include "search/job.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/templates/open/open_task.h"
#include "src/templates/registry.h"

namespace tilewright::session {

/// Description of an open task as a user gives it: texts of options.
struct OpenTaskTexts {
  std::string space;  ///< T1 file or text (LoadOpenSpace); empty: no open task
  std::string name;   ///< empty: that of the space, else of its file
  std::string command, build, check;
  bool shell = false;                    ///< the commands are texts for a shell
  std::string input = "none";            ///< "none", "json" or "server"
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::vector<std::string> metrics;      ///< empty: seconds
};

/// Reads the space and completes the task.
/// Errors: those of LoadOpenSpace, SplitCommandLine and MakeOpenTask; kInvalidArgument without a
/// command.
Result<OpenTask> LoadOpenTask(const OpenTaskTexts& texts);

/// Returns the texts of a job's settings, and resets them: the task is part of the job by its key.
OpenTaskTexts TakeOpenTaskTexts(search::JobSettings& settings);
/// Open task of a job file, with the limits of its commands.
struct OpenTaskOfJob {
  OpenTask task;
  double time_limit = 0, build_limit = 0;  ///< seconds of a run, of a build
  std::string environment;                 ///< JSON of ParseEnvironment; empty: this machine
};
/// Reads the open task of a job file. Errors: those of LoadJobSettings and LoadOpenTask;
/// kInvalidArgument if the file has no "space".
Result<OpenTaskOfJob> LoadOpenTaskOfJob(const search::StrategyRegistry& strategies,
                                        const std::string& path);

/// Open task of a job, with the registry that has its template.
struct OpenJob {
  TemplateRegistry templates;
  const OpenTask* task = nullptr;  ///< in `templates`
  std::vector<search::TuneTask> tasks;
};

/// Adds the task to a copy of the registry, and sets the job's target, metrics and name.
/// Errors: those of AddOpenTask.
Result<OpenJob> MakeOpenJob(OpenTask task, const TemplateRegistry& templates,
                            search::JobSettings& settings);

/// Returns the open task that a user names by its key, its name, or its name and problem ("gemm
/// k=64 m=512"); null if the text is none of them.
/// Errors: kInvalidArgument for a name with several tasks, with their keys.
Result<const OpenTask*> FindOpenTask(const TemplateRegistry& templates, std::string_view text);

}  // namespace tilewright::session
