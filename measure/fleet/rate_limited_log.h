#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure::fleet {

/// Log of a fleet's member, which others cause lines of: bounded in lines and in memory. The same
/// line comes once a minute at most, and of different ones kMaxLines a minute; how many were left
/// out is said with the next line. Not thread-safe.
class RateLimitedLog {
 public:
  static constexpr double kMinuteSeconds = 60;
  static constexpr std::size_t kMaxLines = 60;

  /// say: gets each line; may be empty. clock: outlives it.
  RateLimitedLog(std::function<void(const std::string&)> say, Clock& clock)
      : say_(std::move(say)), clock_(clock) {}

  /// A line of one's own, always.
  void Publish(const std::string& text) const {
    if (say_) say_(text);
  }
  /// A line that somebody else caused. Control characters in it are escaped, and a long one is cut.
  void Limited(const std::string& text);

 private:
  const std::function<void(const std::string&)> say_;
  Clock& clock_;
  double minute_at_ = 0;         // when this minute began
  std::set<std::string> lines_;  // of this minute
  std::int64_t left_out_ = 0;    // of this minute, beyond kMaxLines
};

}  // namespace tilewright::measure::fleet
