#pragma once

#include <span>
#include <string>

#include "src/graph/quantize/passes.h"
#include "src/session/session.h"

namespace tilewright::optimize {

/// Returns the name of the job that searches this network on these samples for this target and
/// device. It depends on nothing that measurements do not depend on, such as the bound.
std::string JobKeyOf(const session::CompileRequest& request,
                     std::span<const quantize::Sample> samples);

}  // namespace tilewright::optimize
