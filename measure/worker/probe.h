#pragma once

#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// Runs the runner's part of a probe: a child like a candidate's enters the sandbox, starts
/// threads, loads the shared object and calls it. For an artifact that the processor does not run
/// (a stream, PTX) it only reads the file. Returns the step that failed; empty on success.
std::string LoadProbe(const ProbeOrder& order);

/// Returns the missing system features that a runner also needs: /proc, which lists threads and
/// memory of a candidate. Empty if all are available.
std::string MissingSystemFeatures();

}  // namespace tilewright::measure
