// Pareto fronts by searches on recorded spaces, without a device:
//   front_bench [--seeds N] PREFIX…
// PREFIX_cycles.csv and PREFIX_dram_bytes.csv are one completely measured space. For each: legal
// configs, members of the whole space's front, and trials until a search with `--metric
// cycles,dram_bytes` has measured the whole front: the median over the seeds, and the maximum; next
// to it random search. Exit code 1 if a search has not found the whole front in as many trials as
// there are configs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cost_model/xgboost_model.h"
#include "search/registry.h"
#include "search/strategies/fronts.h"
#include "src/base/strings.h"
#include "tests/support/built_in.h"
#include "tests/support/built_in_strategies.h"
#include "tests/support/two_recorded_spaces.h"

namespace tilewright::search {
namespace {

constexpr int kBatch = 8;

/// Returns the trials until the whole front is measured; 0: never.
int TrialsToFront(const TwoRecordedSpaces& two, const SearchSpace& space, const std::string& key,
                  std::uint64_t seed) {
  const RecordedSpaceAnalyzer analyzer(two.first, space);
  StrategyContext context;
  context.space = &space;
  context.analyzer = &analyzer;
  context.seed = seed;
  context.make_model = [] { return std::make_unique<cost_model::XgboostModel>(); };
  const auto search =
      MakeFrontSearch(*BuiltInStrategies().Find(key), context, {"cycles", "dram_bytes"});
  std::vector<std::vector<double>> missing = two.Exhaustive();
  std::vector<Observation> last;
  for (int trials = 0;;) {
    std::vector<Observation> batch;
    for (const Point point : search->Ask(kBatch)) {
      batch.push_back(two.At(point));
      ++trials;
      std::erase(missing, batch.back().values);
      if (missing.empty()) return trials;
    }
    if (batch.empty()) return 0;
    // One batch is in progress while the next is proposed, as in the pipeline.
    search->Tell(last);
    last = std::move(batch);
  }
}

int Main(int argc, char** argv) {
  int seeds = 10;
  std::vector<std::string> prefixes;
  for (int i = 1; i < argc; ++i) {
    const bool counts = std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc;
    const Result<std::int64_t> number = ParseInt64(counts ? argv[i + 1] : "");
    if (counts && number.ok()) {
      seeds = static_cast<int>(*number);
      ++i;
    } else {
      prefixes.emplace_back(argv[i]);
    }
  }
  if (prefixes.empty() || seeds < 1) {
    std::fprintf(stderr, "usage: front_bench [--seeds N] PREFIX...\n");
    return 2;
  }
  std::printf("%-20s %7s %6s %14s %14s\n", "space", "configs", "front", "evolve", "random");
  bool all = true;
  for (const std::string& prefix : prefixes) {
    const auto two = LoadTwo(prefix);
    const auto space = two.ok() ? two->first.Space(BuiltInTemplates()) : two.status();
    if (!space.ok()) {
      std::fprintf(stderr, "%s\n", space.status().message().c_str());
      return 1;
    }
    std::printf("%-20s %7zu %6zu", prefix.substr(prefix.rfind('/') + 1).c_str(),
                two->first.rows.size(), two->Exhaustive().size());
    for (const char* key : {"evolve", "random"}) {
      std::vector<int> trials;
      for (int seed = 1; seed <= seeds; ++seed) {
        trials.push_back(TrialsToFront(*two, *space, key, static_cast<std::uint64_t>(seed)));
        all = all && trials.back() > 0;
      }
      std::ranges::sort(trials);
      std::printf("     %4d (%4d)", trials[trials.size() / 2], trials.back());
    }
    std::printf("\n");
  }
  return all ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::search

int main(int argc, char** argv) { return tilewright::search::Main(argc, argv); }
