#pragma once

#include <string>
#include <string_view>

#include "src/space/trial.h"

namespace tilewright::records {

/// What is stored of a trial as text. Made before the write lock is taken: it is most of the work.
struct TrialTexts {
  std::string workload, op, target, device, epilogue, config, others;
};
TrialTexts TextsOf(const Trial& trial);

/// A number as a column holds it: NaN, which SQLite has no room for, becomes 0, and so does -0.
double StoredNumber(double number);
/// The error of a verification as it is stored: NaN is beyond any bound.
double StoredError(double error);

/// Id of a trial: the first 128 bits of the SHA-256 of store, job, all that it was measured for and
/// all that came of it, as 32 hexadecimal digits. Nobody can write a row under the id of a trial
/// that is still to be measured, and a row that was changed no longer has its id.
std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial);
std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial,
                    const TrialTexts& texts);

/// The id that 1.0 and 1.1 gave the trial: a hash of what it was measured for alone.
std::string LegacyTrialId(std::string_view store_id, std::string_view job_name, const Trial& trial);

/// Whether an id is one of the two.
bool IsIdOf(std::string_view id, std::string_view store_id, std::string_view job_name,
            const Trial& trial);

}  // namespace tilewright::records
