#include "search/tune/tune_job.h"

#include <algorithm>
#include <optional>

namespace tilewright::search {

void TuneJob::DropUnrequestedMetrics(Trial& trial) const {
  std::erase_if(trial.others, [this](const auto& other) {
    return std::ranges::find(settings.metric, other.first) == settings.metric.end();
  });
}

Observation TuneJob::ObservationOf(Point point, const Trial& trial) const {
  Observation observed{point, trial.outcome, trial.value, trial.noisy()};
  if (trial.outcome != Outcome::kOk) return observed;
  for (const std::string& metric : settings.metric) {
    const std::optional<double> value = trial.ValueOf(metric);
    if (!value || *value <= 0) {
      observed.values.clear();
      break;
    }
    observed.values.push_back(*value);
  }
  return observed;
}

}  // namespace tilewright::search
