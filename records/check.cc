// Invariants of a record store beyond SQLite's own: what is written down about a trial must make
// sense, and its id must be the hash of what it identifies, so that a row changed behind our back
// is found.

#include <algorithm>
#include <cmath>
#include <map>

#include "records/care.h"
#include "records/copy.h"
#include "records/image.h"
#include "records/row.h"
#include "records/schema.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

/// Collects problems up to a limit.
class Problems {
 public:
  explicit Problems(std::size_t limit) : limit_(limit) {}
  void Add(std::string line) {
    if (!full()) lines_.push_back(std::move(line));
  }
  bool full() const { return lines_.size() >= limit_; }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

/// Every row of a statement as a problem, its columns after `what`.
Status AddRows(const Database& db, const char* sql, const std::string& what, Problems& problems) {
  auto query = Statement::Prepare(db, sql);
  TW_RETURN_IF_ERROR(query);
  while (!problems.full()) {
    auto row = query->Step();
    TW_RETURN_IF_ERROR(row);
    if (!*row) break;
    if (query->Text(0) != "ok") problems.Add(what + std::string(query->Text(0)));
  }
  return {};
}

/// What is wrong with one trial; empty: nothing.
std::string WrongWith(const Trial& trial) {
  if (trial.verified && trial.outcome != Outcome::kOk) {
    return "verified, though its outcome is " + std::string(OutcomeName(trial.outcome));
  }
  const auto is_fine = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!std::ranges::all_of(trial.samples, is_fine)) return "a sample is not a number";
  if (!is_fine(trial.noise)) return "its noise is not a number";
  if (!(trial.quiet_share >= -1 && trial.quiet_share <= 1)) return "its quiet share is not one";
  if (trial.predicted && !std::isfinite(*trial.predicted)) return "its prediction is not a number";
  if (trial.outcome != Outcome::kOk) return {};
  if (!is_fine(trial.value) || trial.value == 0) return "ok, but its value is not positive";
  if (trial.samples.empty()) return {};
  const auto [least, most] = std::ranges::minmax(trial.samples);
  if (trial.value < least || trial.value > most) return "its value is outside of its samples";
  return {};
}

/// Spaces of the tasks seen, since making one takes longer than looking a config up in it.
class Spaces {
 public:
  explicit Spaces(const TemplateRegistry& templates) : templates_(templates) {}
  /// Empty if the config is in the space of its template, or the template is not today's.
  std::string WrongWith(const Candidate& candidate) {
    const TemplateEntry* entry = templates_.Find(candidate.template_key);
    if (entry == nullptr || entry->version != candidate.template_version) return {};
    const std::string key = candidate.template_key + "\n" + candidate.task.workload.Key() + "\n" +
                            candidate.task.target.ToString();
    auto found = spaces_.find(key);
    if (found == spaces_.end()) {
      auto space = entry->refuses(candidate.task.workload, candidate.task.target).empty()
                       ? entry->define_space(candidate.task.workload, candidate.task.target)
                       : Result<ConfigSpace>(Unsupported("the template refuses the task"));
      if (!space.ok()) return space.status().message();
      found = spaces_.emplace(key, *std::move(space)).first;
    }
    auto located = found->second.Locate(candidate.config);
    return located.ok() ? std::string() : located.status().message();
  }

 private:
  const TemplateRegistry& templates_;
  std::map<std::string, ConfigSpace> spaces_;
};

/// A job's own name, and the store it was run in.
std::pair<std::string, std::string> JobAndStore(std::string_view name, const std::string& own) {
  const std::size_t at = name.find('@');
  if (at == std::string_view::npos) return {std::string(name), own};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1))};
}

