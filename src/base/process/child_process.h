#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "src/base/files/descriptor.h"
#include "src/base/status.h"

// Preparation of a child process before the fork.

namespace tilewright {

/// Both ends of a pipe.
struct Pipe {
  Descriptor read, write;
};
/// Opens a pipe whose ends a new program does not inherit. Errors: kUnavailable.
Result<Pipe> OpenPipe();

/// Returns the null-terminated argv array for execve. Its pointers refer to `words`.
std::vector<char*> ArgumentPointers(std::vector<std::string>& words);
/// Returns this process's environment with the variables in `own` ("NAME=value") replaced or added;
/// null-terminated. Its pointers refer to both.
std::vector<char*> EnvironmentWith(std::vector<std::string>& own);
/// Returns the set of these cores.
cpu_set_t CoreSet(const std::vector<int>& cores);

}  // namespace tilewright
