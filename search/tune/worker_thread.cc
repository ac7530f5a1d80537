#include "search/tune/worker_thread.h"

#include <utility>
#include <vector>

#include "src/base/process/subprocess.h"
#include "src/base/thread.h"

namespace tilewright::search {

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status WorkerThread::StartThread(bool timed) {
  TW_ASSIGN_OR_RETURN(
      thread_, tilewright::StartThread([this, timed] {
        std::vector<int> cores = AllowedCores();
        if (timed && cores.size() > 1) {
          cores.pop_back();
          (void)SetCpuAffinity(
              cores);  // where it is not permitted, measurements are a little noisier
        }
        Loop();
      }));
  return {};
}

void WorkerThread::Post(std::function<void()> work) {
  if (!thread_.joinable()) {
    work();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_all();
}

void WorkerThread::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return quit_ || !queue_.empty(); });
    if (quit_) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace tilewright::search
