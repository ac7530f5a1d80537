#pragma once

#include <optional>
#include <string>

#include "measure/fleet/connect.h"
#include "src/base/status.h"

namespace tilewright::cli {

/// Returns true if messages to these brokers stay on this machine: each host of the URL is
/// `localhost` or a loopback address.
bool IsLoopbackUrl(const std::string& url);
/// Returns the loopback address that a host is written as, IPv6 in brackets, for a server to listen
/// on. nullopt for names (including `localhost`) and other addresses.
std::optional<std::string> LoopbackAddress(const std::string& host);

/// Checks that a remote broker is protected. Any client of a fleet's broker can make its workers
/// run machine code and its tuners store times. Therefore a remote broker requires TLS and a key,
/// or the user's consent.
/// insecure: `--insecure` was given; then a warning is printed to standard error.
/// Errors: kInvalidArgument with the options that help.
Status CheckBroker(const measure::fleet::Address& address, bool insecure);

/// Help text of `--insecure`.
inline constexpr const char* kInsecureHelp =
    "Take a broker on another machine that has no TLS and keys: anyone who reaches it has code run "
    "here";

}  // namespace tilewright::cli
