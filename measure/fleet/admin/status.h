#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/fleet/broker.h"
#include "measure/fleet/wire.h"
#include "src/base/status.h"
#include "src/target/cpu.h"

// Members of a fleet, as they announce themselves.

namespace tilewright::measure::fleet {

/// Announcements received in a few seconds. Rates follow from the first and the last one.
struct FleetStatus {
  template <typename T>
  struct Seen {
    std::string device_class;
    T first, last;
    double first_at = 0, last_at = 0;  ///< seconds of a clock
    double seconds() const { return last_at - first_at; }
  };
  std::map<std::string, Seen<Announcement>> devices;  ///< by name
  std::map<std::string, Seen<JobAnnouncement>> jobs;  ///< by name
  std::vector<std::string> others;  ///< members of another version, with the reason for each
  bool builders = false;            ///< a worker builds for other machines

  /// Returns a warning for each class, with its waiting jobs, that has no builder.
  std::vector<std::string> ClassesWithoutBuilder() const;
};

/// Subscribes to the announcements of devices and jobs. Errors: those of Broker::Subscribe.
Status SubscribeToStatus(Broker& broker);
/// Requests announcements and receives them for some seconds. Call SubscribeToStatus before.
FleetStatus ReceiveStatus(Broker& broker, double seconds);

/// Class of devices.
struct DeviceClass {
  std::string name;
  Announcement announcement;  ///< of one device of the class
  DeviceFingerprint device;
  int devices = 0;
};
/// Requests announcements and waits `seconds` for them. Returns all classes with devices that
/// measure.
std::vector<DeviceClass> FindDeviceClasses(Broker& broker, double seconds);

}  // namespace tilewright::measure::fleet
