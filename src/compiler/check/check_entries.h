#pragma once

#include <cstdint>
#include <set>

#include "src/base/status.h"

namespace tilewright {

class CheckProgress;
class ModelLibrary;

/// Runs a library with an open dimension with several sizes, and compares entries of the outputs
/// with runs of one entry: at least two sizes, and as many as a second allows. Errors: kInternal
/// naming the size and the output that differs; those of the runs.
/// of_kernels: sizes that run all kernels (SizesOfAllKernels).
Status CheckEntries(ModelLibrary& library, const std::set<std::int64_t>& of_kernels,
                    CheckProgress& progress);

}  // namespace tilewright
