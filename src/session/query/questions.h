#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/devices/shares.h"
#include "records/package/catalog.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/templates/registry.h"

// Questions about several tasks at a time, to all record sources of a catalog.

namespace tilewright::session {

/// Task that record sources are asked for.
struct Question {
  std::string text;  ///< key or tuple
  std::string name;  ///< for display
  std::optional<Workload> workload;
  std::optional<records::AutotvmTask> task = {};  ///< of a tuple
  std::int64_t uses = 1;
  Epilogue epilogue = {};  ///< of the task in its network

  /// Returns the workload; null for a task without an operator in Tilewright.
  const Workload* operation() const { return workload.has_value() ? &*workload : nullptr; }
};

/// Returns a question for each task.
std::vector<Question> QuestionsOf(std::span<const search::TuneTask> tasks);
/// Returns the question for an AutoTVM tuple. It is looked up as written: it may name a task
/// without an operator in this program. Errors: those of records::AutotvmTask::Parse.
Result<Question> QuestionOfTuple(const std::string& tuple);

/// Returns the best answer to each question. terms: of all questions, without their tasks.
/// Errors: those of records::Catalog::Query.
Result<std::vector<records::CatalogAnswer>> AnswerAll(std::span<const Question> questions,
                                                      records::LookupRequest terms,
                                                      records::Catalog& catalog);
/// Returns the Pareto front of each question's task. Errors: those of records::Catalog::TaskFront.
Result<std::vector<records::FrontByMetrics>> FrontsOf(std::span<const Question> questions,
                                                      records::LookupRequest terms,
                                                      records::Catalog& catalog);

/// Sum of a metric over all uses of a network's tasks.
struct MetricSum {
  double value = 0;
  int unknown = 0;  ///< number of tasks without a value
};
using MetricSums = std::map<std::string, MetricSum>;
/// Returns the sums of the target's metrics. Only a hit is a record of the task itself. Metrics
/// without any value are left out unless they are part of the preference.
MetricSums SumsOf(std::span<const Question> questions,
                  std::span<const records::CatalogAnswer> answers, const Target& target,
                  const records::Preference& prefer);

/// Returns the device that a question is about: that of an environment (JSON), or without one a
/// device of grids of this machine, or any that runs the code.
/// Errors: those of ParseEnvironment.
Result<DeviceFingerprint> DeviceAsked(const std::string& environment, const Target& target);

/// Checks a text that names no open task. Errors: kInvalidArgument with the names of all open tasks
/// if it can be neither a task nor a file.
Status CheckNoOpenTask(const TemplateRegistry& templates, const std::string& text);

/// Results of a task at several sizes.
struct SizedResults {
  std::vector<records::ConfigResults> results;  ///< named by size, ascending
  std::string metric;
};
/// Reads the results of all tasks that match a pattern with "?" in place of a size. device: as for
/// records::TaskResults::On. target: returns that of tasks of operators.
/// Errors: those of records::FindSizes and records::TaskResults; kNotFound if no task matches.
Result<SizedResults> ResultsBySize(records::Catalog& catalog, const TemplateRegistry& templates,
                                   const std::string& pattern, const std::string& device,
                                   const std::function<Result<Target>()>& target);

}  // namespace tilewright::session
