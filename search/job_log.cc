// Entries of the log of a search as JSON, and a task's entries back as what its strategy was asked
// and told.

#include "search/job_log.h"

#include <cmath>

#include "src/base/json.h"

namespace tilewright::search {
namespace {

std::string PlainText(const Json& json) { return DumpJson(json); }

/// Reads members of one entry; remembers whether all were there and of the right kind.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  bool ok() const { return ok_; }

  const Json& Member(const char* name) {
    static const Json kNull;
    const auto found = json_.find(name);
    if (found != json_.end()) return *found;
    ok_ = false;
    return kNull;
  }
  std::int64_t Integer(const Json& value) {
    if (value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < 9e18) {
      return value.get<std::int64_t>();
    }
    ok_ = false;
    return 0;
  }
  std::int64_t Integer(const char* name) { return Integer(Member(name)); }
  /// Of a member that older logs lack.
  std::int64_t IntegerOr(const char* name, std::int64_t missing) {
    return Has(name) ? Integer(name) : missing;
  }
  bool Has(const char* name) const { return json_.contains(name); }
  double Number(const char* name) {
    const Json& value = Member(name);
    if (value.is_number()) return value.get<double>();
    ok_ = false;
    return 0;
  }
  std::vector<float> Numbers(const char* name) {
    const Json& list = Member(name);
    std::vector<float> values;
    if (!list.is_array()) ok_ = false;
    for (std::size_t i = 0; ok_ && i < list.size(); ++i) {
      if (!list[i].is_number()) ok_ = false;
      if (ok_) values.push_back(list[i].get<float>());
    }
    return values;
  }
  std::vector<double> Positives(const char* name) {
    const Json& list = Member(name);
    std::vector<double> values;
    if (!list.is_array()) ok_ = false;
    for (std::size_t i = 0; ok_ && i < list.size(); ++i) {
      ok_ = list[i].is_number() && list[i].get<double>() > 0;
      if (ok_) values.push_back(list[i].get<double>());
    }
    return values;
  }
  std::vector<std::int64_t> Integers(const Json& list) {
    std::vector<std::int64_t> values;
    if (!list.is_array()) ok_ = false;
    if (ok_) {
      for (const Json& item : list) values.push_back(Integer(item));
    }
    return values;
  }
  Point PointOf(const Json& value) {
    const std::vector<std::int64_t> pair = Integers(value);
    if (pair.size() == 2 && pair[0] < 1000) return {static_cast<int>(pair[0]), pair[1]};
    ok_ = false;
    return {};
  }
  std::vector<Point> Points(const char* name) {
    const Json& list = Member(name);
    std::vector<Point> points;
    if (!list.is_array()) ok_ = false;
    for (std::size_t i = 0; ok_ && i < list.size(); ++i) points.push_back(PointOf(list[i]));
    return points;
  }
  void Fail() { ok_ = false; }

