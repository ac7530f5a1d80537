#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/space/trial.h"
#include "src/templates/open/open_task.h"

namespace tilewright::measure {

/// Returns a trial of an open task without a result.
Trial NewProgramTrial(const OpenTask& task, const Candidate& candidate,
                      const DeviceFingerprint& device, std::int64_t attempt);

/// Completes a trial that succeeded. samples: of each metric of the task. clean: those of the first
/// metric without interference; empty: all.
void SetProgramValues(const OpenTask& task,
                      const std::map<std::string, std::vector<double>>& samples,
                      const std::vector<double>& clean, double max_abs_error, Trial& trial);

}  // namespace tilewright::measure
