#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "records/store.h"
#include "src/base/status.h"
#include "src/report/document.h"
#include "src/report/task_trials.h"
#include "src/runtime/roofline.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::report {

/// Maximum number of points of all tasks of a report; each task has at least kMinPoints.
inline constexpr std::size_t kMaxPointsInAll = 60'000;
inline constexpr std::size_t kMinPoints = 200;
/// Maximum number of rows of all tables of trials of a job; each task has at least kMinPoints.
inline constexpr std::size_t kMaxListed = 100'000;

/// Selection of jobs and tasks to gather from a store.
struct GatherOptions {
  const TemplateRegistry* templates = nullptr;
  /// Name of the job, or the beginning of its name; empty: all jobs with trials.
  std::string job;
  std::size_t max_points = kMaxPointsInAll;
  std::size_t max_listed = kMaxListed;
  /// Called for each finished task with the data that Page does not contain: the task's trials, for
  /// example to lower the winner. May be null.
  std::function<Status(const TaskTrials& trials, TaskPage& page)> finish;
};

/// Returns the name of the store's fact that keeps the peaks of a device, which tune measures; see
/// PeaksText.
std::string PeaksFact(const DeviceFingerprint& device);
/// Formats the peaks as JSON text, and parses them. Errors: kCorrupt.
std::string PeaksText(const MachinePeaks& peaks);
Result<MachinePeaks> ParsePeaks(std::string_view text);

/// Tasks of a job while it is gathered.
using TaskMap = std::map<std::string, std::unique_ptr<TaskTrials>>;

/// Adds a job to the document, with the pages of its tasks and its failures. The page contains the
/// rest, and TrialSummary::seconds are set. Errors: those of GatherOptions::finish.
Status AddJob(const records::Store& store, const TaskMap& tasks, const GatherOptions& options,
              JobPage page, Document& document);

/// Adds the jobs of a store to the document, newest first, and the data that the store lacks. For a
/// store without trials, or for the job "imported", adds the records imported from AutoTVM logs.
/// Errors: those of opening and reading the store; kNotFound for an unknown job.
Status GatherStore(const std::string& path, const GatherOptions& options, Document& document);

/// Sets the seconds of the job for its trials (in the order of their ends). Pauses longer than a
/// minute and longer than the trial itself are excluded, and counted in the page.
void SetJobSeconds(std::vector<TrialSummary*>& trials, JobPage& page);

/// Returns JobPage::network_best of tasks whose pages are complete. ends: seconds of all trials of
/// the search, ascending.
BestSteps NetworkBestOf(const std::vector<TaskPage>& tasks, const std::vector<double>& ends);

/// Fills JobPage::pace from trials whose seconds are set.
PacePage PaceOf(const std::vector<TrialSummary*>& trials, double wall_seconds);

/// Returns the time budget from the notes of a job; see search::TimeEntry.
TimePage TimeOf(const std::vector<search::TimeEntry>& notes);

}  // namespace tilewright::report
