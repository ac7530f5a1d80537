// Strategies in spaces of 10^8 configs and more, measured live on one thread:
//   large_spaces [--seeds N] [--trials N] [--long N] [--tasks N] [--small 1] [--transfer 1]
//                [--seconds N] [STRATEGY...]
// Dense layers with the template bench/large_dense.tws only (run it in the source directory).
// --small: layers with a sixteenth of the work, and correspondingly shorter trials. For each task:
// --trials (64) by each strategy (evolve, model, random) with each of --seeds (3) seeds, and a
// search of --long trials (0: none) by evolve. --transfer: then evolve again, with each seed, which
// first learns from the first search of each of the other tasks. Measured configs are not measured
// again. Prints each search as a part of the best known speed over all searches of the task, then
// the geometric mean and the worst of each strategy. --seconds: starts no search after this time.
// The program is its own worker: "large_spaces worker build|run".
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "measure/supervisor/process_measurer.h"
#include "search/registry.h"
#include "search/space.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"
#include "src/templates/text/text_template.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

constexpr const char* kText = "bench/large_dense.tws";
constexpr int kBatch = 8;
// Rows, reduction, columns: layers of encoders, and one nearly square.
constexpr int kTasks[][3] = {{512, 1024, 2048}, {384, 768, 3072}, {256, 2048, 1024},
                             {128, 4096, 1024}, {768, 768, 768},  {1024, 512, 1024}};
constexpr int kSmallTasks[][3] = {{128, 512, 1024}, {192, 384, 768}, {128, 1024, 512},
                                  {96, 1536, 512},  {192, 768, 384}, {256, 256, 768}};
static_assert(std::size(kTasks) == std::size(kSmallTasks));

struct Options {
  int seeds = 3, trials = 64, longest = 0, tasks = static_cast<int>(std::size(kTasks));
  int seconds = 0, small = 0, transfer = 0;
  std::vector<std::string> strategies;
};

struct Searched {
  std::string strategy;
  int seed = 0, trials = 0;
  double best = 0;  ///< seconds; 0 if none is ok
};

Result<TemplateRegistry> Templates() {
  TemplateRegistry templates;
  TW_ASSIGN_OR_RETURN(const auto bytes, ReadFile(kText));
  TW_ASSIGN_OR_RETURN(auto text, ParseScheduleText(bytes, kText));
  TW_RETURN_IF_ERROR(AddScheduleText(templates, std::move(text)));
  return templates;
}

/// One task with its results so far.
class LiveTask {
 public:
  LiveTask(SearchSpace space, measure::Measurer& measurer)
      : space_(std::move(space)), analyzer_(space_), measurer_(measurer) {}

  /// name: label of the search. warm: trials of other tasks that it learns from first.
  Result<Searched> Search(const std::string& key, const std::string& name, int seed, int trials,
                          std::vector<WarmGroup> warm) {
    StrategyContext context;
    context.space = &space_;
    context.analyzer = &analyzer_;
    context.seed = static_cast<std::uint64_t>(seed);
    context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
    context.warm = std::move(warm);
    const auto strategy = BuiltInStrategies().Find(key)->make(context);
    Searched searched{name, seed, trials, 0};
    const bool first = first_trials_.empty();
    for (int told = 0; told < trials;) {
      const std::vector<Point> points = strategy->Ask(std::min(kBatch, trials - told));
      if (points.empty()) break;
      TW_RETURN_IF_ERROR(Measure(points));
      std::vector<Observation> results;
      for (Point point : points) {
        results.push_back(known_.at(point));
        const Observation& one = results.back();
        if (first) first_trials_.push_back(one);
        if (one.outcome != Outcome::kOk || one.value <= 0) continue;
        searched.best = searched.best == 0 ? one.value : std::min(searched.best, one.value);
      }
      best_ = best_ == 0 ? searched.best : std::min(best_, searched.best);
      strategy->Tell(results);
      if (auto training_job = strategy->NextTrainingJob()) {
        if (training_job->Run().ok()) strategy->Finish(std::move(training_job));
      }
      told += static_cast<int>(points.size());
    }
    return searched;
  }
  /// Returns the trials of the first search, for others to learn from.
  WarmGroup FirstTrials() const { return {&analyzer_, first_trials_}; }
  double best() const { return best_; }
  std::size_t measured() const { return known_.size(); }
  std::int64_t size() const { return space_.size(); }

