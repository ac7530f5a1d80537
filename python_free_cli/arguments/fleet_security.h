#pragma once

#include "measure/fleet/connect.h"
#include "src/base/status.h"

namespace tilewright::cli {

/// Checks that a remote broker is protected. Any client of a fleet's broker can make its workers
/// run machine code and its tuners store times. Therefore a remote broker requires TLS and a key,
/// or the user's consent.
/// insecure: `--insecure` was given; then a warning is printed to standard error.
/// Errors: kInvalidArgument with the options that help.
Status CheckBroker(const measure::fleet::Address& address, bool insecure);

/// Help text of `--insecure`.
inline constexpr const char* kInsecureHelp =
    "Accept a remote broker without TLS and keys: anyone who can reach it can run code on this "
    "machine";

}  // namespace tilewright::cli
