#pragma once

#include <optional>
#include <string>

#include "search/job.h"
#include "src/session/fleet/job_fleet.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// `--fleet` and the related options of a tuning job.
class FleetArgument {
 public:
  void Declare(CLI::App& app);
  /// Sets the fleet settings of a job. Options override the job's file. Errors: kInvalidArgument.
  Status Into(search::JobSettings& settings) const;

  /// Connects (session::JobFleet). program: open task of the job; may be null. Requires
  /// settings.fleet.
  /// Errors: those of ReadAddress, CheckBroker and JobFleet::Connect.
  Status Connect(search::JobSettings& settings, const OpenTask* program);
  bool connected() const { return fleet_of_job_.has_value(); }
  /// Requires connected().
  const session::JobFleet& of_job() const { return *fleet_of_job_; }

 private:
  std::string fleet_, class_name_, priority_;
  std::string broker_timeout_;
  double share_ = 1;
  bool insecure_ = false;
  CLI::Option* priority_option_ = nullptr;
  CLI::Option* share_option_ = nullptr;
  std::optional<session::JobFleet> fleet_of_job_;
};

}  // namespace tilewright::cli
