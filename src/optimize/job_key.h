#pragma once

#include <span>
#include <string>

#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/version.h"
#include "src/session/session.h"

namespace tilewright::optimize {

/// Beginning of the names of all jobs of this module.
inline constexpr const char* kJobPrefix = "optimize-";

/// Returns the beginning of the names of the jobs that search this network for this target and
/// device, on any samples. quantizer_version: another one gives another name.
std::string NetworkKeyOf(const session::CompileRequest& request,
                         int quantizer_version = quantize::kQuantizerVersion);

/// Returns the name of the job that searches this network on these samples for this target and
/// device. It depends on nothing that all of its steps do not depend on: not on the bound, and not
/// on the kernels, which the names of steps contain (Candidates).
std::string JobKeyOf(const session::CompileRequest& request,
                     std::span<const quantize::Sample> samples);

}  // namespace tilewright::optimize
