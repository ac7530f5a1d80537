#pragma once

#include <string>
#include <vector>

#include "search/tuner.h"
#include "src/base/status.h"
#include "src/tuner/data.h"

namespace tilewright::tuner {

/// Tunes tasks as one job. graph: part of the job's name; the same options resume the job. Errors:
/// kInvalidArgument for bad options; those of the store, the measurer and search::Tune.
::tilewright::Result<search::TuneReport> RunTuneJob(const Tuner::Data& tuner,
                                                    const std::string& graph,
                                                    std::vector<search::TuneTask> tasks,
                                                    const TuneOptions& options);

}  // namespace tilewright::tuner
