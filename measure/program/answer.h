#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/space/trial.h"

namespace tilewright::measure {

/// Answer of a program to one config (docs/howto-open.md#answers).
struct Answer {
  /// Samples of each recorded metric, in the units of the record.
  std::map<std::string, std::vector<double>> samples;
  /// Why the config has no values, as the program states it; kOk if it has.
  Outcome outcome = Outcome::kOk;
  std::string reason;
  double max_abs_error = 0;
  std::int64_t id = -1;  ///< of the config, as a process that stays alive repeats it; -1: none
};

/// Returns whether a line is meant as an answer: it begins with '{'.
bool LooksLikeAnswer(std::string_view line);

/// Parses an answer: one JSON object. metrics: names to record, the minimized one first: NAME,
/// NAME[UNIT], or 1/NAME for the inverse of a value that is to be large. "seconds" also accepts
/// "time" with a unit of time, "joules" accepts "energy" with a unit. It may come from anybody.
/// Errors: kInvalidArgument naming the member.
Result<Answer> ParseAnswer(std::string_view json, const std::vector<std::string>& metrics);

/// Finds the answer of a command that runs once for each config: the only line of its output that
/// looks like one, or an output that is one number, with or without a unit. nullopt if there is
/// none.
/// Errors: kInvalidArgument for several answers, or a line that is none; as ParseAnswer.
Result<std::optional<Answer>> FindAnswer(std::string_view output,
                                         const std::vector<std::string>& metrics);

/// Returns the outcome that a reason stands for: "compile", "runtime", "timeout", "correctness",
/// "constraints"; "correct" is kOk. Errors: kInvalidArgument.
Result<Outcome> OutcomeOfReason(std::string_view reason);

}  // namespace tilewright::measure
