// Replaces nats_broker.cc if its library is not installed.

#include "measure/fleet/connect.h"

namespace tilewright::measure::fleet {

Result<std::unique_ptr<Broker>> Connect(const Address& /*address*/, const std::string& /*client*/,
                                        std::function<void(const std::string&)> /*on_note*/) {
  return Unsupported(
      "this program was built without the library of NATS: install libnats-dev (on Debian) and "
      "build it again");
}

}  // namespace tilewright::measure::fleet
