#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "search/tuner.h"
#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::report {

/// Server of `tune --watch`: the page of `report` while the job runs. A separate thread reads the
/// job's store, only on request of a page, and then not for twenty times as long as the reading
/// took, so that it takes little processor time from the job.
class TuneWatch {
 public:
  /// Starts the server. templates: outlives the watch. store: path of the job's store. title: of
  /// the page. program: name and version, for the page.
  /// Errors: those of WatchServer, and of making a page.
  static Result<TuneWatch> Start(const TemplateRegistry& templates, const std::string& store,
                                 const std::string& title, const std::string& program);
  TuneWatch(TuneWatch&&) noexcept;
  TuneWatch& operator=(TuneWatch&&) noexcept;
  ~TuneWatch();

  /// Returns an observer that passes everything on to `next`, and keeps the progress of the job for
  /// the page. The page waits until the job is open. tasks: number of tasks of the job. trials: its
  /// limit, or 0. The observer lives as long as the watch; `next` outlives it.
  search::TuneObserver& Observe(search::TuneObserver& next, std::size_t tasks, std::int64_t trials);
  const std::string& address() const;
  /// Notifies open pages that the job has ended. Takes at most a quarter of a second.
  void Finish();

 private:
  struct State;
  explicit TuneWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::report
