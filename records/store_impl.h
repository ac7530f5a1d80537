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

/// State behind a Store, shared by store.cc (writing, listing) and query.cc (answers).
struct Store::Impl {
  Impl(Database database, std::string store_path)
      : db(std::move(database)), path(std::move(store_path)) {}

  std::shared_ptr<const MappedFile> file;  ///< that `db` reads; null: it has opened its own
  Database db;
  std::string path;
  std::string store_id;
  Durability durability = Durability::kDisk;
  TextCache texts;
  // Numbers of texts seen by queries: a text keeps its number for the life of the store.
  std::unordered_map<std::string, std::int64_t> workload_numbers, target_numbers;
  // Prepared at the first query and used again: preparing costs more than running them.
  Statement begin_read, end_read, find_workload, find_target, find_raced, find_served;
  bool prepared = false;
  SpaceCache spaces;
  // What InvalidRowReason has found of templates, tasks and configs: trials never change, and
  // queries ask for the same ones again and again.
  std::unordered_map<std::string, std::string> verdicts;
  MinSecondsCache min_seconds;
  std::atomic<std::thread::id>
      user;  ///< who is inside, see StoreUseGuard; nobody: the id of no thread
};

/// A thread is inside a store until this goes. The connection has no locks of its own: two threads
/// in it at once would share its pages, and what they write then is no database any more.
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
  /// kInternal: another thread is inside, and nothing was done.
  Status status() const {
    return alone_ ? Status() : Internal(store_.path + ": used by two threads at once");
  }

 private:
  Store::Impl& store_;
  bool mine_ = false, alone_ = false;
};

/// Why a row of kTrialColumns may not be served or built, by the rules of
/// records/validation/rules.h; empty if it may. A schedule that is a text has to be the one that
/// the store has by its name. record: what ReadRow made of the row.
std::string InvalidRowReason(Store::Impl& store, const TemplateRegistry& templates,
                             const Statement& row, const Result<Record>& record);

/// Text that names a store at its creation.
inline std::string ShortName(double unix_seconds, long process, const std::string& path) {
  return std::to_string(unix_seconds) + "/" + std::to_string(process) + "/" + path;
}

}  // namespace tilewright::records
