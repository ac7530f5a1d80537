#include "search/inspector.h"

#include "cost_model/cost_model.h"
#include "src/schedule/lower.h"

namespace tilewright::search {

Result<LoopSummary> TemplateInspector::Describe(Point point, Config* config) const {
  const auto which = static_cast<std::size_t>(point.space);
  *config = space_.spaces[which].At(point.index);
  const Result<Kernel> kernel = space_.templates[which]->apply(
      space_.task.workload, space_.epilogue, space_.task.target, *config);
  TW_RETURN_IF_ERROR(kernel);
  TW_RETURN_IF_ERROR(kernel->schedule.status());
  Result<LoopSummary> summary = Summarize(kernel->schedule);
  TW_RETURN_IF_ERROR(summary);
  std::int64_t local_bytes = 0;
  for (const SummaryStage& stage : summary->stages) local_bytes += stage.local_bytes;
  const std::int64_t limit = LowerLimits().max_local_bytes;
  if (local_bytes > limit) {
    return InvalidArgument("local buffers of " + std::to_string(local_bytes) +
                           " bytes, expected at most " + std::to_string(limit));
  }
  return summary;
}

Status TemplateInspector::Check(Point point) const {
  Config config;
  return ToStatus(Describe(point, &config));
}

Status TemplateInspector::Features(Point point, std::span<float> out) const {
  Config config;
  const Result<LoopSummary> summary = Describe(point, &config);
  TW_RETURN_IF_ERROR(summary);
  cost_model::ExtractFeatures(*summary, config, out);
  return {};
}

}  // namespace tilewright::search