Status CheckTrials(const TemplateRegistry& templates, const Database& db, Problems& problems) {
  auto store_id = StoreIdOf(db, "main");
  TW_RETURN_IF_ERROR(store_id);
  auto query = Statement::Prepare(db, "SELECT " + std::string(kTrialColumns) +
                                          ", trial.config_index, job.name, length(trial.samples)"
                                          " FROM trial JOIN job ON job.id = trial.job");
  TW_RETURN_IF_ERROR(query);
  constexpr int kIndexColumn = kTrialColumnCount, kJobColumn = kIndexColumn + 1,
                kSamplesColumn = kIndexColumn + 2;
  TextCache cache;
  Spaces spaces(templates);
  while (!problems.full()) {
    auto row = query->Step();
    TW_RETURN_IF_ERROR(row);
    if (!*row) break;
    const std::string place = "trial " + std::string(query->Text(0)) + ": ";
    auto record = ReadRow(db, *query, cache);
    if (!record.ok()) {
      problems.Add(place + record.status().message());
      continue;
    }
    const Trial& trial = record->trial;
    std::string wrong = WrongWith(trial);
    if (wrong.empty()) wrong = spaces.WrongWith(trial.candidate);
    if (wrong.empty() && query->Int(kSamplesColumn) % 8 != 0) wrong = "its samples are cut off";
    if (wrong.empty() && query->Int(kIndexColumn) != trial.candidate.config.index) {
      wrong = "its index differs from its config's";
    }
    const auto [job, store] = JobAndStore(query->Text(kJobColumn), *store_id);
    if (wrong.empty() && !store.empty() && TrialId(store, job, trial) != record->id) {
      wrong = "its id is not the hash of what it identifies: it was changed";
    }
    if (!wrong.empty()) problems.Add(place + wrong);
  }
  return {};
}

Status CheckLog(const Database& db, Problems& problems) {
  auto query = Statement::Prepare(db, "SELECT seq, payload FROM log ORDER BY seq");
  TW_RETURN_IF_ERROR(query);
  while (!problems.full()) {
    auto row = query->Step();
    TW_RETURN_IF_ERROR(row);
    if (!*row) break;
    auto json = ParseJson(query->Text(1));
    if (!json.ok()) {
      problems.Add("log entry " + std::to_string(query->Int(0)) + ": " + json.status().message());
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> CheckStore(const TemplateRegistry& templates,
                                            const std::string& path, std::size_t limit) {
  if (!FileExists(path)) return NotFound(path + ": no such record store");
  auto db = Database::Open(path, Database::Mode::kReadOnly);
  TW_RETURN_IF_ERROR(db);
  auto foreign = ForeignParts(*db, path);
  TW_RETURN_IF_ERROR(foreign);
  if (!foreign->empty()) {  // what its rows would come to is not for us to run
    foreign->resize(std::min(limit, foreign->size()));
    return foreign;
  }
  TW_RETURN_IF_ERROR(CheckSchema(*db, path));
  Problems problems(limit);
  Status status = AddRows(*db, "PRAGMA integrity_check", "database: ", problems);
  // Rows of a damaged database mean nothing.
  if (status.ok() && !problems.full()) {
    status = AddRows(*db,
                     "SELECT \"table\" || ' row ' || ifnull(rowid, '?') || ' refers to a ' ||"
                     " parent || ' that is not there' FROM pragma_foreign_key_check",
                     "", problems);
  }
  if (status.ok()) {
    status = AddRows(*db,
                     "SELECT b.trial FROM best b LEFT JOIN trial t ON t.id = b.trial AND"
                     " t.workload = b.workload AND t.target = b.target AND t.device = b.device AND"
                     " t.job = b.job WHERE t.id IS NULL",
                     "winner of a race that is no trial of its task: ", problems);
  }
  if (status.ok()) status = CheckTrials(templates, *db, problems);
  if (status.ok()) status = CheckLog(*db, problems);
  std::vector<std::string> lines = problems.Take();
  if (!status.ok()) {
    if (lines.empty() && status.code() != StatusCode::kCorrupt) return status.WithContext(path);
    lines.push_back(status.message());
  }
  return lines;
}

}  // namespace tilewright::records
