#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "src/base/clock.h"

namespace tilewright::measure::fleet {

/// Log of a fleet's member for lines that other members cause; bounded in lines and memory. Equal
/// lines appear at most once a minute, and at most kMaxLines distinct lines a minute. The next line
/// reports the number of omitted lines. Not thread-safe.
class RateLimitedLog {
 public:
  static constexpr double kMinuteSeconds = 60;
  static constexpr std::size_t kMaxLines = 60;

  /// say: receives each line; may be empty. clock: has to outlive the log.
  RateLimitedLog(std::function<void(const std::string&)> say, Clock& clock)
      : say_(std::move(say)), clock_(clock) {}

  /// Logs a line of this member, without a limit.
  void Publish(const std::string& text) const {
    if (say_) say_(text);
  }
  /// Logs a line that another member caused. Escapes control characters and truncates long lines.
  void Limited(const std::string& text);

 private:
  const std::function<void(const std::string&)> say_;
  Clock& clock_;
  double minute_at_ = 0;         // start of this minute
  std::set<std::string> lines_;  // of this minute
  std::int64_t left_out_ = 0;    // in this minute, beyond kMaxLines
};

}  // namespace tilewright::measure::fleet
