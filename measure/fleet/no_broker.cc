// Replaces nats_broker.cc if its library is not installed.

#include "measure/fleet/connect.h"

namespace tilewright::measure::fleet {

Result<std::unique_ptr<Broker>> Connect(const Address& /*address*/, const std::string& /*client*/,
                                        std::function<void(const std::string&)> /*on_note*/) {
  return Unsupported(
      "this program was built without fleet support (NATS): run scripts/setup.sh --with-fleet, or "
      "install libnats-dev and nats-server, and build it again");
}

bool IsNatsBuiltIn() { return false; }

}  // namespace tilewright::measure::fleet