 private:
  Status Measure(const std::vector<Point>& points) {
    std::map<std::uint64_t, Point> waiting;
    for (Point point : points) {
      if (known_.contains(point)) continue;
      measure::Request request;
      request.ticket = ++ticket_;
      request.candidate = ToCandidate(space_, point);
      request.best_seconds = best_;
      waiting.emplace(request.ticket, point);
      TW_RETURN_IF_ERROR(measurer_.Submit(std::move(request)));
    }
    while (!waiting.empty()) {
      TW_ASSIGN_OR_RETURN(auto reply, measurer_.Next(1));
      if (!reply.has_value()) continue;
      const auto found = waiting.find(reply->ticket);
      if (found == waiting.end()) continue;  // measured again
      const Trial& trial = reply->trial;
      known_[found->second] = {found->second, trial.outcome, trial.value, trial.noisy()};
      waiting.erase(found);
    }
    return {};
  }

  SearchSpace space_;
  TemplateAnalyzer analyzer_;
  measure::Measurer& measurer_;
  std::map<Point, Observation> known_;
  std::uint64_t ticket_ = 0;
  std::vector<Observation> first_trials_;
  double best_ = 0;
};

Result<SearchSpace> SpaceOf(const TemplateRegistry& templates, const int (&task)[3]) {
  TW_ASSIGN_OR_RETURN(const auto workload, Workload::Parse(fmt::format(
                                               "dense(float32[{},{}]MK,float32[{},{}]NK)->float32",
                                               task[0], task[1], task[2], task[1])));
  TW_ASSIGN_OR_RETURN(auto target, Target::Parse("native"));
  return MakeSearchSpace(templates, {workload, target}, Epilogue());
}

/// Geometric mean and minimum of each strategy's results.
struct Verdict {
  double logarithms = 0, worst = 1;
  int searches = 0;
};

/// Task with its name and searches.
struct Row {
  std::string name;
  std::unique_ptr<LiveTask> task;
  std::vector<Searched> searches;
};

void Print(const Row& row, const Options& options, std::map<std::string, Verdict>& verdicts) {
  for (const Searched& one : row.searches) {
    const double share = one.best > 0 ? row.task->best() / one.best : 0;
    fmt::print("{:<16} {:.2e} {:<9} {:>4} {:>6} {:>10.1f} {:>7.3f}\n", row.name,
               static_cast<double>(row.task->size()), one.strategy, one.seed, one.trials,
               1e6 * one.best, share);
    if (one.trials != options.trials || share == 0) continue;
    Verdict& verdict = verdicts[one.strategy];
    verdict.logarithms += std::log(share);
    verdict.worst = std::min(verdict.worst, share);
    ++verdict.searches;
  }
}

