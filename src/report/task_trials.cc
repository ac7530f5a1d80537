// One task of a job: from its trials to the data of its charts.
// | Trials are read once, in the order of the store, and kept small: knob values become numbers,
// per template and knob, in order of appearance. If there are more trials than a chart can show,
// best-so-far lines stay exact and points are thinned: all improvements are kept, then every n-th
// trial.

#include "src/report/task_trials.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "measure/supervisor/process_measurer.h"
#include "records/front/front.h"
#include "src/report/statistics.h"
#include "src/session/format.h"
#include "src/space/pareto_front.h"
#include "src/target/device.h"
#include "src/templates/device.h"
#include "src/templates/products.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kFinalists = 6;         // if no race was run
constexpr std::size_t kKeptRaces = 8;         // the last ones; the log states which one counts
constexpr std::size_t kSimulated = 96;        // kept if the metric is not seconds
constexpr std::size_t kSpread = 256;          // over the search, in that case
constexpr std::size_t kMaxFailureKinds = 64;  // of one task
constexpr std::size_t kReasonLength = 240;
// A score is mapped to a time by a line through this many earlier trials.
constexpr std::size_t kLineWindow = 96, kLineLeast = 12;
constexpr std::size_t kRankWindow = 64, kRankLeast = 16, kMaxRankWindows = 120;
constexpr std::size_t kBins = 8, kBinLeast = 5;
constexpr std::size_t kImportanceLeast = 24;  // trials of a template

/// Returns a reason without its numbers, to group similar failures.
std::string KindOfReason(const std::string& reason) {
  std::string kind;
  for (const char c : reason.substr(0, kReasonLength)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) kind += c;
    if (digit && (kind.empty() || kind.back() != '#')) kind += '#';
  }
  return kind;
}

Finalist FinalistOf(const Trial& trial) {
  Finalist row;
  row.template_key = trial.candidate.template_key;
  row.config = trial.candidate.config.ToString();
  row.value = trial.value;
  row.noise = trial.noise;
  row.noisy = trial.noisy();
  return row;
}

bool SameCandidate(const Trial& a, const Trial& b) {
  return a.candidate.template_key == b.candidate.template_key &&
         a.candidate.config.values == b.candidate.config.values;
}

/// Returns the time that each trial's score predicted when it was proposed, computed from the
/// earlier trials.
std::vector<double> PredictedValues(const std::vector<TrialSummary>& trials) {
  std::vector<double> predicted(trials.size(), 0);
  SlidingRegression line(kLineWindow, kLineLeast);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialSummary& trial = trials[i];
    if (!trial.predicted || trial.attempt != 0) continue;
    const std::optional<double> log = line.At(*trial.predicted);
    if (log && std::abs(*log) < 100) predicted[i] = std::exp(*log);
    if (trial.value > 0) line.Add(*trial.predicted, std::log(trial.value));
  }
  return predicted;
}

}  // namespace

Ranking RankingOf(const std::vector<TrialSummary>& trials, const std::vector<double>& predicted) {
  Ranking ranking;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].predicted && trials[i].value > 0 && trials[i].attempt == 0) rows.push_back(i);
  }
  ranking.trials = std::ssize(rows);
  if (rows.size() < kRankLeast) return ranking;
  const std::size_t width = std::min(kRankWindow, rows.size());
  const std::size_t windows = std::min(kMaxRankWindows, 1 + 2 * (rows.size() - width) / width);
  for (std::size_t w = 0; w < windows; ++w) {
    const std::size_t first = windows > 1 ? w * (rows.size() - width) / (windows - 1) : 0;
    std::vector<double> score, speed;
    for (std::size_t i = first; i < first + width; ++i) {
      score.push_back(*trials[rows[i]].predicted);
      speed.push_back(-trials[rows[i]].value);
    }
    ranking.windows.push_back({static_cast<std::int64_t>(rows[first] + 1),
                               static_cast<std::int64_t>(rows[first + width - 1] + 1),
                               KendallTau(score, speed)});
    ranking.tau += ranking.windows.back().tau / static_cast<double>(windows);
  }
  std::vector<std::pair<double, double>> meant;
  for (const std::size_t i : rows) {
    if (predicted[i] > 0) meant.emplace_back(predicted[i], trials[i].value);
  }
  std::ranges::sort(meant);
  const std::size_t bins = std::min(kBins, meant.size() / kBinLeast);
  for (std::size_t b = 0; b < bins; ++b) {
    std::vector<double> of_model, of_device;
    for (std::size_t i = b * meant.size() / bins; i < (b + 1) * meant.size() / bins; ++i) {
      of_model.push_back(meant[i].first);
      of_device.push_back(meant[i].second);
    }
    std::ranges::sort(of_device);
    ranking.calibration.push_back({Median(of_model), Quantile(of_device, 0.5),
                                   Quantile(of_device, 0.25), Quantile(of_device, 0.75),
                                   std::ssize(of_device)});
  }
  return ranking;
}

