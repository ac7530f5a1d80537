// How well predictions without a measurement choose configs for Arm boards. TopHub's package for
// Arm CPUs has the best config that AutoTVM found for a layer on a board, with its time. For each
// board in turn, the other boards are known.
//
// Choice: the recorded config of a layer of the left-out board among 64 random configs of its
// space. It counts if at most 6 of them are predicted to be faster. Bar: 70 % of the layers.
//   learned   a ranking of features, trained on the layers of the other boards: the recorded config
//             before random configs of the layer
//   unseen    the same without the layers that the left-out board has
//   default   the template's default config in place of the recorded one, by `learned`
//   cycles    the analytical estimate from loop summaries (cost_model/analytical_cost.h)
// Times: rank correlation of predicted and recorded times over the layers of a template on the
// left-out board, by a model of the other boards' rates (operations per second), by the estimate of
// cycles, and by the number of operations alone.
//
//   arm_rank_bench LOG [SEED]

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "cost_model/analytical_cost.h"
#include "cost_model/device_features.h"
#include "cost_model/xgboost_model.h"
#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/random.h"
#include "src/base/strings.h"
#include "src/schedule/summary.h"
#include "src/templates/registry.h"
#include "tests/support/autotvm_candidate.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

constexpr std::size_t kOthers = 64, kMaxBetter = 6;
constexpr int kTries = 400;  // for as many legal configs

using Features = std::vector<float>;

/// Layer on a board: its recorded config, and random ones.
struct Layer {
  std::string task, board, key;
  double seconds = 0, operations = 0;
  double cycles = 0;  ///< of the recorded config, as estimated
  Features recorded, by_default;
  std::vector<Features> others;
  std::vector<double> other_cycles;
};

/// Returns the features of a config. Errors: why it is not legal.
Result<Features> FeaturesOfConfig(const TemplateEntry& entry, const Workload& workload,
                                  const Target& target, const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto kernel, entry.apply(workload, {}, target, config));
  TW_RETURN_IF_ERROR(kernel.schedule.status());
  TW_ASSIGN_OR_RETURN(const auto summary, Summarize(kernel.schedule));
  Features features(static_cast<std::size_t>(cost_model::FeatureCount()));
  TW_RETURN_IF_ERROR(cost_model::ExtractLoopFeatures(target, summary, config, features));
  return features;
}

/// Errors: why the record is left out.
Result<Layer> ReadLayer(const std::string& text, std::uint64_t seed) {
  records::LogLine line;
  TW_RETURN_IF_ERROR(records::ParseLogLine(text, line));
  TW_ASSIGN_OR_RETURN(const auto input, records::ParseAutotvmInput(line));
  TW_ASSIGN_OR_RETURN(const auto candidate, CandidateOfLine(line));
  if (line.error != 0 || line.cost() <= 0) return Unsupported("a failure");
  const TemplateEntry* entry = BuiltInTemplates().Find(candidate.template_key);
  const Workload& workload = candidate.task.workload;
  const Target& target = input.target.target;
  Layer layer;
  layer.task = input.task.name;
  layer.board = input.target.model();
  layer.key = workload.Key();
  layer.seconds = line.cost();
  layer.operations = 2 * static_cast<double>(workload.macs());
  TW_ASSIGN_OR_RETURN(layer.recorded, FeaturesOfConfig(*entry, workload, target, candidate.config));
  layer.cycles = cost_model::AnalyticalCost(target, layer.recorded);
  TW_ASSIGN_OR_RETURN(const auto given, entry->default_config(workload, target));
  TW_ASSIGN_OR_RETURN(layer.by_default, FeaturesOfConfig(*entry, workload, target, given));
  TW_ASSIGN_OR_RETURN(const auto space, entry->define_space(workload, target));
  Random random(seed ^ Fnv1a64(layer.board + layer.key + layer.task));
  std::set<std::int64_t> drawn = {candidate.config.index};
  for (int i = 0; i < kTries && layer.others.size() < kOthers; ++i) {
    const auto index =
        static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(space.size())));
    if (!drawn.insert(index).second) continue;
    auto features = FeaturesOfConfig(*entry, workload, target, space.At(index));
    if (!features.ok()) continue;
    layer.other_cycles.push_back(cost_model::AnalyticalCost(target, *features));
    layer.others.push_back(*std::move(features));
  }
  if (layer.others.size() < kOthers) return Unsupported("a space of few configs");
  return layer;
}

void Append(const Features& features, Features& rows) {
  rows.insert(rows.end(), features.begin(), features.end());
}

/// A group for each layer: its recorded config, then a part of the random ones.
cost_model::Dataset Choices(const std::vector<const Layer*>& layers) {
  constexpr std::size_t kNegatives = 24;
  cost_model::Dataset data;
  for (const Layer* layer : layers) {
    Append(layer->recorded, data.features);
    data.scores.push_back(1);
    for (std::size_t i = 0; i < kNegatives; ++i) {
      Append(layer->others[i], data.features);
      data.scores.push_back(0);
    }
    data.group_sizes.push_back(kNegatives + 1);
  }
  return data;
}

/// A group for each board: rates relative to the board's best.
cost_model::Dataset Rates(const std::vector<const Layer*>& layers) {
  std::map<std::string, std::vector<const Layer*>> boards;
  for (const Layer* layer : layers) boards[layer->board].push_back(layer);
  cost_model::Dataset data;
  for (const auto& [board, own] : boards) {
    double best = 0;
    for (const Layer* layer : own) best = std::max(best, layer->operations / layer->seconds);
    for (const Layer* layer : own) {
      Append(layer->recorded, data.features);
      data.scores.push_back(static_cast<float>(layer->operations / layer->seconds / best));
    }
    data.group_sizes.push_back(static_cast<std::uint32_t>(own.size()));
  }
  return data;
}

