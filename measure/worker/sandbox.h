#pragma once

#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#endif

// What a candidate's process may do. It is entered before the artifact is loaded, so that its
// constructors run inside. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// In the runner: other processes of the user (a candidate's among them) can neither read nor write
/// its memory, nor take its descriptors.
void HideMemory();

/// The calling thread, and those it starts, lose what a user's process could do to others: the
/// capabilities of root but to read files, gaining any by a program, and, where the kernel has
/// Landlock, changing files, tracing and signalling processes outside. Irrevocable.
void LimitRights();

/// All threads of the process: only system calls of a list (memory, threads, time, reading files,
/// writing to what is open) are let through; others are SIGSYS. Irrevocable. Does nothing where the
/// system lacks the means or the processor is neither x86-64 nor 64-bit Arm.
void ForbidSystemCalls();

enum class SandboxArch : std::uint8_t { kX86_64, kAarch64 };
/// The filter program that ForbidSystemCalls installs on such a machine, for a process `pid`.
std::vector<sock_filter> SandboxFilter(SandboxArch arch, std::uint32_t pid);

}  // namespace tilewright::measure
