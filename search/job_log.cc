// Entries of the search log as JSON and back. Batches of a task are observed and proposed again
// from them when its job is resumed.

#include "search/job_log.h"

#include <cmath>
#include <limits>

#include "src/base/json_fields.h"

namespace tilewright::search {
namespace {

/// Counts and indices.
template <typename T>
struct CountCodec {
  T most = static_cast<T>(std::numeric_limits<T>::max());

  Json Write(T value) const { return value; }
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    // Unsigned 64-bit numbers are invalid, too.
    reader.Expect(name, json.is_number() && json.get<double>() < 9e18);
    RangeCodec<T>{0, most}.Read(reader, name, json, value);
  }
};
constexpr CountCodec<std::int64_t> kCount;
constexpr ListCodec<CountCodec<std::int64_t>> kCounts;
constexpr ListCodec<TupleCodec> kTuples;

/// Codec of a flag as 0 or 1.
struct FlagCodec {
  Json Write(bool flag) const { return flag ? 1 : 0; }
  void Read(JsonReader& reader, const char* name, const Json& json, bool& flag) const {
    std::int64_t number = 0;
    kCount.Read(reader, name, json, number);
    flag = number != 0;
  }
};

/// Codec of seconds in whole milliseconds. Values that are not a duration are written unchanged:
/// 1e3 times those could be infinite.
struct MillisecondsCodec : PlainCodec {
  Json Write(double seconds) const {
    return std::abs(seconds) < 1e12 ? std::round(1e3 * seconds) / 1e3 : seconds;
  }
};
constexpr MillisecondsCodec kMilliseconds;

/// Codec of a score. Four decimals tell apart the predictions of trees, in a fourth of the text.
struct ScoreCodec : PlainCodec {
  Json Write(float score) const { return std::round(1e4 * static_cast<double>(score)) / 1e4; }
};

/// Codec of a positive number.
struct PositiveCodec : PlainCodec {
  void Read(JsonReader& reader, const char* name, const Json& json, double& value) const {
    PlainCodec::Read(reader, name, json, value);
    reader.Require(value > 0, "not a positive number");
  }
};

/// Codec of a text of JSON as the value that it holds.
struct JsonTextCodec {
  Json Write(const std::string& text) const {
    Result<Json> json = ParseJson(text);
    TW_CHECK(json.ok(), text);
    return *std::move(json);
  }
  void Read(JsonReader&, const char*, const Json& json, std::string& text) const {
    text = DumpJson(json);
  }
};

Status NotUnderstood(const records::LogEntry& entry) {
  return Corrupt("search log: " + entry.kind + " entry " + entry.payload.substr(0, 120) + " of " +
                 (entry.task_key.empty() ? "the job" : entry.task_key) + " is not understood");
}

}  // namespace

static void Describe(auto& fields, DescribedAs<Point> auto& point) {
  fields("space", point.space, CountCodec<int>{999});
  fields("index", point.index, kCount);
}

static void Describe(auto& fields, DescribedAs<BeginEntry::Source> auto& source) {
  fields("key", source.key);
  fields("trials", source.trials, kCount);
}

static void Describe(auto& fields, DescribedAs<BeginEntry> auto& entry) {
  fields("warm", entry.warm, kTuples);
  fields.Optional("first", !entry.first.empty(), entry.first, kTuples);
}

static void Describe(auto& fields, DescribedAs<AskEntry> auto& entry) {
  fields("batch", entry.batch, kCount);
  fields("told", entry.observed, kCounts);
  fields("points", entry.points, kTuples);
  fields.Optional("scores", !entry.scores.empty(), entry.scores, ListCodec<ScoreCodec>());
  fields("elapsed", entry.elapsed_seconds);
  fields("memo", entry.strategy_state, JsonTextCodec());
}

static void Describe(auto& fields, DescribedAs<TellEntry> auto& entry) {
  fields("batch", entry.batch, kCount);
  fields("slot", entry.slot, kCount);
  fields("point", entry.observed.point, TupleCodec());
  fields("outcome", entry.observed.outcome, TextCodec<OutcomeName, ParseOutcome>());
  fields("value", entry.observed.value);
  fields("verified", entry.verified, FlagCodec());
  fields.Optional("disturbed", entry.observed.noisy, entry.observed.noisy, FlagCodec());
  fields.Optional("values", !entry.observed.values.empty(), entry.observed.values,
                  ListCodec<PositiveCodec>());
}

