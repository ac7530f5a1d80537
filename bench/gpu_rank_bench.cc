// How well the features of GPU candidates rank the costs of unseen records.
//
// For example TopHub's package for CUDA: it has one record, the best one found, for each workload
// and device. The ranked value is therefore the speed of different workloads' kernels (operations
// per second of the direct computation), device by device. The workloads are divided into folds.
// For each fold, a model is trained on the records of the other folds, of all devices. Each pair of
// the fold's records of one device counts as right if the model ranks it as the costs do. The
// features of GPUs are compared with those of CPUs, for the same loop summaries, and with the
// ranking by the number of operations alone.
//
//   gpu_rank_bench LOG [FOLDS]

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "cost_model/gpu_features.h"
#include "cost_model/xgboost_model.h"
#include "records/autotvm/task.h"
#include "src/base/files/file.h"
#include "src/base/hash.h"
#include "src/base/strings.h"
#include "src/schedule/summary.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

struct Row {
  std::string task, device;
  std::uint64_t fold = 0;
  double rate = 0;  // operations per second
  double ops = 0;
  std::vector<float> features, cpu_features;
};

/// Parses a record. Fails for a failed measurement or an unknown template.
Result<Row> Read(const std::string& text, std::uint64_t folds) {
  records::LogLine line;
  TW_RETURN_IF_ERROR(records::ParseLogLine(text, line));
  TW_ASSIGN_OR_RETURN(auto input, records::ParseAutotvmInput(line));
  const TemplateEntry* entry = BuiltInTemplates().Find(input.task.name);
  if (entry == nullptr || !input.task.workload) return Unsupported("no such template");
  const Workload& workload = *input.task.workload;
  const Target& target = input.target.target;
  if (auto why = entry->refuses(workload, target); !why.empty()) return Unsupported(why);
  const double seconds = line.cost();
  if (line.error != 0 || seconds <= 0) return Unsupported("the record is a failure");
  Config config;
  for (const records::LogEntity& entity : line.entities) {
    config.values.emplace_back(std::string(entity.name), records::KnobValueOf(line, entity));
  }
  TW_ASSIGN_OR_RETURN(auto kernel, entry->apply(workload, {}, target, config));
  TW_ASSIGN_OR_RETURN(auto summary, Summarize(kernel.schedule));
  TW_ASSIGN_OR_RETURN(auto capability, ComputeCapabilityOf(target));
  Row row;
  row.task = input.task.name;
  row.device = input.target.model();
  row.fold = Fnv1a64(workload.Key()) % folds;
  row.ops = 2 * static_cast<double>(workload.macs());
  row.rate = row.ops / seconds;
  const auto width = static_cast<std::size_t>(cost_model::FeatureCount());
  row.features.resize(width);
  cost_model::ExtractGpuFeatures(summary, LimitsOf(capability), config, row.features);
  row.cpu_features.resize(width);
  cost_model::ExtractFeatures(summary, config, row.cpu_features);
  return row;
}

using Columns = std::vector<float> Row::*;

/// Devices one after the other; scores are relative to the device's best.
cost_model::Dataset DatasetOf(const std::vector<Row>& rows, std::uint64_t left_out,
                              Columns columns) {
  std::map<std::string, std::vector<const Row*>> devices;
  for (const Row& row : rows) {
    if (row.fold != left_out) devices[row.device].push_back(&row);
  }
  cost_model::Dataset data;
  for (const auto& [device, own] : devices) {
    double best = 0;
    for (const Row* row : own) best = std::max(best, row->rate);
    for (const Row* row : own) {
      const std::vector<float>& features = row->*columns;
      data.features.insert(data.features.end(), features.begin(), features.end());
      data.scores.push_back(static_cast<float>(row->rate / best));
    }
    data.group_sizes.push_back(static_cast<std::uint32_t>(own.size()));
  }
  return data;
}

struct Tally {
  std::int64_t pairs = 0, right = 0, right_by_cpu = 0, right_by_ops = 0;

  double Share(std::int64_t count) const {
    return pairs > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(pairs) : 0;
  }
};

