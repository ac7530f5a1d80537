#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace tilewright {

/// Amount of work of a check: a number of cases ("200"), or a duration ("30s") from the start.
class Amount {
 public:
  explicit Amount(const std::string& text)
      : number_(std::strtoll(text.c_str(), nullptr, 10)), is_time_(text.ends_with('s')) {}

  bool IsDone(std::int64_t cases) const {
    if (!is_time_) return cases >= number_;
    return std::chrono::steady_clock::now() - start_ >= std::chrono::seconds(number_);
  }

 private:
  std::int64_t number_;
  bool is_time_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tilewright
