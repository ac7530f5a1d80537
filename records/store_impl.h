#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "records/row.h"
#include "records/sqlite.h"
#include "records/store.h"

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
};

/// Text that names a store at its creation.
inline std::string ShortName(double unix_seconds, long process, const std::string& path) {
  return std::to_string(unix_seconds) + "/" + std::to_string(process) + "/" + path;
}

}  // namespace tilewright::records
