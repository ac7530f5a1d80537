#pragma once

#include <functional>
#include <thread>

#include "src/base/status.h"

namespace tilewright {

/// Starts a thread that runs `body`; the caller joins it.
/// Errors: kUnavailable if the system cannot create one.
Result<std::thread> StartThread(std::function<void()> body);

}  // namespace tilewright
