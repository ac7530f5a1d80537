#pragma once

#include "src/base/status.h"

namespace tilewright {

class CheckProgress;
class ModelLibrary;

/// Runs a library with an open dimension with several sizes, and compares entries of the outputs
/// with runs of one entry: at least two sizes, and as many as a second allows. Errors: kInternal
/// naming the size and the output that differs; those of the runs.
Status CheckEntries(ModelLibrary& library, CheckProgress& progress);

}  // namespace tilewright
