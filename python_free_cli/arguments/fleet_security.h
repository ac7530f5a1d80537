#pragma once

#include <optional>
#include <string>

#include "measure/fleet/connect.h"
#include "src/base/status.h"

namespace tilewright::cli {

/// Whether what is said to these brokers stays on this machine: each host of the URL is `localhost`
/// or a loopback address.
bool IsLoopbackUrl(const std::string& url);
/// The loopback address that a host is written as, IPv6 in brackets, for a server to listen on.
/// nullopt for names (`localhost`, too) and other addresses.
std::optional<std::string> LoopbackAddress(const std::string& host);

/// Whoever reaches the broker of a fleet has its workers run machine code and its tuners store
/// times. So a broker elsewhere is taken only over TLS and with a key, or where the user says so.
/// insecure: `--insecure` was given; what that means is said on standard error then.
/// Errors: kInvalidArgument with what to do.
Status CheckBroker(const measure::fleet::Address& address, bool insecure);

/// Text of `--insecure` for help.
inline constexpr const char* kInsecureHelp =
    "Take a broker on another machine that has no TLS and keys: whoever reaches it has code run "
    "here";

}  // namespace tilewright::cli