TaskTrials::TaskTrials(const Task& task, const Epilogue& epilogue)
    : task_(task), epilogue_(epilogue), simulated_(!DeviceTraitsOf(task.target).machine_code) {}

int TaskTrials::KindOf(const Candidate& candidate) {
  const auto found = std::ranges::find_if(
      kinds_, [&candidate](const ConfigLevels& kind) { return kind.Describes(candidate); });
  if (found != kinds_.end()) return static_cast<int>(found - kinds_.begin());
  kinds_.emplace_back(candidate);
  return static_cast<int>(kinds_.size()) - 1;
}

void TaskTrials::KeepFastest(const Trial& trial) {
  const std::size_t kept = trial.metric == "seconds" ? kFinalists : kSimulated;
  if (fastest_.size() == kept && trial.value >= fastest_.back().value) return;
  const auto at = std::ranges::upper_bound(fastest_, trial.value, {}, &Trial::value);
  fastest_.insert(at, trial);
  if (fastest_.size() > kept) fastest_.pop_back();
}

/// Compares as Store::Front does. Trials of one job have the same metrics.
void TaskTrials::KeepForFront(const Trial& trial) {
  if (trial.others.empty() || trial.noisy()) return;
  if (metrics_.empty()) {
    metrics_ = {trial.metric};
    for (const auto& [metric, value] : trial.others) metrics_.push_back(metric);
  }
  Measured one{trial.attempt, trial.finished_unix_seconds, {}, {}};
  for (const std::string& metric : metrics_) {
    const std::optional<double> value = trial.ValueOf(metric);
    if (!value) return;
    one.values.push_back(*value);
    one.compared.push_back(records::NoiseAdjustedValue(trial, metric));
  }
  const auto [place, added] = measured_.try_emplace(
      std::pair(trial.candidate.template_key, trial.candidate.config.ToString()), one);
  const Measured& known = place->second;
  if (!added && records::Supersedes(one.attempt, one.finished, known.attempt, known.finished)) {
    place->second = std::move(one);
  }
}

void TaskTrials::KeepSpread(const Trial& trial) {
  if (spread_seen_++ % spread_every_ != 0) return;
  spread_.push_back(trial);
  if (spread_.size() < kSpread) return;
  for (std::size_t i = 0; i < kSpread / 2; ++i) spread_[i] = std::move(spread_[2 * i]);
  spread_.resize(kSpread / 2);
  spread_every_ *= 2;
}

void TaskTrials::Add(const records::Record& record) {
  const Trial& trial = record.trial;
  device_ = trial.device;
  metric_ = trial.metric;
  TrialSummary seen;
  seen.finished = trial.finished_unix_seconds;
  seen.duration_seconds = trial.build_seconds + trial.run_seconds;
  seen.outcome = trial.outcome;
  seen.attempt = trial.attempt;
  seen.noise = trial.noise;
  seen.noisy = trial.noisy();
  seen.verified = trial.verified;
  seen.predicted = trial.predicted;
  const bool ok = trial.outcome == Outcome::kOk && std::isfinite(trial.value) && trial.value > 0;
  if (ok) seen.value = trial.value;
  seen.kind = KindOf(trial.candidate);
  seen.row = kinds_[static_cast<std::size_t>(seen.kind)].Add(trial.candidate.config);
  seen_.push_back(seen);
  if (ok && trial.verified && trial.attempt == 0) KeepFastest(trial);
  if (ok && trial.verified) KeepForFront(trial);
  if (ok && simulated_ && trial.attempt == 0) KeepSpread(trial);
  if (trial.attempt > 0) {
    raced_[trial.attempt].push_back(trial);
    if (raced_.size() > kKeptRaces) raced_.erase(raced_.begin());
  }
  if (trial.outcome == Outcome::kOk) return;
  const std::string sort =
      std::string(OutcomeName(trial.outcome)) + "\n" + KindOfReason(trial.reason);
  const auto known = failures_.find(sort);
  if (known != failures_.end()) {
    ++known->second.first.trials;
  } else if (failures_.size() < kMaxFailureKinds) {
    Failure failure{std::string(OutcomeName(trial.outcome)), trial.reason.substr(0, kReasonLength),
                    1, session::ShortName(task_.workload),
                    measure::ReproduceCommand(trial.candidate)};
    failures_.emplace(sort, std::pair(std::move(failure), trial.candidate));
  }
}

