#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::search {

/// The moment that a deadline names, in seconds since 1970-01-01 UTC: a time of RFC 3339
/// ("2026-11-25T06:00:00Z", "2026-11-25T07:00:00+01:00", with a fraction of a second or without),
/// or a duration as of ParseDuration, which begins at `now_unix_seconds`. Errors: kInvalidArgument.
Result<double> ParseDeadline(std::string_view text, double now_unix_seconds);

/// As ParseDeadline, of a deadline that is to come. Errors: kInvalidArgument, too, where it is
/// over.
Result<double> ParseFutureDeadline(std::string_view text, double now_unix_seconds);

/// A moment as RFC 3339 has it, in UTC and to the millisecond.
std::string FormatTimestamp(double unix_seconds);

}  // namespace tilewright::search
