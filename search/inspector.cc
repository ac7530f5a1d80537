#include "search/inspector.h"

#include "cost_model/cost_model.h"
#include "cost_model/gpu_features.h"
#include "cost_model/vta_features.h"
#include "src/templates/vta/vta_target.h"

namespace tilewright::search {

Result<LoopSummary> TemplateInspector::Describe(const TemplateEntry& entry,
                                                const Config& config) const {
  const Result<Kernel> kernel =
      ApplyTemplate(entry, space_.task.workload, space_.epilogue, space_.task.target, config);
  TW_RETURN_IF_ERROR(kernel);
  TW_RETURN_IF_ERROR(kernel->schedule.status());
  Result<LoopSummary> summary = Summarize(kernel->schedule);
  TW_RETURN_IF_ERROR(summary);
  std::int64_t local_bytes = 0;
  for (const SummaryStage& stage : summary->stages) local_bytes += stage.local_bytes;
  if (local_bytes > limits_.max_local_bytes) {
    return InvalidArgument("local buffers of " + std::to_string(local_bytes) +
                           " bytes, expected at most " + std::to_string(limits_.max_local_bytes));
  }
  TW_RETURN_IF_ERROR(CheckSharedMemory(*summary, limits_.launch));
  return summary;
}

Status TemplateInspector::Check(Point point) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  const Config config = space_.spaces[which].At(point.index);
  if (entry.target != TargetKind::kVta) return ToStatus(Describe(entry, config));
  return ToStatus(
      BuildVtaStream(entry, space_.task.workload, space_.epilogue, space_.task.target, config));
}

Status TemplateInspector::Features(Point point, std::span<float> out) const {
  const auto which = static_cast<std::size_t>(point.space);
  const TemplateEntry& entry = *space_.templates[which];
  const Config config = space_.spaces[which].At(point.index);
  if (entry.target != TargetKind::kVta) {
    const Result<LoopSummary> summary = Describe(entry, config);
    TW_RETURN_IF_ERROR(summary);
    if (entry.target == TargetKind::kCuda) {
      const Result<int> capability = ComputeCapabilityOf(space_.task.target);
      TW_RETURN_IF_ERROR(capability);
      cost_model::ExtractGpuFeatures(*summary, LimitsOf(*capability), config, out);
    } else {
      cost_model::ExtractFeatures(*summary, config, out);
    }
    return {};
  }
  const Target& target = space_.task.target;
  const auto stream = BuildVtaStream(entry, space_.task.workload, space_.epilogue, target, config);
  TW_RETURN_IF_ERROR(stream);
  const auto vta = VtaTargetOf(target);
  TW_RETURN_IF_ERROR(vta);
  cost_model::ExtractVtaFeatures(vta->design, vta->cycles, *stream, config, out);
  return {};
}

}  // namespace tilewright::search
