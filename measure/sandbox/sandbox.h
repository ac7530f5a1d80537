#pragma once

#include <cstdint>
#include <string>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#endif

#include "measure/sandbox/read_allowlist.h"
#include "src/base/status.h"

// What a candidate's process may do. It is entered before the artifact is loaded, so that its
// constructors run inside. Included by .cc files only.

namespace tilewright::measure {

/// Parts of the sandbox that this system lacks, each with the reason; empty: it is there.
struct SandboxGaps {
  std::string system_calls;  ///< the filter of system calls
  std::string files;         ///< Landlock: without it a candidate reads what its user can read
  std::string user;          ///< a user namespace

  /// The parts that other machines' candidates can harm by, in one line; empty: none is missing.
  std::string Unprotected() const;
};

/// In the runner: other processes of the user (a candidate's among them) can neither read nor write
/// its memory, nor take its descriptors.
void HideMemory();

/// Overwrites and removes the environment variables that neither the loader nor libraries of
/// kernels read: a candidate inherits the runner's memory, and they may hold passwords and keys.
/// The process has one thread.
void HideEnvironment();

/// In a process that is to load an artifact: its descriptor 2 leads nowhere (a terminal shows what
/// others write to it), and where memory runs out the system ends this process before the runner.
void DetachFromTerminal();

/// The calling thread, and those it starts, lose what a user's process could do to others: the
/// capabilities of root but to read files, gaining any by a program, and, where the kernel has
/// Landlock, reading files that are not in the list, changing files, tracing and signalling
/// processes outside. Users other than root get a namespace of their own where they may, with
/// nobody and nothing in it. Irrevocable. The process has one thread. returns what of it the system
/// refused.
SandboxGaps DropPrivileges(const ReadAllowlist& readable);

/// All threads of the process: only system calls of a list (memory, threads, time, reading files,
/// writing to what is open) are let through; others are SIGSYS. Irrevocable.
/// Errors: kUnsupported if the system lacks the means or the processor is neither x86-64 nor 64-bit
/// Arm; nothing is forbidden then.
Status InstallSyscallFilter();

/// The same for the whole sandbox, tried out in a process of its own.
SandboxGaps TestSandbox();

/// A system call's number on x86-64 and on 64-bit Arm; -1: it has none there.
struct SandboxSyscall {
  const char* name;
  int x86_64, aarch64;
};
/// Those that the filter knows, under whatever conditions.
std::vector<SandboxSyscall> SandboxSyscalls();

enum class SandboxArch : std::uint8_t { kX86_64, kAarch64 };
/// The filter program that InstallSyscallFilter installs on such a machine, for a process `pid`.
std::vector<sock_filter> SandboxFilter(SandboxArch arch, std::uint32_t pid);

}  // namespace tilewright::measure
