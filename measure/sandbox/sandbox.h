#pragma once

#include <cstdint>
#include <string>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#endif

#include "measure/sandbox/read_allowlist.h"
#include "src/base/status.h"

// Sandbox of a candidate's process. The process enters it before it loads the artifact, so that the
// artifact's constructors run inside. Included by .cc files only.

namespace tilewright::measure {

/// Parts of the sandbox that this system lacks, each with the reason; empty: the part is available.
struct SandboxGaps {
  std::string system_calls;  ///< the filter of system calls
  std::string files;         ///< Landlock: without it a candidate can read all files of its user
  std::string user;          ///< a user namespace

  /// Returns the missing parts that protect against candidates from other machines, in one line;
  /// empty: none is missing.
  std::string Unprotected() const;
};

/// Protects the runner: other processes of the user (a candidate's among them) can neither access
/// its memory nor take its descriptors.
void HideMemory();

/// Overwrites and removes the environment variables that neither the loader nor libraries of
/// kernels read: a candidate inherits the runner's memory, and they may contain passwords and keys.
/// The process must have one thread.
void HideEnvironment();

/// Prepares a process that will load an artifact: redirects descriptor 2 to nothing, so that the
/// candidate cannot write to the terminal, and makes the system end this process before the runner
/// if memory runs out.
void DetachFromTerminal();

/// Drops privileges of the calling thread, and of those it starts later: all capabilities of root
/// except reading files, gaining any by a program, and, if the kernel has Landlock, reading files
/// that are not in the list, changing files, tracing and signalling processes outside. Users other
/// than root get an isolated namespace if the system permits it. Irrevocable. The process must have
/// one thread. Returns the parts that the system denied.
SandboxGaps DropPrivileges(const ReadAllowlist& readable);

/// Restricts all threads of the process to a list of system calls (memory, threads, time, reading
/// files, writing to open files); others raise SIGSYS. Irrevocable. Errors: kUnsupported if the
/// system lacks the means or the processor is neither x86-64 nor 64-bit Arm; nothing is restricted
/// then.
Status InstallSyscallFilter();

/// Tests the whole sandbox in a subprocess and returns its gaps.
SandboxGaps TestSandbox();

/// Number of a system call on x86-64 and on 64-bit Arm; -1: the architecture lacks it.
struct SandboxSyscall {
  const char* name;
  int x86_64, aarch64;
};
/// Returns the system calls that the filter has rules for, with or without conditions.
std::vector<SandboxSyscall> SandboxSyscalls();

enum class SandboxArch : std::uint8_t { kX86_64, kAarch64 };
/// Returns the filter program that InstallSyscallFilter installs on such a machine, for a process
/// `pid`.
std::vector<sock_filter> SandboxFilter(SandboxArch arch, std::uint32_t pid);

}  // namespace tilewright::measure
