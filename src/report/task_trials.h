#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/job_log.h"
#include "src/report/document.h"
#include "src/report/knob_table.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// Maximum number of points of one task's charts, and of rows of its parallel coordinates.
inline constexpr std::size_t kMaxPoints = 2000;
inline constexpr std::size_t kMaxRows = 400;

/// Maximum number of rows of one task's columns.
struct PageLimits {
  std::size_t points = kMaxPoints;  ///< of TrialPoints
  std::size_t rows = kMaxRows;      ///< of KnobTable
  std::size_t listed = 0;           ///< of TrialTable
};

/// Data of one trial for the charts.
struct TrialSummary {
  double finished = 0;          ///< unix time
  double duration_seconds = 0;  ///< seconds from the start of its build to its end, without waiting
  double seconds = 0;           ///< of the job; set once all trials are read
  double value = 0;             ///< 0 unless ok
  double noise = 0;
  std::optional<double> predicted;
  Outcome outcome = Outcome::kInvalid;
  std::int64_t attempt = 0;
  int kind = 0;         ///< position of its template
  std::size_t row = 0;  ///< of its template's levels
  bool noisy = false, verified = false;
};

/// Trials of one task of a job while they are read, and then the task's page. Keeps a few dozen
/// bytes of each trial, and whole trials only of the fastest, of a race, and one of each kind of
/// failure.
class TaskTrials {
 public:
  explicit TaskTrials(const Task& task, const Epilogue& epilogue);
  void Add(const records::Record& record);

  const Task& task() const { return task_; }
  const DeviceFingerprint& device() const { return device_; }
  std::vector<TrialSummary>& seen() { return seen_; }
  const std::vector<TrialSummary>& seen() const { return seen_; }
  const std::map<std::string, std::pair<Failure, Candidate>>& failures() const { return failures_; }

  /// Sets the entry of the last race in the log, if a race was run.
  void SetRace(search::BestEntry race) { race_ = std::move(race); }
  void set_occurrences(std::int64_t occurrences) { occurrences_ = occurrences; }

  /// Returns the page without code and roofline. Call once, after TrialSummary::seconds are set.
  TaskPage Page(const TemplateRegistry& templates, const PageLimits& limits);
  /// Winner and runner-up, if known; after Page.
  const std::vector<Trial>& leaders() const { return leaders_; }
  /// Returns the products that the best config computes for each product of the task
  /// (ProductShareOf); after Page.
  double BestProductShare(const TemplateRegistry& templates) const;
  /// The fastest verified trials, after Page with the winner of the race first. A few, or many if
  /// the metric is not seconds, because simulating them again costs no device time.
  const std::vector<Trial>& fastest() const { return fastest_; }
  /// For a VTA and a GPU: every n-th trial of the whole search, verified or not.
  const std::vector<Trial>& spread() const { return spread_; }

 private:
  int KindOf(const Candidate& candidate);
  void KeepFastest(const Trial& trial);
  void KeepForFront(const Trial& trial);
  void KeepSpread(const Trial& trial);
  void FillSeries(std::size_t max_points, TaskPage& page);
  void FillFinalists(const TemplateRegistry& templates, TaskPage& page);
  void FillFront(TaskPage& page) const;
  KnobTable TableOf(int kind, const OrderedAxes& ordered, std::size_t max_rows) const;
  void FillKnobs(const PageLimits& limits, TaskPage& page) const;

  Task task_;
  Epilogue epilogue_;
  DeviceFingerprint device_;
  std::int64_t occurrences_ = 1;
  std::string metric_ = "seconds";
  std::vector<TrialSummary> seen_;
  std::vector<ConfigLevels> kinds_;
  /// Candidate for a front: the last measurement of a config.
  struct Measured {
    std::int64_t attempt = 0;
    double finished = 0;
    std::vector<double> values, compared;  ///< by metrics_
  };
  std::vector<std::string> metrics_;
  std::map<std::pair<std::string, std::string>, Measured> measured_;  // by template and config
  std::vector<Trial> fastest_, leaders_, spread_;
  std::map<std::int64_t, std::vector<Trial>> raced_;  // by attempt, of the last races
  bool simulated_;  // resources of a trial can be computed again without the device
  std::int64_t spread_every_ = 1, spread_seen_ = 0;
  std::optional<search::BestEntry> race_;
  std::map<std::string, std::pair<Failure, Candidate>> failures_;  // by outcome and reason
};

/// Returns the correlation of score and speed over time, and predicted against measured values.
Ranking RankingOf(const std::vector<TrialSummary>& trials, const std::vector<double>& predicted);

}  // namespace tilewright::report
