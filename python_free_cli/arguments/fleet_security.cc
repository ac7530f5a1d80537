#include "python_free_cli/arguments/fleet_security.h"

#include "measure/fleet/admin/address.h"
#include "python_free_cli/print.h"

namespace tilewright::cli {

Status CheckBroker(const measure::fleet::Address& address, bool insecure) {
  const std::string lacks = measure::fleet::MissingProtection(address);
  if (lacks.empty()) return {};
  if (!insecure) {
    return InvalidArgument(
        "--fleet: " + address.url + " is not on this machine and has " + lacks +
        ": anyone who can reach it can run code on this machine. Expected a file that `tilewright "
        "fleet keys add` wrote, or --insecure on a trusted network");
  }
  PrintErr(
      "fleet: INSECURE: {} has {}: anyone who can reach it can run code with the rights of the "
      "workers' users\n",
      address.url, lacks);
  return {};
}

}  // namespace tilewright::cli
