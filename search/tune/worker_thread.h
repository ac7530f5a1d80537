#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "src/base/status.h"

namespace tilewright::search {

/// Executor of work items in order, on its own thread or immediately on the caller's.
class WorkerThread {
 public:
  WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  /// Waits for the current item; drops the others.
  ~WorkerThread();

  /// Starts the thread. Without this call every item runs inside Post. timed: the thread avoids the
  /// last core, which measures (measure/supervisor/process_measurer.h). Errors: kUnavailable if no
  /// thread can be created.
  Status StartThread(bool timed);
  void Post(std::function<void()> work);

 private:
  void Loop();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool quit_ = false;
  std::thread thread_;
};

}  // namespace tilewright::search
