#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measure/fleet/connect.h"
#include "measure/fleet/dispatcher.h"
#include "measure/fleet/fleet_measurer.h"
#include "search/job.h"
#include "src/target/target.h"
#include "src/templates/open/open_task.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

/// Reads `--fleet`: the address of a broker, or a file with the address and a user's key (written
/// by `tilewright fleet`). Errors: kInvalidArgument; those of reading the file.
Result<measure::fleet::Address> FleetAddress(const std::string& text);

/// Class of devices, as its devices announce it.
struct FleetClass {
  std::string name;
  measure::fleet::Announcement announcement;  ///< of one device of the class
  DeviceFingerprint device;
  int devices = 0;
};

/// Requests announcements and waits `seconds` for them. Returns all classes with devices that
/// measure.
std::vector<FleetClass> FleetClasses(measure::fleet::Broker& broker, double seconds);

/// `--fleet` and the related options of a tuning job.
class FleetArgument {
 public:
  void Declare(CLI::App& app);
  /// Sets the fleet settings of a job. Options override the job's file. Errors: kInvalidArgument.
  Status Into(search::JobSettings& settings) const;

  /// Connects, and finds the class of devices that the target is for: `target` "native" becomes
  /// theirs. program: open task of the job, whose workers list it; may be null. Requires
  /// settings.fleet.
  /// Errors: those of FleetAddress, CheckBroker and Connect; kInvalidArgument with the available
  /// classes if none matches.
  Status Connect(search::JobSettings& settings, const OpenTask* program);
  bool connected() const { return broker_ != nullptr; }
  measure::fleet::Broker& broker() { return *broker_; }
  const FleetClass& chosen() const { return class_; }
  /// Returns the settings of the job's dispatcher. Requires connected().
  measure::fleet::DispatcherSettings Settings(const search::JobSettings& settings) const;

 private:
  std::string fleet_, class_name_, priority_;
  std::string broker_timeout_;
  double share_ = 1;
  bool insecure_ = false;
  CLI::Option* priority_option_ = nullptr;
  CLI::Option* share_option_ = nullptr;
  measure::fleet::Address address_;
  std::unique_ptr<measure::fleet::Broker> broker_;
  FleetClass class_;
};

/// Returns what a fleet did in a job, and the winners that it could not confirm, as JSON.
nlohmann::ordered_json FleetJson(const measure::fleet::FleetMeasurer& fleet);
/// Prints the winners that were confirmed on a second device, and why others were not.
void PrintFleet(const measure::fleet::FleetMeasurer& fleet);

}  // namespace tilewright::cli
