#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "src/base/status.h"

namespace tilewright::search {

/// Runs pieces of work one after the other, on a thread of its own or at once on the caller's.
class WorkerThread {
 public:
  WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  /// Waits for the piece under way; the others are dropped.
  ~WorkerThread();

  /// Without this call every piece runs inside Post. timed: the thread stays off the last core,
  /// which is the measuring one (measure/supervisor/process_measurer.h).
  /// Errors: kUnavailable if no thread can be had.
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
