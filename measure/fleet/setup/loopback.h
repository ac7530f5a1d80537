#pragma once

#include <optional>
#include <string>

namespace tilewright::measure::fleet {

/// Returns true if messages to these brokers stay on this machine: each host of the URL is
/// `localhost` or a loopback address.
bool IsLoopbackUrl(const std::string& url);
/// Returns the loopback address that a host is written as, IPv6 in brackets, for a server to listen
/// on. nullopt for names (including `localhost`) and other addresses.
std::optional<std::string> LoopbackAddress(const std::string& host);

}  // namespace tilewright::measure::fleet
