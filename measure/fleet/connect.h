#pragma once

#include <functional>
#include <memory>
#include <string>

#include "measure/fleet/broker.h"

namespace tilewright::measure::fleet {

/// How to reach the broker of a fleet, and as whom.
struct Address {
  std::string url;        ///< nats://host:4222, tls://host:4222, or several with commas
  std::string user;       ///< part of the names of what a tuner or worker says
  std::string seed_file;  ///< with the seed of the user's key; empty: the broker asks for none
  std::string ca_file;    ///< certificates to believe; empty: no TLS unless the URL says so
};

/// Connects to a NATS server with JetStream. A connection that is lost is made again, for ever.
/// on_note: told of what people may want to know, from any thread; may be empty.
/// Errors: kUnavailable with what the server says; kUnsupported where this program was built
/// without the library for it.
Result<std::unique_ptr<Broker>> Connect(const Address& address, const std::string& client,
                                        std::function<void(const std::string&)> on_note = {});

}  // namespace tilewright::measure::fleet
