#pragma once

#include <string>
#include <vector>

#include "measure/fleet/broker.h"
#include "measure/fleet/connect.h"
#include "measure/fleet/setup/fleet_folder.h"
#include "measure/fleet/subjects.h"
#include "measure/fleet/wire.h"
#include "src/base/status.h"

// Control of a running fleet, with the rights of its administrator.

namespace tilewright::measure::fleet {

/// Parses the name of a device, WORKER.DEVICE. Errors: kInvalidArgument.
Result<DeviceName> ParseDeviceName(const std::string& text);
/// Parses the name of a job, USER.JOB. Errors: kInvalidArgument.
Result<JobName> ParseJobName(const std::string& text);

/// Tells a device "drain", "quarantine" or "resume". Returns when it has shown a sign of life.
/// Errors: kInvalidArgument if it does not answer; kUnavailable if the broker rejects the message.
Status ControlDevice(Broker& broker, const DeviceName& device, const Control& control);
/// Ends a job. Its trials stay in its store. Errors: as ControlDevice.
Status CancelJob(Broker& broker, const JobName& job, const std::string& why);

/// Creates the streams of device classes for users that may tune. A tuner may create queues in its
/// streams, but no streams. users: an empty name is that of the address.
/// Errors: those of Connect and Broker::OpenQueue.
Status CreateStreams(const Address& admin, const std::vector<std::string>& users,
                     const std::vector<std::string>& classes);

/// Makes the server of a fleet on this machine read its configuration again. Returns false if none
/// runs here.
bool ReloadServer(const FleetFolder& folder);

}  // namespace tilewright::measure::fleet
