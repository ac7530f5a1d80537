#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "records/store.h"
#include "search/job_log.h"
#include "src/report/document.h"
#include "src/templates/registry.h"

namespace tilewright::report {

/// Points of one task's charts, and rows of its parallel coordinates, at most.
inline constexpr std::size_t kMaxPoints = 2000;
inline constexpr std::size_t kMaxRows = 400;

/// What a chart needs of one trial.
struct TrialSummary {
  double finished = 0;  ///< unix time
  double duration_seconds =
      0;               ///< seconds from the start of its build to its end, waiting left out
  double seconds = 0;  ///< of the job; set when all are known
  double value = 0;    ///< 0 unless ok
  double noise = 0;
  std::optional<double> predicted;
  Outcome outcome = Outcome::kInvalid;
  std::int64_t attempt = 0;
  int kind = 0;         ///< position of its template
  std::size_t row = 0;  ///< of its template's levels
  bool noisy = false, verified = false;
};

/// The trials of one task of a job while they are read, and then the task's page. Keeps a few dozen
/// bytes of a trial, whole ones only of the fastest, of a race and of one failure of a sort.
class TaskTrials {
 public:
  explicit TaskTrials(const Task& task, const Epilogue& epilogue);
  void Add(const records::Record& record);

  const Task& task() const { return task_; }
  const DeviceFingerprint& device() const { return device_; }
  std::vector<TrialSummary>& seen() { return seen_; }
  const std::vector<TrialSummary>& seen() const { return seen_; }
  const std::map<std::string, std::pair<Failure, Candidate>>& failures() const { return failures_; }

  /// What the log says of the last race, if there was one.
  void SetRace(search::BestEntry race) { race_ = std::move(race); }
  void set_occurrences(std::int64_t occurrences) { occurrences_ = occurrences; }

  /// All but code and roofline. Call once, after TrialSummary::seconds are set.
  /// max_points, max_rows: see TrialPoints and KnobTable.
  TaskPage Page(const TemplateRegistry& templates, std::size_t max_points, std::size_t max_rows);
  /// Winner and runner-up, as far as they are known; after Page.
  const std::vector<Trial>& leaders() const { return leaders_; }
  /// Products of the best config for each of the task's (ProductShareOf); after Page.
  double BestProductShare(const TemplateRegistry& templates) const;
  /// The fastest verified trials, after Page with the winner of the race first: a few, of what is
  /// not measured in seconds (and so costs nothing to look at again) many.
  const std::vector<Trial>& fastest() const { return fastest_; }
  /// For a VTA and a GPU: trials of the whole search, each so-manieth, verified or not.
  const std::vector<Trial>& spread() const { return spread_; }

 private:
  struct Kind {
    std::string key;
    std::vector<std::string> names;                   // of knobs
    std::vector<std::map<std::string, int>> numbers;  // per knob: text -> level
    std::vector<std::vector<int>> rows;
  };
  int KindOf(const Candidate& candidate);
  void KeepFastest(const Trial& trial);
  void KeepForFront(const Trial& trial);
  void KeepSpread(const Trial& trial);
  void FillSeries(std::size_t max_points, TaskPage& page);
  void FillFinalists(const TemplateRegistry& templates, TaskPage& page);
  void FillFront(TaskPage& page) const;
  KnobTable TableOf(int kind, std::size_t max_rows) const;

  Task task_;
  Epilogue epilogue_;
  DeviceFingerprint device_;
  std::int64_t occurrences_ = 1;
  std::string metric_ = "seconds";
  std::vector<TrialSummary> seen_;
  std::vector<Kind> kinds_;
  /// What may be on a front: of each config its last measurement.
  struct Measured {
    std::int64_t attempt = 0;
    double finished = 0;
    std::vector<double> values, compared;  ///< by metrics_
  };
  std::vector<std::string> metrics_;
  std::map<std::pair<std::string, std::string>, Measured> measured_;  // by template and config
  std::vector<Trial> fastest_, leaders_, spread_;
  std::map<std::int64_t, std::vector<Trial>> raced_;  // by attempt, of the last races
  bool simulated_;  // what a trial asks of its device can be told again
  std::int64_t spread_every_ = 1, spread_seen_ = 0;
  std::optional<search::BestEntry> race_;
  std::map<std::string, std::pair<Failure, Candidate>> failures_;  // by outcome and reason
};

/// Score against speed over time, and what scores came to.
Ranking RankingOf(const std::vector<TrialSummary>& trials, const std::vector<double>& predicted);

}  // namespace tilewright::report
