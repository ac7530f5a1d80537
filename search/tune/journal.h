#pragma once

#include <cstdint>
#include <vector>

#include "measure/measurer.h"
#include "search/tune/budget.h"
#include "search/tune/tune_job.h"
#include "search/tune/writer.h"

namespace tilewright::search {

/// The durable record of a run in the store: trials, entries of the search log, and notes of how
/// long the job ran and what it spent the time on. Written in the order of the calls. Used by the
/// thread of Tune only.
class Journal {
 public:
  /// job and budget outlive the journal.
  Journal(const TuneJob& job, const Budget& budget);

  /// Without this call the calling thread writes. Errors: kUnavailable if no thread can be had.
  Status StartThread() { return writer_.StartThread(); }
  /// Notes that the search starts, and its tasks.
  void BeginSearch();
  /// Notes what the time was spent on, if a note is due. model_seconds: see TimeEntry.
  void NoteTime(double model_seconds);
  /// Notes the same for the whole search.
  void EndSearch(double model_seconds);
  /// Of a search that has ended: its wall time, and the measurer's time in it.
  double search_seconds() const { return search_seconds_; }
  const measure::TimeSplit& split() const { return split_; }

  void Append(records::LogEntry entry);
  /// A trial without an entry of the log: a resumed job measures its point again.
  void Append(Trial trial);
  /// The result of a submitted point. Collect returns it when it is durable.
  void Append(std::uint64_t ticket, Trial trial, records::LogEntry entry);
  /// Results that became durable since the last call, in order. Errors: the store's, for good.
  Result<std::vector<Writer::Item>> Collect() { return writer_.Collect(); }
  /// Blocks until everything is durable; until the next Append others may use the store.
  /// Errors: the store's.
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
  Writer writer_;
};

}  // namespace tilewright::search
