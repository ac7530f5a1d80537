#include "search/deadline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "search/job.h"
#include "src/base/strings.h"

namespace tilewright::search {
namespace {

constexpr int kMinutesOfHour = 60, kSecondsOfMinute = 60;

/// Takes a number of `digits` digits, at most `most`, from the front of the text; -1: there is
/// none.
int TakeDigits(std::string_view& text, std::size_t digits, int most) {
  if (text.size() < digits) return -1;
  int number = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = 10 * number + (text[i] - '0');
  }
  if (number > most) return -1;
  text.remove_prefix(digits);
  return number;
}

bool TakeLetter(std::string_view& text, std::string_view either) {
  if (text.empty() || either.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// Parses the minutes by which "Z", "+01:00" and the like are ahead of UTC. Takes all of the text,
/// or fails.
bool TakeOffset(std::string_view text, int& minutes) {
  minutes = 0;
  if (TakeLetter(text, "Zz")) return text.empty();
  const bool behind = !text.empty() && text.front() == '-';
  if (!TakeLetter(text, "+-")) return false;
  const int hours = TakeDigits(text, 2, 23);
  const bool colon = TakeLetter(text, ":");
  const int rest = TakeDigits(text, 2, 59);
  minutes = (behind ? -1 : 1) * (kMinutesOfHour * hours + rest);
  return hours >= 0 && colon && rest >= 0 && text.empty();
}

/// Parses a time of RFC 3339. Returns false for an invalid one.
bool ParseMoment(std::string_view text, double& unix_seconds) {
  std::tm date{};
  const int year = TakeDigits(text, 4, 9999);
  if (year < 1970 || !TakeLetter(text, "-")) return false;
  const int month = TakeDigits(text, 2, 12);
  if (month < 1 || !TakeLetter(text, "-")) return false;
  date.tm_mday = TakeDigits(text, 2, 31);
  if (date.tm_mday < 1 || !TakeLetter(text, "Tt ")) return false;
  date.tm_hour = TakeDigits(text, 2, 23);
  if (date.tm_hour < 0 || !TakeLetter(text, ":")) return false;
  date.tm_min = TakeDigits(text, 2, 59);
  if (date.tm_min < 0 || !TakeLetter(text, ":")) return false;
  date.tm_sec = TakeDigits(text, 2, 59);
  if (date.tm_sec < 0) return false;
  double fraction = 0;
  if (TakeLetter(text, ".")) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto parsed = ParseDouble("0." + std::string(text.substr(0, digits)));
    constexpr std::size_t kMaxDigits = 9;
    if (digits == 0 || digits > kMaxDigits || !parsed.ok()) return false;
    fraction = *parsed;
    text.remove_prefix(digits);
  }
  int minutes = 0;
  if (!TakeOffset(text, minutes)) return false;
  date.tm_year = year - 1900;
  date.tm_mon = month - 1;
  const std::time_t seconds = ::timegm(&date);
  // timegm turns the 30th of February into March.
  if (date.tm_mon != month - 1) return false;
  unix_seconds = static_cast<double>(seconds) + fraction - kSecondsOfMinute * minutes;
  return true;
}

}  // namespace

Result<double> ParseDeadline(std::string_view text, double now_unix_seconds) {
  double moment = 0;
  if (ParseMoment(text, moment)) return moment;
  const auto duration = ParseDuration(text);
  if (duration.ok()) return now_unix_seconds + *duration;
  return InvalidArgument(
      "deadline \"" + std::string(text.substr(0, 40)) +
      "\", expected a time such as 2026-11-25T06:00:00Z or a duration such as 8h");
}

Result<double> ParseFutureDeadline(std::string_view text, double now_unix_seconds) {
  TW_ASSIGN_OR_RETURN(const auto moment, ParseDeadline(text, now_unix_seconds));
  if (moment > now_unix_seconds) return moment;
  return InvalidArgument("deadline \"" + std::string(text.substr(0, 40)) +
                         "\": it has passed (it is now " + FormatTimestamp(now_unix_seconds) +
                         "), expected a time in the future");
}

std::string FormatTimestamp(double unix_seconds) {
  constexpr double kThousand = 1000;
  const auto milliseconds = std::llround(unix_seconds * kThousand);
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm date{};
  ::gmtime_r(&seconds, &date);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min,
                date.tm_sec, static_cast<int>(milliseconds % 1000));
  return text.data();
}

}  // namespace tilewright::search
