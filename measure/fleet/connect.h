#pragma once

#include <functional>
#include <memory>
#include <string>

#include "measure/fleet/broker.h"

namespace tilewright::measure::fleet {

/// Address of a fleet's broker, and the identity of the client.
struct Address {
  std::string url;        ///< nats://host:4222, tls://host:4222, or several with commas
  std::string user;       ///< part of the subjects that a tuner or worker publishes to
  std::string seed_file;  ///< file with the seed of the user's key; empty: the broker requires none
  std::string ca_file;    ///< trusted certificates; empty: no TLS unless the URL requires it
};

/// Connects to a NATS server with JetStream. Reconnects without limit if the connection is lost.
/// on_note: receives notes for users, from any thread; may be empty. Errors: kUnavailable with the
/// server's message; kUnsupported if this program was built without the NATS library.
Result<std::unique_ptr<Broker>> Connect(const Address& address, const std::string& client,
                                        std::function<void(const std::string&)> on_note = {});

/// Returns false if this program was built without the NATS library.
bool IsNatsBuiltIn();

}  // namespace tilewright::measure::fleet
