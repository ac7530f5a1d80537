#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/templates/text/schedule_text.h"

namespace tilewright {

enum class ScheduleTokenKind : std::uint8_t { kName, kInteger, kText, kPunctuation, kEnd };

/// Token of a schedule: a word, number, sign or quoted text.
struct ScheduleToken {
  ScheduleTokenKind kind = ScheduleTokenKind::kEnd;
  std::string_view text;   ///< of a quoted text without the quotes; valid as long as the source
  std::size_t offset = 0;  ///< in the source
};

/// Returns the next token of `schedule.source` from `position` on, and moves `position` after it.
/// Errors: kInvalidArgument with the position in the text.
Result<ScheduleToken> NextScheduleToken(const ScheduleText& schedule, std::size_t& position);

}  // namespace tilewright
