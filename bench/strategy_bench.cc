// Comparison of strategies on recorded spaces, without a device:
//   strategy_bench [--seeds N] [--lag N] [--optimum N] [--strategies A,B,…] FILE.csv…
// For each recorded space and strategy: the median over the seeds of the best time after 64 and 128
// trials, as multiples of the fastest config of the recorded space. Then the model-guided search
// against random search or, of given strategies, each but the last one against the last one: the
// number of tasks on which its median is better or equal, and its worst ratio.
// --optimum N: the model-guided search must find the fastest config of every recorded space within
// N trials with every seed; exit code 1 if it does not.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/recorded/recorded_space.h"
#include "search/registry.h"
#include "src/base/strings.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"

namespace tilewright::search {
namespace {

constexpr int kBatch = 8;
constexpr int kTrials = 128;
constexpr int kMarks[] = {64, 128};
constexpr double kTolerance = 1.03;  // bar: no result worse than random search by more than 3 %

struct Options {
  int seeds = 10;
  int lag = 1;      ///< batches in progress while the next is proposed, as in the pipeline
  int optimum = 0;  ///< see --optimum; 0: no requirement
  std::vector<std::string> strategies = {"random", "grid", "genetic", "model", "evolve"};
  std::vector<std::string> compared = {"model"};
  std::string base = "random";
  std::vector<std::string> files;
};

/// Result of one search.
struct Found {
  std::vector<double> marks;  ///< best value after each mark
  int trials_to_best = 0;     ///< until the best value of all was reached
};

Found Run(const RecordedSpace& recorded_space, const SearchSpace& space, const std::string& key,
          std::uint64_t seed, int lag) {
  const RecordedSpaceAnalyzer analyzer(recorded_space, space);
  StrategyContext context;
  context.space = &space;
  context.analyzer = &analyzer;
  context.seed = seed;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto strategy = BuiltInStrategies().Find(key)->make(context);
  std::vector<std::vector<Observation>> batches;
  Found found;
  double best = 0;
  int trials = 0;
  while (trials < kTrials) {
    const auto told = static_cast<std::ptrdiff_t>(batches.size()) - lag - 1;
    if (told >= 0) {
      strategy->Tell(batches[static_cast<std::size_t>(told)]);
      if (auto training_job = strategy->NextTrainingJob()) {
        if (training_job->Run().ok()) strategy->Finish(std::move(training_job));
      }
    }
    std::vector<Observation> batch;
    for (Point point : strategy->Ask(kBatch)) {
      const RecordedSpace::Row* row = recorded_space.Find(point);
      batch.push_back({point, row->outcome, row->value});
      ++trials;
      if (row->outcome == Outcome::kOk && row->value > 0 && (best == 0 || row->value < best)) {
        best = row->value;
        found.trials_to_best = trials;
      }
      for (int mark : kMarks) {
        if (trials == mark) found.marks.push_back(best);
      }
    }
    if (batch.empty()) break;
    batches.push_back(std::move(batch));
  }
  while (found.marks.size() < std::size(kMarks)) found.marks.push_back(best);
  return found;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

struct Verdict {
  int tasks = 0, ahead = 0, equal = 0, behind = 0;
  double worst = 0;
  double logarithms = 0;  ///< of the ratios, their sum
};

/// Comparisons by strategy and mark.
struct Verdicts {
  std::map<std::pair<std::string, int>, Verdict> of;
  int missed = 0;  ///< searches that did not find the optimum in time
};

Status Compare(const std::string& file, const Options& options, Verdicts& verdicts) {
  TW_ASSIGN_OR_RETURN(const RecordedSpace recorded_space, RecordedSpace::Load(file));
  TW_ASSIGN_OR_RETURN(const SearchSpace space, recorded_space.Space(BuiltInTemplates()));
  const double optimum = recorded_space.best_value();
  std::string name = file.substr(file.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  std::printf("%-24s %6zu %10.4g", name.c_str(), recorded_space.rows.size(), optimum);
  std::map<std::string, std::vector<double>> medians;
  int missed = 0, slowest = 0;
  for (const std::string& key : options.strategies) {
    std::vector<std::vector<double>> marks(std::size(kMarks));
    for (int seed = 1; seed <= options.seeds; ++seed) {
      const Found run =
          Run(recorded_space, space, key, static_cast<std::uint64_t>(seed), options.lag);
      for (std::size_t m = 0; m < marks.size(); ++m) marks[m].push_back(run.marks[m]);
      if (key != "model") continue;
      const bool optimal = run.marks.back() == optimum && run.trials_to_best <= options.optimum;
      missed += optimal ? 0 : 1;
      slowest = std::max(slowest, run.trials_to_best);
    }
    for (const auto& values : marks) {
      medians[key].push_back(Median(values));
      std::printf(" %8.3f", medians[key].back() / optimum);
    }
    std::fflush(stdout);
  }
  std::printf(" %8d\n", slowest);
  for (const std::string& sentence : recorded_space.OtherVersions(BuiltInTemplates())) {
    std::printf("  %s\n", sentence.c_str());
  }
  verdicts.missed += missed;
  if (!medians.contains(options.base)) return {};
  for (const std::string& key : options.compared) {
    if (!medians.contains(key)) continue;
    for (std::size_t m = 0; m < std::size(kMarks); ++m) {
      Verdict& verdict = verdicts.of[{key, kMarks[m]}];
      const double ratio = medians[key][m] / medians[options.base][m];
      ++verdict.tasks;
      verdict.ahead += ratio < 1 ? 1 : 0;
      verdict.equal += ratio == 1 ? 1 : 0;
      verdict.behind += ratio > kTolerance ? 1 : 0;
      verdict.worst = std::max(verdict.worst, ratio);
      verdict.logarithms += std::log(ratio);
    }
  }
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const Result<std::int64_t> number =
        i + 1 < argc ? ParseInt64(argv[i + 1]) : Result<std::int64_t>(InvalidArgument("none"));
    if ((word == "--seeds" || word == "--lag" || word == "--optimum") && number.ok()) {
      (word == "--seeds" ? options.seeds
       : word == "--lag" ? options.lag
                         : options.optimum) = static_cast<int>(*number);
      ++i;
    } else if (word == "--strategies" && i + 1 < argc) {
      options.strategies = Split(argv[++i], ',');
      for (const std::string& key : options.strategies) {
        if (BuiltInStrategies().Find(key) != nullptr) continue;
        std::fprintf(stderr, "no strategy '%s'\n", key.c_str());
        return 2;
      }
      options.base = options.strategies.back();
      options.compared.assign(options.strategies.begin(), options.strategies.end() - 1);
    } else {
      options.files.push_back(word);
    }
  }
  if (options.files.empty()) {
    std::fprintf(stderr,
                 "usage: strategy_bench [--seeds N] [--lag N] [--optimum N] [--strategies A,B,...]"
                 " FILE.csv...\n");
    return 2;
  }
  std::printf("%-24s %6s %10s", "landscape", "rows", "best [s]");
  for (const std::string& key : options.strategies) {
    for (int mark : kMarks) {
      std::printf(" %8s", (key.substr(0, 4) + "@" + std::to_string(mark)).c_str());
    }
  }
  std::printf(" %8s\n", "to best");
  Verdicts verdicts;
  for (const std::string& file : options.files) {
    const Status status = Compare(file, options, verdicts);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  for (const auto& [strategy, verdict] : verdicts.of) {
    std::printf(
        "after %d trials, %s against %s: ahead on %d of %d tasks, equal on %d, behind by more than"
        " 3 %% on %d, worst ratio %.3f, geometric mean %.4f\n",
        strategy.second, strategy.first.c_str(), options.base.c_str(), verdict.ahead, verdict.tasks,
        verdict.equal, verdict.behind, verdict.worst, std::exp(verdict.logarithms / verdict.tasks));
  }
  if (options.optimum == 0) return 0;
  std::printf("optimum not found within %d trials: %d searches\n", options.optimum,
              verdicts.missed);
  return verdicts.missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::search

int main(int argc, char** argv) { return tilewright::search::Main(argc, argv); }
