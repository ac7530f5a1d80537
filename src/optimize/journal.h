#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "records/store.h"
#include "src/base/status.h"

namespace tilewright::optimize {

/// Kind of the entries of the job's log.
inline constexpr const char* kStepKind = "optimize";
/// Name of the step that is the result of the latest complete run (StoredReport).
inline constexpr const char* kResultStep = "result";

/// Steps of a search in a record store: each is written when it is done, and found by the next run
/// of the same job. Of several of one name the last one counts. Without a store, steps are kept in
/// memory only.
class Journal {
 public:
  Journal() = default;
  /// Opens the job in a store, which is created if it is missing. settings: JSON, for people.
  /// Errors: those of the store; kCorrupt for a step that is no JSON object.
  static Result<Journal> Open(const std::string& store_path, const std::string& job,
                              const std::string& settings);

  /// Returns the step's result as JSON text; null if it is not done.
  const std::string* Find(std::string_view step) const;
  /// Stores the result of a step durably, unless it is stored already.
  Status Put(const std::string& step, const nlohmann::ordered_json& result);
  /// Marks the job as complete, and as the latest complete one of its network in this store
  /// (LatestJobOf).
  Status Finish();
  /// Returns the number of steps that earlier runs had done.
  std::size_t found() const { return found_; }

 private:
  std::optional<records::Store> store_;
  std::int64_t job_ = 0;
  std::string name_;  // of the job
  std::map<std::string, std::string, std::less<>> steps_;
  std::size_t found_ = 0;
};

/// Returns the name of the job of a network that completed a run last, be it an old job that ran
/// again; empty if none did. network: NetworkKeyOf. Errors: those of the store.
Result<std::string> LatestJobOf(const records::Store& store, std::string_view network);

}  // namespace tilewright::optimize
