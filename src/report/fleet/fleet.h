#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/fleet/admin/status.h"
#include "measure/fleet/fleet_measurer.h"

namespace tilewright::report {

/// Devices and jobs of a fleet, with rates, and problems.
nlohmann::ordered_json FleetStatusJson(const measure::fleet::FleetStatus& status);
std::string FleetStatusText(const measure::fleet::FleetStatus& status);

/// What a fleet did in a job, and the winners that it could not confirm.
nlohmann::ordered_json FleetJobJson(const measure::fleet::FleetMeasurer& fleet);
/// Returns the winners that were confirmed on a second device, and why others were not, as lines.
std::string FleetJobText(const measure::fleet::FleetMeasurer& fleet);

}  // namespace tilewright::report
