#include "search/static_analyzer.h"

#include <algorithm>

#include "cost_model/device_features.h"
#include "src/templates/open/open_template.h"

namespace tilewright::search {
namespace {

/// Writes for each parameter of an open task its number, or the position of a text, and the
/// position of its value.
void FillOpenFeatures(const OpenTask& task, std::int64_t index, std::span<float> out) {
  std::ranges::fill(out, 0.0F);
  const OpenConfig config = task.space.FromIndex(index);
  for (std::size_t i = 0; i < config.size() && 2 * i + 1 < out.size(); ++i) {
    const auto number = NumberOf(task.space.ValueOf(config, static_cast<int>(i)));
    out[2 * i] = static_cast<float>(number.value_or(config[i]));
    out[2 * i + 1] = static_cast<float>(config[i]);
  }
}

Status CheckOpen(const OpenTask& task, std::int64_t index) {
  const OpenConfig config = task.space.FromIndex(index);
  if (task.space.Allows(config)) return {};
  return InvalidArgument("the condition " + task.space.ViolatedCondition(config));
}

}  // namespace

Result<LoopSummary> TemplateAnalyzer::Describe(const TemplateEntry& entry,
                                               const Config& config) const {
  TW_ASSIGN_OR_RETURN(
      const Kernel kernel,
      ApplyTemplate(entry, space_.task.workload, space_.epilogue, space_.task.target, config));
  TW_RETURN_IF_ERROR(kernel.schedule.status());
  TW_ASSIGN_OR_RETURN(LoopSummary summary, Summarize(kernel.schedule));
  std::int64_t local_bytes = 0;
  for (const SummaryStage& stage : summary.stages) local_bytes += stage.local_bytes;
  if (local_bytes > limits_.max_local_bytes) {
    return InvalidArgument("local buffers of " + std::to_string(local_bytes) +
                           " bytes, expected at most " + std::to_string(limits_.max_local_bytes));
  }
  TW_RETURN_IF_ERROR(CheckSharedMemory(summary, limits_.launch));
  return summary;
}

Status TemplateAnalyzer::Check(Point point) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  if (const OpenTask* task = entry.open) return CheckOpen(*task, point.index);
  const Config config = space_.spaces[which].At(point.index);
  if (entry.build_stream == nullptr) return ToStatus(Describe(entry, config));
  return ToStatus(
      BuildVtaStream(entry, space_.task.workload, space_.epilogue, space_.task.target, config));
}

Status TemplateAnalyzer::Features(Point point, std::span<float> out) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  if (const OpenTask* task = entry.open) {
    TW_RETURN_IF_ERROR(CheckOpen(*task, point.index));
    FillOpenFeatures(*task, point.index, out);
    return {};
  }
  const Config config = space_.spaces[which].At(point.index);
  const Target& target = space_.task.target;
  if (entry.build_stream == nullptr) {
    TW_ASSIGN_OR_RETURN(const LoopSummary summary, Describe(entry, config));
    return cost_model::ExtractLoopFeatures(target, summary, config, out);
  }
  TW_ASSIGN_OR_RETURN(const auto stream,
                      BuildVtaStream(entry, space_.task.workload, space_.epilogue, target, config));
  return cost_model::ExtractStreamFeatures(target, stream, config, out);
}

double TemplateAnalyzer::ThreadUtilization(Point point) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  if (entry.build_stream != nullptr || entry.open != nullptr) return 1;
  const Result<LoopSummary> summary = Describe(entry, space_.spaces[which].At(point.index));
  return summary.ok() ? ParallelEfficiency(*summary, space_.task.target.num_threads()) : 0;
}

double TemplateAnalyzer::CacheMissBytes(Point point) const {
  constexpr std::int64_t kOwnCache = 1 << 20;  // private cache of a core; 1 to 2 MiB in servers
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  if (entry.build_stream != nullptr || entry.open != nullptr) return 0;
  const Result<LoopSummary> summary = Describe(entry, space_.spaces[which].At(point.index));
  return summary.ok() ? CacheMissBytesPerOperation(*summary, kOwnCache) : 0;
}

}  // namespace tilewright::search