static void Describe(auto& fields, DescribedAs<BestEntry> auto& entry) {
  fields("batches", entry.batches, kCount);
  fields("winner", entry.winner, TupleCodec());
  fields("best_seconds", entry.best_seconds);
  fields("default_seconds", entry.default_seconds);
  fields("ties", entry.ties, kCounts);
  fields("attempt", entry.attempt, kCount);
  fields.Optional("trials", entry.trials >= 0, entry.trials, kCount);
  fields.Optional("disturbed", entry.noisy, entry.noisy, FlagCodec());
}

static void Describe(auto& fields, DescribedAs<RunEntry::Task> auto& task) {
  fields("key", task.key);
  fields("epilogue", task.epilogue);
  fields("occurrences", task.occurrences, kCount);
}

static void Describe(auto& fields, DescribedAs<RunEntry> auto& entry) {
  fields("unix", entry.unix_seconds, kMilliseconds);
  fields("elapsed", entry.elapsed_seconds, kMilliseconds);
  fields("resolution", entry.resolution);
  fields("tasks", entry.tasks, kTuples);
  fields.Optional("command", !entry.command.empty(), entry.command);
  fields.Optional("trials", entry.trials > 0, entry.trials, kCount);
  fields.Optional("budget", entry.budget_seconds > 0, entry.budget_seconds);
  fields.Optional("deadline", !entry.deadline.empty(), entry.deadline);
}

static void Describe(auto& fields, DescribedAs<TimeEntry> auto& entry) {
  fields("elapsed", entry.elapsed_seconds, kMilliseconds);
  fields("wall", entry.wall_seconds, kMilliseconds);
  fields("runner", entry.runner_busy_seconds, kMilliseconds);
  fields("timing", entry.runner_timing_seconds, kMilliseconds);
  fields("builder", entry.builder_busy_seconds, kMilliseconds);
  fields("model", entry.model_seconds, kMilliseconds);
  fields("idle", entry.idle_seconds, kMilliseconds);
  fields("trials", entry.trials, kCount);
}

namespace {

template <typename Entry>
records::LogEntry LogEntryOf(std::string_view task_key, const char* kind, const Entry& entry) {
  return {std::string(task_key), kind, DumpJson(WriteJson(entry))};
}

/// Appends the value that an entry holds.
template <typename Value>
Status DecodeTo(const records::LogEntry& entry, std::vector<Value>& values) {
  const Result<Json> json = ParseJson(entry.payload);
  if (!json.ok()) return NotUnderstood(entry);
  Result<Value> value = ReadJson<Value>(*json, "search log");
  if (!value.ok()) return NotUnderstood(entry);
  values.push_back(*std::move(value));
  return {};
}

}  // namespace

records::LogEntry Encode(const RunEntry& entry) { return LogEntryOf("", "life", entry); }
records::LogEntry Encode(const TimeEntry& entry) { return LogEntryOf("", "time", entry); }
records::LogEntry Encode(std::string_view task_key, const BeginEntry& entry) {
  return LogEntryOf(task_key, "begin", entry);
}
records::LogEntry Encode(std::string_view task_key, const AskEntry& entry) {
  return LogEntryOf(task_key, "ask", entry);
}
records::LogEntry Encode(std::string_view task_key, const TellEntry& entry) {
  return LogEntryOf(task_key, "tell", entry);
}
records::LogEntry Encode(std::string_view task_key, const BestEntry& entry) {
  return LogEntryOf(task_key, "best", entry);
}

Result<TaskLog> Decode(const std::vector<records::LogEntry>& entries) {
  TaskLog log;
  std::vector<BeginEntry> begins;
  std::vector<BestEntry> bests;
  for (const records::LogEntry& entry : entries) {
    if (entry.kind == "begin") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, begins));
    } else if (entry.kind == "ask") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, log.asks));
    } else if (entry.kind == "tell") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, log.tells));
    } else if (entry.kind == "best") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, bests));
    } else {
      return NotUnderstood(entry);
    }
  }
  if (!begins.empty()) log.begin = std::move(begins.back());
  if (!bests.empty()) log.best = std::move(bests.back());
  return log;
}

Result<JobLog> DecodeJobLog(const std::vector<records::LogEntry>& entries) {
  JobLog log;
  for (const records::LogEntry& entry : entries) {
    if (entry.kind == "life") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, log.runs));
    } else if (entry.kind == "time") {
      TW_RETURN_IF_ERROR(DecodeTo(entry, log.times));
    } else {
      return NotUnderstood(entry);
    }
  }
  return log;
}

}  // namespace tilewright::search
