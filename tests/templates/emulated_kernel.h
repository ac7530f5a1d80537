#pragma once

#include <string>

#include "src/target/target.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright {

/// Runs kernels for 32- and 64-bit Arm under qemu-user, on one thread.
/// Errors: kInternal with the program's message.
Status RunEmulatedKernel(const Program& program, const Target& target,
                         std::vector<Tensor>& arguments);
/// Why no kernel of a target can run under an emulator here; empty if one can.
std::string EmulatorMissingFor(const Target& target);

}  // namespace tilewright