/// Adds the pairs of the fold.
void Judge(const std::vector<const Row*>& rows, const std::vector<float>& scores,
           const std::vector<float>& cpu_scores, std::map<std::string, Tally>* tallies) {
  // The package's measurements are accurate to about a hundredth; closer pairs have no order.
  constexpr double kTie = 1.02;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      if (rows[a]->device != rows[b]->device) continue;
      const double ratio = rows[a]->rate / rows[b]->rate;
      if (ratio < kTie && ratio > 1 / kTie) continue;
      const bool first = ratio > 1;
      const bool same_task = rows[a]->task == rows[b]->task;
      for (const std::string& name :
           {std::string("all pairs"),
            same_task ? "  of one template: " + rows[a]->task : "  of two templates",
            "  on " + rows[a]->device}) {
        Tally& tally = (*tallies)[name];
        ++tally.pairs;
        tally.right += (scores[a] > scores[b]) == first ? 1 : 0;
        tally.right_by_cpu += (cpu_scores[a] > cpu_scores[b]) == first ? 1 : 0;
        tally.right_by_ops += (rows[a]->ops > rows[b]->ops) == first ? 1 : 0;
      }
    }
  }
}

/// Returns a score for each row of the fold, from a model of the others.
Result<std::vector<float>> Score(const std::vector<Row>& rows, std::uint64_t fold,
                                 Columns columns) {
  cost_model::XgboostModel model;
  TW_RETURN_IF_ERROR(model.Train(DatasetOf(rows, fold, columns)));
  std::vector<float> features;
  for (const Row& row : rows) {
    if (row.fold != fold) continue;
    const std::vector<float>& own = row.*columns;
    features.insert(features.end(), own.begin(), own.end());
  }
  if (features.empty()) return std::vector<float>();
  return model.Predict(features);
}

Status RunFold(const std::vector<Row>& rows, std::uint64_t fold,
               std::map<std::string, Tally>* tallies) {
  TW_ASSIGN_OR_RETURN(auto scores, Score(rows, fold, &Row::features));
  TW_ASSIGN_OR_RETURN(auto cpu_scores, Score(rows, fold, &Row::cpu_features));
  std::vector<const Row*> tested;
  for (const Row& row : rows) {
    if (row.fold == fold) tested.push_back(&row);
  }
  Judge(tested, scores, cpu_scores, tallies);
  return {};
}

int Run(const std::string& path, std::uint64_t folds) {
  auto text = ReadFile(path, std::int64_t{1} << 30);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return 2;
  }
  std::vector<Row> rows;
  int left_out = 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (Trim(line).empty() || line[0] == '#') continue;
    auto row = Read(line, folds);
    if (row.ok()) {
      rows.push_back(*std::move(row));
    } else {
      ++left_out;
    }
  }
  std::map<std::string, Tally> tallies;
  for (std::uint64_t fold = 0; fold < folds; ++fold) {
    if (const Status status = RunFold(rows, fold, &tallies); !status.ok()) {
      std::fprintf(stderr, "fold %d: %s\n", static_cast<int>(fold), status.message().c_str());
      return 1;
    }
  }
  std::printf("%d records, %d left out; %d folds of workloads\n", static_cast<int>(rows.size()),
              left_out, static_cast<int>(folds));
  std::printf("%-44s %8s %9s %13s %14s\n", "held-out pairs of one device, ordered right", "pairs",
              "features", "CPU's ones", "by operations");
  for (auto tally = tallies.rbegin(); tally != tallies.rend(); ++tally) {
    const Tally& t = tally->second;
    std::printf("%-44s %8lld %8.1f%% %12.1f%% %13.1f%%\n", tally->first.c_str(),
                static_cast<long long>(t.pairs), t.Share(t.right), t.Share(t.right_by_cpu),
                t.Share(t.right_by_ops));
  }
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  const int folds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc < 2 || folds < 2) {
    std::fprintf(stderr, "usage: gpu_rank_bench LOG [FOLDS]\n");
    return 2;
  }
  return tilewright::Run(argv[1], static_cast<std::uint64_t>(folds));
}