KnobTable TaskTrials::TableOf(int kind_number, const OrderedAxes& ordered,
                              std::size_t max_rows) const {
  const ConfigLevels& kind = kinds_[static_cast<std::size_t>(kind_number)];
  KnobTable table;
  table.template_key = kind.key();
  table.axes = ordered.axes;
  std::vector<std::vector<int>> rows;
  std::vector<double> values, logs;
  for (const TrialSummary& trial : seen_) {
    if (trial.kind != kind_number || trial.value <= 0 || trial.attempt != 0) continue;
    rows.push_back(ordered.PlacesOf(kind.row(trial.row)));
    values.push_back(trial.value);
    logs.push_back(std::log(trial.value));
  }
  table.trials = std::ssize(rows);
  if (rows.size() >= kImportanceLeast) table.importance = ImportanceOf(table.axes, rows, logs);
  // The fastest third of the lines, and a sample of the others.
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&values](std::size_t i) { return values[i]; });
  order.resize(std::min(order.size(), max_rows / 3));
  for (const std::size_t i : Subsample(rows.size(), order, max_rows)) {
    table.rows.push_back(rows[i]);
    table.value.push_back(values[i]);
  }
  return table;
}

/// Fills the tables of the knobs, those with the most trials first, and the table of trials.
void TaskTrials::FillKnobs(const PageLimits& limits, TaskPage& page) const {
  std::vector<OrderedAxes> ordered;
  std::vector<std::pair<int, KnobTable>> tables;  // with the template's position
  for (int kind = 0; kind < static_cast<int>(kinds_.size()); ++kind) {
    ordered.push_back(kinds_[static_cast<std::size_t>(kind)].OrderAxes());
    tables.emplace_back(kind, TableOf(kind, ordered.back(), limits.rows));
  }
  std::ranges::stable_sort(tables, std::greater(),
                           [](const auto& table) { return table.second.trials; });
  std::vector<int> place(kinds_.size());  // of a template in the tables
  for (auto& [kind, table] : tables) {
    place[static_cast<std::size_t>(kind)] = static_cast<int>(page.knobs.size());
    page.knobs.push_back(std::move(table));
  }
  std::vector<std::size_t> keep;
  double best = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const double value = seen_[i].value;
    if (seen_[i].attempt == 0 && (value <= 0 || (best > 0 && value >= best))) continue;
    if (seen_[i].attempt == 0) best = value;
    keep.push_back(i);
  }
  TrialTable& table = page.table;
  table.all = std::ssize(seen_);
  std::int64_t number = 0;
  std::size_t at = 0;
  for (const std::size_t i : Subsample(seen_.size(), keep, limits.listed)) {
    for (; at <= i; ++at) number += seen_[at].attempt == 0 ? 1 : 0;
    const TrialSummary& trial = seen_[i];
    const auto kind = static_cast<std::size_t>(trial.kind);
    const std::string outcome(OutcomeName(trial.outcome));
    auto known = std::ranges::find(table.outcomes, outcome);
    if (known == table.outcomes.end()) known = table.outcomes.insert(known, outcome);
    table.trial.push_back(trial.attempt == 0 ? number : 0);
    table.attempt.push_back(trial.attempt);
    table.seconds.push_back(trial.seconds);
    table.value.push_back(trial.value);
    table.noise.push_back(trial.noise);
    table.noisy.push_back(trial.noisy ? 1 : 0);
    table.outcome.push_back(static_cast<int>(known - table.outcomes.begin()));
    table.knobs.push_back(place[kind]);
    table.levels.push_back(ordered[kind].PlacesOf(kinds_[kind].row(trial.row)));
  }
}

void TaskTrials::FillSeries(std::size_t max_points, TaskPage& page) {
  const std::vector<double> predicted = PredictedValues(seen_);
  std::vector<std::size_t> keep, search;
  double best = 0;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const TrialSummary& trial = seen_[i];
    if (trial.attempt != 0) continue;
    search.push_back(i);
    const auto number = std::ssize(search);
    // Counted metrics are verified last, so their trials are stored unverified.
    const bool counts = trial.verified || IsSimulated(task_.target);
    if (trial.value <= 0 || !counts || (best > 0 && trial.value >= best)) continue;
    best = trial.value;
    page.best.trial.push_back(number);
    page.best.seconds.push_back(trial.seconds);
    page.best.value.push_back(best);
    keep.push_back(search.size() - 1);
  }
  for (const std::size_t at : Subsample(search.size(), keep, max_points)) {
    const TrialSummary& trial = seen_[search[at]];
    page.points.trial.push_back(static_cast<std::int64_t>(at) + 1);
    page.points.seconds.push_back(trial.seconds);
    page.points.value.push_back(trial.value);
    page.points.predicted.push_back(predicted[search[at]]);
    page.points.kind.push_back(trial.kind);
    page.points.noisy.push_back(trial.noisy ? 1 : 0);
  }
  page.ranking = RankingOf(seen_, predicted);
}

