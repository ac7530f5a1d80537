#include "search/tune/writer.h"

#include <chrono>
#include <utility>

#include "src/base/thread.h"

namespace tilewright::search {

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status Writer::StartThread() {
  TW_ASSIGN_OR_RETURN(thread_, tilewright::StartThread([this] { Loop(); }));
  return {};
}

void Writer::Push(Item item) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(item));
  }
  wake_.notify_all();
}

Status Writer::Write(std::deque<Item>& items) {
  std::vector<Trial> trials;
  std::vector<records::LogEntry> log;
  for (const Item& item : items) {
    trials.insert(trials.end(), item.trials.begin(), item.trials.end());
    log.insert(log.end(), item.log.begin(), item.log.end());
  }
  return store_.Append(job_, trials, log);
}

Result<std::vector<Writer::Item>> Writer::Collect() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() && status_.ok() && !waiting_.empty()) {
    status_ = Write(waiting_);
    for (Item& item : waiting_) {
      if (status_.ok() && item.ticket != 0) done_.push_back(std::move(item));
    }
    waiting_.clear();
  }
  TW_RETURN_IF_ERROR(status_);
  return std::exchange(done_, {});
}

Status Writer::Flush() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) {
    if (status_.ok() && !waiting_.empty()) status_ = Write(waiting_);
    for (Item& item : waiting_) {
      if (item.ticket != 0) done_.push_back(std::move(item));
    }
    waiting_.clear();
    return status_;
  }
  urgent_ = true;
  wake_.notify_all();
  written_.wait(lock, [this] { return !status_.ok() || (waiting_.empty() && !writing_); });
  urgent_ = false;
  return status_;
}

void Writer::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return quit_ || (!waiting_.empty() && status_.ok()); });
    if (quit_) return;
    wake_.wait_for(lock, std::chrono::duration<double>(gather_seconds_),
                   [this] { return quit_ || urgent_ || waiting_.size() >= kGatherItems; });
    if (quit_) return;
    std::deque<Item> items = std::exchange(waiting_, {});
    writing_ = true;
    lock.unlock();
    Status status = Write(items);
    lock.lock();
    writing_ = false;
    status_ = std::move(status);
    for (Item& item : items) {
      if (status_.ok() && item.ticket != 0) done_.push_back(std::move(item));
    }
    written_.notify_all();
  }
}

}  // namespace tilewright::search
