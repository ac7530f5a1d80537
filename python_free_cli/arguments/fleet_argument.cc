#include "python_free_cli/arguments/fleet_argument.h"

#include <CLI/CLI.hpp>

#include "measure/fleet/admin/address.h"
#include "python_free_cli/arguments/fleet_security.h"
#include "search/deadline.h"

namespace tilewright::cli {
void FleetArgument::Declare(CLI::App& app) {
  app.add_option("--fleet", fleet_,
                 "Measure on a fleet: nats://host:4222, or a file that `tilewright fleet` wrote");
  app.add_option("--fleet-class", class_name_,
                 "Device class, if several match: as `tilewright fleet status` shows it");
  app.add_flag("--insecure", insecure_, kInsecureHelp);
  priority_option_ = app.add_option("--priority", priority_, "Priority among the jobs of the fleet")
                         ->check(CLI::IsMember({"low", "normal", "high"}));
  share_option_ = app.add_option("--share", share_,
                                 "Relative share of the fleet among jobs of the same priority")
                      ->check(CLI::Range(0.01, 100.0));
  app.add_option(
      "--broker-timeout", broker_timeout_,
      "Suspend the job if the broker is unreachable for this long; rerun the command to resume "
      "(default: 10m)");
}

Status FleetArgument::Into(search::JobSettings& settings) const {
  if (!fleet_.empty()) settings.fleet = fleet_;
  if (!class_name_.empty()) settings.fleet_class = class_name_;
  if (priority_option_->count() > 0) settings.priority = priority_;
  if (share_option_->count() > 0) settings.share = share_;
  if (broker_timeout_.empty()) return {};
  auto seconds = search::ParseDuration(broker_timeout_);
  if (!seconds.ok()) return seconds.status().WithContext("--broker-timeout");
  settings.broker_timeout_seconds = *seconds;
  return {};
}

Status FleetArgument::Connect(search::JobSettings& settings, const OpenTask* program) {
  TW_ASSIGN_OR_RETURN(const auto address, measure::fleet::ReadAddress(settings.fleet));
  TW_RETURN_IF_ERROR(CheckBroker(address, insecure_));
  TW_ASSIGN_OR_RETURN(fleet_of_job_, session::JobFleet::Connect(address, settings, program));
  return {};
}

}  // namespace tilewright::cli
