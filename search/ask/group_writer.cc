#include "search/ask/group_writer.h"

#include <algorithm>
#include <new>
#include <utility>

#include "records/open/job_tail.h"
#include "search/job_log.h"

namespace tilewright::search {

Status ToldBefore(std::int64_t number) {
  return InvalidArgument("proposal " + std::to_string(number) + " has a result already");
}

Status GroupWriter::Append(const Trial& trial, const records::LogEntry& entry, std::int64_t number,
                           std::int64_t synced) {
  Item item{&trial, &entry, number, synced, false, {}};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&item);
  changed_.wait(lock, [&] { return item.done || !writing_; });
  if (item.done) return item.status;
  // The first thread that finds no writer writes for all that wait.
  writing_ = true;
  const std::vector<Item*> items = std::exchange(waiting_, {});
  lock.unlock();
  Status failed;
  try {
    failed = Write(items);
  } catch (const std::bad_alloc&) {  // the other threads must not wait for ever
    failed = Unavailable("out of memory");
  }
  lock.lock();
  for (Item* one : items) {
    if (one->status.ok()) one->status = failed;
    one->done = true;
  }
  writing_ = false;
  lock.unlock();
  changed_.notify_all();
  return item.status;
}

/// Writes the items but those that turn out to be told before, whose status it sets.
Status GroupWriter::Write(std::vector<Item*> items) {
  if (!store_.has_value()) {
    TW_ASSIGN_OR_RETURN(store_, records::Store::Open(path_, records::Store::Mode::kReadWrite));
  }
  while (!items.empty()) {
    const Status status = WriteOnce(items);
    const auto refused = std::erase_if(items, [](const Item* one) { return !one->status.ok(); });
    if (status.ok() || refused == 0) return status;
  }
  return {};
}

Status GroupWriter::WriteOnce(const std::vector<Item*>& items) {
  std::vector<Trial> trials;
  std::vector<records::LogEntry> log;
  for (const Item* item : items) {
    trials.push_back(*item->trial);
    log.push_back(*item->entry);
  }
  return store_->Append(job_, trials, log, [&] { return RefuseTold(items); });
}

/// Sets the status of the items that the log tells already.
/// Errors: kInvalidArgument if there is one; those of reading the log.
Status GroupWriter::RefuseTold(const std::vector<Item*>& items) {
  const auto earliest = std::ranges::min(items, {}, &Item::synced);
  TW_ASSIGN_OR_RETURN(
      const auto entries,
      records::LogAfter(*store_, job_, earliest->entry->task_key, earliest->synced));
  Status refused;
  for (const records::NumberedEntry& one : entries) {
    TW_ASSIGN_OR_RETURN(const TaskLog log, Decode({one.entry}));
    for (const TellEntry& tell : log.tells) {
      for (Item* item : items) {
        if (item->number == tell.batch) refused = item->status = ToldBefore(item->number);
      }
    }
  }
  return refused;
}

}  // namespace tilewright::search
