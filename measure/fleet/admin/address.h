#pragma once

#include <string>

#include "measure/fleet/connect.h"
#include "src/base/status.h"

namespace tilewright::measure::fleet {

/// Reads how to reach a fleet: the address of a broker, or a file with the address and a user's key
/// (FleetFolder::Add). A client without a key has the name of the system's user.
/// Errors: kInvalidArgument as "--fleet: WHY", or with the file and its member.
Result<Address> ReadAddress(const std::string& address_or_file);

/// Returns what a broker on another machine lacks to be protected: "no TLS", "no key", "neither TLS
/// nor keys"; empty if nothing. Any client of a fleet's broker can make its workers run machine
/// code and its tuners store times.
std::string MissingProtection(const Address& address);

}  // namespace tilewright::measure::fleet
