#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "src/base/status.h"

namespace tilewright {

/// Starts a thread that runs `body`; the caller joins it.
/// Errors: kUnavailable if the system cannot create one.
Result<std::thread> StartThread(std::function<void()> body);

/// Runs fn(0) … fn(count - 1), each once, on this thread and up to `threads` - 1 others; on fewer
/// if the system cannot create them. Returns when all have ended.
void RunInParallel(int threads, std::int64_t count, const std::function<void(std::int64_t)>& fn);

}  // namespace tilewright