 private:
  const Json& json_;
  bool ok_ = true;
};

Json PointJson(Point point) { return Json::array({point.space, point.index}); }

Json PointsJson(const std::vector<Point>& points) {
  Json json = Json::array();
  for (Point point : points) json.push_back(PointJson(point));
  return json;
}

BeginEntry DecodeBegin(Reader& reader) {
  BeginEntry entry;
  const Json& warm = reader.Member("warm");
  if (!warm.is_array()) reader.Fail();
  for (std::size_t i = 0; reader.ok() && i < warm.size(); ++i) {
    if (!warm[i].is_array() || warm[i].size() != 2 || !warm[i][0].is_string()) {
      reader.Fail();
      break;
    }
    entry.warm.push_back({warm[i][0].get<std::string>(), reader.Integer(warm[i][1])});
  }
  if (reader.Has("first")) entry.first = reader.Points("first");
  return entry;
}

AskEntry DecodeAsk(Reader& reader) {
  AskEntry entry;
  entry.batch = reader.Integer("batch");
  entry.observed = reader.Integers(reader.Member("told"));
  entry.points = reader.Points("points");
  if (reader.Has("scores")) entry.scores = reader.Numbers("scores");
  entry.elapsed_seconds = reader.Number("elapsed");
  entry.strategy_state = PlainText(reader.Member("memo"));
  return entry;
}

TellEntry DecodeTell(Reader& reader) {
  TellEntry entry;
  entry.batch = reader.Integer("batch");
  entry.slot = reader.Integer("slot");
  entry.observed.point = reader.PointOf(reader.Member("point"));
  const Json& outcome = reader.Member("outcome");
  if (outcome.is_string()) {
    const Result<Outcome> parsed = ParseOutcome(outcome.get<std::string>());
    if (parsed.ok()) {
      entry.observed.outcome = *parsed;
    } else {
      reader.Fail();
    }
  } else {
    reader.Fail();
  }
  entry.observed.value = reader.Number("value");
  entry.verified = reader.Integer("verified") != 0;
  entry.observed.noisy = reader.IntegerOr("disturbed", 0) != 0;
  if (reader.Has("values")) entry.observed.values = reader.Positives("values");
  return entry;
}

BestEntry DecodeBest(Reader& reader) {
  BestEntry entry;
  entry.batches = reader.Integer("batches");
  entry.winner = reader.PointOf(reader.Member("winner"));
  entry.best_seconds = reader.Number("best_seconds");
  entry.default_seconds = reader.Number("default_seconds");
  entry.ties = reader.Integers(reader.Member("ties"));
  entry.attempt = reader.Integer("attempt");
  entry.noisy = reader.IntegerOr("disturbed", 0) != 0;
  entry.trials = reader.IntegerOr("trials", -1);
  return entry;
}

RunEntry DecodeRun(Reader& reader) {
  RunEntry entry;
  entry.unix_seconds = reader.Number("unix");
  entry.elapsed_seconds = reader.Number("elapsed");
  entry.resolution = reader.Number("resolution");
  const Json& tasks = reader.Member("tasks");
  if (!tasks.is_array()) reader.Fail();
  for (std::size_t i = 0; reader.ok() && i < tasks.size(); ++i) {
    const Json& task = tasks[i];
    if (!task.is_array() || task.size() != 3 || !task[0].is_string() || !task[1].is_string()) {
      reader.Fail();
      break;
    }
    entry.tasks.push_back(
        {task[0].get<std::string>(), task[1].get<std::string>(), reader.Integer(task[2])});
  }
  return entry;
}

TimeEntry DecodeTime(Reader& reader) {
  TimeEntry entry;
  entry.elapsed_seconds = reader.Number("elapsed");
  entry.wall_seconds = reader.Number("wall");
  entry.runner_busy_seconds = reader.Number("runner");
  entry.runner_timing_seconds = reader.Number("timing");
  entry.builder_busy_seconds = reader.Number("builder");
  entry.model_seconds = reader.Number("model");
  entry.idle_seconds = reader.Number("idle");
  entry.trials = reader.Integer("trials");
  return entry;
}

Status NotUnderstood(const records::LogEntry& entry) {
  return Corrupt("search log: " + entry.kind + " entry " + entry.payload.substr(0, 120) + " of " +
                 (entry.task_key.empty() ? "the job" : entry.task_key) + " is not understood");
}

/// Milliseconds are enough. What is no time of anything stays as it is: 1e3 times that may be no
/// number.
double Rounded(double seconds) {
  return std::abs(seconds) < 1e12 ? std::round(1e3 * seconds) / 1e3 : seconds;
}

}  // namespace

records::LogEntry Encode(const RunEntry& entry) {
  Json json = Json::object();
  json["unix"] = Rounded(entry.unix_seconds);
  json["elapsed"] = Rounded(entry.elapsed_seconds);
  json["resolution"] = entry.resolution;
  json["tasks"] = Json::array();
  for (const RunEntry::Task& task : entry.tasks) {
    json["tasks"].push_back(Json::array({task.key, task.epilogue, task.occurrences}));
  }
  return {"", "life", PlainText(json)};
}

records::LogEntry Encode(const TimeEntry& entry) {
  Json json = Json::object();
  json["elapsed"] = Rounded(entry.elapsed_seconds);
  json["wall"] = Rounded(entry.wall_seconds);
  json["runner"] = Rounded(entry.runner_busy_seconds);
  json["timing"] = Rounded(entry.runner_timing_seconds);
  json["builder"] = Rounded(entry.builder_busy_seconds);
  json["model"] = Rounded(entry.model_seconds);
  json["idle"] = Rounded(entry.idle_seconds);
  json["trials"] = entry.trials;
  return {"", "time", PlainText(json)};
}

