#include "search/inspector.h"

#include "cost_model/cost_model.h"
#include "src/schedule/summary.h"

namespace tilewright::search {

Result<Kernel> TemplateInspector::Apply(Point point, Config* config) const {
  const auto which = static_cast<std::size_t>(point.space);
  *config = space_.spaces[which].At(point.index);
  Result<Kernel> kernel = space_.templates[which]->apply(
      space_.task.workload, space_.epilogue, space_.task.target, *config);
  if (kernel.ok()) TW_RETURN_IF_ERROR(kernel->schedule.status());
  return kernel;
}

Status TemplateInspector::Check(Point point) const {
  Config config;
  return ToStatus(Apply(point, &config));
}

Status TemplateInspector::Features(Point point, std::span<float> out) const {
  Config config;
  Result<Kernel> kernel = Apply(point, &config);
  TW_RETURN_IF_ERROR(kernel);
  Result<LoopSummary> summary = Summarize(kernel->schedule);
  TW_RETURN_IF_ERROR(summary);
  cost_model::ExtractFeatures(*summary, config, out);
  return {};
}

}  // namespace tilewright::search
