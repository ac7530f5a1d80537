#pragma once

#include "measure/messages.h"

// Limits of what a message says of a kernel. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Whether the kernel's numbers can be those of a kernel of its task: launches within what drivers
/// take, and only on devices that launch grids; calls only of libraries that the target names
/// (`-libs=`), with operands that lie within the kernel's tensors; workspaces and a tolerance
/// within limits. Requires target, workload, epilogue and, of loops, the signature. Errors:
/// kCorrupt naming the field.
Status CheckKernel(const KernelSpec& kernel);

}  // namespace tilewright::measure
