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

/// Hands every message that comes to `handle`, until the end of the input.
/// returns the worker's exit code: 1 if a line is no message or `handle` refuses one (the reason
/// goes to standard error), else 0.
int ServeMessages(const WorkerPipes& pipes, const std::function<Status(const Json&)>& handle);

/// Writes one message, waiting as long as it takes.
Status SendMessage(const WorkerPipes& pipes, const Json& message);

}  // namespace tilewright::measure
