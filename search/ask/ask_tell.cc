// The log has the entries of every search (search/job_log.h): "ask" with one point, and "tell",
// which is written in the same transaction as its trial. A proposal is claimed by its "ask": the
// transaction that appends it sees all earlier ones, so no two processes get the same config.

#include "search/ask/ask_tell.h"

#include <algorithm>
#include <array>
#include <utility>

#include "measure/program/answer.h"
#include "measure/program/trial.h"
#include "records/validation/rules.h"
#include "records/validation/schedules.h"
#include "search/job_log.h"
#include "search/open/records_of_others.h"
#include "search/strategies/genetic.h"
#include "search/strategies/grid.h"
#include "search/strategies/random_search.h"
#include "search/strategies/surrogate.h"
#include "src/base/clock.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/process/process_name.h"
#include "src/space/open/value_json.h"
#include "src/templates/open/open_template.h"
#include "src/tensor/work.h"

namespace tilewright::search {
namespace {

constexpr double kOwnerCheckSeconds = 0.5;
constexpr double kNever = -1e18;    // as a time
constexpr int kMaxClaims = 10'000;  // of one Ask, while other processes get each before

using Maker = std::unique_ptr<Strategy> (*)(const StrategyContext&);
struct NamedMaker {
  std::string_view name;
  Maker make;
};
/// Strategies that need neither a template nor a cost model.
constexpr std::array kMakers = {NamedMaker{"auto", &MakeSurrogate},
                                NamedMaker{"genetic", &MakeGenetic}, NamedMaker{"grid", &MakeGrid},
                                NamedMaker{"random", &MakeRandomSearch},
                                NamedMaker{"surrogate", &MakeSurrogate}};

double UnixSeconds() { return SystemClock().UnixSeconds(); }

/// Returns the text that is stored as the strategy's state: the process that asked.
std::string MemoOf(const std::string& owner) { return DumpJson(Json{{"owner", owner}}); }

std::string OwnerIn(const std::string& memo) {
  const auto json = ParseJson(memo);
  if (!json.ok() || !json->is_object() || !json->contains("owner")) return {};
  return (*json)["owner"].is_string() ? (*json)["owner"].get<std::string>() : std::string();
}

}  // namespace

AskTell::AskTell(std::string path, OpenTask task, DeviceFingerprint device,
                 AskTellSettings settings)
    : path_(std::move(path)),
      task_(std::move(task)),
      device_(std::move(device)),
      settings_(std::move(settings)),
      space_(std::make_unique<OpenSearchSpace>(task_.space)) {}

Result<std::unique_ptr<AskTell>> AskTell::Open(const std::string& path, OpenTask task,
                                               DeviceFingerprint device, AskTellSettings settings) {
  std::unique_ptr<AskTell> opened(
      new AskTell(path, std::move(task), std::move(device), std::move(settings)));
  TW_RETURN_IF_ERROR(opened->Start());
  return opened;
}

Status AskTell::Start() {
  const auto* maker = std::ranges::find(kMakers, settings_.strategy, &NamedMaker::name);
  if (maker == kMakers.end()) {
    return InvalidArgument("strategy: '" + Printable(settings_.strategy.substr(0, 40)) +
                           "', expected auto, genetic, grid, random or surrogate");
  }
  // Before the store is written, so that a store that is missing or damaged leaves nothing behind.
  std::vector<records::Store> warm;
  for (const std::string& path : settings_.warm_stores) {
    auto store = records::Store::Open(path, records::Store::Mode::kReadOnly);
    if (!store.ok()) return store.status().WithContext("warm store");
    warm.push_back(*std::move(store));
  }
  TW_RETURN_IF_ERROR(OpenStore());
  TemplateRegistry own;
  TW_RETURN_IF_ERROR(AddOpenTask(own, task_));
  TW_RETURN_IF_ERROR(records::StoreScheduleTexts(*store_, own));
  // As of JobSettings, whose checks need all strategies.
  Json settings = {{"graph", task_.workload.Key()},
                   {"target", task_.target().ToString()},
                   {"strategy", settings_.strategy},
                   {"seed", settings_.seed}};
  if (task_.metrics.size() > 1) settings["metric"] = task_.metrics;
  const std::string name = HexOf(Fnv1a64("caller\n" + task_.key + "\n" + task_.target().ToString() +
                                         "\n" + device_.ToString()));
  TW_ASSIGN_OR_RETURN(const records::Job job,
                      store_->OpenJob(name, DumpJson(settings), settings_.seed));
  job_ = job.id;
  writer_ = std::make_unique<GroupWriter>(path_, job_);
  TW_RETURN_IF_ERROR(WriteStart());
  StrategyContext context;
  context.space = &space_->space();
  context.analyzer = space_.get();
  context.seed = settings_.seed;
  if (settings_.warm_start) {
    TW_RETURN_IF_ERROR(AddRecordsOfOthers(*store_, task_, device_, context.records));
    for (const records::Store& store : warm) {
      TW_RETURN_IF_ERROR(AddRecordsOfOthers(store, task_, device_, context.records));
    }
  }
  strategy_ = maker->make(context);
  return Sync();
}

Status AskTell::OpenStore() {
  if (store_.has_value()) return {};
  TW_ASSIGN_OR_RETURN(store_, records::Store::Open(path_, records::Store::Mode::kReadWrite));
  return {};
}

/// Notes the start of the job, once, for reports.
Status AskTell::WriteStart() {
  started_seconds_ = UnixSeconds();
  const auto make =
      [&](const std::vector<records::NumberedEntry>& entries) -> std::optional<records::LogEntry> {
    for (const records::NumberedEntry& one : entries) {
      const auto log = DecodeJobLog({one.entry});
      if (log.ok() && !log->runs.empty()) started_seconds_ = log->runs[0].unix_seconds;
      return std::nullopt;
    }
    RunEntry run;
    run.unix_seconds = started_seconds_;
    run.tasks.push_back({task_.workload.Key(), "", 1});
    return Encode(run);
  };
  return ToStatus(records::AppendAfter(*store_, job_, "", 0, make));
}

double AskTell::ElapsedSeconds() const { return std::max(0.0, UnixSeconds() - started_seconds_); }

Status AskTell::Sync() {
  TW_RETURN_IF_ERROR(OpenStore());
  TW_ASSIGN_OR_RETURN(const auto entries,
                      records::LogAfter(*store_, job_, task_.workload.Key(), synced_));
  return Absorb(entries);
}

Status AskTell::Absorb(const std::vector<records::NumberedEntry>& entries) {
  if (entries.empty()) return {};
  std::vector<records::LogEntry> texts;
  for (const records::NumberedEntry& one : entries) texts.push_back(one.entry);
  TW_ASSIGN_OR_RETURN(const TaskLog log, Decode(texts));
  for (const AskEntry& ask : log.asks) {
    if (ask.batch < next_number_ || ask.points.size() != 1) {
      return Corrupt(path_ + ": a proposal of the search log is not the next one");
    }
    const Point point = ask.points[0];
    if (!space_->Contains(point)) return Corrupt(path_ + ": a proposal is not in the space");
    next_number_ = ask.batch + 1;
    strategy_->Exclude(ask.points);
    if (unclaimed_ == point) unclaimed_.reset();
    const auto [newest, added] = pending_points_.try_emplace(point, ask.batch);
    if (!added) {  // proposed again; the result of the older proposal is accepted, too
      pending_[newest->second].replaced = true;
      newest->second = ask.batch;
    }
    pending_[ask.batch] = {point, OwnerIn(ask.strategy_state)};
  }
  std::vector<Observation> observed;
  for (const TellEntry& tell : log.tells) {
    const auto found = pending_.find(tell.batch);
    if (found == pending_.end()) continue;  // of an earlier version: a second result
    if (tell.observed.point != found->second.point) {
      return Corrupt(path_ + ": a result of the search log is of another config than its proposal");
    }
    if (!found->second.replaced) pending_points_.erase(found->second.point);
    pending_.erase(found);
    observed.push_back(tell.observed);
  }
  strategy_->Tell(observed);
  synced_ = entries.back().number;
  return {};
}

std::optional<Point> AskTell::LostPoint() {
  const double now = SystemClock().MonotonicSeconds();
  if (now - owners_checked_ < kOwnerCheckSeconds) return std::nullopt;
  std::map<std::string, bool> ended;
  for (const auto& [point, number] : pending_points_) {
    const Pending& pending = pending_.at(number);
    if (pending.telling) continue;  // a thread stores its result now
    const auto [found, added] = ended.try_emplace(pending.owner, false);
    if (added) found->second = HasEnded(pending.owner);
    if (found->second) return point;
  }
  owners_checked_ = now;  // none is lost
  return std::nullopt;
}

Result<std::optional<Point>> AskTell::NextPoint() {
  for (auto due = strategy_->NextTrainingJob(); due != nullptr;
       due = strategy_->NextTrainingJob()) {
    TW_RETURN_IF_ERROR(due->Run());
    strategy_->Finish(std::move(due));
  }
  const std::vector<Point> points = strategy_->Ask(1);
  TW_RETURN_IF_ERROR(strategy_->status());
  return points.empty() ? std::optional<Point>() : points.front();
}

/// Appends a proposal to the log and returns its number; no value if since the last Sync another
/// process has proposed the point, or the process of a lost one has told its result.
Result<std::optional<std::int64_t>> AskTell::Claim(Point point, Reason reason) {
  std::optional<std::int64_t> number;
  const auto make =
      [&](const std::vector<records::NumberedEntry>& entries) -> std::optional<records::LogEntry> {
    std::int64_t next = next_number_;
    for (const records::NumberedEntry& one : entries) {
      const auto log = Decode({one.entry});
      if (!log.ok()) return std::nullopt;  // Absorb reports it
      for (const AskEntry& ask : log->asks) {
        next = std::max(next, ask.batch + 1);
        if (std::ranges::count(ask.points, point) > 0) return std::nullopt;
      }
      for (const TellEntry& tell : log->tells) {
        if (reason == Reason::kLost && tell.observed.point == point) return std::nullopt;
      }
    }
    if (reason == Reason::kNew && pending_points_.contains(point)) return std::nullopt;
    number = next;
    AskEntry ask;
    ask.batch = next;
    ask.points = {point};
    ask.elapsed_seconds = ElapsedSeconds();
    ask.strategy_state = MemoOf(ProcessName());
    return Encode(task_.workload.Key(), ask);
  };
  TW_ASSIGN_OR_RETURN(const auto entries,
                      records::AppendAfter(*store_, job_, task_.workload.Key(), synced_, make));
  TW_RETURN_IF_ERROR(Absorb(entries));
  return number;
}

Result<std::optional<ClaimedConfig>> AskTell::Ask() {
  const std::lock_guard lock(mutex_);
  TW_RETURN_IF_ERROR(Sync());
  std::optional<ClaimedConfig> proposal;
  for (int i = 0; i < kMaxClaims; ++i) {
    std::optional<Point> point = LostPoint();
    Reason reason = point.has_value() ? Reason::kLost : Reason::kNew;
    if (!point.has_value()) {
      if (!unclaimed_.has_value()) {
        TW_ASSIGN_OR_RETURN(unclaimed_, NextPoint());
      }
      point = unclaimed_;
    }
    if (!point.has_value()) {  // no new one: look for lost ones, however recent the last search
      owners_checked_ = kNever;
      point = LostPoint();
      reason = Reason::kLost;
    }
    if (!point.has_value()) return proposal;
    TW_ASSIGN_OR_RETURN(const auto number, Claim(*point, reason));
    if (reason == Reason::kNew) unclaimed_.reset();
    if (number.has_value()) {
      proposal = {*number, task_.knobs.At(point->index)};
      return proposal;
    }
  }
  return Unavailable(path_ + ": other processes got each config first");
}

Candidate AskTell::CandidateOf(Point point) const {
  Candidate candidate;
  candidate.task = {task_.workload, task_.target()};
  candidate.template_key = task_.key;
  candidate.template_version = kOpenTaskVersion;
  candidate.config = task_.knobs.At(point.index);
  return candidate;
}

Status AskTell::Tell(std::int64_t number, std::string_view answer) {
  {
    const std::lock_guard lock(mutex_);
    TW_RETURN_IF_ERROR(Sync());
  }
  return TellSynced(number, answer);
}

/// Errors: kNotFound for a number that no Ask returned; kInvalidArgument if it has a result.
Result<AskTell::Pending*> AskTell::FindPending(std::int64_t number) {
  const auto found = pending_.find(number);
  if (found == pending_.end() && (number < 0 || number >= next_number_)) {
    return NotFound("proposal " + std::to_string(number) + " was never asked for");
  }
  if (found == pending_.end() || found->second.telling) return ToldBefore(number);
  return &found->second;
}

/// Returns the trial of an answer.
/// Errors: kInvalidArgument for an answer that is none, or whose record no reader would accept.
Result<Trial> AskTell::TrialOf(Point point, std::string_view text) const {
  TW_ASSIGN_OR_RETURN(const measure::Answer answer, measure::ParseAnswer(text, task_.metrics));
  Trial trial = measure::NewProgramTrial(task_, CandidateOf(point), device_, 0);
  if (answer.outcome == Outcome::kOk) {
    measure::SetProgramValues(task_, answer.samples, {}, answer.max_abs_error, trial);
  } else {
    trial.outcome = answer.outcome;
    trial.reason = answer.reason;
    trial.max_abs_error = answer.max_abs_error;
  }
  trial.finished_unix_seconds = UnixSeconds();
  const std::string why =
      records::InvalidValuesReason(trial, MinSeconds(task_.workload, task_.target()));
  if (!why.empty()) return InvalidArgument("\"" + task_.metrics.front() + "\": " + why);
  return trial;
}

Status AskTell::TellSynced(std::int64_t number, std::string_view answer) {
  TellEntry tell;
  tell.batch = number;
  {
    const std::lock_guard lock(mutex_);
    TW_ASSIGN_OR_RETURN(const Pending* pending, FindPending(number));
    tell.observed.point = pending->point;
  }
  TW_ASSIGN_OR_RETURN(const Trial trial, TrialOf(tell.observed.point, answer));
  tell.observed.outcome = trial.outcome;
  tell.observed.value = trial.value;
  tell.verified = trial.verified;
  const records::LogEntry entry = Encode(task_.workload.Key(), tell);
  std::int64_t synced = 0;
  {
    const std::lock_guard lock(mutex_);
    TW_ASSIGN_OR_RETURN(Pending* const pending, FindPending(number));
    pending->telling = true;
    synced = synced_;
  }
  const Status stored = writer_->Append(trial, entry, number, synced);
  if (stored.ok()) return {};
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(number);
  if (found != pending_.end()) found->second.telling = false;
  return stored;
}

Status AskTell::Record(std::string_view config, std::string_view answer) {
  auto json = ParseJson(config);
  if (!json.ok()) return json.status().WithContext("config");
  if (!json->is_object()) return InvalidArgument("config: expected a JSON object");
  std::vector<std::pair<std::string, ParameterValue>> values;
  for (const auto& [name, member] : json->items()) {
    auto value = ParameterValueFromJson(member);
    if (!value.ok()) return value.status().WithContext("config: " + Printable(name.substr(0, 64)));
    values.emplace_back(name, *std::move(value));
  }
  const auto located = task_.space.Locate(values);
  if (!located.ok()) return InvalidArgument("config: " + located.status().message());
  const std::string violated = task_.space.ViolatedCondition(*located);
  if (!violated.empty()) return InvalidArgument("config: it violates the condition " + violated);
  // Before it is claimed: a bad answer leaves no proposal.
  TW_RETURN_IF_ERROR(TrialOf(space_->PointOf(*located), answer));
  std::optional<std::int64_t> number;
  {
    const std::lock_guard lock(mutex_);
    TW_RETURN_IF_ERROR(Sync());
    for (int i = 0; i < kMaxClaims && !number.has_value(); ++i) {
      TW_ASSIGN_OR_RETURN(number, Claim(space_->PointOf(*located), Reason::kChosen));
    }
  }
  if (!number.has_value()) return Unavailable(path_ + ": other processes record the same config");
  return TellSynced(*number, answer);
}

Result<std::vector<records::Record>> AskTell::Records() {
  const std::lock_guard lock(mutex_);
  TW_RETURN_IF_ERROR(OpenStore());
  TW_ASSIGN_OR_RETURN(const auto texts, records::ScheduleTextsOf(*store_));
  TemplateRegistry known;
  records::AddOpenTasks(texts, path_, known);
  records::TrialFilter filter;
  filter.workload_key = task_.workload.Key();
  filter.target = task_.target().ToString();
  filter.valid_for = &known;
  return store_->Trials(filter);
}

void AskTell::CloseConnections() {
  store_.reset();
  writer_->Close();
}

}  // namespace tilewright::search
