#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "records/open/job_tail.h"
#include "records/store.h"
#include "search/ask/group_writer.h"
#include "search/open/open_search_space.h"
#include "search/registry.h"
#include "src/templates/open/open_task.h"

namespace tilewright::search {

struct AskTellSettings {
  std::string strategy = "auto";  ///< "auto", "genetic", "grid", "random" or "surrogate"
  std::uint64_t seed = 1;
  /// Start with the records of other environments and problems in the store, and in these.
  bool warm_start = true;
  std::vector<std::string> warm_stores = {};
};

/// Config that was proposed.
struct ClaimedConfig {
  std::int64_t number = 0;  ///< identifies it in the task's log
  Config config;
};

/// Search of an open task whose program asks for configs and tells results. Any number of threads
/// and processes search one task in one store together: the task's log there is their common state,
/// and each continues where others ended. Proposals of processes that ended without a result are
/// proposed again. Thread-safe.
class AskTell {
 public:
  /// Opens the task in a store, which is created if it is missing. task: of OpenInput::kCaller.
  /// device: of the trials.
  /// Errors: kInvalidArgument for an unknown strategy; those of Store::Open, also for a warm store.
  static Result<std::unique_ptr<AskTell>> Open(const std::string& path, OpenTask task,
                                               DeviceFingerprint device, AskTellSettings settings);
  AskTell(const AskTell&) = delete;
  AskTell& operator=(const AskTell&) = delete;

  const OpenTask& task() const { return task_; }
  const DeviceFingerprint& device() const { return device_; }

  /// Returns the next config; no value if all configs were proposed. Errors: those of the store.
  Result<std::optional<ClaimedConfig>> Ask();
  /// Stores the result of a proposal, which any thread or process may have got. answer: as of a
  /// command (docs/howto-open.md#answers). After success the trial survives kill -9 and a power
  /// failure.
  /// Errors: kInvalidArgument for an answer that is none or that records refuse, or a second one;
  /// kNotFound for a number that no Ask returned; those of the store.
  Status Tell(std::int64_t number, std::string_view answer);
  /// Stores the result of a config of the caller's choice. config: a JSON object with the value of
  /// each parameter.
  /// Errors: kInvalidArgument naming the parameter or the condition; as Tell.
  Status Record(std::string_view config, std::string_view answer);
  /// Returns the records of the task, of all environments, in the order of their insertion. Skips
  /// rows that break the rules of records/validation. Errors: those of reading.
  Result<std::vector<records::Record>> Records();

  /// Closes all connections; the next call opens them again. Requires that no thread is in a call.
  void CloseConnections();

 private:
  /// ClaimedConfig without a result.
  struct Pending {
    Point point;
    std::string owner;  // ProcessName of the process that asked
    bool telling = false;
    bool replaced = false;  // the point was proposed again
  };

  /// Why a config is claimed: it is new, its process has ended, or the caller chose it.
  enum class Reason : std::uint8_t { kNew, kLost, kChosen };

  AskTell(std::string path, OpenTask task, DeviceFingerprint device, AskTellSettings settings);
  Status Start();
  Status OpenStore();
  Status WriteStart();
  Status Sync();
  Status Absorb(const std::vector<records::NumberedEntry>& entries);
  Result<std::optional<Point>> NextPoint();
  std::optional<Point> LostPoint();
  Result<std::optional<std::int64_t>> Claim(Point point, Reason reason);
  Result<Pending*> FindPending(std::int64_t number);
  Status TellSynced(std::int64_t number, std::string_view answer);
  Result<Trial> TrialOf(Point point, std::string_view answer) const;
  Candidate CandidateOf(Point point) const;
  double ElapsedSeconds() const;

  const std::string path_;
  const OpenTask task_;
  const DeviceFingerprint device_;
  const AskTellSettings settings_;
  const std::unique_ptr<OpenSearchSpace> space_;

  std::mutex mutex_;  // guards all below but writer_
  std::optional<records::Store> store_;
  std::int64_t job_ = 0;
  std::unique_ptr<GroupWriter> writer_;
  std::unique_ptr<Strategy> strategy_;
  std::int64_t synced_ = 0;       // number of the last entry of the log that was read
  std::int64_t next_number_ = 0;  // of proposals
  std::map<std::int64_t, Pending> pending_;
  std::map<Point, std::int64_t> pending_points_;  // with their newest proposals
  std::optional<Point> unclaimed_;                // of an Ask whose claim failed
  double started_seconds_ = 0;                    // time of the first entry of the log
  double owners_checked_ = -1e18;  // monotonic time of the last search for ended processes
};

}  // namespace tilewright::search
