#pragma once

#include <exception>
#include <string>

#include "src/base/printable.h"
#include "src/base/status.h"

namespace tilewright::plugins {

/// Calls a plugin's function, which may be C++ and let an exception out though it must not.
/// Errors: kInvalidArgument naming the function and what it threw.
template <typename Call>
Status CallPlugin(const char* key, const char* function, Call call) {
  try {
    call();
    return {};
  } catch (const std::exception& thrown) {
    return InvalidArgument(std::string(key) + ": " + function +
                           " threw: " + Printable(thrown.what()));
  } catch (...) {
    return InvalidArgument(std::string(key) + ": " + function + " threw something");
  }
}

}  // namespace tilewright::plugins