void TaskTrials::FillFinalists(const TemplateRegistry& templates, TaskPage& page) {
  const auto entries = templates.For(task_.workload, task_.target);
  Trial standard;
  if (!entries.empty()) {
    standard.candidate.template_key = entries.front()->key;
    auto config = entries.front()->default_config(task_.workload, task_.target);
    if (config.ok()) standard.candidate.config = *std::move(config);
  }
  // An interrupted race has trials and no winner; records of the race before it are served.
  const auto of_race = race_ ? raced_.find(race_->attempt) : raced_.end();
  const bool raced = of_race != raced_.end();
  std::vector<Trial> list = raced ? of_race->second : fastest_;
  std::erase_if(list, [](const Trial& trial) { return trial.outcome != Outcome::kOk; });
  std::ranges::stable_sort(list, {}, &Trial::value);
  const auto wins = [this, raced](const Trial& trial) {
    return !raced || trial.candidate.config.index == race_->winner.index;
  };
  // If two configs cannot be distinguished, a rule selects one, so the winner need not be the
  // first.
  auto winner = std::ranges::find_if(list, wins);
  if (winner == list.end()) winner = list.begin();
  if (winner != list.end()) std::rotate(list.begin(), winner, winner + 1);
  if (!list.empty()) {
    const auto same = [&list](const Trial& trial) { return SameCandidate(trial, list.front()); };
    const auto known = std::ranges::find_if(fastest_, same);
    if (known != fastest_.end()) std::rotate(fastest_.begin(), known, known + 1);
  }
  if (list.size() > kFinalists && !raced) list.resize(kFinalists);
  for (std::size_t i = 0; i < list.size(); ++i) {
    Finalist row = FinalistOf(list[i]);
    row.winner = i == 0;
    row.tied =
        raced && i > 0 && std::ranges::count(race_->ties, list[i].candidate.config.index) > 0;
    row.standard = SameCandidate(list[i], standard);
    if (row.standard) page.default_value = row.value;
    page.finalists.push_back(std::move(row));
    if (i < 2) leaders_.push_back(list[i]);
  }
  if (!list.empty()) {
    page.best_value = list.front().value;
    page.best_noise = list.front().noise;
    page.noisy = list.front().noisy();
    page.best_template = list.front().candidate.template_key;
    page.best_config = list.front().candidate.config.ToString();
  }
  page.raced = raced;
  if (raced) page.ties = race_->ties;
  if (page.default_value > 0 || standard.candidate.config.values.empty()) return;
  if (race_ && race_->default_seconds > 0) page.default_value = race_->default_seconds;
  for (const TrialSummary& trial : seen_) {
    if (page.default_value > 0) return;
    const ConfigLevels& kind = kinds_[static_cast<std::size_t>(trial.kind)];
    if (trial.value > 0 && kind.IsAt(trial.row, standard.candidate)) {
      page.default_value = trial.value;
    }
  }
}

double TaskTrials::BestProductShare(const TemplateRegistry& templates) const {
  if (leaders_.empty()) return 1;
  const Candidate& best = leaders_.front().candidate;
  const TemplateEntry* entry = templates.Find(best.template_key);
  if (entry == nullptr || entry->version != best.template_version) return 1;
  const auto space = entry->define_space(task_.workload, task_.target);
  if (!space.ok() || best.config.index < 0 || best.config.index >= space->size()) return 1;
  return ProductShareOf(*entry, task_.workload, epilogue_, task_.target,
                        space->At(best.config.index));
}

void TaskTrials::FillFront(TaskPage& page) const {
  page.metrics = metrics_;
  std::vector<FrontRow> rows;
  std::vector<std::vector<double>> compared;
  for (const auto& [config, measured] : measured_) {
    rows.push_back({config.first, config.second, measured.values});
    compared.push_back(measured.compared);
  }
  for (const std::size_t i : ParetoFront(compared)) page.front.push_back(std::move(rows[i]));
}

TaskPage TaskTrials::Page(const TemplateRegistry& templates, const PageLimits& limits) {
  TaskPage page;
  page.key = task_.workload.Key();
  page.name = session::ShortName(task_.workload);
  page.epilogue = epilogue_.ToString();
  page.target = task_.target.ToString();
  page.metric = metric_;
  page.occurrences = occurrences_;
  std::ranges::stable_sort(seen_, {}, &TrialSummary::finished);
  for (const TrialSummary& trial : seen_) {
    if (trial.attempt > 0) {
      ++page.race_trials;
      continue;
    }
    ++page.trials;
    page.ok += trial.value > 0 ? 1 : 0;
    page.disturbed_trials += trial.noisy ? 1 : 0;
    ++page.outcomes[std::string(OutcomeName(trial.outcome))];
  }
  for (const ConfigLevels& kind : kinds_) page.templates.push_back(kind.key());
  FillSeries(limits.points, page);
  FillFinalists(templates, page);
  FillFront(page);
  FillKnobs(limits, page);
  return page;
}

}  // namespace tilewright::report
