#include "search/static_analyzer.h"

#include "cost_model/device_features.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::search {

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
  const Config config = space_.spaces[which].At(point.index);
  if (entry.build_stream == nullptr) return ToStatus(Describe(entry, config));
  return ToStatus(
      BuildVtaStream(entry, space_.task.workload, space_.epilogue, space_.task.target, config));
}

Status TemplateAnalyzer::Features(Point point, std::span<float> out) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
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
  if (entry.build_stream != nullptr) return 1;
  const Result<LoopSummary> summary = Describe(entry, space_.spaces[which].At(point.index));
  return summary.ok() ? ParallelEfficiency(*summary, space_.task.target.num_threads()) : 0;
}

double TemplateAnalyzer::CacheMissBytes(Point point) const {
  constexpr std::int64_t kOwnCache = 1 << 20;  // private cache of a core; 1 to 2 MiB in servers
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  if (entry.build_stream != nullptr) return 0;
  const Result<LoopSummary> summary = Describe(entry, space_.spaces[which].At(point.index));
  return summary.ok() ? CacheMissBytesPerOperation(*summary, kOwnCache) : 0;
}

}  // namespace tilewright::search
