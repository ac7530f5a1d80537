#include "measure/program/trial.h"

#include "measure/statistics.h"
#include "src/target/device.h"

namespace tilewright::measure {

Trial NewProgramTrial(const OpenTask& task, const Candidate& candidate,
                      const DeviceFingerprint& device, std::int64_t attempt) {
  Trial trial;
  trial.candidate = candidate;
  trial.attempt = attempt;
  trial.device = device;
  trial.metric = task.metrics.front();
  trial.codegen_version = DeviceTraitsOf(candidate.task.target).codegen_version;
  return trial;
}

void SetProgramValues(const OpenTask& task,
                      const std::map<std::string, std::vector<double>>& samples,
                      const std::vector<double>& clean, double max_abs_error, Trial& trial) {
  const std::string& metric = task.metrics.front();
  trial.samples = samples.at(metric);
  const Estimate estimate = EstimateOf(clean.empty() ? trial.samples : clean);
  trial.value = estimate.value;
  trial.noise = estimate.noise;
  // The share of quiet samples stays unknown: preemptions of a program that waits or has several
  // processes do not tell how long others held it up. The noise of its samples does.
  for (const auto& [other, values] : samples) {
    if (other != metric) trial.others[other] = EstimateOf(values).value;
  }
  trial.max_abs_error = max_abs_error;
  trial.outcome = Outcome::kOk;
  trial.verified = true;
}

}  // namespace tilewright::measure