records::LogEntry Encode(std::string_view task_key, const BeginEntry& entry) {
  Json json = Json::object();
  json["warm"] = Json::array();
  for (const BeginEntry::Source& source : entry.warm) {
    json["warm"].push_back(Json::array({source.key, source.trials}));
  }
  if (!entry.first.empty()) json["first"] = PointsJson(entry.first);
  return {std::string(task_key), "begin", PlainText(json)};
}

records::LogEntry Encode(std::string_view task_key, const AskEntry& entry) {
  Json json = Json::object();
  json["batch"] = entry.batch;
  json["told"] = entry.observed;
  json["points"] = PointsJson(entry.points);
  if (!entry.scores.empty()) {
    Json scores = Json::array();
    // Four decimals tell apart what the trees do, and are a fourth of a double's text.
    for (const float score : entry.scores) {
      scores.push_back(std::round(1e4 * static_cast<double>(score)) / 1e4);
    }
    json["scores"] = std::move(scores);
  }
  json["elapsed"] = entry.elapsed_seconds;
  // The memo goes in as JSON, not as a text of escaped JSON; a strategy's own bug would show here.
  Result<Json> strategy_state = ParseJson(entry.strategy_state);
  TW_CHECK(strategy_state.ok(), entry.strategy_state);
  json["memo"] = std::move(*strategy_state);
  return {std::string(task_key), "ask", PlainText(json)};
}

records::LogEntry Encode(std::string_view task_key, const TellEntry& entry) {
  Json json = Json::object();
  json["batch"] = entry.batch;
  json["slot"] = entry.slot;
  json["point"] = PointJson(entry.observed.point);
  json["outcome"] = std::string(OutcomeName(entry.observed.outcome));
  json["value"] = entry.observed.value;
  json["verified"] = entry.verified ? 1 : 0;
  if (entry.observed.noisy) json["disturbed"] = 1;
  if (!entry.observed.values.empty()) json["values"] = entry.observed.values;
  return {std::string(task_key), "tell", PlainText(json)};
}

records::LogEntry Encode(std::string_view task_key, const BestEntry& entry) {
  Json json = Json::object();
  json["batches"] = entry.batches;
  json["winner"] = PointJson(entry.winner);
  json["best_seconds"] = entry.best_seconds;
  json["default_seconds"] = entry.default_seconds;
  json["ties"] = entry.ties;
  json["attempt"] = entry.attempt;
  if (entry.trials >= 0) json["trials"] = entry.trials;
  if (entry.noisy) json["disturbed"] = 1;
  return {std::string(task_key), "best", PlainText(json)};
}

Result<TaskLog> Decode(const std::vector<records::LogEntry>& entries) {
  TaskLog log;
  for (const records::LogEntry& entry : entries) {
    const Result<Json> json = ParseJson(entry.payload);
    if (!json.ok() || !json->is_object()) return NotUnderstood(entry);
    Reader reader(*json);
    if (entry.kind == "begin") {
      log.begin = DecodeBegin(reader);
    } else if (entry.kind == "ask") {
      log.asks.push_back(DecodeAsk(reader));
    } else if (entry.kind == "tell") {
      log.tells.push_back(DecodeTell(reader));
    } else if (entry.kind == "best") {
      log.best = DecodeBest(reader);
    } else {
      return NotUnderstood(entry);
    }
    if (!reader.ok()) return NotUnderstood(entry);
  }
  return log;
}

Result<JobLog> DecodeJobLog(const std::vector<records::LogEntry>& entries) {
  JobLog log;
  for (const records::LogEntry& entry : entries) {
    const Result<Json> json = ParseJson(entry.payload);
    if (!json.ok() || !json->is_object()) return NotUnderstood(entry);
    Reader reader(*json);
    if (entry.kind == "life") {
      log.runs.push_back(DecodeRun(reader));
    } else if (entry.kind == "time") {
      log.times.push_back(DecodeTime(reader));
    } else {
      return NotUnderstood(entry);
    }
    if (!reader.ok()) return NotUnderstood(entry);
  }
  return log;
}

}  // namespace tilewright::search
