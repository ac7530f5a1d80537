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

/// Points of all tasks of a report, at most; each task has at least kMinPoints.
inline constexpr std::size_t kMaxPointsInAll = 60'000;
inline constexpr std::size_t kMinPoints = 200;

/// What is gathered from a store.
struct GatherOptions {
  const TemplateRegistry* templates = nullptr;
  /// Only the job of this name, or whose name begins so; empty: all that have trials.
  std::string job;
  std::size_t max_points = kMaxPointsInAll;
  /// Called for each task that is done with what Page leaves out: the task's trials, to lower the
  /// winner, say. May be null.
  std::function<Status(const TaskTrials& trials, TaskPage& page)> finish;
};

/// Fact of a store under which tune keeps the peaks of a device; see PeaksText.
std::string PeaksFact(const DeviceFingerprint& device);
/// The peaks as JSON text, and back. Errors: kCorrupt.
std::string PeaksText(const MachinePeaks& peaks);
Result<MachinePeaks> ParsePeaks(std::string_view text);

/// Tasks of a job while it is gathered.
using TaskMap = std::map<std::string, std::unique_ptr<TaskTrials>>;

/// Adds a job to the document, with the pages of its tasks and its failures; the page has the rest,
/// and TrialSummary::seconds are set. Errors: those of GatherOptions::finish.
Status AddJob(const records::Store& store, const TaskMap& tasks, const GatherOptions& options,
              JobPage page, Document& document);

/// The jobs of a store, the newest first, added to the document, with what the store lacks.
/// Of a store without trials, or for the job "imported", what was imported from logs of AutoTVM.
/// Errors: those of opening and reading it; kNotFound for a job it does not have.
Status GatherStore(const std::string& path, const GatherOptions& options, Document& document);

/// Numbers seconds of a job for its trials (in the order of their ends): pauses longer than a
/// minute and than the trial itself took are left out, and counted in the page.
void SetJobSeconds(std::vector<TrialSummary*>& trials, JobPage& page);

/// Fills JobPage::pace from trials whose seconds are set.
PacePage PaceOf(const std::vector<TrialSummary*>& trials, double wall_seconds);

/// What the notes of a job say of its time; see search::TimeEntry.
TimePage TimeOf(const std::vector<search::TimeEntry>& notes);

}  // namespace tilewright::report
