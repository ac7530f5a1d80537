#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "records/row.h"
#include "records/sqlite.h"
#include "records/store.h"
#include "records/validation/rules.h"

namespace tilewright::records {

/// State of a Store, shared by store.cc (writing, listing) and query.cc (lookups).
struct Store::Impl {
  Impl(Database database, std::string store_path)
      : db(std::move(database)), path(std::move(store_path)) {}

  /// File that `db` reads; null: `db` opened its file itself.
  std::shared_ptr<const MappedFile> file;
  Database db;
  std::string path;
  std::string store_id;
  Durability durability = Durability::kDisk;
  TextCache texts;
  // Numbers of the texts that queries have used: a text keeps its number for the lifetime of the
  // store.
  std::unordered_map<std::string, std::int64_t> workload_numbers, target_numbers;
  // Prepared at the first query and reused: preparing costs more than running them.
  Statement begin_read, end_read, find_workload, find_target, find_raced, find_served;
  bool prepared = false;
  SpaceCache spaces;
  // Results of InvalidRowReason by template, task and config: trials never change, and queries
  // repeat.
  std::unordered_map<std::string, std::string> verdicts;
  MinSecondsCache min_seconds;
  std::atomic<std::thread::id> user;  ///< thread in a call, see StoreUseGuard; default id: none
};

/// Guard of a thread's call into a store. The connection has no locks: two threads in it at once
/// would share its pages and corrupt the database.
class StoreUseGuard {
 public:
  explicit StoreUseGuard(Store::Impl& store) : store_(store) {
    std::thread::id inside;
    mine_ = store_.user.compare_exchange_strong(inside, std::this_thread::get_id());
    alone_ = mine_ || inside == std::this_thread::get_id();
  }
  StoreUseGuard(const StoreUseGuard&) = delete;
  StoreUseGuard& operator=(const StoreUseGuard&) = delete;
  ~StoreUseGuard() {
    if (mine_) store_.user.store({});
  }
  /// Returns kInternal if another thread is in a call; then nothing was done.
  Status status() const {
    return alone_ ? Status() : Internal(store_.path + ": used by two threads at once");
  }

 private:
  Store::Impl& store_;
  bool mine_ = false, alone_ = false;
};

/// Returns the reason why a row of kTrialColumns must not be served or built, by the rules of
/// records/validation/rules.h; empty if it is valid. A text schedule must equal the one that the
/// store has under its name. record: result of ReadRow for the row.
std::string InvalidRowReason(Store::Impl& store, const TemplateRegistry& templates,
                             const Statement& row, const Result<Record>& record);

/// Returns the text that identifies a new store.
inline std::string ShortName(double unix_seconds, long process, const std::string& path) {
  return std::to_string(unix_seconds) + "/" + std::to_string(process) + "/" + path;
}

}  // namespace tilewright::records