bool ChosenBy(double own, const std::vector<double>& others) {
  return static_cast<std::size_t>(std::ranges::count_if(
             others, [&](double other) { return other < own; })) <= kMaxBetter;
}

/// Returns true if a config of the layer is chosen by the scores of a model, which are higher for
/// faster configs.
Result<bool> ChosenByModel(const cost_model::CostModel& model, const Layer& layer,
                           const Features& config) {
  Features rows;
  Append(config, rows);
  for (const Features& other : layer.others) Append(other, rows);
  TW_ASSIGN_OR_RETURN(const auto scores, model.Predict(rows));
  std::vector<double> others;
  for (std::size_t i = 1; i < scores.size(); ++i) others.push_back(-scores[i]);
  return ChosenBy(-scores[0], others);
}

std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

/// Returns Spearman's rank correlation.
double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = Ranks(a), y = Ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double both = 0, own = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    own += (x[i] - mean) * (x[i] - mean);
  }
  return own > 0 ? both / own : 0;
}

struct Tally {
  int layers = 0, learned = 0, unseen = 0, by_default = 0, cycles = 0;
  std::vector<double> seconds, predicted, estimated, operations;
};

Status LeaveOut(const std::vector<Layer>& all, const std::string& board,
                std::map<std::string, Tally>& tallies) {
  std::vector<const Layer*> tested, known, foreign;
  std::set<std::string> keys;
  for (const Layer& layer : all) {
    (layer.board == board ? tested : known).push_back(&layer);
    if (layer.board == board) keys.insert(layer.key);
  }
  for (const Layer* layer : known) {
    if (!keys.contains(layer->key)) foreign.push_back(layer);
  }
  cost_model::XgboostModel learned, unseen, rates;
  TW_RETURN_IF_ERROR(learned.Train(Choices(known)));
  if (!foreign.empty()) TW_RETURN_IF_ERROR(unseen.Train(Choices(foreign)));
  TW_RETURN_IF_ERROR(rates.Train(Rates(known)));
  for (const Layer* layer : tested) {
    TW_ASSIGN_OR_RETURN(const bool by_learned, ChosenByModel(learned, *layer, layer->recorded));
    TW_ASSIGN_OR_RETURN(const bool by_default, ChosenByModel(learned, *layer, layer->by_default));
    bool by_unseen = false;
    if (!foreign.empty()) {
      TW_ASSIGN_OR_RETURN(by_unseen, ChosenByModel(unseen, *layer, layer->recorded));
    }
    TW_ASSIGN_OR_RETURN(const auto rate, rates.Predict(layer->recorded));
    for (const std::string& name : {std::string("all"), layer->task}) {
      Tally& tally = tallies[board + "  " + name];
      ++tally.layers;
      tally.learned += by_learned ? 1 : 0;
      tally.unseen += by_unseen ? 1 : 0;
      tally.by_default += by_default ? 1 : 0;
      tally.cycles += ChosenBy(layer->cycles, layer->other_cycles) ? 1 : 0;
      tally.seconds.push_back(layer->seconds);
      // Scores order rates without a unit; an exponential makes them positive.
      tally.predicted.push_back(layer->operations / std::exp(static_cast<double>(rate[0])));
      tally.estimated.push_back(layer->cycles);
      tally.operations.push_back(layer->operations);
    }
  }
  return {};
}

void PrintTallies(const std::map<std::string, Tally>& tallies) {
  fmt::print("{:<52} {:>6} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}\n", "board, template",
             "layers", "learned", "unseen", "default", "cycles", "times", "cycles", "ops");
  for (const auto& [name, t] : tallies) {
    const auto share = [&](int count) { return 100.0 * count / t.layers; };
    fmt::print(
        "{:<52} {:>6} {:>7.0f}% {:>7.0f}% {:>7.0f}% {:>7.0f}%   {:>8.2f} {:>8.2f} {:>8.2f}\n", name,
        t.layers, share(t.learned), share(t.unseen), share(t.by_default), share(t.cycles),
        Correlation(t.predicted, t.seconds), Correlation(t.estimated, t.seconds),
        Correlation(t.operations, t.seconds));
  }
}

int Run(const std::string& path, std::uint64_t seed) {
  const auto text = ReadFile(path);
  if (!text.ok()) {
    fmt::print(stderr, "{}\n", text.status().message());
    return 2;
  }
  std::vector<Layer> layers;
  std::map<std::string, int> left_out;
  for (const std::string& line : Split(*text, '\n')) {
    if (Trim(line).empty() || line[0] == '#') continue;
    auto layer = ReadLayer(line, seed);
    if (layer.ok()) {
      layers.push_back(*std::move(layer));
    } else {
      ++left_out[layer.status().message()];
    }
  }
  std::set<std::string> boards;
  for (const Layer& layer : layers) boards.insert(layer.board);
  fmt::print("{} layers on {} boards\n", layers.size(), boards.size());
  for (const auto& [why, count] : left_out) fmt::print("left out: {}: {}\n", count, why);
  std::map<std::string, Tally> tallies;
  for (const std::string& board : boards) {
    if (const Status status = LeaveOut(layers, board, tallies); !status.ok()) {
      fmt::print(stderr, "{}: {}\n", board, status.message());
      return 1;
    }
  }
  PrintTallies(tallies);
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: arm_rank_bench LOG [SEED]\n");
    return 2;
  }
  return tilewright::Run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
