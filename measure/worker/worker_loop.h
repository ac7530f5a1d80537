#pragma once

#include <functional>

#include "src/base/json.h"
#include "src/base/status.h"

namespace tilewright::measure {

/// Descriptors of a worker's protocol, moved out of the way of 0 and 1 (which become /dev/null) and
/// closed on exec.
struct WorkerPipes {
  int in = -1, out = -1;
};
WorkerPipes TakePipes(int in_fd, int out_fd);

/// Passes every message to `handle` until the end of the input. Returns the worker's exit code: 1
/// if a line is not a message or `handle` returns an error (printed to standard error), else 0.
int ServeMessages(const WorkerPipes& pipes, const std::function<Status(const Json&)>& handle);

/// Writes one message; blocks until it is written.
Status SendMessage(const WorkerPipes& pipes, const Json& message);

}  // namespace tilewright::measure
