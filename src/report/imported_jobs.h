#pragma once

#include "src/report/gather.h"

namespace tilewright::report {

/// Name of the jobs that represent imported records.
inline constexpr const char* kImportedJob = "imported";

/// Adds the imported records of AutoTVM logs and TopHub packages: for each target a job with the
/// records as its trials. The records have no usable times of day and no verification; the document
/// states so. A store without imported records adds nothing.
/// Errors: those of reading the store.
Status GatherImported(const records::Store& store, const GatherOptions& options,
                      Document& document);

}  // namespace tilewright::report
