#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/target/cpu.h"

// Environments of records: named fields of a caller, such as its device, driver or compiler, in
// place of the fingerprint of a device.

namespace tilewright {

/// Parses {"match": {NAME: VALUE, …}, "differ": {NAME: VALUE, …}} with texts, numbers or booleans;
/// each member may be missing. A record is served only where all of its fields in "match" are
/// equal. If one in "differ" is not equal, it is a near hit. It may come from anybody.
/// Errors: kInvalidArgument naming the field; for a field in both members.
Result<DeviceFingerprint> ParseEnvironment(std::string_view json);
/// Whether a fingerprint is that of an environment.
bool IsEnvironment(const DeviceFingerprint& device);
/// Returns the fields of an environment, name and value. Empty for a fingerprint.
std::vector<std::pair<std::string, std::string>> EnvironmentFields(const DeviceFingerprint& device);
/// Returns the JSON text of an environment, or of a fingerprint.
std::string EnvironmentJson(const DeviceFingerprint& device);

}  // namespace tilewright
