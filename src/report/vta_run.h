#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "src/compiler/run/vta_run.h"

namespace tilewright::report {

/// Returns a run as `run --target vta --json` prints it: "vta" (statistics, instructions, bytes,
/// cycles and engine shares of the network), "layers" (the same of one launch of each kernel) and
/// "operators" (device of each operator, and the reason).
/// models: names of the cycle models the run was timed with.
nlohmann::ordered_json VtaRunJson(const Plan& plan, const VtaCosts& run,
                                  std::span<const char* const> models);

/// Returns the same as tables.
std::string VtaRunText(const Plan& plan, const VtaCosts& run, std::span<const char* const> models);

/// Returns the numbers of operators that the host evaluates and that the VTA executes. Copies are
/// neither.
std::int64_t HostSteps(const Plan& plan);
std::int64_t VtaSteps(const Plan& plan);

}  // namespace tilewright::report
