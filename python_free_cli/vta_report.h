#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "src/compiler/run/vta_run.h"

namespace tilewright::cli {

/// A run as `run --target vta --json` prints it: "vta" (statistics, instructions, bytes, cycles and
/// engine shares of the network), "layers" (the same of one launch of each kernel) and "operators"
/// (what ran where, and why).
/// models: names of the cycle models the run was timed with.
nlohmann::ordered_json VtaReportJson(const Plan& plan, const VtaCosts& run,
                                     std::span<const char* const> models);

/// The same as tables.
void PrintVtaReport(const Plan& plan, const VtaCosts& run, std::span<const char* const> models);

/// How many operators the host evaluates, and the VTA executes. Copies are neither.
std::int64_t HostSteps(const Plan& plan);
std::int64_t VtaSteps(const Plan& plan);

}  // namespace tilewright::cli
