#pragma once

#include "src/report/gather.h"

namespace tilewright::report {

/// Name of the jobs that stand for imported records.
inline constexpr const char* kImportedJob = "imported";

/// Adds what a store has of logs of AutoTVM and TopHub packages: for each target a job that has the
/// records as its trials. They have neither times of day to go by nor verification, which is said
/// in the document. Nothing is added where there are none.
/// Errors: those of reading the store.
Status GatherImported(const records::Store& store, const GatherOptions& options,
                      Document& document);

}  // namespace tilewright::report
