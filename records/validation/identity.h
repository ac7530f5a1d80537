#pragma once

#include <string>
#include <string_view>

#include "src/space/trial.h"

namespace tilewright::records {

/// Texts stored for a trial. Computed before the write lock is taken, because they are most of the
/// work.
struct TrialTexts {
  std::string workload, op, target, device, epilogue, config, others;
};
TrialTexts TextsOf(const Trial& trial);

/// Returns a number as a column stores it: NaN, which SQLite cannot store, becomes 0, and so does
/// -0.
double StoredNumber(double number);
/// Returns the verification error as it is stored: NaN counts as beyond any bound.
double StoredError(double error);

/// Returns the id of a trial: the first 128 bits of the SHA-256 of store, job, candidate and
/// result, as 32 hexadecimal digits. The id of a future trial cannot be computed, and a changed row
/// does not match its id.
std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial);
std::string TrialId(std::string_view store_id, std::string_view job_name, const Trial& trial,
                    const TrialTexts& texts);

/// Returns the id that 1.0 and 1.1 gave the trial: a hash of the candidate alone.
std::string LegacyTrialId(std::string_view store_id, std::string_view job_name, const Trial& trial);

/// Returns true if an id is one of the two.
bool IsIdOf(std::string_view id, std::string_view store_id, std::string_view job_name,
            const Trial& trial);

}  // namespace tilewright::records
