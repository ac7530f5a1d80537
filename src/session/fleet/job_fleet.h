#pragma once

#include <memory>

#include "measure/fleet/admin/status.h"
#include "measure/fleet/connect.h"
#include "measure/fleet/dispatcher.h"
#include "search/job.h"
#include "src/base/status.h"
#include "src/session/notes.h"
#include "src/templates/open/open_task.h"

namespace tilewright::session {

/// Connection of a tuning job to a fleet, and the class of devices that measures for it.
class JobFleet {
 public:
  /// Connects, and finds the class of devices that the job's target is for: `target` "native"
  /// becomes theirs, and `fleet_class` its name. Waits for workers that are starting. program: open
  /// task of the job, whose workers list it; may be null.
  /// Errors: those of measure::fleet::Connect; kUnavailable if no device takes the job;
  /// kInvalidArgument with the available classes if none or several match.
  static Result<JobFleet> Connect(const measure::fleet::Address& address,
                                  search::JobSettings& settings, const OpenTask* program);

  measure::fleet::Broker& broker() const { return *broker_; }
  const measure::fleet::DeviceClass& device_class() const { return class_; }
  /// Returns the settings of the job's dispatcher. The same job in the same store has the same name
  /// in the fleet, under another epoch.
  measure::fleet::DispatcherSettings DispatcherFor(const search::JobSettings& settings,
                                                   NoteSink note) const;

 private:
  JobFleet() = default;
  std::string user_;
  std::unique_ptr<measure::fleet::Broker> broker_;
  measure::fleet::DeviceClass class_;
};

}  // namespace tilewright::session
