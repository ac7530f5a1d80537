#include "python_free_cli/arguments/fleet_security.h"

#include <algorithm>

#include "measure/fleet/setup/loopback.h"
#include "python_free_cli/print.h"
#include "src/base/strings.h"

namespace tilewright::cli {

Status CheckBroker(const measure::fleet::Address& address, bool insecure) {
  const auto all = Split(address.url, ',');
  const bool tls = !address.ca_file.empty() || std::ranges::all_of(all, [](const auto& one) {
    return Trim(one).starts_with("tls://");
  });
  const bool keys = !address.seed_file.empty();
  if (measure::fleet::IsLoopbackUrl(address.url) || (tls && keys)) return {};
  const std::string lacks = tls ? "no key" : keys ? "no TLS" : "neither TLS nor keys";
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