Status SearchAll(std::vector<Row>& rows, const Options& options, double until) {
  SystemClock clock;
  const auto run = [&](Row& row, const std::string& key, const std::string& name, int seed,
                       int trials, std::vector<WarmGroup> warm = {}) -> Status {
    if (until > 0 && clock.MonotonicSeconds() > until) return {};
    TW_ASSIGN_OR_RETURN(auto searched, row.task->Search(key, name, seed, trials, std::move(warm)));
    row.searches.push_back(std::move(searched));
    fmt::print(stderr, "{} {} {}: {:.1f} us\n", row.name, name, seed, 1e6 * row.task->best());
    return {};
  };
  for (int seed = 1; seed <= options.seeds; ++seed) {
    for (Row& row : rows) {
      for (const std::string& key : options.strategies) {
        TW_RETURN_IF_ERROR(run(row, key, key, seed, options.trials));
      }
    }
  }
  for (int seed = 1; seed <= options.seeds && options.transfer != 0; ++seed) {
    for (Row& row : rows) {
      std::vector<WarmGroup> warm;
      for (const Row& other : rows) {
        if (&other != &row) warm.push_back(other.task->FirstTrials());
      }
      TW_RETURN_IF_ERROR(run(row, "evolve", "transfer", seed, options.trials, std::move(warm)));
    }
  }
  for (Row& row : rows) {
    if (options.longest > 0) TW_RETURN_IF_ERROR(run(row, "evolve", "evolve", 99, options.longest));
  }
  return {};
}

Status Run(const Options& options) {
  TW_ASSIGN_OR_RETURN(const auto templates, Templates());
  measure::ProcessMeasurerSettings settings;
  settings.build_command = {"/proc/self/exe", "worker", "build"};
  settings.run_commands = {{"/proc/self/exe", "worker", "run"}};
  TW_ASSIGN_OR_RETURN(const auto measurer, measure::ProcessMeasurer::Create(std::move(settings)));
  SystemClock clock;
  const double until = options.seconds > 0 ? clock.MonotonicSeconds() + options.seconds : 0;
  fmt::print("{:<16} {:<8} {:<9} {:>4} {:>6} {:>10} {:>7}\n", "rows.sum.columns", "configs",
             "strategy", "seed", "trials", "us", "of best");
  std::map<std::string, Verdict> verdicts;
  std::vector<Row> rows;
  for (int i = 0; i < options.tasks && i < static_cast<int>(std::size(kTasks)); ++i) {
    const auto& sizes = options.small != 0 ? kSmallTasks[i] : kTasks[i];
    TW_ASSIGN_OR_RETURN(auto space, SpaceOf(templates, sizes));
    rows.push_back({fmt::format("{}.{}.{}", sizes[0], sizes[1], sizes[2]),
                    std::make_unique<LiveTask>(std::move(space), *measurer),
                    {}});
  }
  TW_RETURN_IF_ERROR(SearchAll(rows, options, until));
  for (const Row& row : rows) Print(row, options, verdicts);
  for (const auto& [key, verdict] : verdicts) {
    fmt::print(
        "{}: {:.3f} of the best known after {} trials (geometric mean), worst {:.3f}, {} "
        "searches\n",
        key, std::exp(verdict.logarithms / verdict.searches), options.trials, verdict.worst,
        verdict.searches);
  }
  return {};
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "worker") == 0) {
    if (std::strcmp(argv[2], "build") != 0) return measure::RunWorkerMain(0, 1);
    const auto templates = Templates();
    return templates.ok() ? measure::BuildWorkerMain(*templates, 0, 1) : 1;
  }
  Options options;
  std::map<std::string, int*> numbers = {
      {"--seeds", &options.seeds},    {"--trials", &options.trials},
      {"--long", &options.longest},   {"--tasks", &options.tasks},
      {"--small", &options.small},    {"--transfer", &options.transfer},
      {"--seconds", &options.seconds}};
  for (int i = 1; i < argc; ++i) {
    const auto number = numbers.find(argv[i]);
    if (number != numbers.end() && i + 1 < argc) {
      const auto value = ParseInt64(argv[++i]);
      *number->second = value.ok() ? static_cast<int>(*value) : 0;
    } else if (BuiltInStrategies().Find(argv[i]) != nullptr) {
      options.strategies.emplace_back(argv[i]);
    } else {
      std::fprintf(stderr, "%s: no option and no strategy\n", argv[i]);
      return 2;
    }
  }
  if (options.strategies.empty()) options.strategies = {"evolve", "model", "random"};
  const Status status = Run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::search

int main(int argc, char** argv) { return tilewright::search::Main(argc, argv); }
