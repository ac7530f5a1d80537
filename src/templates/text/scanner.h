#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/templates/text/schedule_text.h"

namespace tilewright {

enum class ScheduleTokenKind : std::uint8_t { kName, kInteger, kText, kPunctuation, kEnd };

/// A word, number, sign or quoted text of a schedule.
struct ScheduleToken {
  ScheduleTokenKind kind = ScheduleTokenKind::kEnd;
  std::string_view text;   ///< of a text: without its quotes; valid as long as the source
  std::size_t offset = 0;  ///< in the source
};

/// The next one of `schedule.source` from `position` on, which is moved behind it.
/// Errors: kInvalidArgument with the place.
Result<ScheduleToken> NextScheduleToken(const ScheduleText& schedule, std::size_t& position);

}  // namespace tilewright
