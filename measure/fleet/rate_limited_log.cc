#include "measure/fleet/rate_limited_log.h"

#include "src/base/printable.h"

namespace tilewright::measure::fleet {

void RateLimitedLog::Limited(const std::string& text) {
  constexpr std::size_t kMaxBytes = 600;
  const double now = clock_.MonotonicSeconds();
  if (lines_.empty() || now - minute_at_ >= kMinuteSeconds) {
    if (left_out_ > 0) {
      Publish(std::to_string(left_out_) + " more lines like these were omitted in the last minute");
    }
    left_out_ = 0;
    lines_.clear();
    minute_at_ = now;
  }
  const std::string line = Printable(text.substr(0, kMaxBytes));
  if (lines_.contains(line)) return;
  if (lines_.size() >= kMaxLines) {
    ++left_out_;
    return;
  }
  lines_.insert(line);
  Publish(line);
}

}  // namespace tilewright::measure::fleet
