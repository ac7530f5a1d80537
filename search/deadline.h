#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::search {

/// Parses a deadline to seconds since 1970-01-01 UTC: a time of RFC 3339 ("2026-11-25T06:00:00Z",
/// "2026-11-25T07:00:00+01:00", with or without a fraction of a second), or a duration as in
/// ParseDuration, which starts at `now_unix_seconds`. Errors: kInvalidArgument.
Result<double> ParseDeadline(std::string_view text, double now_unix_seconds);

/// As ParseDeadline, for a deadline in the future. Errors: also kInvalidArgument if the deadline
/// has passed.
Result<double> ParseFutureDeadline(std::string_view text, double now_unix_seconds);

/// Formats a time as in RFC 3339, in UTC and to the millisecond.
std::string FormatTimestamp(double unix_seconds);

}  // namespace tilewright::search
