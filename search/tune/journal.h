#pragma once

#include <cstdint>
#include <vector>

#include "measure/measurer.h"
#include "search/job_log.h"
#include "search/tune/budget.h"
#include "search/tune/tune_job.h"
#include "search/tune/writer.h"

namespace tilewright::search {

/// Durable record of a run in the store: trials, entries of the search log, and notes of the job's
/// duration and its breakdown. Written in the order of the calls. Used by the thread of Tune only.
class Journal {
 public:
  /// job and budget outlive the journal.
  Journal(const TuneJob& job, const Budget& budget);

  /// Starts the writer thread. Without this call the calling thread writes. Errors: kUnavailable if
  /// no thread can be started.
  Status StartThread() { return writer_.StartThread(); }
  /// Records the start of the search, and its tasks.
  void BeginSearch();
  /// Records the breakdown of the time, if a note is due. model_seconds: see TimeEntry.
  void NoteTime(double model_seconds);
  /// Records the same for the whole search.
  void EndSearch(double model_seconds);
  /// Of a finished search: its wall time, and the measurer's time in it.
  double search_seconds() const { return search_seconds_; }
  const measure::TimeSplit& split() const { return split_; }
  /// The newest record of the time.
  const TimeEntry& last_time() const { return last_time_; }

  void Append(records::LogEntry entry);
  /// Appends a trial without an entry of the log: a resumed job measures its point again.
  void Append(Trial trial);
  /// Appends the result of a submitted point. Collect returns it when it is durable.
  void Append(std::uint64_t ticket, Trial trial, records::LogEntry entry);
  /// Returns the results that became durable since the last call, in order. Errors: permanent
  /// errors of the store.
  Result<std::vector<Writer::Item>> Collect() { return writer_.Collect(); }
  /// Blocks until everything is durable; until the next Append others may use the store. Errors:
  /// those of the store.
  Status Flush() { return writer_.Flush(); }

 private:
  void WriteTimeEntry(double model_seconds);
  measure::TimeSplit SplitNow() const;

  const TuneJob& job_;
  const Budget& budget_;
  measure::TimeSplit before_;  // the measurer's time before the search
  measure::TimeSplit split_;
  double search_seconds_ = 0;
  double noted_seconds_ = 0;  // of this run at its last note of the time
  TimeEntry last_time_;
  Writer writer_;
};

}  // namespace tilewright::search
