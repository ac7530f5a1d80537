#pragma once

#include <string>

#include "measure/messages.h"

namespace tilewright::measure {

/// The runner's part of a probe: a child like a candidate's enters the sandbox, starts threads,
/// loads the shared object and calls it. Of what is not run by the processor (a stream, PTX) only
/// the file is read.
/// returns what did not work; empty if all did.
std::string LoadProbe(const ProbeOrder& order);

/// What a runner needs of a machine beside that: /proc, by which threads and memory of a candidate
/// are told. Empty if it is there.
std::string MissingSystemFeatures();

}  // namespace tilewright::measure
