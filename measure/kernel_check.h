#pragma once

#include "measure/messages.h"

// Limits of the kernel members of a message. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Checks that the members of a kernel are plausible for its task. Launches must be within the
/// limits of drivers, and only on devices that launch grids. Calls must name libraries of the
/// target (`-libs=`) and operands within the kernel's tensors. Workspaces and the tolerance must be
/// within limits. Requires target, workload and epilogue and, for loops, the signature. Errors:
/// kCorrupt naming the member.
Status CheckKernel(const KernelSpec& kernel);

}  // namespace tilewright::measure
