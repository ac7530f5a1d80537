#pragma once

#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::cli {

/// `tune --watch`: the page of `report`, served while the job runs. It reads the job's store, on a
/// thread of its own and only when a page asks, and not again before twenty times as long has
/// passed as that took: the processor is the job's.
class TuneWatch {
 public:
  /// templates: outlives the watch. store: path of the job's. title: of the page.
  /// Errors: those of report::WatchServer, and of making a page.
  static Result<TuneWatch> Start(const TemplateRegistry& templates, const std::string& store,
                                 const std::string& title);
  TuneWatch(TuneWatch&&) noexcept;
  TuneWatch& operator=(TuneWatch&&) noexcept;
  ~TuneWatch();

  /// The job to show; until it is told the page waits.
  void SetJob(const std::string& name);
  const std::string& address() const;
  /// Tells open pages that the job is over. Takes at most a quarter of a second.
  void Finish();

 private:
  struct State;
  explicit TuneWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::cli
